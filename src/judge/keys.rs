//! What became of each idempotency key (R1). Information; no verdict depends on it.

use super::history::Outcome;
use super::judgement::{KeyState, KeySummary};
use super::view::View;
use super::words::operation_id;

/// One entry for every key of an operation, in the order of their first use.
pub(super) fn summary(view: &View<'_>) -> Vec<KeySummary> {
    let keys = &view.operation.keys;
    if keys.is_empty() {
        return Vec::new();
    }
    let mut entries: Vec<KeySummary> = keys
        .iter()
        .map(|key| KeySummary {
            key: key.text.clone(),
            operation: operation_id(view.index),
            attempts: 0,
            state: KeyState::default(),
        })
        .collect();
    let last = view.operation.attempts.len().saturating_sub(1);
    let mut executed = false;
    for (number, attempt) in view.operation.attempts.iter().enumerate() {
        let call = view.judge.calls.get(attempt.current);
        let executes = call.is_some_and(|call| attempt.outcome(call) == Outcome::Executed);
        if let Some(entry) = attempt.key.and_then(|key| entries.get_mut(key)) {
            let state = &mut entry.state;
            state.record_existed |= entry.attempts == 0 && executed;
            state.was_overwritten |= executed && executes;
            state.did_agent_read_before = attempt.read_before > 0;
            // Neither another attempt nor a read followed.
            state.agent_gave_up_silently =
                number == last && view.fold.last_failed.is_some_and(|told| told.seq >= view.judge.read_seen);
            entry.attempts += 1;
        }
        executed |= executes;
    }
    entries
}
