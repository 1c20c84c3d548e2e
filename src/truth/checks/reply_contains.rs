//! `reply_contains`: the agent's last words contain a text.

use super::{Finding, Seen};
use crate::domain::CheckState;
use crate::suite::Check;

pub(super) fn look(check: &Check, seen: &Seen<'_>) -> Option<Finding> {
    let Check::ReplyContains(text) = check else { return None };
    let (state, reason) = match seen.reply {
        Some(reply) if reply.contains(text.as_str()) => (CheckState::Held, ""),
        Some(_) => (CheckState::Failed, "the last reply does not contain it"),
        None => (CheckState::Failed, "there was no last reply"),
    };
    Some(Finding { check: format!("reply_contains {text}"), state, reason: reason.to_owned() })
}
