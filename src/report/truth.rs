//! What really happened, for reports: effects by the upstream's own account, completion, where judge
//! and account differ, and the layers in which runs failed.

use super::grid::{self, Entry, Grid, LONGEST, Row, number, text};
use super::text::{k_of_n, percent_interval, shortened};
use super::{CellView, IntervalMethod, View};
use crate::domain::{Account, Confidence, DisagreementKind, EffectCounts, Layer, RunResult, Verdict};
use crate::stats::{Interval, Level, Proportion};

/// What is known of the effects and the completion of one cell. Runs that ended with an error are not
/// in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellTruth {
    /// Effects by what became of them, over the runs of which they are known.
    pub counts: EffectCounts,
    /// Runs of which they are known.
    pub known: u32,
    /// Runs of which they could not be learned.
    pub unknown: u32,
    /// Completed of those that it is known of; `None` is "no data".
    pub completed: Option<Completed>,
    /// Runs of which it is not known whether they completed.
    pub open: u32,
}

/// Completed of those of which it is known, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completed {
    /// Completed of known.
    pub runs: Proportion,
    /// Its interval.
    pub interval: Interval,
}

/// A way in which judge and account differ, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct DisagreementView<'a> {
    /// Why.
    pub kind: DisagreementKind,
    /// Runs with it.
    pub runs: u32,
    /// One of the runs.
    pub example: &'a RunResult,
    /// What is said of that run.
    pub sentence: &'a str,
}

/// A layer in which runs failed, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerView<'a> {
    /// The layer.
    pub layer: Layer,
    /// Runs by verdict: FAIL, NOT_TESTED, ERROR.
    pub runs: [u32; 3],
    /// Runs by confidence: high, medium, low.
    pub confidence: [u32; 3],
    /// One of the runs, of those with the highest confidence.
    pub example: &'a RunResult,
    /// What speaks for it in that run.
    pub evidence: &'a str,
}

impl LayerView<'_> {
    /// All of its runs.
    pub fn total(&self) -> u32 {
        self.runs.iter().sum()
    }
}

impl CellTruth {
    pub(super) fn of(runs: &[&RunResult], method: IntervalMethod, level: Level) -> CellTruth {
        let mut truth = CellTruth::default();
        let (mut done, mut told) = (0, 0);
        for run in runs.iter().filter(|run| run.verdict != Verdict::Error) {
            match run.effects.as_ref().map(|effects| (&effects.account, effects.counts())) {
                Some((_, Some(counts))) => {
                    truth.known += 1;
                    truth.counts += counts;
                }
                Some((Account::Unknown { .. }, None)) => truth.unknown += 1,
                _ => {}
            }
            match run.completion.as_ref().map(|completion| completion.completed()) {
                Some(Some(completed)) => {
                    told += 1;
                    done += u32::from(completed);
                }
                Some(None) => truth.open += 1,
                None => {}
            }
        }
        let runs = Proportion::new(done, told).ok();
        truth.completed = runs.map(|runs| Completed { runs, interval: method.interval(runs, level) });
        truth
    }

    /// Whether there is anything to show.
    fn says_something(&self) -> bool {
        self.known + self.unknown + self.open > 0 || self.completed.is_some()
    }
}

pub(super) fn disagreements<'a>(cells: &[CellView<'a>]) -> Vec<DisagreementView<'a>> {
    let mut found: Vec<DisagreementView<'a>> = Vec::new();
    for &run in cells.iter().flat_map(|cell| &cell.runs) {
        let mut seen = Vec::new();
        for one in &run.disagreements {
            if seen.contains(&one.kind) {
                continue;
            }
            seen.push(one.kind);
            match found.iter_mut().find(|other| other.kind == one.kind) {
                Some(other) => other.runs += 1,
                None => found.push(DisagreementView {
                    kind: one.kind,
                    runs: 1,
                    example: run,
                    sentence: &one.sentence,
                }),
            }
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.runs), one.kind));
    found
}

pub(super) fn layers<'a>(cells: &[CellView<'a>]) -> Vec<LayerView<'a>> {
    let mut found: Vec<(LayerView<'a>, Confidence)> = Vec::new();
    for &run in cells.iter().flat_map(|cell| &cell.runs) {
        let Some(attribution) = &run.attribution else { continue };
        let place = match found.iter().position(|(other, _)| other.layer == attribution.layer) {
            Some(place) => place,
            None => {
                let layer = LayerView {
                    layer: attribution.layer,
                    runs: [0; 3],
                    confidence: [0; 3],
                    example: run,
                    evidence: &attribution.evidence,
                };
                found.push((layer, attribution.confidence));
                found.len() - 1
            }
        };
        let Some((layer, best)) = found.get_mut(place) else { continue };
        let [fail, not_tested, error] = &mut layer.runs;
        match run.verdict {
            Verdict::Fail => *fail += 1,
            Verdict::NotTested => *not_tested += 1,
            _ => *error += 1,
        }
        let [high, medium, low] = &mut layer.confidence;
        match attribution.confidence {
            Confidence::High => *high += 1,
            Confidence::Medium => *medium += 1,
            Confidence::Low => *low += 1,
        }
        if attribution.confidence > *best {
            *best = attribution.confidence;
            layer.example = run;
            layer.evidence = &attribution.evidence;
        }
    }
    let mut layers: Vec<LayerView<'a>> = found.into_iter().map(|(layer, _)| layer).collect();
    layers.sort_by_key(|layer| (std::cmp::Reverse(layer.total()), layer.layer));
    layers
}

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
    let mut columns = grid::axes(view);
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
