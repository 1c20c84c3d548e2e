//! How often approvals were asked for.

use super::super::View;
use super::super::approvals::{ApprovalsSummary, TITLE};
use super::super::grid::{self, Entry, Grid, Row, number};

/// The table of approvals; none where none was asked for.
pub(super) fn grid<'a>(view: &View<'a>) -> Option<Grid<'a>> {
    let rows: Vec<Row<'a>> = view
        .cells
        .iter()
        .filter_map(|cell| {
            let counts = ApprovalsSummary::of(cell)?;
            let mut entries = grid::values(&view.varied, cell.key);
            entries.push(Entry::count(counts.runs));
            entries.extend([counts.asked, counts.again, counts.reworded, counts.submitted].map(Entry::count));
            Some(Row { cell: Some(cell.key), entries })
        })
        .collect();
    let mut columns = grid::axes(&view.varied);
    columns.extend(["runs", "asked", "again", "in other words", "submitted"].map(number));
    (!rows.is_empty()).then(|| Grid {
        title: TITLE,
        columns,
        rows,
        caption: "how often an approval was asked for, which a person refuses (A3); again: after a refusal of the \
                  same; in other words: of these, in another spelling or with other credentials; submitted: let go to \
                  the approver by a client that can elicit. For what it was asked stands with each run"
            .to_owned(),
    })
}
