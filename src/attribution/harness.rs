//! `harness`: the runner, its limits, permissions, and the agent's program around the model.

use super::{Case, sign};
use crate::domain::{Confidence, ReasonCode};
use crate::judge::SentBy;

const PERMISSION: &[&str] = &[
    "permission denied",
    "not permitted",
    "not allowed",
    "requires approval",
    "approval required",
    "denied by",
    "sandbox",
];

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    match run.reason_code {
        ReasonCode::Internal | ReasonCode::AgentNotStarted | ReasonCode::AgentSawNoTools => {
            Some((Confidence::High, run.reason.clone()))
        }
        ReasonCode::RunTimeout => Some((Confidence::Medium, run.reason.clone())),
        ReasonCode::AgentFailed => Some((Confidence::Medium, run.reason.clone())),
        ReasonCode::NoCall | ReasonCode::NoWrite => {
            let reply = run.turns.iter().rev().find_map(|turn| turn.reply.as_deref()).unwrap_or_default();
            let sign = sign(reply, PERMISSION).or_else(|| sign(&run.agent.stderr, PERMISSION))?;
            Some((Confidence::Medium, format!("nothing was written, and the agent said “{sign}”")))
        }
        _ => sent_by_the_program(case),
    }
}

/// Every repetition was sent by the agent's program or its transport: the model sent one.
fn sent_by_the_program(case: &Case<'_>) -> Option<(Confidence, String)> {
    let violations = &case.judgement?.violations;
    let mut senders = Vec::new();
    for violation in violations {
        let duplicate = violation.duplicate.iter().flat_map(|details| &details.sent_by);
        let early = violation.retry_after.iter().flat_map(|details| &details.sent_by);
        senders.extend(duplicate.chain(early));
    }
    let first = senders.first()?;
    if senders.iter().any(|sender| sender.by == SentBy::Agent) {
        return None;
    }
    let how = match first.by {
        SentBy::Transport => "the client's transport sent the same request again",
        _ => "the agent's program sent one intent several times before any answer",
    };
    let evidence = format!("{how}, {} ms after it was first sent", first.since_sent_ms);
    Some((Confidence::High, evidence))
}
