//! What is said of a run, as data.

use super::score::{Score, Tally};
use super::sender::Sender;
use crate::domain::{ApprovalRequest, OfferedPatch, RawJson, ReasonCode, ToolInfo, Verdict};

/// The judge's word on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// J17 to J19.
    pub verdict: Verdict,
    /// Why, for programs.
    pub reason_code: ReasonCode,
    /// Why, for people.
    pub reason: String,
    /// Write operations in the order of their first call.
    pub operations: Vec<Operation>,
    /// In the order of the operations.
    pub violations: Vec<Violation>,
    /// In the order of the operations; those of unclassified tools last.
    pub observations: Vec<Observation>,
    /// What was called at all.
    pub coverage: Coverage,
    /// One entry for every idempotency key of an operation (R1).
    pub key_summary: Vec<KeySummary>,
    /// J20 to J23.
    pub score: Option<Score>,
    /// What the score is computed from, for adding up runs.
    pub tally: Tally,
    /// J26.
    pub patches: Vec<OfferedPatch>,
    /// Attempts that the upstream executed.
    pub executions: u64,
    /// Calls of write tools.
    pub writes: u64,
    /// All calls.
    pub calls: u64,
    /// Attempts of writes that the agent's program or its transport sent again without the model.
    pub resent: u64,
    /// The tools that were listed, with their classes.
    pub tools: Vec<ToolInfo>,
    /// `proxy`, `demo` or `benchmark`; empty where the trace does not say.
    pub kind: String,
    /// The scenario's id, where one was set.
    pub scenario: Option<String>,
    /// For what the approval of a person was asked (A3).
    pub approvals: Vec<ApprovalRequest>,
}

/// One operation (J1 to J3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// `op-1`, `op-2`, …
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments without the key fields.
    pub arguments: RawJson,
    /// How often it was attempted.
    pub attempts: u64,
    /// How many of these were sent upstream.
    pub reached: u64,
    /// How many of these were executed (J4).
    pub executions: u64,
    /// How many the agent saw fail (R1).
    pub failed_attempts: u64,
    /// The idempotency keys, in the order of their first use.
    pub keys: Vec<String>,
    /// R1.
    pub outcome: &'static str,
}

/// Something that makes the run FAIL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// e.g. `DUPLICATE_EXECUTION`.
    pub kind: &'static str,
    /// The tool's name.
    pub tool: String,
    /// The operation's id.
    pub operation: String,
    /// For people.
    pub message: String,
    /// Details of J15.
    pub duplicate: Option<Duplicate>,
    /// Details of J16.
    pub retry_after: Option<RetryAfter>,
    /// The calls that show it (J27 to J29), in order; at most 20.
    pub evidence: Vec<Evidence>,
}

/// A call that shows a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Its number in the trace.
    pub call: u64,
    /// What it shows, for people.
    pub what: String,
    /// Who sent it, where that is known.
    pub sent_by: Option<Sender>,
}

/// Details of an operation that was executed more than once (J15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The keys of its executions.
    pub key_use: KeyUse,
    /// A later execution was sent after the agent had been told of a timeout.
    pub after_timeout: bool,
    /// A successful read lay between an earlier and a later execution.
    pub verified_before: bool,
    /// A later execution was sent before an earlier one was answered.
    pub parallel: bool,
    /// The upstream gave all of them equal answers.
    pub upstream_responses_identical: bool,
    /// Who sent the later executions; at most 20 are listed.
    pub sent_by: Vec<Sender>,
}

/// How the executions of one operation used keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// None had one.
    NoKey,
    /// All had the same.
    SameKey,
    /// All had one, each another.
    DifferentKey,
    /// Anything else.
    Mixed,
}

impl KeyUse {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            KeyUse::NoKey => "no_key",
            KeyUse::SameKey => "same_key",
            KeyUse::DifferentKey => "different_key",
            KeyUse::Mixed => "mixed",
        }
    }
}

/// Details of an operation that was sent again too early (J16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryAfter {
    /// What the 429 announced, in milliseconds.
    pub required_ms: u64,
    /// How long the agent waited, in milliseconds.
    pub waited_ms: u64,
    /// Who sent it again.
    pub sent_by: Vec<Sender>,
}

/// Something worth knowing that is no violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// e.g. `VERIFIED_NO_RETRY`.
    pub kind: &'static str,
    /// The tool's name.
    pub tool: String,
    /// The operation's id; none for unclassified tools, which have no operations.
    pub operation: Option<String>,
    /// For people.
    pub message: String,
}

/// Number of calls by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls of write tools.
    pub write: u64,
    /// Calls of read tools.
    pub read: u64,
    /// All others.
    pub unclassified: u64,
}

/// What was called at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// By class.
    pub calls: Calls,
    /// Tools that were called and of which neither is known, sorted.
    pub unclassified_tools: Vec<String>,
    /// Whether the scenario fired; none where there is none (R2).
    pub scenario_triggered: Option<bool>,
}

/// What became of one idempotency key of one operation. Enters no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySummary {
    /// The key.
    pub key: String,
    /// The operation's id.
    pub operation: String,
    /// Attempts with that key.
    pub attempts: u64,
    /// What it met.
    pub state: KeyState,
}

/// What a key met upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyState {
    /// The operation had been executed before the key's first attempt was sent.
    pub record_existed: bool,
    /// The operation was executed with that key though it had been executed before.
    pub was_overwritten: bool,
    /// The agent had seen a successful read before it sent the key's last attempt.
    pub did_agent_read_before: bool,
    /// The key's last attempt failed for the agent, and neither a read nor another attempt of
    /// the operation followed.
    pub agent_gave_up_silently: bool,
}

/// What is to be said of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationParts {
    /// The operation.
    pub operation: Operation,
    /// Its violations.
    pub violations: Vec<Violation>,
    /// Its observations.
    pub observations: Vec<Observation>,
    /// Its keys.
    pub key_summary: Vec<KeySummary>,
}
