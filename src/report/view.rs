//! What there is to say of results, computed once for all formats.

use super::agents::{self, AgentView};
use super::cell::CellView;
use super::compare::{self, Comparison, PatchSummary};
use super::conditions::ConditionalTurns;
use super::gate::{self, GateResult};
use super::interval::{IntervalMethod, Rate};
use super::rebuilds::{self, Rebuilt};
use super::second_reader::{CellReader, SecondReaderSummary};
use super::told::CellTold;
use super::truth::{self, CellTruth, DisagreementView, LayerView};
use super::{Options, Results};
use crate::domain::{Axis, CellId, Present, ReasonCode, RunResult, Verdict};
use crate::stats::{Counts, Level};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A reason for NOT_TESTED or ERROR, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason<'a> {
    /// The reason.
    pub code: ReasonCode,
    /// Runs with it.
    pub runs: u32,
    /// Cells with such a run.
    pub cells: u32,
    /// One of the runs: the first in the order of cells and repeats.
    pub example: &'a RunResult,
}

/// A kind of violation, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ViolationKind<'a> {
    /// e.g. `DUPLICATE_EXECUTION`
    pub kind: &'a str,
    /// Runs with it.
    pub runs: u32,
    /// Operations with it.
    pub operations: u32,
    /// One of the runs.
    pub example: &'a RunResult,
}

/// Everything that a report says.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// What it is made of.
    pub results: &'a Results,
    /// Confidence level of all intervals.
    pub level: Level,
    /// How the intervals of cells are made.
    pub method: IntervalMethod,
    /// Axes on which cells differ, in column order: the columns of every table.
    pub varied: Vec<Axis>,
    /// Axes on which all cells agree, with their value.
    pub constant: Vec<(Axis, &'a str)>,
    /// All runs by verdict.
    pub totals: Counts,
    /// All planned runs.
    pub planned: u32,
    /// Planned runs that have not ended.
    pub missing: u32,
    /// When the first and the last of the runs were started; none without a run.
    pub measured: Option<(Timestamp, Timestamp)>,
    /// The cells, in the order of the suite; cells that it does not plan follow.
    pub cells: Vec<CellView<'a>>,
    /// Every patch against `off` with all other axes equal.
    pub comparisons: Vec<Comparison>,
    /// The comparisons of each patch together.
    pub patches: Vec<PatchSummary>,
    /// Why runs were not tested, the most frequent first.
    pub not_tested: Vec<Reason<'a>>,
    /// Why runs ended with an error, the most frequent first.
    pub errors: Vec<Reason<'a>>,
    /// What was violated, the most frequent first.
    pub violations: Vec<ViolationKind<'a>>,
    /// Where judge and upstream differ, the most frequent first.
    pub disagreements: Vec<DisagreementView<'a>>,
    /// The layers in which runs failed, the most frequent first.
    pub layers: Vec<LayerView<'a>>,
    /// What is known of the agents themselves.
    pub agents: Vec<AgentView<'a>>,
    /// The second readers of what agents said.
    pub readers: Vec<SecondReaderSummary>,
    /// What agents did when their server was rebuilt.
    pub rebuilt: Vec<Rebuilt<'a>>,
    /// How the gates stand.
    pub gates: Vec<GateResult>,
}

impl<'a> View<'a> {
    /// Everything there is to say of `results`.
    pub fn of(results: &'a Results, options: &Options) -> View<'a> {
        let level = options.level;
        let method = match results.suite.early_stop {
            true => IntervalMethod::ConfidenceSequence,
            false => IntervalMethod::Wilson,
        };
        let cells = cells(results, method, level);
        let (varied, constant) = axes(&cells);
        let comparisons = compare::comparisons(&cells, Axis::Patch, "off", method, level);
        let patches = compare::patches(&comparisons, level);
        let runs = || cells.iter().flat_map(|cell| cell.runs.iter().copied());
        let mut gates: Vec<GateResult> =
            results.gates.iter().map(|gate| gate::evaluate(gate, &cells, method, level)).collect();
        gates.extend(gate::traces(&results.broken_traces));
        View {
            results,
            level,
            method,
            varied,
            constant,
            totals: cells.iter().map(|cell| cell.counts).sum(),
            planned: cells.iter().fold(0, |sum, cell| sum.saturating_add(cell.planned)),
            missing: cells.iter().fold(0, |sum, cell| sum.saturating_add(cell.missing)),
            measured: measured(&results.runs),
            comparisons,
            patches,
            not_tested: reasons(&cells, Verdict::NotTested),
            errors: reasons(&cells, Verdict::Error),
            violations: violations(&cells),
            disagreements: truth::disagreements(runs()),
            layers: truth::layers(runs()),
            agents: agents::of(&cells),
            readers: SecondReaderSummary::of(runs()),
            rebuilt: rebuilds::of(&results.runs),
            cells,
            gates,
        }
    }

    /// The cell with that id.
    pub fn cell(&self, id: &CellId) -> Option<&CellView<'a>> {
        self.cells.iter().find(|cell| cell.id == id)
    }
}

fn measured(runs: &[RunResult]) -> Option<(Timestamp, Timestamp)> {
    let starts = || runs.iter().filter_map(|run| run.started_at.parse::<Timestamp>().ok());
    starts().min().zip(starts().max())
}

fn cells(results: &Results, method: IntervalMethod, level: Level) -> Vec<CellView<'_>> {
    let mut cells: Vec<CellView<'_>> = Vec::with_capacity(results.cells.len());
    let mut places: HashMap<&CellId, usize> = HashMap::new();
    let planned = results.cells.iter().map(|cell| (&cell.id, &cell.key, cell.repeats));
    // A run of a cell that is not planned is still a run: it is shown, and not dropped.
    let unplanned = results.runs.iter().map(|run| (&run.cell_id, &run.key, 0));
    for (id, key, planned) in planned.chain(unplanned) {
        places.entry(id).or_insert_with(|| {
            cells.push(CellView {
                id,
                key,
                planned,
                counts: Counts::default(),
                unstruck: 0,
                missing: 0,
                rate: None,
                violations: BTreeMap::new(),
                reasons: BTreeMap::new(),
                truth: CellTruth::default(),
                told: CellTold::default(),
                reader: CellReader::default(),
                conditions: Vec::new(),
                runs: Vec::new(),
            });
            cells.len() - 1
        });
    }
    for run in &results.runs {
        if let Some(cell) = places.get(&run.cell_id).and_then(|place| cells.get_mut(*place)) {
            cell.runs.push(run);
        }
    }
    for cell in &mut cells {
        cell.runs.sort_by(|a, b| (a.repeat, &a.run_id).cmp(&(b.repeat, &b.run_id)));
        cell.told = cell.runs.iter().filter_map(|run| run.honesty).collect();
        cell.reader = CellReader::of(&cell.runs);
        cell.conditions = ConditionalTurns::of(&cell.runs);
        cell.counts = cell.runs.iter().map(|run| run.verdict).collect();
        let unstruck =
            |run: &&RunResult| run.verdict == Verdict::Pass && run.reason_code == ReasonCode::BaselineOnly;
        cell.unstruck = cell.runs.iter().map(|run| u32::from(unstruck(run))).sum();
        cell.missing = cell.planned.saturating_sub(cell.counts.total());
        cell.rate =
            cell.counts.failed().map(|failed| Rate { failed, interval: method.interval(failed, level) });
        cell.truth = CellTruth::of(&cell.runs, method, level);
        for run in &cell.runs {
            for kind in run.violations.iter().map(String::as_str).collect::<BTreeSet<_>>() {
                *cell.violations.entry(kind).or_insert(0) += 1;
            }
            if !run.verdict.is_tested() {
                *cell.reasons.entry(run.reason_code).or_insert(0) += 1;
            }
        }
    }
    cells
}

fn axes<'a>(cells: &[CellView<'a>]) -> (Vec<Axis>, Vec<(Axis, &'a str)>) {
    let (mut varied, mut constant) = (Vec::new(), Vec::new());
    let Some(first) = cells.first() else { return (varied, constant) };
    for axis in Axis::ALL {
        let value = first.key.get(axis);
        if cells.iter().any(|cell| cell.key.get(axis) != value) {
            varied.push(axis);
        } else if axis != Axis::Present || value != Present::Plain.name() {
            // How failures are told is worth a word only where it is not as everywhere else.
            constant.push((axis, value));
        }
    }
    (varied, constant)
}

fn reasons<'a>(cells: &[CellView<'a>], verdict: Verdict) -> Vec<Reason<'a>> {
    let mut found: Vec<Reason<'a>> = Vec::new();
    for cell in cells {
        let mut seen_here: Vec<ReasonCode> = Vec::new();
        for &run in cell.runs.iter().filter(|run| run.verdict == verdict) {
            let first_here = !seen_here.contains(&run.reason_code);
            seen_here.push(run.reason_code);
            match found.iter_mut().find(|reason| reason.code == run.reason_code) {
                Some(reason) => {
                    reason.runs += 1;
                    reason.cells += u32::from(first_here);
                }
                None => found.push(Reason { code: run.reason_code, runs: 1, cells: 1, example: run }),
            }
        }
    }
    found.sort_by_key(|reason| std::cmp::Reverse(reason.runs));
    found
}

fn violations<'a>(cells: &[CellView<'a>]) -> Vec<ViolationKind<'a>> {
    let mut found: Vec<ViolationKind<'a>> = Vec::new();
    for &run in cells.iter().flat_map(|cell| &cell.runs) {
        let mut seen_here: Vec<&str> = Vec::new();
        for kind in &run.violations {
            let kind = kind.as_str();
            let first_here = !seen_here.contains(&kind);
            seen_here.push(kind);
            match found.iter_mut().find(|violation| violation.kind == kind) {
                Some(violation) => {
                    violation.runs += u32::from(first_here);
                    violation.operations += 1;
                }
                None => found.push(ViolationKind { kind, runs: 1, operations: 1, example: run }),
            }
        }
    }
    found.sort_by_key(|violation| std::cmp::Reverse(violation.runs));
    found
}
