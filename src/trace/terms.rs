//! The words in which events are told: what a scenario did, what an upstream answered, what an agent was told.

use crate::domain::RawJson;
use crate::domain::json::digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Name and version of the other side, as it tells them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The MCP version asked for (client) or agreed on (server).
    pub protocol: Option<String>,
}

/// What a scenario did to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Executed; the agent is told of a timeout (F1).
    TimeoutAfterExecution,
    /// Answered with 429, not sent (F2).
    RateLimited,
    /// Answered with half a JSON text, not sent (F3).
    Truncated,
    /// Answered with 500, not sent (F5, chaos).
    ServerError,
    /// Nothing was injected (F4).
    PassThrough,
    /// The upstream was rebuilt at this call (R1 to R5).
    Rebuilt,
    /// Not sent; the agent is told of a timeout (T1).
    TimeoutBeforeDispatch,
    /// Executed; the agent gets half of the answer (T3).
    HalfAnswer,
    /// Executed; the answer is held back until the agent has given up (T4).
    LateAnswer,
    /// Executed; the connection breaks in place of the answer (T5).
    ConnectionCut,
    /// Executed; the agent gets an answer that says or suggests that it was not (E1).
    FailureAfterExecution,
    /// Not sent; the connection was refused (L1).
    ConnectionRefused,
    /// Not sent; 401 (A1).
    Unauthorized,
    /// Not sent; 403 (A2).
    Forbidden,
    /// Not sent; a person refused it (A3).
    ApprovalRefused,
    /// Executed; part of the answer was changed (M1, M2, M5).
    Altered,
    /// Executed; success and failure in one answer (M3).
    Contradiction,
    /// Not sent; an answer without any contract (M4).
    NoContract,
    /// Sent; the connection breaks while the work goes on (I1).
    Interrupted,
    /// Sent; connection and upstream are gone (I2).
    Killed,
    /// Not sent; the agent gets an answer that a suite describes.
    Withheld,
    /// Sent; the agent gets an answer that a suite describes.
    Replaced,
}

/// How an approval is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    /// By the call itself: its client cannot elicit.
    Call,
    /// By a request `elicitation/create` to the client.
    Elicitation,
    /// By `resultType: "input_required"` (MCP 2026-07-28).
    InputRequired,
}

/// What a client says of a request for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReply {
    /// `accept`: the approver is to be asked.
    Submitted,
    /// `decline`
    Declined,
    /// `cancel`
    Cancelled,
    /// An error, or nothing that can be read.
    Failed,
}

impl ApprovalReply {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            ApprovalReply::Submitted => "submits it",
            ApprovalReply::Declined => "declines to submit it",
            ApprovalReply::Cancelled => "cancels it",
            ApprovalReply::Failed => "cannot say what becomes of it",
        }
    }
}

/// How the upstream answered (J4, J5, J7, J9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// A result without `isError: true` (J4).
    Result,
    /// A result with `isError: true` (J5).
    ErrorResult,
    /// A JSON-RPC error (J7).
    ProtocolError,
    /// `resultType: "input_required"` (J9).
    InputRequired,
}

/// An answer of the upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// How.
    pub kind: AnswerKind,
    /// The `result` or `error` member.
    pub body: Body,
}

/// The text of an answer, cut where it is large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The text; absent where it is longer than the trace keeps.
    pub json: Option<RawJson>,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256, hexadecimal, over its canonical form: equal values have equal digests (J1).
    pub digest: String,
}

impl Body {
    /// A value, whose text is kept where it has at most so many bytes.
    pub fn of(value: &RawValue, longest: usize) -> Body {
        let text = value.get();
        Body {
            json: (text.len() <= longest).then(|| RawJson::from_raw(value)),
            bytes: text.len() as u64,
            digest: digest(text),
        }
    }
}

/// What the agent was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// A result without `isError: true`.
    Result,
    /// The upstream's own result with `isError: true`.
    ErrorResult,
    /// The upstream's own JSON-RPC error.
    ProtocolError,
    /// `input_required` (J9).
    InputRequired,
    /// That it timed out: by F1, or by the upstream time limit (J7).
    Timeout,
    /// 429 (F2).
    RateLimited {
        /// What it announced, in milliseconds.
        retry_after_ms: u64,
    },
    /// Something that breaks the tool's contract: half a JSON text, a page (F3, T3, M4).
    Malformed,
    /// A server error (F5, chaos).
    ServerError,
    /// That the connection to the server broke during the call.
    ConnectionLost,
    /// `UPSTREAM_UNAVAILABLE`: the upstream was gone before the call, which was not sent.
    Unavailable,
    /// That the code which would answer is not the code that was approved; not sent.
    StaleEpoch,
    /// That the process was replaced during the call, and nobody knows what became of it.
    EpochChanged,
    /// That no connection came about, so that nothing was sent (L1).
    LocalFailure,
    /// 401 (A1).
    Unauthorized,
    /// 403 (A2).
    Forbidden,
    /// That a person refused it (A3).
    Refused,
    /// That the work was not done (E1).
    Failed,
    /// The upstream's answer with something of it changed, as a success (M1, M2, M5).
    Altered,
    /// Success and failure at once (M3).
    Contradiction,
    /// The upstream's own answer, after the agent had waited too long for it (T4).
    Late,
}

/// Where a secret was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPlace {
    /// In the list of tools.
    Tools,
    /// In the arguments of a call.
    Arguments,
    /// In the answer to a call.
    Answer,
    /// In some other message to the agent.
    Message,
    /// In what the simulated user said.
    User,
    /// In the agent's words.
    Reply,
    /// In what the agent's program wrote beside them.
    AgentOutput,
    /// In what the upstream wrote to stderr, or in how it ended.
    UpstreamOutput,
    /// On a command line, which everybody on the machine can read.
    CommandLine,
    /// In what the two sides say of themselves, or in a note.
    Note,
}

impl SecretPlace {
    /// As the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            SecretPlace::Tools => "in the list of tools",
            SecretPlace::Arguments => "in the arguments of a call",
            SecretPlace::Answer => "in the answer to a call",
            SecretPlace::Message => "in a message to the agent",
            SecretPlace::User => "in what the user said",
            SecretPlace::Reply => "in the agent's words",
            SecretPlace::AgentOutput => "in what the agent's program wrote",
            SecretPlace::UpstreamOutput => "in what the upstream wrote to stderr",
            SecretPlace::CommandLine => "on a command line",
            SecretPlace::Note => "in a note",
        }
    }
}

/// Where a [`Event::Log`] comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// The proxy.
    Proxy,
    /// The runner.
    Runner,
    /// The agent's process.
    Agent,
    /// The upstream.
    Upstream,
}

impl Answer {
    /// Whether the attempt was executed (J4).
    pub fn is_executed(&self) -> bool {
        self.kind == AnswerKind::Result
    }
}
