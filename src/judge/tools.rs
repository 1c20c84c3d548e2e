//! What is kept of a tool, and of calls that are no writes.

use super::lookalikes::Lookalikes;
use super::operation::Hold;
use crate::domain::{RawJson, ToolInfo};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A tool that was listed or called.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub name: String,
    pub info: Option<ToolInfo>,
    pub called_unclassified: bool,
    /// Its operations by the place of their latest call.
    pub latest: BTreeMap<u64, usize>,
    pub latest_of: HashMap<usize, u64>,
    /// Its uncertain operations (J25).
    pub lookalikes: Lookalikes,
    /// Its refused operations (J27), by their arguments without credentials, and whether there is one.
    pub refused: Lookalikes,
    pub any_refused: bool,
    /// Uncertain or rejected operations that no other operation has followed yet.
    pub awaiting_other: BTreeSet<usize>,
    /// Operations that a 429 holds off, and how long.
    pub holds: Vec<(usize, Hold)>,
}

/// Calls with the same arguments of a tool that was no write when it was called.
#[derive(Debug, Default)]
pub(super) struct Other {
    pub calls: u64,
    pub unclassified: u64,
    pub arguments: Option<RawJson>,
    pub number: usize,
}

/// An unclassified tool that was called more than once with equal arguments.
#[derive(Debug)]
pub(super) struct Repeat {
    pub tool: usize,
    pub arguments: RawJson,
    pub calls: u64,
}
