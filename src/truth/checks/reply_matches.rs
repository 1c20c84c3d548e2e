//! `reply_matches`: the agent's last words match a regular expression.

use super::{Finding, Seen};
use crate::domain::CheckState;
use crate::suite::Check;

pub(super) fn look(check: &Check, seen: &Seen<'_>) -> Option<Finding> {
    let Check::ReplyMatches(pattern) = check else { return None };
    let (state, reason) = match seen.reply {
        Some(reply) if pattern.0.is_match(reply) => (CheckState::Held, ""),
        Some(_) => (CheckState::Failed, "the last reply does not match"),
        None => (CheckState::Failed, "there was no last reply"),
    };
    Some(Finding { check: format!("reply_matches {}", pattern.0.as_str()), state, reason: reason.to_owned() })
}
