//! J16: after a 429 the same operation was sent again before `retry_after` had passed.

use super::Check;
use crate::judge::judgement::{RetryAfter, Violation};
use crate::judge::view::View;
use crate::judge::words::{duration, operation_id};

pub(super) const CHECK: Check = Check { kind: "RETRY_AFTER_VIOLATED", find };

fn find(view: &View<'_>) -> Option<Violation> {
    let early = view.operation.too_early?;
    let sender = view.operation.attempts.get(early.attempt).and_then(|attempt| attempt.sender.clone());
    Some(Violation {
        kind: CHECK.kind,
        tool: view.tool().to_owned(),
        operation: operation_id(view.index),
        message: format!(
            "{} was sent again {} after a 429 that asked for {}",
            view.tool(),
            duration(early.waited),
            duration(early.required),
        ),
        duplicate: None,
        retry_after: Some(RetryAfter {
            required_ms: early.required.as_millis(),
            waited_ms: early.waited.as_millis(),
            sent_by: sender.into_iter().collect(),
        }),
        evidence: Vec::new(),
    })
}
