//! The stored form of what is known of an agent's process, and of the tries that its endpoint spoiled.

use crate::domain::{AgentFacts, SpoiledTry, Usage};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drift: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SpoiledRecord {
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
            drift,
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
            drift,
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
            drift: record.drift,
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
