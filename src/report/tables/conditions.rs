//! In how many runs turns with a condition were said.

use super::super::View;
use super::super::grid::{self, Entry, Grid, Row, number, text};

pub(super) fn grid<'a>(view: &View<'a>) -> Option<Grid<'a>> {
    if view.cells.iter().all(|cell| cell.conditions.is_empty()) {
        return None;
    }
    let mut columns = grid::axes(&view.varied);
    columns.extend([
        number("say"),
        text("condition"),
        number("said"),
        number("not said"),
        text("not said after"),
    ]);
    let rows = view.cells.iter().flat_map(|cell| {
        cell.conditions.iter().map(|turns| {
            let mut entries = grid::values(&view.varied, cell.key);
            let claims: Vec<String> = turns
                .not_said_after
                .iter()
                .map(|(claim, runs)| format!("{} in {runs}", claim.replace('_', " ")))
                .collect();
            entries.extend([
                Entry::count(turns.turn),
                Entry::Foreign(turns.when.clone()),
                Entry::count(turns.said),
                Entry::count(turns.not_said),
                Entry::Own(claims.join(", ")),
            ]);
            Row { cell: Some(cell.key), entries }
        })
    });
    Some(Grid {
        title: "Turns with a condition",
        columns,
        rows: rows.collect(),
        caption: "in how many runs the simulated user said them and in how many not, with what the rules had read in \
                  the reply before; say: its place in the suite's conversation. Runs that ended earlier are not in it. After an unclear reply neither confirmed nor \
                  not_confirmed holds"
            .to_owned(),
    })
}
