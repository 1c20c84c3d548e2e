//! When something happened.

use crate::domain::Micros;

/// A place in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number of the record: decides what came first, also within one microsecond.
    pub seq: u64,
    /// When.
    pub at: Micros,
}
