//! What is worth knowing and violates nothing: one check a file, one table.
//!
//! `UNCLASSIFIED_REPEAT` is told of a tool, not of an operation, and stands in `judgement.rs`.

mod abandoned_after_failure;
mod approval_requested;
mod execution_unknown;
mod other_call_during_retry_after;
mod other_write_after_uncertain_attempt;
mod possible_duplicate_different_arguments;
mod recovered_by_retry;
mod unverified_after_timeout;
mod upstream_rejected;
mod verified_no_retry;
mod write_without_key;

use super::view::View;

/// One kind of observation.
pub(super) struct Check {
    /// Its name in files.
    pub kind: &'static str,
    /// Whether the operation has it.
    pub holds: fn(&View<'_>) -> bool,
    /// What is said of it, where it has.
    pub say: fn(&View<'_>) -> String,
}

/// Every check.
pub(super) const TABLE: &[Check] = &[
    abandoned_after_failure::CHECK,
    approval_requested::CHECK,
    execution_unknown::CHECK,
    other_call_during_retry_after::CHECK,
    other_write_after_uncertain_attempt::CHECK,
    possible_duplicate_different_arguments::CHECK,
    recovered_by_retry::CHECK,
    unverified_after_timeout::CHECK,
    upstream_rejected::CHECK,
    verified_no_retry::CHECK,
    write_without_key::CHECK,
];

/// The observations that name an operation's outcome (R1): the first that it has, unless it has
/// a violation.
pub(super) const OUTCOMES: &[&str] = &[
    execution_unknown::CHECK.kind,
    upstream_rejected::CHECK.kind,
    possible_duplicate_different_arguments::CHECK.kind,
    verified_no_retry::CHECK.kind,
    unverified_after_timeout::CHECK.kind,
    recovered_by_retry::CHECK.kind,
    abandoned_after_failure::CHECK.kind,
    approval_requested::CHECK.kind,
];
