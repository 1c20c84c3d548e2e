//! The report file of one run, as CI reads it. Pure: what goes in comes out as bytes.
//!
//! The types mirror the file and nothing else; readers of it depend on every name here.

use super::judgement::{self, Judgement};
use super::patches;
use super::sender::Sender;
use crate::domain::{RawJson, ToolInfo, Verdict};
use serde::{Deserialize, Serialize};

/// What every result is: a test of one's own, no certificate.
pub const CERTIFICATION: &str = "UNVERIFIED_FOR_PRODUCTION";

/// What the proxy cannot see: what the agent tells its user.
pub const HONESTY: &str = "NOT_MEASURED";

/// Where the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing was judged yet.
    Starting,
    /// The file is true of what has happened so far.
    Running,
    /// The run is over.
    Finished,
    /// The run could not start.
    Failed,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportFile {
    /// That of the report.
    pub verdict: Verdict,
    /// Where the run is.
    pub status: Status,
    /// [`CERTIFICATION`].
    pub certification: String,
    /// Version of this program.
    pub harness_version: String,
    /// Why the run could not start.
    pub startup_error: Option<String>,
    /// The tools, with their classes (C6).
    pub tool_classification: Vec<Classification>,
    /// None before the first.
    pub report: Option<Report>,
    /// None where nothing was tested (J20).
    pub score: Option<Score>,
    /// J26.
    pub patches: Vec<Patch>,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Classification {
    /// Its name.
    pub tool: String,
    /// `write`, `read` or `unclassified`.
    pub class: String,
    /// What decided.
    pub reason: String,
    /// Key fields that its schema declares.
    pub key_fields: Vec<String>,
}

/// What is said of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// J17 to J19.
    pub verdict: Verdict,
    /// For people.
    pub verdict_reason: String,
    /// [`CERTIFICATION`].
    pub certification: String,
    /// `proxy` or `demo`.
    pub kind: String,
    /// The scenario's id.
    pub scenario: Option<String>,
    /// In the order of their first call.
    pub operations: Vec<Operation>,
    /// What makes the run FAIL.
    pub violations: Vec<Violation>,
    /// What does not.
    pub observations: Vec<Observation>,
    /// What was called.
    pub coverage: Coverage,
    /// One entry a key and operation.
    pub key_summary: Vec<Key>,
    /// [`HONESTY`].
    pub honesty: String,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// `op-1`, …
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Without the key fields.
    pub arguments: RawJson,
    /// All attempts.
    pub attempts: u64,
    /// Executed ones.
    pub executions: u64,
    /// Those that the agent saw fail.
    pub failed_attempts: u64,
    /// Idempotency keys.
    pub keys: Vec<String>,
    /// R1.
    pub outcome: String,
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool.
    pub tool: String,
    /// The operation's id.
    pub operation: String,
    /// For people.
    pub message: String,
    /// Details of J15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Duplicate>,
    /// Details of J16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<RetryAfter>,
    /// The calls that show it (J27 to J29).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// A call that shows a violation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Its number in the trace.
    pub call: u64,
    /// What it shows.
    pub what: String,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<Attribution>,
}

/// Details of J15.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Duplicate {
    /// `no_key`, `same_key`, `different_key` or `mixed`.
    pub key_use: String,
    /// J15.
    pub after_timeout: bool,
    /// J15.
    pub verified_before: bool,
    /// J15.
    pub parallel: bool,
    /// J15.
    pub upstream_responses_identical: bool,
    /// Who sent the later executions.
    #[serde(default)]
    pub sent_by: Vec<Attribution>,
}

/// Details of J16.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryAfter {
    /// Milliseconds.
    pub required_ms: u64,
    /// Milliseconds.
    pub waited_ms: u64,
    /// Who sent it again.
    #[serde(default)]
    pub sent_by: Vec<Attribution>,
}

/// Who sent a later attempt, and the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attribution {
    /// `agent`, `double_dispatch` or `transport`.
    pub by: String,
    /// It has the JSON-RPC id of the attempt before.
    pub same_rpc_id: bool,
    /// Milliseconds since the attempt before was sent.
    pub since_sent_ms: u64,
    /// Milliseconds since the attempt before was answered.
    pub since_answer_ms: Option<u64>,
    /// The MCP version of the client.
    pub protocol: Option<String>,
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool.
    pub tool: String,
    /// The operation's id; null for unclassified tools.
    pub operation: Option<String>,
    /// For people.
    pub message: String,
}

/// What was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// By class.
    pub calls: Calls,
    /// Called, and of unknown class.
    pub unclassified_tools: Vec<String>,
    /// Null where no scenario is set (R2).
    pub scenario_triggered: Option<bool>,
}

/// Number of calls by class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calls {
    /// Writes.
    pub write: u64,
    /// Reads.
    pub read: u64,
    /// All others.
    pub unclassified: u64,
}

/// One idempotency key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The key.
    pub key: String,
    /// The operation's id.
    pub operation: String,
    /// Attempts with it.
    pub attempts: u64,
    /// What it met.
    pub state_diff: StateDiff,
}

/// What a key met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateDiff {
    /// It had been executed before the key came.
    pub record_existed: bool,
    /// It was executed again with the key.
    pub was_overwritten: bool,
    /// A successful read came first.
    pub did_agent_read_before: bool,
    /// It failed, and neither a read nor another attempt followed.
    pub agent_gave_up_silently: bool,
}

/// The score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// 0 to 100.
    pub overall: u8,
    /// The cap of a FAIL changed the number.
    pub capped: bool,
    /// 0 to 100; null where nothing is countable.
    pub duplicate_safety: Option<u8>,
    /// 0 to 100; null where nothing failed.
    pub failure_handling: Option<u8>,
    /// [`HONESTY`].
    pub honesty: String,
}

/// A patch that the run earned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// Its id.
    pub id: String,
    /// `CRITICAL`, `HIGH` or `MEDIUM`.
    pub severity: String,
    /// What it was earned with.
    pub trigger: String,
    /// The text for the system prompt.
    pub text: String,
}

impl ReportFile {
    /// The file before the first report (R5).
    pub fn starting(harness_version: &str) -> ReportFile {
        ReportFile {
            verdict: Verdict::NotTested,
            status: Status::Starting,
            certification: CERTIFICATION.to_owned(),
            harness_version: harness_version.to_owned(),
            startup_error: None,
            tool_classification: Vec::new(),
            report: None,
            score: None,
            patches: Vec::new(),
        }
    }

    /// The file of a run that could not start (R5, R6).
    pub fn failed(harness_version: &str, error: &str) -> ReportFile {
        ReportFile {
            status: Status::Failed,
            startup_error: Some(error.to_owned()),
            ..ReportFile::starting(harness_version)
        }
    }

    /// The file of a run that was judged.
    pub fn of(judgement: &Judgement, status: Status, harness_version: &str) -> ReportFile {
        ReportFile {
            verdict: judgement.verdict,
            status,
            tool_classification: judgement.tools.iter().map(Classification::from).collect(),
            report: Some(Report::from(judgement)),
            score: judgement.score.map(Score::from),
            patches: judgement.patches.iter().map(Patch::from).collect(),
            ..ReportFile::starting(harness_version)
        }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// Where a value has no JSON form, which none of ours lacks.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

impl From<&ToolInfo> for Classification {
    fn from(info: &ToolInfo) -> Classification {
        Classification {
            tool: info.tool.clone(),
            class: info.class.name().to_owned(),
            reason: info.reason.clone(),
            key_fields: info.key_fields.clone(),
        }
    }
}

impl From<&Judgement> for Report {
    fn from(judgement: &Judgement) -> Report {
        Report {
            verdict: judgement.verdict,
            verdict_reason: judgement.reason.clone(),
            certification: CERTIFICATION.to_owned(),
            kind: judgement.kind.clone(),
            scenario: judgement.scenario.clone(),
            operations: judgement.operations.iter().map(Operation::from).collect(),
            violations: judgement.violations.iter().map(Violation::from).collect(),
            observations: judgement.observations.iter().map(Observation::from).collect(),
            coverage: Coverage::from(&judgement.coverage),
            key_summary: judgement.key_summary.iter().map(Key::from).collect(),
            honesty: HONESTY.to_owned(),
        }
    }
}

impl From<&judgement::Coverage> for Coverage {
    fn from(coverage: &judgement::Coverage) -> Coverage {
        let calls = coverage.calls;
        Coverage {
            calls: Calls { write: calls.write, read: calls.read, unclassified: calls.unclassified },
            unclassified_tools: coverage.unclassified_tools.clone(),
            scenario_triggered: coverage.scenario_triggered,
        }
    }
}

impl From<&judgement::Operation> for Operation {
    fn from(operation: &judgement::Operation) -> Operation {
        Operation {
            id: operation.id.clone(),
            tool: operation.tool.clone(),
            arguments: operation.arguments.clone(),
            attempts: operation.attempts,
            executions: operation.executions,
            failed_attempts: operation.failed_attempts,
            keys: operation.keys.clone(),
            outcome: operation.outcome.to_owned(),
        }
    }
}

impl From<&judgement::Violation> for Violation {
    fn from(violation: &judgement::Violation) -> Violation {
        let attributions =
            |senders: &[Sender]| -> Vec<Attribution> { senders.iter().map(Attribution::from).collect() };
        Violation {
            kind: violation.kind.to_owned(),
            tool: violation.tool.clone(),
            operation: violation.operation.clone(),
            message: violation.message.clone(),
            duplicate: violation.duplicate.as_ref().map(|details| Duplicate {
                key_use: details.key_use.name().to_owned(),
                after_timeout: details.after_timeout,
                verified_before: details.verified_before,
                parallel: details.parallel,
                upstream_responses_identical: details.upstream_responses_identical,
                sent_by: attributions(&details.sent_by),
            }),
            retry_after: violation.retry_after.as_ref().map(|details| RetryAfter {
                required_ms: details.required_ms,
                waited_ms: details.waited_ms,
                sent_by: attributions(&details.sent_by),
            }),
            evidence: violation
                .evidence
                .iter()
                .map(|shown| Evidence {
                    call: shown.call,
                    what: shown.what.clone(),
                    sent_by: shown.sent_by.as_ref().map(Attribution::from),
                })
                .collect(),
        }
    }
}

impl From<&Sender> for Attribution {
    fn from(sender: &Sender) -> Attribution {
        Attribution {
            by: sender.by.name().to_owned(),
            same_rpc_id: sender.same_rpc_id,
            since_sent_ms: sender.since_sent_ms,
            since_answer_ms: sender.since_answer_ms,
            protocol: sender.protocol.clone(),
        }
    }
}

impl From<&judgement::Observation> for Observation {
    fn from(observation: &judgement::Observation) -> Observation {
        Observation {
            kind: observation.kind.to_owned(),
            tool: observation.tool.clone(),
            operation: observation.operation.clone(),
            message: observation.message.clone(),
        }
    }
}

impl From<&judgement::KeySummary> for Key {
    fn from(summary: &judgement::KeySummary) -> Key {
        Key {
            key: summary.key.clone(),
            operation: summary.operation.clone(),
            attempts: summary.attempts,
            state_diff: StateDiff {
                record_existed: summary.state.record_existed,
                was_overwritten: summary.state.was_overwritten,
                did_agent_read_before: summary.state.did_agent_read_before,
                agent_gave_up_silently: summary.state.agent_gave_up_silently,
            },
        }
    }
}

impl From<super::Score> for Score {
    fn from(score: super::Score) -> Score {
        Score {
            overall: score.overall,
            capped: score.capped,
            duplicate_safety: score.duplicate_safety,
            failure_handling: score.failure_handling,
            honesty: HONESTY.to_owned(),
        }
    }
}

impl From<&crate::domain::OfferedPatch> for Patch {
    fn from(patch: &crate::domain::OfferedPatch) -> Patch {
        Patch {
            id: patch.id.clone(),
            severity: patches::severity(&patch.id).unwrap_or_default().to_owned(),
            trigger: patch.trigger.clone(),
            text: patch.text.clone(),
        }
    }
}
