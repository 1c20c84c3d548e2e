//! One cell as reports see it.

use super::conditions::ConditionalTurns;
use super::interval::Rate;
use super::second_reader::CellReader;
use super::told::CellTold;
use super::truth::CellTruth;
use crate::domain::{CellId, CellKey, ReasonCode, RunResult};
use crate::scenario;
use crate::stats::Counts;
use std::collections::BTreeMap;

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
        scenario::has_fault(&self.key.scenario)
    }
}
