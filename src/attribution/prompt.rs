//! `prompt`: the agent asked back instead of calling a tool.

use super::Case;
use crate::domain::{Claim, Confidence, ReasonCode};

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    if !matches!(run.reason_code, ReasonCode::NoCall | ReasonCode::NoWrite) {
        return None;
    }
    let asked = run.turns.iter().find_map(|turn| {
        let reply = turn.reply.as_deref()?.trim();
        match turn.claim.as_ref().map(|read| read.claim) {
            Some(Claim::Asks) => Some((Confidence::High, reply)),
            _ if reply.ends_with('?') => Some((Confidence::Medium, reply)),
            _ => None,
        }
    });
    let (confidence, reply) = asked?;
    let short: String = reply.chars().take(160).collect();
    Some((confidence, format!("nothing was written, and the agent asked back: {short}")))
}
