//! `tool`: the upstream. Errors of its own, calls that it did not answer, two effects of one call.

use super::Case;
use crate::domain::{CallId, Confidence, DisagreementKind, ReasonCode, Verdict};
use crate::trace::{AnswerKind, Event, Record};
use std::collections::HashMap;

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    if run.reason_code == ReasonCode::UpstreamNotStarted {
        return Some((Confidence::High, run.reason.clone()));
    }
    let server = [DisagreementKind::ServerDoubledSingleCall, DisagreementKind::ExecutedThoughAnsweredAsError];
    if let Some(one) = run.disagreements.iter().find(|one| server.contains(&one.kind))
        && run.verdict != Verdict::Fail
    {
        return Some((Confidence::High, one.sentence.clone()));
    }
    let troubles = troubles(case.records);
    let first = troubles.first()?;
    let evidence = match troubles.len() {
        1 => first.clone(),
        more => format!("{first}; {more} such calls"),
    };
    // A write that was executed twice was sent twice, whatever else went wrong.
    let confidence = if run.verdict == Verdict::Fail { Confidence::Low } else { Confidence::Medium };
    Some((confidence, evidence))
}

/// What the upstream did not do as it should, call by call. What a scenario did is not among it.
fn troubles(records: &[Record]) -> Vec<String> {
    let mut tools: HashMap<CallId, &str> = HashMap::new();
    let mut troubles = Vec::new();
    for record in records {
        let (call, what) = match &record.event {
            Event::CallReceived { call, tool, .. } => {
                tools.insert(*call, tool);
                continue;
            }
            Event::UpstreamAnswered { call, answer } => match answer.kind {
                AnswerKind::ErrorResult => (call, "was answered with an error by the upstream"),
                AnswerKind::ProtocolError => (call, "was answered with a JSON-RPC error by the upstream"),
                AnswerKind::Result | AnswerKind::InputRequired => continue,
            },
            Event::UpstreamTimedOut { call } => (call, "was not answered by the upstream in time"),
            Event::UpstreamLost { call } => (call, "lost its upstream"),
            _ => continue,
        };
        let tool = tools.get(call).copied().unwrap_or("a tool");
        troubles.push(format!("call {} of {tool} {what}", call.0));
    }
    troubles
}
