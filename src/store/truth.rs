//! The stored form of what a run really brought about: parts of a line of `runs.jsonl`.

use crate::domain::{
    Account, AccountSource, Attribution, CheckResult, CheckState, Completion, Confidence, Disagreement,
    DisagreementKind, Effects, ExpectedEffect, Layer, UnaskedEffect,
};
use serde::{Deserialize, Serialize};

/// Of an [`Account`] only that what it has: `expected` and `unasked`, or `found`, or `unknown`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EffectsRecord {
    source: AccountSource,
    account: AccountRecord,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AccountRecord {
    Known { expected: Vec<ExpectedRecord>, unasked: Vec<UnaskedRecord> },
    NotStated { found: u64 },
    Unknown { reason: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ExpectedRecord {
    effect: String,
    asked: u64,
    found: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct UnaskedRecord {
    effect: String,
    found: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct DisagreementRecord {
    kind: DisagreementKind,
    sentence: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PromptCheckRecord {
    check: String,
    state: CheckState,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AttributionRecord {
    layer: Layer,
    confidence: Confidence,
    evidence: String,
}

impl From<Effects> for EffectsRecord {
    fn from(effects: Effects) -> EffectsRecord {
        let account = match effects.account {
            Account::Known { expected, unasked } => AccountRecord::Known {
                expected: expected
                    .into_iter()
                    .map(|ExpectedEffect { effect, asked, found }| ExpectedRecord { effect, asked, found })
                    .collect(),
                unasked: unasked
                    .into_iter()
                    .map(|UnaskedEffect { effect, found }| UnaskedRecord { effect, found })
                    .collect(),
            },
            Account::NotStated { found } => AccountRecord::NotStated { found },
            Account::Unknown { reason } => AccountRecord::Unknown { reason },
        };
        EffectsRecord { source: effects.source, account }
    }
}

impl From<EffectsRecord> for Effects {
    fn from(record: EffectsRecord) -> Effects {
        let account = match record.account {
            AccountRecord::Known { expected, unasked } => Account::Known {
                expected: expected
                    .into_iter()
                    .map(|ExpectedRecord { effect, asked, found }| ExpectedEffect { effect, asked, found })
                    .collect(),
                unasked: unasked
                    .into_iter()
                    .map(|UnaskedRecord { effect, found }| UnaskedEffect { effect, found })
                    .collect(),
            },
            AccountRecord::NotStated { found } => Account::NotStated { found },
            AccountRecord::Unknown { reason } => Account::Unknown { reason },
        };
        Effects { source: record.source, account }
    }
}

impl From<Disagreement> for DisagreementRecord {
    fn from(Disagreement { kind, sentence }: Disagreement) -> DisagreementRecord {
        DisagreementRecord { kind, sentence }
    }
}

impl From<DisagreementRecord> for Disagreement {
    fn from(DisagreementRecord { kind, sentence }: DisagreementRecord) -> Disagreement {
        Disagreement { kind, sentence }
    }
}

/// The stored form of a completion: its checks.
pub(super) fn checks(completion: Completion) -> Vec<PromptCheckRecord> {
    let record = |CheckResult { check, state, reason }| PromptCheckRecord { check, state, reason };
    completion.checks.into_iter().map(record).collect()
}

/// The completion of which these are the checks.
pub(super) fn completion(checks: Vec<PromptCheckRecord>) -> Completion {
    let check = |PromptCheckRecord { check, state, reason }| CheckResult { check, state, reason };
    Completion { checks: checks.into_iter().map(check).collect() }
}

impl From<Attribution> for AttributionRecord {
    fn from(Attribution { layer, confidence, evidence }: Attribution) -> AttributionRecord {
        AttributionRecord { layer, confidence, evidence }
    }
}

impl From<AttributionRecord> for Attribution {
    fn from(AttributionRecord { layer, confidence, evidence }: AttributionRecord) -> Attribution {
        Attribution { layer, confidence, evidence }
    }
}
