//! The events. They are what the proxy saw, never what anyone concluded from it.
//!
//! Enums are externally tagged (`{"call_sent": {…}}`): every other way loses the text of
//! numbers on reading.

use super::terms::{Answer, ApprovalReply, AskedBy, Body, Fault, LogKind, Peer, SecretPlace, Told};
use super::{Accounted, Binding, Decision, Execution};
use crate::domain::transitions::Expectation;
use crate::domain::{AccountSource, CallId, ConnectionId, Micros, Present, RawJson, ToolClass, ToolInfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the trace format, in its first record.
pub const TRACE_VERSION: u32 = 1;

/// One line of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Place in the trace, from 0.
    pub seq: u64,
    /// When, since the start of the trace.
    #[serde(rename = "at_us")]
    pub at: Micros,
    /// What.
    pub event: Event,
}

/// The fields that tools need, by the tool's name.
pub type RequiredFields = BTreeMap<String, Vec<String>>;

/// Something that happened. A call passes through these, in this order, each at most once but
/// for the last two, which can change places where an answer comes late:
/// `CallReceived`, then either `CallSent` or an answer of the proxy itself, then
/// `UpstreamAnswered`, `UpstreamTimedOut`, `UpstreamLost` or `CallCancelled`, then `CallAnswered`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// First record: all that the judge must know beside the calls.
    Started(Started),
    /// An upstream process was started, or an upstream URL opened, for one connection.
    UpstreamStarted {
        /// The connection that it serves.
        connection: ConnectionId,
        /// The command line or URL.
        command: Vec<String>,
        /// Process id, where it is a process.
        pid: Option<u32>,
        /// What was known of its code before it was started; older traces say nothing of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<Box<Execution>>,
    },
    /// The upstream was rebuilt: what lies on the disk is no longer what runs.
    Rebuilt {
        /// Its processes are being replaced; otherwise they run on as they were.
        replaces: bool,
        /// The files that changed, where that is known.
        paths: Vec<String>,
    },
    /// It was decided whether the agent may use the code of an epoch.
    Approval {
        /// The connection that the code serves.
        connection: ConnectionId,
        /// What was decided.
        decision: Decision,
    },
    /// The upstream answered the handshake.
    UpstreamReady {
        /// The connection that it serves.
        connection: ConnectionId,
        /// What it says it is.
        server: Peer,
    },
    /// The upstream process ended or its connection broke.
    UpstreamEnded {
        /// The connection that it served.
        connection: ConnectionId,
        /// How, for people: exit code, signal or transport error.
        how: String,
        /// True when the proxy ended it.
        expected: bool,
        /// The end of its stderr.
        stderr: String,
    },
    /// A client connected.
    ClientConnected {
        /// Its number.
        connection: ConnectionId,
        /// `stdio` or `http`.
        transport: String,
    },
    /// A client said who it is.
    ClientReady {
        /// Its number.
        connection: ConnectionId,
        /// What it says it is.
        client: Peer,
    },
    /// A client went away.
    ClientDisconnected {
        /// Its number.
        connection: ConnectionId,
    },
    /// A client asked for the tools: an agent that never does cannot call one.
    ToolsRequested {
        /// Its number.
        connection: ConnectionId,
    },
    /// A client got the whole list of tools.
    CatalogueSeen {
        /// Its number.
        connection: ConnectionId,
        /// SHA-256 over the canonical form of the list.
        revision: String,
        /// The epoch of the process that made it, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<String>,
        /// The fields that each tool needs; kept where rebuilds are to be expected.
        #[serde(default, skip_serializing_if = "RequiredFields::is_empty")]
        required: RequiredFields,
    },
    /// The proxy asked a process that a scenario put in the place of another for its tools: what stands in
    /// its list is known, whether its client asks or not.
    CatalogueFound {
        /// The connection that the process serves.
        connection: ConnectionId,
        /// SHA-256 over the canonical form of the list.
        revision: String,
        /// The epoch of the process.
        epoch: String,
        /// The fields that each tool needs.
        required: RequiredFields,
    },
    /// A client was told that the list of tools may have changed, which says neither what nor that it
    /// has fetched it.
    CatalogueHint {
        /// Its number.
        connection: ConnectionId,
        /// The upstream said so; otherwise the proxy, of a process that it replaced.
        by_upstream: bool,
    },
    /// The upstream listed tools (a page of them); a later entry replaces one of the same name.
    ToolsListed {
        /// The tools, classified (C1–C6).
        tools: Vec<ToolInfo>,
    },
    /// A `tools/call` arrived. Its time is the time at which the agent sent it.
    CallReceived {
        /// Its number.
        call: CallId,
        /// Where from.
        connection: ConnectionId,
        /// The JSON-RPC id, as sent.
        rpc_id: RawJson,
        /// The tool's name.
        tool: String,
        /// The tool's class at this moment (J10: unclassified where not listed).
        class: ToolClass,
        /// The arguments, as sent; absent where the call had none.
        arguments: Option<RawJson>,
        /// It carries `inputResponses` or a `requestState` (J9).
        continuation: bool,
        /// Which code and which catalogue it was made under, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        binding: Option<Binding>,
    },
    /// The scenario acted on this call (J11), or found its call where it injects nothing (F4).
    ScenarioFired {
        /// The call.
        call: CallId,
        /// What was done.
        fault: Fault,
        /// The field of the answer that was broken, where it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<String>,
    },
    /// A person's approval of a call is asked for (A3).
    ApprovalAsked {
        /// The call.
        call: CallId,
        /// How.
        how: AskedBy,
    },
    /// The client said what becomes of a request for an approval. The arguments of a call that continues
    /// one (J9) stand with that call.
    ApprovalReplied {
        /// The call.
        call: CallId,
        /// What it said.
        reply: ApprovalReply,
    },
    /// The call is being sent upstream; recorded before the first byte leaves.
    CallSent {
        /// The call.
        call: CallId,
        /// The id that goes along with this attempt, made before its first byte leaves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correlation: Option<String>,
    },
    /// The upstream answered, in time or late (after `UpstreamTimedOut` or `CallCancelled`).
    UpstreamAnswered {
        /// The call.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// The upstream time limit passed without an answer (J7).
    UpstreamTimedOut {
        /// The call.
        call: CallId,
    },
    /// The upstream died or its connection broke during the call (J7).
    UpstreamLost {
        /// The call.
        call: CallId,
    },
    /// The client cancelled the call before it was answered (J7).
    CallCancelled {
        /// The call.
        call: CallId,
    },
    /// The agent got its answer; recorded before the first byte leaves.
    CallAnswered {
        /// The call.
        call: CallId,
        /// What the agent was told.
        told: Told,
        /// The answer was made or changed by the scenario.
        injected: bool,
        /// The answer's text; absent where it is the upstream's, unchanged.
        body: Option<Body>,
    },
    /// What the agent was told beside calls and turns: its system prompt, tools as they are listed,
    /// instructions, resources, prompts, notifications. Kept where it matters which identifiers it was given.
    Given {
        /// The text, as JSON.
        body: Body,
    },
    /// The simulated user spoke.
    TurnStarted {
        /// From 0, the prompt.
        turn: u32,
        /// What was said.
        text: String,
    },
    /// The agent's turn is over.
    TurnEnded {
        /// From 0.
        turn: u32,
        /// Its last words, where it had any.
        reply: Option<String>,
    },
    /// A secret that the suite watches stood where nobody may read it. Its value is nowhere in the
    /// trace.
    SecretSeen {
        /// Names of the secrets.
        names: Vec<String>,
        /// Where.
        place: SecretPlace,
        /// In which call, where it was one.
        call: Option<CallId>,
    },
    /// The upstream's own account of what came to be in the run, read once it had ended.
    Accounted {
        /// Whose account.
        source: AccountSource,
        /// What it says.
        account: Accounted,
    },
    /// Something for people to read that decides nothing.
    Log {
        /// Where it comes from.
        kind: LogKind,
        /// The text.
        text: String,
    },
    /// Last record.
    Closed {
        /// Number of records before this one.
        records: u64,
    },
}

/// What the judge must know beside the calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// [`TRACE_VERSION`].
    pub version: u32,
    /// Version of the program that wrote it.
    pub harness_version: String,
    /// The run of the matrix, where it is one.
    pub run_id: Option<String>,
    /// `proxy` before a real upstream, `demo` before a simulated one, `benchmark` for the self-test.
    pub kind: String,
    /// The scenario's id; absent where none is set, and in chaos mode (J14).
    pub scenario: Option<String>,
    /// Probability of a failure in chaos mode (J12).
    pub error_rate: Option<f64>,
    /// What a 429 announces (F2), in milliseconds.
    pub retry_after_ms: u64,
    /// The seed of chaos.
    pub seed: u64,
    /// Names of key fields (J2), as configured.
    pub key_fields: Vec<String>,
    /// The upstream time limit (J7), in milliseconds.
    pub upstream_timeout_ms: u64,
    /// Wall clock at the start, RFC 3339.
    pub started_at: String,
    /// What the suite expects of the order of things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// How failures are told that are not the upstream's own.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub present: Present,
}

fn is_plain(present: &Present) -> bool {
    *present == Present::Plain
}

impl Event {
    /// Where a secret stands that this event holds, and in which call; none where a secret may stand.
    pub(crate) fn secret_place(&self) -> Option<(SecretPlace, Option<CallId>)> {
        Some(match self {
            Event::ToolsListed { .. } => (SecretPlace::Tools, None),
            Event::CallReceived { call, .. } => (SecretPlace::Arguments, Some(*call)),
            Event::UpstreamAnswered { call, .. } | Event::CallAnswered { call, .. } => {
                (SecretPlace::Answer, Some(*call))
            }
            Event::Given { .. } => (SecretPlace::Message, None),
            Event::TurnStarted { .. } => (SecretPlace::User, None),
            Event::TurnEnded { .. } => (SecretPlace::Reply, None),
            Event::UpstreamEnded { .. } | Event::Log { kind: LogKind::Upstream, .. } => {
                (SecretPlace::UpstreamOutput, None)
            }
            Event::Log { kind: LogKind::Agent, .. } => (SecretPlace::AgentOutput, None),
            Event::UpstreamStarted { .. } => (SecretPlace::CommandLine, None),
            // What the upstream keeps for itself reaches nobody.
            Event::Accounted { .. } => return None,
            _ => (SecretPlace::Note, None),
        })
    }
}
