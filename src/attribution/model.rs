//! `model`: the rest.

use super::Case;
use crate::domain::{Confidence, Verdict};
use crate::judge::SentBy;

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let violations = case.judgement.map(|judgement| judgement.violations.as_slice()).unwrap_or_default();
    let by_agent = violations.iter().any(|violation| {
        let duplicate = violation.duplicate.iter().flat_map(|details| &details.sent_by);
        let early = violation.retry_after.iter().flat_map(|details| &details.sent_by);
        duplicate.chain(early).any(|sender| sender.by == SentBy::Agent)
    });
    match (by_agent, case.run.verdict) {
        (true, _) => {
            let evidence = "the agent had its answer before it sent the write again";
            Some((Confidence::High, evidence.to_owned()))
        }
        (false, Verdict::Fail) => Some((Confidence::Medium, case.run.reason.clone())),
        _ => Some((Confidence::Low, format!("no other layer shows a sign: {}", case.run.reason))),
    }
}
