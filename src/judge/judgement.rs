//! What is said of a run.

use super::refresh::View;
use super::score::{Score, Tally};
use super::sender::{Sender, SentBy};
use super::state::Judge;
use super::words::{count, operation_id, times};
use super::{keys, observations, patches, violations};
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

impl Judge {
    /// Everything that is to be said, at the cost of looking at everything.
    pub fn judgement(&self) -> Judgement {
        let (verdict, reason_code) = self.verdict();
        let mut judgement = Judgement {
            verdict,
            reason_code,
            reason: self.reason(),
            operations: Vec::with_capacity(self.operations.len()),
            violations: Vec::new(),
            observations: Vec::new(),
            coverage: self.coverage(),
            key_summary: Vec::new(),
            score: self.score(),
            tally: self.totals.tally,
            patches: self.patches(),
            executions: self.totals.executions,
            writes: self.writes,
            calls: self.calls.len() as u64,
            resent: self.resent(),
            tools: self.listed_tools().cloned().collect(),
            kind: self.kind().to_owned(),
            scenario: self.scenario().map(str::to_owned),
            approvals: self.approvals(),
        };
        for index in 0..self.operations.len() {
            let Some(parts) = self.operation(index) else { continue };
            judgement.operations.push(parts.operation);
            judgement.violations.extend(parts.violations);
            judgement.observations.extend(parts.observations);
            judgement.key_summary.extend(parts.key_summary);
        }
        judgement.violations.extend(violations::OF_RUN.iter().filter_map(|check| (check.find)(self)));
        judgement.observations.extend(self.repeat_observations());
        judgement
    }

    fn resent(&self) -> u64 {
        let attempts = self.operations.iter().flat_map(|operation| &operation.attempts);
        let senders = attempts.filter_map(|attempt| attempt.sender.as_ref());
        senders.filter(|sender| sender.by != SentBy::Agent).count() as u64
    }

    /// The tools that were listed, with their classes.
    pub fn listed_tools(&self) -> impl Iterator<Item = &ToolInfo> {
        self.tools.iter().filter_map(|tool| tool.info.as_ref())
    }

    /// `proxy`, `demo` or `benchmark`; empty where the trace does not say.
    pub fn kind(&self) -> &str {
        self.started.as_ref().map_or("", |started| &started.kind)
    }

    /// The scenario's id, where one was set.
    pub fn scenario(&self) -> Option<&str> {
        self.started.as_ref().and_then(|started| started.scenario.as_deref())
    }

    /// Number of operations so far.
    pub fn operation_count(&self) -> usize {
        self.operations.len()
    }

    /// What is to be said of one operation, counted from 0.
    pub fn operation(&self, index: usize) -> Option<OperationParts> {
        let operation = self.operations.get(index)?;
        let fold = operation.peek(&self.calls);
        let view = View { judge: self, index, operation, fold: &fold };
        let violations: Vec<Violation> =
            violations::TABLE.iter().filter_map(|check| (check.find)(&view)).collect();
        let observations: Vec<Observation> = observations::TABLE
            .iter()
            .filter(|check| (check.holds)(&view))
            .map(|check| Observation {
                kind: check.kind,
                tool: view.tool().to_owned(),
                operation: Some(operation_id(index)),
                message: (check.say)(&view),
            })
            .collect();
        let outcome = violations.first().map(|violation| violation.kind).unwrap_or_else(|| {
            let held = |kind: &&&str| observations.iter().any(|observation| observation.kind == **kind);
            observations::OUTCOMES.iter().find(held).copied().unwrap_or("EXECUTED_ONCE")
        });
        Some(OperationParts {
            operation: Operation {
                id: operation_id(index),
                tool: view.tool().to_owned(),
                arguments: operation.arguments.clone(),
                attempts: fold.attempts,
                reached: fold.reached,
                executions: fold.executed,
                failed_attempts: fold.failed,
                keys: operation.keys.iter().map(|key| key.text.clone()).collect(),
                outcome,
            },
            violations,
            observations,
            key_summary: keys::summary(&view),
        })
    }

    /// The score (J20 to J23); none where nothing was tested.
    pub fn score(&self) -> Option<Score> {
        self.totals.tally.score(self.verdict().0)
    }

    /// The patches that were earned (J26).
    pub fn patches(&self) -> Vec<OfferedPatch> {
        if self.problem.is_some() {
            return Vec::new();
        }
        patches::offer(self.totals.patches)
    }

    /// What was called at all.
    pub fn coverage(&self) -> Coverage {
        let mut unclassified_tools: Vec<String> =
            self.tools.iter().filter(|tool| tool.called_unclassified).map(|tool| tool.name.clone()).collect();
        unclassified_tools.sort();
        let scenario = self.started.as_ref().and_then(|started| started.scenario.as_ref());
        Coverage {
            calls: Calls { write: self.writes, read: self.reads, unclassified: self.unclassified },
            unclassified_tools,
            scenario_triggered: scenario.map(|_| self.fired),
        }
    }

    /// The observations that belong to no operation.
    pub fn repeat_observations(&self) -> Vec<Observation> {
        let name = |tool: usize| self.tools.get(tool).map_or("", |tool| &tool.name);
        let observation = |repeat: &super::neighbours::Repeat| Observation {
            kind: "UNCLASSIFIED_REPEAT",
            tool: name(repeat.tool).to_owned(),
            operation: None,
            message: format!(
                "{}, of which it is not known whether it writes, was called {} with the same arguments: {}",
                name(repeat.tool),
                times(repeat.calls),
                shortened(repeat.arguments.get()),
            ),
        };
        let mut all: Vec<Observation> = self.repeats.values().map(observation).collect();
        all.extend(self.epochs.observations(|tool| self.tools.get(tool).map_or("", |tool| &tool.name)));
        all
    }

    pub(super) fn counted_operations(&self) -> String {
        count(self.operations.len() as u64, "operation", "operations")
    }
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

/// The beginning of a text that may be long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
