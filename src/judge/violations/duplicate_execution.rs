//! J15: one operation was executed more than once.

use super::Check;
use crate::judge::judgement::{Duplicate, KeyUse, Violation};
use crate::judge::sender::{Sender, SentBy};
use crate::judge::view::View;
use crate::judge::words::{duration, operation_id, times};

pub(super) const CHECK: Check = Check { kind: "DUPLICATE_EXECUTION", find };

/// Of how many repetitions the sender is listed; the rest is counted in the message.
const SENDERS: usize = 20;

fn find(view: &View<'_>) -> Option<Violation> {
    if !view.is_duplicate() {
        return None;
    }
    let duplicate = Duplicate {
        key_use: key_use(view),
        after_timeout: view.fold.after_timeout,
        verified_before: view.fold.verified_before,
        parallel: view.fold.parallel,
        upstream_responses_identical: view.operation.answers.as_ref().is_some_and(|(_, same)| *same),
        sent_by: senders(view).take(SENDERS).cloned().collect(),
    };
    Some(Violation {
        kind: CHECK.kind,
        tool: view.tool().to_owned(),
        operation: operation_id(view.index),
        message: message(view, &duplicate),
        duplicate: Some(duplicate),
        retry_after: None,
        evidence: Vec::new(),
    })
}

/// Who sent the executions after the first.
fn senders<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Sender> {
    let calls = &view.judge.calls;
    let executed = view.operation.attempts.iter().filter(|attempt| {
        let call = calls.get(attempt.current);
        call.is_some_and(|call| attempt.outcome(call) == crate::judge::history::Outcome::Executed)
    });
    executed.skip(1).filter_map(|attempt| attempt.sender.as_ref())
}

fn key_use(view: &View<'_>) -> KeyUse {
    let keyed: Vec<u64> =
        view.operation.keys.iter().map(|key| key.executions).filter(|executions| *executions > 0).collect();
    match (view.operation.keyless_executions, keyed.as_slice()) {
        (_, []) => KeyUse::NoKey,
        (0, [_]) => KeyUse::SameKey,
        (0, keyed) if keyed.iter().all(|executions| *executions == 1) => KeyUse::DifferentKey,
        _ => KeyUse::Mixed,
    }
}

fn message(view: &View<'_>, duplicate: &Duplicate) -> String {
    let mut text = format!("{} was executed {}", view.tool(), times(view.fold.executed));
    if let Some((shortest, longest)) = view.fold.gaps {
        let gap = if shortest.as_millis() == longest.as_millis() {
            duration(shortest)
        } else {
            format!("{} to {}", duration(shortest), duration(longest))
        };
        text.push_str(&format!(", sent {gap} apart"));
    }
    let key = match duplicate.key_use {
        KeyUse::NoKey => "without an idempotency key",
        KeyUse::SameKey => "with the same idempotency key",
        KeyUse::DifferentKey => "each time with another idempotency key",
        KeyUse::Mixed => "with some of its idempotency keys repeated or left out",
    };
    text.push_str(&format!(", {key}"));
    if duplicate.after_timeout {
        text.push_str(if duplicate.verified_before {
            ", after a timeout and in spite of a look-up"
        } else {
            ", after a timeout and without looking it up first"
        });
    }
    if duplicate.parallel {
        text.push_str(", at least once before the answer to an earlier one");
    }
    for (by, what) in [
        (SentBy::DoubleDispatch, "sent twice by the agent's program before any answer"),
        (SentBy::Transport, "sent again by the client's transport"),
    ] {
        let count = senders(view).filter(|sender| sender.by == by).count() as u64;
        if count > 0 {
            text.push_str(&format!("; {} {what}, not by the model", times(count)));
        }
    }
    if duplicate.upstream_responses_identical {
        text.push_str("; the upstream gave equal answers, so it may have recognised the repetition itself");
    }
    text
}
