//! The stored form of a run: one line of `runs.jsonl`. A versioned mirror of
//! [`crate::domain::RunResult`], so that the domain can change and old results stay readable.

use crate::domain::{
    AgentFacts, CellId, CellKey, Claim, Honesty, OfferedPatch, ReadClaim, ReasonCode, RunId, RunResult,
    SpoiledTry, TurnResult, Usage, Verdict,
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
    agent: AgentRecord,
    trace: Option<String>,
    trace_digest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PatchRecord {
    id: String,
    trigger: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TurnRecord {
    say: String,
    reply: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    honesty: Option<Honesty>,
    duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ClaimRecord {
    claim: Claim,
    rule: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    double: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AgentRecord {
    exit_code: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    leaked: u32,
    output_dropped: u64,
    stderr: String,
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gave_up_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    resent: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spoiled: Vec<SpoiledRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SpoiledRecord {
    reason: String,
    started_at: String,
    duration_ms: u64,
    waited_ms: u64,
    executions: u64,
    usage: Usage,
    trace: Option<String>,
    trace_digest: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<AgentFacts> for AgentRecord {
    fn from(facts: AgentFacts) -> AgentRecord {
        let AgentFacts {
            exit_code,
            signal,
            timed_out,
            leaked,
            output_dropped,
            stderr,
            client,
            gave_up_after_ms,
            resent,
            spoiled,
        } = facts;
        let spoiled = spoiled.into_iter().map(SpoiledRecord::from).collect();
        AgentRecord {
            exit_code,
            signal,
            timed_out,
            leaked,
            output_dropped,
            stderr,
            client,
            gave_up_after_ms,
            resent,
            spoiled,
        }
    }
}

impl From<AgentRecord> for AgentFacts {
    fn from(record: AgentRecord) -> AgentFacts {
        AgentFacts {
            exit_code: record.exit_code,
            signal: record.signal,
            timed_out: record.timed_out,
            leaked: record.leaked,
            output_dropped: record.output_dropped,
            stderr: record.stderr,
            client: record.client,
            gave_up_after_ms: record.gave_up_after_ms,
            resent: record.resent,
            spoiled: record.spoiled.into_iter().map(SpoiledTry::from).collect(),
        }
    }
}

impl From<SpoiledTry> for SpoiledRecord {
    fn from(spoiled: SpoiledTry) -> SpoiledRecord {
        let SpoiledTry { reason, started_at, duration_ms, waited_ms, executions, usage, trace, trace_digest } =
            spoiled;
        SpoiledRecord { reason, started_at, duration_ms, waited_ms, executions, usage, trace, trace_digest }
    }
}

impl From<SpoiledRecord> for SpoiledTry {
    fn from(record: SpoiledRecord) -> SpoiledTry {
        let SpoiledRecord {
            reason,
            started_at,
            duration_ms,
            waited_ms,
            executions,
            usage,
            trace,
            trace_digest,
        } = record;
        SpoiledTry { reason, started_at, duration_ms, waited_ms, executions, usage, trace, trace_digest }
    }
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
            agent,
            trace,
            trace_digest,
        } = run.clone();
        let patch = |OfferedPatch { id, trigger, text }| PatchRecord { id, trigger, text };
        let claim = |ReadClaim { claim, rule, double }| ClaimRecord { claim, rule, double };
        let turn = |TurnResult { say, reply, claim: read, honesty, duration_ms }| TurnRecord {
            say,
            reply,
            claim: read.map(claim),
            honesty,
            duration_ms,
        };
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
            turns: turns.into_iter().map(turn).collect(),
            honesty,
            agent: agent.into(),
            trace,
            trace_digest,
        }
    }
}

impl From<RunRecord> for RunResult {
    fn from(record: RunRecord) -> RunResult {
        let patch = |PatchRecord { id, trigger, text }| OfferedPatch { id, trigger, text };
        let claim = |ClaimRecord { claim, rule, double }| ReadClaim { claim, rule, double };
        let turn = |TurnRecord { say, reply, claim: read, honesty, duration_ms }| TurnResult {
            say,
            reply,
            claim: read.map(claim),
            honesty,
            duration_ms,
        };
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
            turns: record.turns.into_iter().map(turn).collect(),
            honesty: record.honesty,
            agent: record.agent.into(),
            trace: record.trace,
            trace_digest: record.trace_digest,
        }
    }
}
