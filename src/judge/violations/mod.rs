//! What makes a run FAIL (J15, J16, J27 to J29): one check a file, one table.

mod acted_on_malformed;
mod duplicate_execution;
mod forbidden_transition;
mod retried_after_refusal;
mod retry_after_violated;
mod secret_leaked;

use super::history::Role;
use super::judgement::{Evidence, Violation};
use super::sender::SentBy;
use super::state::Judge;
use super::view::View;

/// One kind of violation.
pub(super) struct Check {
    /// Its name in files.
    pub kind: &'static str,
    /// The violation, where the operation has it.
    pub find: fn(&View<'_>) -> Option<Violation>,
}

/// Every check; the first that finds something names the operation's outcome (R1).
pub(super) const TABLE: &[Check] = &[
    duplicate_execution::CHECK,
    retry_after_violated::CHECK,
    retried_after_refusal::CHECK,
    acted_on_malformed::CHECK,
    forbidden_transition::CHECK,
];

/// Of how many calls a violation tells; the rest is counted in its message.
const SHOWN: usize = 20;

/// A call as evidence.
fn shown(view: &View<'_>, call: usize, what: String) -> Evidence {
    let role = view.judge.calls.get(call).map(|call| call.role);
    let attempt = match role {
        Some(Role::Write { operation, attempt }) => {
            view.judge.operations.get(operation).and_then(|operation| operation.attempts.get(attempt))
        }
        _ => None,
    };
    Evidence { call: call as u64 + 1, what, sent_by: attempt.and_then(|attempt| attempt.sender.clone()) }
}

/// Says whether somebody else than the model sent these.
fn culprits(evidence: &[Evidence]) -> String {
    let by = |by: SentBy| evidence.iter().any(|shown| shown.sent_by.as_ref().is_some_and(|s| s.by == by));
    let mut text = String::new();
    for (who, what) in [
        (SentBy::DoubleDispatch, "the agent's program, before any answer"),
        (SentBy::Transport, "the client's transport"),
    ] {
        if by(who) {
            text.push_str(&format!("; by {what}, not by the model"));
        }
    }
    text
}

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
