//! The stored form of a run: one line of `runs.jsonl`. A versioned mirror of
//! [`crate::domain::RunResult`], so that the domain can change and old results stay readable.

use super::agent::AgentRecord;
use super::approval::ApprovalRecord;
use super::struck::StruckRecord;
use super::told::{ConditionalTurnRecord, ReaderRecord, TurnRecord};
use super::truth::{self, AttributionRecord, DisagreementRecord, EffectsRecord, PromptCheckRecord};
use crate::domain::{
    ApprovalRequest, Attribution, CellId, CellKey, ConditionalTurn, Disagreement, Effects, Honesty,
    OfferedPatch, ReaderFacts, ReasonCode, RunId, RunResult, StruckCall, TurnResult, Usage, Verdict,
};
use serde::{Deserialize, Serialize};

/// Version of the line format.
pub const RECORD_VERSION: u32 = 1;

/// One line of `runs.jsonl`, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    version: u32,
    run_id: RunId,
    cell_id: CellId,
    cell: CellKey,
    repeat: u32,
    verdict: Verdict,
    reason_code: ReasonCode,
    reason: String,
    started_at: String,
    duration_ms: u64,
    calls: u64,
    writes: u64,
    executions: u64,
    violations: Vec<String>,
    observations: Vec<String>,
    patches: Vec<PatchRecord>,
    score: Option<u8>,
    scenario_fired: Option<bool>,
    usage: Usage,
    turns: Vec<TurnRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    honesty: Option<Honesty>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reader: Option<ReaderRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<ConditionalTurnRecord>,
    agent: AgentRecord,
    trace: Option<String>,
    trace_digest: Option<String>,
    // Lines of older programs have none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effects: Option<EffectsRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    disagreements: Vec<DisagreementRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<PromptCheckRecord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attribution: Option<AttributionRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<ApprovalRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    struck: Vec<StruckRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PatchRecord {
    id: String,
    trigger: String,
    text: String,
}

impl RunRecord {
    /// The version that the line carries.
    pub fn version(&self) -> u32 {
        self.version
    }
}

impl From<&RunResult> for RunRecord {
    fn from(run: &RunResult) -> RunRecord {
        let RunResult {
            run_id,
            cell_id,
            key,
            repeat,
            verdict,
            reason_code,
            reason,
            started_at,
            duration_ms,
            calls,
            writes,
            executions,
            violations,
            observations,
            patches,
            score,
            scenario_fired,
            usage,
            turns,
            honesty,
            reader,
            conditions,
            agent,
            trace,
            trace_digest,
            effects,
            disagreements,
            completion,
            attribution,
            approvals,
            struck,
        } = run.clone();
        let patch = |OfferedPatch { id, trigger, text }| PatchRecord { id, trigger, text };
        RunRecord {
            version: RECORD_VERSION,
            run_id,
            cell_id,
            cell: key,
            repeat,
            verdict,
            reason_code,
            reason,
            started_at,
            duration_ms,
            calls,
            writes,
            executions,
            violations,
            observations,
            patches: patches.into_iter().map(patch).collect(),
            score,
            scenario_fired,
            usage,
            turns: turns.into_iter().map(TurnRecord::from).collect(),
            honesty,
            reader: reader.map(ReaderRecord::from),
            conditions: conditions.into_iter().map(ConditionalTurnRecord::from).collect(),
            agent: agent.into(),
            trace,
            trace_digest,
            effects: effects.map(EffectsRecord::from),
            disagreements: disagreements.into_iter().map(DisagreementRecord::from).collect(),
            checks: completion.map(truth::checks),
            attribution: attribution.map(AttributionRecord::from),
            approvals: approvals.into_iter().map(ApprovalRecord::from).collect(),
            struck: struck.into_iter().map(StruckRecord::from).collect(),
        }
    }
}

impl From<RunRecord> for RunResult {
    fn from(record: RunRecord) -> RunResult {
        let patch = |PatchRecord { id, trigger, text }| OfferedPatch { id, trigger, text };
        RunResult {
            run_id: record.run_id,
            cell_id: record.cell_id,
            key: record.cell,
            repeat: record.repeat,
            verdict: record.verdict,
            reason_code: record.reason_code,
            reason: record.reason,
            started_at: record.started_at,
            duration_ms: record.duration_ms,
            calls: record.calls,
            writes: record.writes,
            executions: record.executions,
            violations: record.violations,
            observations: record.observations,
            patches: record.patches.into_iter().map(patch).collect(),
            score: record.score,
            scenario_fired: record.scenario_fired,
            usage: record.usage,
            turns: record.turns.into_iter().map(TurnResult::from).collect(),
            honesty: record.honesty,
            reader: record.reader.map(ReaderFacts::from),
            conditions: record.conditions.into_iter().map(ConditionalTurn::from).collect(),
            agent: record.agent.into(),
            trace: record.trace,
            trace_digest: record.trace_digest,
            effects: record.effects.map(Effects::from),
            disagreements: record.disagreements.into_iter().map(Disagreement::from).collect(),
            completion: record.checks.map(truth::completion),
            attribution: record.attribution.map(Attribution::from),
            approvals: record.approvals.into_iter().map(ApprovalRequest::from).collect(),
            struck: record.struck.into_iter().map(StruckCall::from).collect(),
        }
    }
}
