//! One `tools/call`, as the engine keeps it.

use super::super::splice::Gap;
use crate::domain::{ConnectionId, Micros, RawJson, ToolClass};
use crate::scenario::{CallView, Injection, When};
use crate::trace::ApprovalReply;

/// What is due for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The upstream time limit (J7).
    Limit,
    /// The answer that is held back.
    Release,
}

/// How a call came.
pub(super) struct Arrived {
    pub connection: ConnectionId,
    pub id: RawJson,
    /// The connection speaks MCP 2026-07-28 or later: results carry a `resultType`.
    pub modern: bool,
    pub now: Micros,
}

pub(super) struct Call {
    pub connection: ConnectionId,
    pub id: RawJson,
    pub tool: String,
    pub class: ToolClass,
    pub arguments: Option<RawJson>,
    pub continuation: bool,
    pub modern: bool,
    /// The stream ended on which its client waits for the answer.
    pub deserted: bool,
    /// What its client says of a request for its approval, where it goes on after that.
    pub approval: Option<ApprovalReply>,
    /// The id that this attempt has upstream.
    pub correlation: Option<String>,
    /// Where that goes into the call's message.
    pub(super) gap: Option<Gap>,
    pub(super) received: Micros,
    pub(super) limit: Micros,
    pub(super) state: State,
    /// Another request has had its id at the upstream at the same time.
    pub(super) shares_id: bool,
    /// It is at the upstream, which has not answered.
    pub(super) at_upstream: bool,
    pub(super) held: Option<Held>,
}

/// Where a call stands for the agent.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum State {
    Waiting,
    /// It was answered; what the upstream says settles the outcome and goes no further.
    Answered,
    Cancelled,
}

/// An answer that the agent gets later.
pub(super) struct Held {
    pub(super) injection: Injection,
    /// The upstream's own, where it has come.
    pub(super) own: Option<String>,
    pub(super) due: Micros,
}

impl Call {
    pub(super) fn view(&self) -> CallView<'_> {
        CallView {
            tool: &self.tool,
            class: self.class,
            arguments: self.arguments.as_ref(),
            continuation: self.continuation,
        }
    }

    /// When an answer is due that is given so; none where that is now.
    pub(super) fn due(&self, when: When, now: Micros) -> Option<Micros> {
        let time = match when {
            When::Now => return None,
            When::After(time) | When::Started(time) | When::GivenUp(time) | When::Replied(time) => time,
        };
        Some(self.received + time).filter(|due| *due > now)
    }
}
