//! Who sent an operation again: not only models repeat.

use super::stamp::Stamp;
use crate::domain::ConnectionId;

/// Who is behind a later attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SentBy {
    /// The agent, after it had its answer.
    Agent,
    /// The agent's program, which sent one intent twice before any answer.
    DoubleDispatch,
    /// The client's transport, which sent the same request again.
    Transport,
}

impl SentBy {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            SentBy::Agent => "agent",
            SentBy::DoubleDispatch => "double_dispatch",
            SentBy::Transport => "transport",
        }
    }
}

/// Who sent a later attempt, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Who.
    pub by: SentBy,
    /// The JSON-RPC id is that of the attempt before, on the same connection.
    pub same_rpc_id: bool,
    /// Milliseconds since the attempt before it was sent.
    pub since_sent_ms: u64,
    /// Milliseconds since the attempt before it was answered; none where it was not.
    pub since_answer_ms: Option<u64>,
    /// The MCP version that the client asked for, where it said.
    pub protocol: Option<String>,
}

/// What is known of the attempt before.
pub(super) struct Before<'a> {
    pub rpc_id: &'a str,
    pub connection: ConnectionId,
    pub sent: Stamp,
    /// When the agent no longer waited for it.
    pub settled: Option<Stamp>,
    /// Its connection had ended before its answer came.
    pub stream_broke: bool,
}

/// Tells who sent the attempt that has just arrived.
pub(super) fn attribute(
    before: &Before<'_>,
    rpc_id: &str,
    connection: ConnectionId,
    now: Stamp,
    protocol: Option<String>,
) -> Sender {
    let same_rpc_id = before.rpc_id == rpc_id && before.connection == connection;
    // A broken stream matters only where the answer did not come through it.
    let by = if same_rpc_id || before.stream_broke {
        SentBy::Transport
    } else if before.settled.is_none() {
        SentBy::DoubleDispatch
    } else {
        SentBy::Agent
    };
    Sender {
        by,
        same_rpc_id,
        since_sent_ms: (now.at - before.sent.at).as_millis(),
        since_answer_ms: before
            .settled
            .filter(|_| !before.stream_broke)
            .map(|settled| (now.at - settled.at).as_millis()),
        protocol,
    }
}
