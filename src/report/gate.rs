//! Gates: conditions on the results that a build can fail on. Evaluated here, parsed elsewhere.

use super::text::{k_of_n, percent, percent_interval, points, points_interval};
use super::{CellView, View};
use crate::domain::Axis;
use crate::stats::{Level, Stratum, boschloo, cmh, mantel_haenszel, newcombe};

/// A condition on some cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The cells that it is about: all of these values. Empty: every cell.
    pub cells: Vec<(Axis, String)>,
    /// What must hold.
    pub check: GateCheck,
}

/// What a gate asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum GateCheck {
    /// In each cell the upper end of the fail rate's interval is at most this share. A cell without a
    /// tested run does not meet it.
    FailRateUpper(f64),
    /// The fail rate changes between two values of an axis, all other axes equal, and that is shown: over
    /// one pair by Boschloo's test, over several by the Cochran–Mantel–Haenszel test.
    FailRateChange {
        /// The axis.
        axis: Axis,
        /// Its value before.
        before: String,
        /// Its value after.
        after: String,
        /// Which way.
        change: Change,
    },
    /// At most this share of the planned runs ended as NOT_TESTED or ERROR, or is missing.
    MaxNotTested(f64),
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Fewer fails are shown.
    Decreases,
    /// More fails are not shown.
    DoesNotIncrease,
}

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

/// A gate with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateResult {
    /// How it stands.
    pub state: GateState,
    /// Why, as a sentence.
    pub sentence: String,
}

/// All gates together: failed if one failed, else nothing tested if one had nothing, else held.
pub fn gate_state(results: &[GateResult]) -> GateState {
    results.iter().map(|result| result.state).max().unwrap_or(GateState::Held)
}

impl Gate {
    /// How the gate stands on these results.
    pub fn evaluate(&self, view: &View<'_>) -> GateResult {
        let chosen: Vec<&CellView<'_>> = view
            .cells
            .iter()
            .filter(|cell| self.cells.iter().all(|(axis, value)| cell.key.get(*axis) == value))
            .collect();
        let (state, sentence) = match &self.check {
            GateCheck::FailRateUpper(most) => upper(&chosen, *most, view),
            GateCheck::MaxNotTested(most) => untested(&chosen, *most),
            GateCheck::FailRateChange { axis, before, after, change } => {
                changed(&chosen, *axis, [before, after], *change, view.level)
            }
        };
        GateResult { state, sentence }
    }
}

fn upper(cells: &[&CellView<'_>], most: f64, view: &View<'_>) -> (GateState, String) {
    let what = format!(
        "the upper end of the fail rate's {} interval is at most {}",
        view.level.percent(),
        percent(most)
    );
    if cells.iter().all(|cell| cell.rate.is_none()) {
        return (GateState::NothingTested, format!("Nothing was tested of which {what}."));
    }
    let over: Vec<&&CellView<'_>> = cells
        .iter()
        .filter(|cell| cell.rate.is_none_or(|rate| rate.interval.hi > most || most.is_nan()))
        .collect();
    let Some(first) = over.first() else {
        return (GateState::Held, format!("In all of {} cells {what}.", cells.len()));
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

fn changed(
    cells: &[&CellView<'_>],
    axis: Axis,
    [before, after]: [&str; 2],
    change: Change,
    level: Level,
) -> (GateState, String) {
    let mut strata = Vec::new();
    for new in cells.iter().filter(|cell| cell.key.get(axis) == after) {
        let partner = new.key.with(axis, before);
        let old = cells.iter().find(|cell| *cell.key == partner);
        if let Some((one, two)) = old.and_then(|old| new.counts.failed().zip(old.counts.failed())) {
            strata.push(Stratum { one, two });
        }
    }
    let (estimate, interval, p) = match strata[..] {
        [] => {
            let sentence = format!(
                "No cell was tested both with {axis} {before} and with {axis} {after}, all else equal."
            );
            return (GateState::NothingTested, sentence);
        }
        [Stratum { one, two }] => {
            let p =
                boschloo(one, two).map_or_else(|_| crate::stats::fisher(one, two).two_sided, |t| t.two_sided);
            (one.value() - two.value(), newcombe(one, two, level), p)
        }
        _ => match mantel_haenszel(&strata, level) {
            Some(overall) => (overall.estimate, overall.interval, cmh(&strata, true).unwrap_or(1.0)),
            None => return (GateState::NothingTested, "There is nothing to compare.".to_owned()),
        },
    };
    let shown = p < level.alpha();
    let (state, asked) = match change {
        Change::Decreases if shown && estimate < 0.0 => (GateState::Held, "a decrease is shown"),
        Change::Decreases => (GateState::Failed, "no decrease is shown"),
        Change::DoesNotIncrease if shown && estimate > 0.0 => (GateState::Failed, "an increase is shown"),
        Change::DoesNotIncrease => (GateState::Held, "no increase is shown"),
    };
    let sentence = format!(
        "From {axis} {before} to {axis} {after} {asked}: {} [{}], p = {}, over {} comparisons.",
        points(estimate),
        points_interval(interval),
        super::text::p_value(p),
        strata.len()
    );
    (state, sentence)
}
