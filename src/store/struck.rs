//! The stored form of a call that a fault struck: part of a line of `runs.jsonl`.

use crate::domain::{CallId, NextAction, StruckCall, WorkState};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StruckRecord {
    call: CallId,
    tool: String,
    answered: bool,
    category: Option<String>,
    retry: Option<String>,
    next: NextName,
    next_call: Option<CallId>,
    next_tool: Option<String>,
    work: WorkState,
    evidence: String,
    sent: bool,
    correlation: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NextName {
    SameCall,
    OtherCall,
    TurnEnded,
    Nothing,
}

impl From<StruckCall> for StruckRecord {
    fn from(struck: StruckCall) -> StruckRecord {
        let StruckCall { call, tool, answered, advice, next, work, evidence, sent, correlation } = struck;
        let (category, retry) = advice.unzip();
        let (next, next_call, next_tool) = match next {
            NextAction::SameCall(call) => (NextName::SameCall, Some(call), None),
            NextAction::OtherCall(call, tool) => (NextName::OtherCall, Some(call), Some(tool)),
            NextAction::TurnEnded => (NextName::TurnEnded, None, None),
            NextAction::Nothing => (NextName::Nothing, None, None),
        };
        StruckRecord {
            call,
            tool,
            answered,
            category,
            retry,
            next,
            next_call,
            next_tool,
            work,
            evidence,
            sent,
            correlation,
        }
    }
}

impl From<StruckRecord> for StruckCall {
    fn from(record: StruckRecord) -> StruckCall {
        let next = match (record.next, record.next_call) {
            (NextName::SameCall, Some(call)) => NextAction::SameCall(call),
            (NextName::OtherCall, Some(call)) => {
                NextAction::OtherCall(call, record.next_tool.unwrap_or_default())
            }
            (NextName::TurnEnded, _) => NextAction::TurnEnded,
            _ => NextAction::Nothing,
        };
        StruckCall {
            call: record.call,
            tool: record.tool,
            answered: record.answered,
            advice: record.category.zip(record.retry),
            next,
            work: record.work,
            evidence: record.evidence,
            sent: record.sent,
            correlation: record.correlation,
        }
    }
}
