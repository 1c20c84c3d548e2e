//! `plan.json`: what a matrix planned, and what reports say beside its runs, so that they can be made
//! again from the folder alone.

use crate::domain::{Axis, CellId, CellKey};
use serde::{Deserialize, Serialize};

/// Version of the file's format.
pub const PLAN_VERSION: u32 = 1;

/// The file, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Version of this file's format.
    pub version: u32,
    /// What was run.
    pub suite: SuiteRecord,
    /// Confidence level that was asked for; the rule that ends repeats early is held to it.
    pub level: f64,
    /// The rule that ends repeats early, where there is one.
    pub stopping: Option<StoppingRecord>,
    /// Facts on the environment, in the order in which they are shown.
    pub environment: Vec<FactRecord>,
    /// The cells, in the order of the suite.
    pub cells: Vec<CellRecord>,
    /// Conditions that the results must meet.
    pub gates: Vec<GateRecord>,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteRecord {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub description: String,
    /// SHA-256 over the suite and all that it names.
    pub digest: String,
    /// The most repeats of a cell.
    pub repeats: u32,
    /// Version of the program.
    pub harness_version: String,
}

/// When repeats end early.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StoppingRecord {
    /// Runs that every cell has.
    pub min: u32,
    /// What is known well enough.
    pub until: UntilRecord,
}

/// What is known well enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UntilRecord {
    /// The rate.
    HalfWidth(f64),
    /// The comparisons.
    Decided,
}

/// A named fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactRecord {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A planned cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Its id.
    pub id: CellId,
    /// Its values.
    pub cell: CellKey,
    /// Its repeats, at most.
    pub repeats: u32,
}

/// A gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRecord {
    /// The cells that it is about: all must hold.
    pub cells: Vec<ConditionRecord>,
    /// What must hold.
    pub check: CheckRecord,
}

/// Values on an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConditionRecord {
    /// The axis.
    pub axis: Axis,
    /// The values.
    pub values: Vec<String>,
    /// One of them is there; otherwise none of them.
    pub equal: bool,
}

/// What a gate asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckRecord {
    /// The upper end of the fail rate's interval.
    FailRateUpper(f64),
    /// The fail rate between two values of an axis.
    FailRateChange {
        /// The axis.
        axis: Axis,
        /// Its value before.
        before: String,
        /// Its value after.
        after: String,
        /// `decreases` or `does_not_increase`.
        change: ChangeRecord,
    },
    /// The share of planned runs that were not tested.
    MaxNotTested(f64),
}

/// What a gate wants to see. A word that is not known here is a mistake when it is read: a gate that
/// went missing would hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeRecord {
    /// Fewer fails are shown.
    Decreases,
    /// More fails are not shown.
    DoesNotIncrease,
}
