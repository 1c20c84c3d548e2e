//! What reports are made of.

use super::Timeline;
use crate::domain::{CellId, CellKey, RunId, RunResult};
use crate::stats::Level;
use crate::suite::Gate;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The results of one matrix, or of several merged ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What was run.
    pub suite: SuiteInfo,
    /// Versions, models and digests, in the order in which they are to be shown.
    pub environment: Vec<Fact>,
    /// When the report was made, RFC 3339.
    pub generated_at: String,
    /// The cells that the suite plans, in its order.
    pub cells: Vec<PlannedCell>,
    /// The finished runs, in any order. Each run once.
    pub runs: Vec<RunResult>,
    /// Conditions that they must meet.
    pub gates: Vec<Gate>,
    /// The results folders that they are merged from; empty where they are those of one matrix.
    pub sources: Vec<Source>,
    /// The matrix was stopped before all planned runs had ended.
    pub interrupted: bool,
    /// What happened in runs, for as many as a page can carry; may be empty.
    pub timelines: BTreeMap<RunId, Timeline>,
    /// Traces that are not what was written when their runs ended. Any of them fails the report.
    pub broken_traces: Vec<BrokenTrace>,
    /// What a reader must know before any number, one sentence each: that nothing was measured, or that
    /// what is merged is not the same.
    pub marks: Vec<String>,
}

/// A trace that was changed after its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTrace {
    /// Its file, below the results folder.
    pub name: String,
    /// What is wrong with it, as a sentence.
    pub problem: String,
}

/// A results folder that merged results come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The folder, as it was given.
    pub name: String,
    /// Digest of the suite that it was made from.
    pub digest: String,
    /// When its matrix was started, RFC 3339.
    pub started_at: String,
    /// The merged repeats that its runs have: repeat 1 of the second folder follows the last one of the first.
    pub repeats: RangeInclusive<u32>,
}

/// What is known of the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteInfo {
    /// Its name.
    pub name: String,
    /// Its description; may be empty.
    pub description: String,
    /// SHA-256 over the suite and all that it names, hexadecimal.
    pub digest: String,
    /// Repeats a cell, as planned.
    pub repeats: u32,
    /// Repeats ended early by a rule (`until`), so that intervals must hold at any number of runs.
    pub early_stop: bool,
    /// Version of the program that made the runs.
    pub version: String,
}

/// A named fact on the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// e.g. `model qwen3:14b`
    pub name: String,
    /// e.g. its digest.
    pub value: String,
}

/// A cell that the suite plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCell {
    /// Its id.
    pub id: CellId,
    /// Its values.
    pub key: CellKey,
    /// Its planned repeats.
    pub repeats: u32,
}

/// What a user can choose about a report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Confidence level of all intervals; decisions are made at 1 − level.
    pub level: Level,
    /// CSV with a byte order mark, for Excel.
    pub excel: bool,
    /// Columns of the terminal; `None` where there is no terminal and lines may be as long as they like.
    pub width: Option<u16>,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: Level::P95, excel: false, width: None }
    }
}
