//! How gates stand on results. What they ask for is read in the room `suite`.

use super::compare::{self, Arms, Comparison, Decision};
use super::text::{counted, k_of_n, p_value, percent, percent_interval, points, points_interval};
use super::{BrokenTrace, CellView, IntervalMethod};
use crate::stats::{Level, Stratum, cmh, mantel_haenszel};
use crate::suite::{Change, Gate, GateCheck};

/// How a gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateState {
    /// It holds.
    Held,
    /// Nothing that it is about was tested.
    NothingTested,
    /// It does not hold.
    Failed,
}

impl GateState {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            GateState::Held => "held",
            GateState::NothingTested => "nothing_tested",
            GateState::Failed => "failed",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            GateState::Held => "held",
            GateState::NothingTested => "NOTHING TESTED",
            GateState::Failed => "FAILED",
        }
    }
}

/// A gate with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateResult {
    /// The gate in the words of the command line.
    pub gate: String,
    /// How it stands.
    pub state: GateState,
    /// Why, as a sentence.
    pub sentence: String,
}

/// All gates together: failed if one failed, else nothing tested if one had nothing, else held.
pub fn gate_state(results: &[GateResult]) -> GateState {
    results.iter().map(|result| result.state).max().unwrap_or(GateState::Held)
}

/// How a gate stands on these cells, whose intervals are made by that method at that level.
pub fn evaluate(gate: &Gate, cells: &[CellView<'_>], method: IntervalMethod, level: Level) -> GateResult {
    let chosen: Vec<&CellView<'_>> = cells.iter().filter(|cell| gate.cells.keeps(cell.key)).collect();
    let (state, sentence) = match &gate.check {
        _ if chosen.is_empty() => {
            (GateState::NothingTested, "These results have no cell that the gate is about.".to_owned())
        }
        GateCheck::FailRateUpper(most) => upper(&chosen, *most, level),
        GateCheck::MaxNotTested(most) => untested(&chosen, *most),
        GateCheck::FailRateChange { axis, before, after, change } => {
            let pairs: Vec<_> = chosen
                .iter()
                .filter(|new| new.key.get(*axis) == after)
                .filter_map(|new| {
                    let partner = new.key.with(*axis, before);
                    chosen.iter().find(|cell| *cell.key == partner).map(|old| (*old, *new))
                })
                .collect();
            let found = compare::decide(&pairs, Arms::along(*axis), method, level);
            changed(&found, &format!("from {axis} {before} to {axis} {after}"), *change, 0, level)
        }
        GateCheck::FailRateSince(_) => (
            GateState::NothingTested,
            "The gate is about old and new results, and these are the results of one matrix.".to_owned(),
        ),
    };
    GateResult { gate: gate.to_string(), state, sentence }
}

/// The condition that no suite has to ask for: shown where it does not hold.
pub(super) fn traces(broken: &[BrokenTrace]) -> Option<GateResult> {
    let first = broken.first()?;
    Some(GateResult {
        gate: "traces are as they were written".to_owned(),
        state: GateState::Failed,
        sentence: format!(
            "{} changed after the run; do not rely on these results. {}: {}. `nochmal trace verify` tells all.",
            counted(broken.len() as u64, "trace was", "traces were"),
            first.name,
            first.problem
        ),
    })
}

fn upper(cells: &[&CellView<'_>], most: f64, level: Level) -> (GateState, String) {
    let what =
        format!("the upper end of the fail rate's {} interval is at most {}", level.percent(), percent(most));
    if cells.iter().all(|cell| cell.rate.is_none()) {
        return (GateState::NothingTested, format!("Nothing was tested of which {what}."));
    }
    let over: Vec<&&CellView<'_>> = cells
        .iter()
        .filter(|cell| cell.rate.is_none_or(|rate| rate.interval.hi > most || most.is_nan()))
        .collect();
    let Some(first) = over.first() else {
        return (GateState::Held, format!("In {} {what}.", all(cells.len())));
    };
    let seen = match first.rate {
        Some(rate) => {
            format!("failed {}, interval {}", k_of_n(rate.failed), percent_interval(rate.interval))
        }
        None => "no data".to_owned(),
    };
    let sentence = format!(
        "Not in all cells {what}: {} of {} exceed it, the first {} ({}): {seen}.",
        over.len(),
        cells.len(),
        first.id,
        first.key
    );
    (GateState::Failed, sentence)
}

fn all(cells: usize) -> String {
    if cells == 1 { "the one cell".to_owned() } else { format!("all {cells} cells") }
}

fn untested(cells: &[&CellView<'_>], most: f64) -> (GateState, String) {
    let (mut runs, mut lost) = (0_u64, 0_u64);
    for cell in cells {
        let beside = [cell.counts.not_tested, cell.counts.error, cell.missing].map(u64::from);
        runs += u64::from(cell.counts.total()) + u64::from(cell.missing);
        lost += beside.iter().sum::<u64>();
    }
    if runs == 0 {
        return (
            GateState::NothingTested,
            "No run is planned in the cells that this gate is about.".to_owned(),
        );
    }
    let share = lost as f64 / runs as f64;
    let state = if share <= most { GateState::Held } else { GateState::Failed };
    let sentence = format!(
        "{lost} of {runs} runs were not tested ({}: NOT_TESTED, ERROR or missing); at most {} may be.",
        percent(share),
        percent(most)
    );
    (state, sentence)
}

/// Over one pair by its own test; over several by the Cochran–Mantel–Haenszel test, and where repeats
/// ended early, for which that test does not hold, by the adjusted decisions of the pairs. `alone` is the
/// number of cells that have no partner.
pub(super) fn changed(
    found: &[Comparison],
    from_to: &str,
    change: Change,
    alone: usize,
    level: Level,
) -> (GateState, String) {
    let tested: Vec<&Comparison> = found.iter().filter(|pair| pair.difference.is_some()).collect();
    let count = |decision| tested.iter().filter(|pair| pair.decision == decision).count() as u64;
    let (fewer, more) = (count(Decision::FewerFails), count(Decision::MoreFails));
    let strata: Vec<Stratum> = tested
        .iter()
        .filter_map(|pair| pair.after.zip(pair.before))
        .map(|(one, two)| Stratum { one, two })
        .collect();
    let fixed = tested.iter().all(|pair| pair.difference.is_some_and(|seen| seen.fisher.is_some()));
    let (falls, rises, numbers) = match &tested[..] {
        [] => {
            let sentence = format!("No cell was tested both before and after, all else equal, {from_to}.");
            return (GateState::NothingTested, sentence);
        }
        [one] => {
            let numbers = one.difference.map(|seen| {
                let (estimate, interval) = (points(seen.estimate), points_interval(seen.interval));
                format!("{estimate} [{interval}], p = {}", p_value(seen.p))
            });
            (fewer > 0, more > 0, numbers.unwrap_or_default())
        }
        _ if fixed => {
            let Some(overall) = mantel_haenszel(&strata, level) else {
                return (GateState::NothingTested, "There is nothing to compare.".to_owned());
            };
            let p = cmh(&strata, true).unwrap_or(1.0);
            let shown = p < level.alpha();
            let interval = compare::wide(overall.interval)
                .map(|i| format!(" [{}]", points_interval(i)))
                .unwrap_or_default();
            let numbers = format!("{}{interval}, p = {}", points(overall.estimate), p_value(p));
            // A rise in one cell must not hide behind a fall in the others.
            (shown && overall.estimate < 0.0, shown && overall.estimate > 0.0 || more > 0, numbers)
        }
        _ => (fewer > 0 && more == 0, more > 0, format!("fewer fails in {fewer}, more fails in {more}")),
    };
    let (state, asked) = match change {
        Change::Decreases if falls => (GateState::Held, "a decrease is shown"),
        Change::Decreases => (GateState::Failed, "no decrease is shown"),
        Change::DoesNotIncrease if rises => (GateState::Failed, "an increase is shown"),
        Change::DoesNotIncrease => (GateState::Held, "no increase is shown"),
    };
    let mut over = counted(tested.len() as u64, "comparison", "comparisons");
    if more > 0 && tested.len() > 1 {
        over.push_str(&format!(", {more} of them with more fails"));
    }
    let without = (found.len() - tested.len()) as u64;
    if without > 0 {
        over.push_str(&format!(" ({without} more without data)"));
    }
    if alone > 0 {
        over.push_str(&format!("; {} only on one side", counted(alone as u64, "cell is", "cells are")));
    }
    (state, format!("{}{} {asked}: {numbers}, over {over}.", from_to[..1].to_uppercase(), &from_to[1..]))
}
