//! What makes a run FAIL (J15, J16): one check a file, one table.

mod duplicate_execution;
mod retry_after_violated;

use super::judgement::Violation;
use super::refresh::View;

/// One kind of violation.
pub(super) struct Check {
    /// Its name in files.
    pub kind: &'static str,
    /// The violation, where the operation has it.
    pub find: fn(&View<'_>) -> Option<Violation>,
}

/// Every check; the first that finds something names the operation's outcome (R1).
pub(super) const TABLE: &[Check] = &[duplicate_execution::CHECK, retry_after_violated::CHECK];
