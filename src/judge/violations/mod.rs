//! What makes a run FAIL (J15, J16): one check a file, one table.

mod duplicate_execution;
mod retry_after_violated;
mod secret_leaked;

use super::judgement::Violation;
use super::refresh::View;
use super::state::Judge;

/// One kind of violation.
pub(super) struct Check {
    /// Its name in files.
    pub kind: &'static str,
    /// The violation, where the operation has it.
    pub find: fn(&View<'_>) -> Option<Violation>,
}

/// Every check; the first that finds something names the operation's outcome (R1).
pub(super) const TABLE: &[Check] = &[duplicate_execution::CHECK, retry_after_violated::CHECK];

/// One kind of violation that belongs to no operation.
pub(super) struct RunCheck {
    /// Its name in files.
    pub kind: &'static str,
    /// The violation, where the run has it.
    pub find: fn(&Judge) -> Option<Violation>,
}

/// Every check of a run as a whole.
pub(super) const OF_RUN: &[RunCheck] = &[secret_leaked::CHECK];

pub(super) use secret_leaked::message as secrets_seen;
