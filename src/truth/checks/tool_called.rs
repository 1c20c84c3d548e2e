//! `tool_called`: the agent called a tool with arguments that have the given fields.

use super::super::matching::is_called;
use super::super::words;
use super::{Finding, Seen};
use crate::domain::CheckState;
use crate::suite::Check;

pub(super) fn look(check: &Check, seen: &Seen<'_>) -> Option<Finding> {
    let Check::ToolCalled(which) = check else { return None };
    let called = seen.calls.iter().any(|(tool, arguments)| is_called(which, tool, arguments));
    let (state, reason) = match called {
        true => (CheckState::Held, ""),
        false => (CheckState::Failed, "there was no such call"),
    };
    Some(Finding { check: format!("tool_called {}", words::which(which)), state, reason: reason.to_owned() })
}
