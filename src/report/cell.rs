//! One cell as reports see it, and how its interval was made.

use super::conditions::ConditionalTurns;
use super::second_reader::CellReader;
use super::told::CellTold;
use super::truth::CellTruth;
use crate::domain::{CellId, CellKey, ReasonCode, RunResult};
use crate::stats::{Counts, Interval, Level, Mixture, Proportion, confidence_sequence, wilson};
use std::collections::BTreeMap;

/// How the interval of one cell was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalMethod {
    /// Wilson's score interval, for a number of runs that was fixed in advance.
    Wilson,
    /// The beta-binomial confidence sequence, which holds at any number of runs.
    ConfidenceSequence,
}

impl IntervalMethod {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            IntervalMethod::Wilson => "wilson",
            IntervalMethod::ConfidenceSequence => "beta_binomial_sequence",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            IntervalMethod::Wilson => "Wilson score interval",
            IntervalMethod::ConfidenceSequence => "beta-binomial confidence sequence",
        }
    }

    pub(super) fn interval(self, seen: Proportion, level: Level) -> Interval {
        match self {
            IntervalMethod::Wilson => wilson(seen, level),
            IntervalMethod::ConfidenceSequence => confidence_sequence(seen, level, Mixture::JEFFREYS),
        }
    }
}

/// Failed of tested, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Failed of tested.
    pub failed: Proportion,
    /// Its interval.
    pub interval: Interval,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellView<'a> {
    /// Its id.
    pub id: &'a CellId,
    /// Its values.
    pub key: &'a CellKey,
    /// Its planned repeats; 0 where the suite does not plan it.
    pub planned: u32,
    /// Its finished runs by verdict.
    pub counts: Counts,
    /// PASS without a fault: the scenario has none, or never struck (`baseline_only`).
    pub unstruck: u32,
    /// Planned runs that have not ended.
    pub missing: u32,
    /// Failed of tested; `None` is "no data".
    pub rate: Option<Rate>,
    /// Kinds of violation with the number of runs that have one.
    pub violations: BTreeMap<&'a str, u32>,
    /// Why runs were not tested or failed to run, with their number.
    pub reasons: BTreeMap<ReasonCode, u32>,
    /// What really happened in them, and whether they completed.
    pub truth: CellTruth,
    /// What users were told in them.
    pub told: CellTold,
    /// The same as a second reader read it.
    pub reader: CellReader,
    /// Turns that were said only on a condition.
    pub conditions: Vec<ConditionalTurns>,
    /// The runs, by repeat.
    pub runs: Vec<&'a RunResult>,
}

impl CellView<'_> {
    /// Whether its scenario has a fault: without one, no run can meet any.
    pub fn has_fault(&self) -> bool {
        !matches!(self.key.scenario.as_str(), "none" | "F4")
    }
}
