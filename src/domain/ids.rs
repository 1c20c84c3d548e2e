//! Identifiers. Each is stable: made from what it names, never from a counter that a resumed
//! matrix would hand out again.

use super::{Axis, CellKey, Present, digest_all};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A cell of the matrix, named after its values on all axes, so that the same cell has the
/// same id in another night's results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub String);

impl CellId {
    /// The first ten hexadecimal digits of the SHA-256 over the lengths and values of the key.
    pub fn of(key: &CellKey) -> CellId {
        // Cells had ids before there was this axis; where it is plain, they keep them.
        let counts = |axis: &Axis| *axis != Axis::Present || key.present != Present::Plain.name();
        let mut id = digest_all(Axis::ALL.into_iter().filter(counts).map(|axis| key.get(axis)));
        id.truncate(10);
        CellId(id)
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One run: a cell and a repeat. Safe as a file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl RunId {
    /// The run of `cell` with that repeat, counted from 1.
    pub fn of(cell: &CellId, repeat: u32) -> RunId {
        RunId(format!("{}-r{repeat:03}", cell.0))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One `tools/call` of a run, counted from 1 in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// One connection of an MCP client to the proxy, counted from 1. A run can have many: some
/// agents start their server anew for every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u32);
