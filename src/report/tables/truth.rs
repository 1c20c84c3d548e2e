//! What really happened, where judge and account differ, and the layers in which runs failed.

use super::super::grid::{self, Entry, Grid, LONGEST, Row, number, text};
use super::super::text::{k_of_n, percent_interval, shortened};
use super::super::{LayerView, View};

/// The tables that there are to show.
pub(super) fn grids<'a>(view: &View<'a>) -> Vec<Grid<'a>> {
    let mut grids = Vec::new();
    if view.cells.iter().any(|cell| cell.truth.says_something()) {
        grids.push(effects(view));
    }
    if !view.disagreements.is_empty() {
        grids.push(differences(view));
    }
    if !view.layers.is_empty() {
        grids.push(failures(view));
    }
    grids
}

fn effects<'a>(view: &View<'a>) -> Grid<'a> {
    let mut columns = grid::axes(&view.varied);
    columns.extend(["runs", "lost", "right", "double", "unasked"].map(number));
    let unknown = view.cells.iter().any(|cell| cell.truth.unknown > 0);
    if unknown {
        columns.push(number("unknown"));
    }
    let completion = view.cells.iter().any(|cell| cell.truth.completed.is_some() || cell.truth.open > 0);
    if completion {
        columns.push(number("completed"));
        columns.push(number(&format!("{} interval", view.level.percent())));
    }
    let rows = view.cells.iter().map(|cell| {
        let truth = &cell.truth;
        let mut entries = grid::values(&view.varied, cell.key);
        let counts = truth.counts;
        entries.push(Entry::count(truth.known));
        let shown = |count: u64| if truth.known == 0 { Entry::no_data() } else { Entry::count(count) };
        entries.extend([counts.lost, counts.right, counts.double, counts.unasked].map(shown));
        if unknown {
            entries.push(Entry::count(truth.unknown));
        }
        if completion {
            entries.extend(match truth.completed {
                Some(seen) => [
                    Entry::Number(Some(seen.runs.value()), k_of_n(seen.runs)),
                    Entry::Number(Some(seen.interval.lo), percent_interval(seen.interval)),
                ],
                None => [Entry::no_data(), Entry::Number(None, String::new())],
            });
        }
        Row { cell: Some(cell.key), entries }
    });
    let mut caption =
        "effects by the upstream's own account, summed over the runs of which it is known: lost, less \
                       often than the prompt asks; right; double, more often; unasked, what nobody asked for"
            .to_owned();
    if unknown {
        caption.push_str("; unknown, runs of which the account could not be had");
    }
    if completion {
        caption.push_str(&format!(
            "; completed, runs in which nothing is lost and every check holds, of all that did not end with an error, \
             {}",
            view.method.title()
        ));
    }
    Grid { title: "What really happened", columns, rows: rows.collect(), caption }
}

fn differences(view: &View<'_>) -> Grid<'static> {
    let rows = view.disagreements.iter().map(|one| {
        vec![
            Entry::Foreign(one.kind.name().to_owned()),
            Entry::count(one.runs),
            Entry::Run(one.example.run_id.0.clone()),
            Entry::Foreign(shortened(one.sentence, LONGEST)),
        ]
    });
    Grid {
        title: "Where judge and upstream differ",
        columns: vec![text("why"), number("runs"), text("example"), text("what it says")],
        rows: rows.map(Row::of).collect(),
        caption: "the judge counts what the upstream answered; here is what the upstream's own account holds. A FAIL \
                  stands whatever the account says; a PASS that it contradicts is NOT_TESTED"
            .to_owned(),
    }
}

fn failures(view: &View<'_>) -> Grid<'static> {
    let rows = view.layers.iter().map(|layer| {
        let mut row = vec![Entry::Own(layer.layer.name().to_owned()), Entry::count(layer.total())];
        row.extend(layer.runs.map(Entry::count));
        let [high, medium, low] = layer.confidence;
        let parts: Vec<String> = [(high, "high"), (medium, "medium"), (low, "low")]
            .into_iter()
            .filter(|(runs, _)| *runs > 0)
            .map(|(runs, name)| format!("{name} {runs}"))
            .collect();
        row.push(Entry::Own(parts.join(", ")));
        row.push(Entry::Run(layer.example.run_id.0.clone()));
        row.push(Entry::Foreign(shortened(layer.evidence, LONGEST)));
        row
    });
    let columns = vec![
        text("layer"),
        number("runs"),
        number("fail"),
        number("not tested"),
        number("errors"),
        text("confidence"),
        text("example"),
        text("evidence"),
    ];
    let all: u32 = view.layers.iter().map(LayerView::total).sum();
    Grid {
        title: "Why runs are no PASS",
        columns,
        rows: rows.map(Row::of).collect(),
        caption: format!(
            "the layer in which {} most likely failed, by the first rule that matches: triage, not proof",
            if all == 1 { "the run".to_owned() } else { format!("each of {all} runs") }
        ),
    }
}
