//! The stored form of what was said in a run, and of what it was read as: parts of a line of
//! `runs.jsonl`. Lines of older programs have neither claims nor a second reader nor conditions.

use crate::domain::{
    Claim, ConditionalTurn, Honesty, ReadClaim, ReaderFacts, Reading, ReadingOutcome, TurnResult, Usage,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnRecord {
    say: String,
    reply: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    honesty: Option<Honesty>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reader: Option<ReadingRecord>,
    duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ClaimRecord {
    claim: Claim,
    rule: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    double: bool,
}

/// One of `claim`, `no_answer` (what it said instead) and `not_read` (why).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct ReadingRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    honesty: Option<Honesty>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_read: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReaderRecord {
    model: String,
    usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ConditionalTurnRecord {
    turn: u32,
    when: String,
    said: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
}

impl From<TurnResult> for TurnRecord {
    fn from(turn: TurnResult) -> TurnRecord {
        let TurnResult { say, reply, claim, honesty, reader, duration_ms } = turn;
        let claim = claim.map(|ReadClaim { claim, rule, double }| ClaimRecord { claim, rule, double });
        TurnRecord { say, reply, claim, honesty, reader: reader.map(ReadingRecord::from), duration_ms }
    }
}

impl From<TurnRecord> for TurnResult {
    fn from(record: TurnRecord) -> TurnResult {
        let TurnRecord { say, reply, claim, honesty, reader, duration_ms } = record;
        let claim = claim.map(|ClaimRecord { claim, rule, double }| ReadClaim { claim, rule, double });
        TurnResult { say, reply, claim, honesty, reader: reader.map(Reading::from), duration_ms }
    }
}

impl From<Reading> for ReadingRecord {
    fn from(reading: Reading) -> ReadingRecord {
        let blank = ReadingRecord { honesty: reading.honesty, ..ReadingRecord::default() };
        match reading.outcome {
            ReadingOutcome::Claim(claim) => ReadingRecord { claim: Some(claim), ..blank },
            ReadingOutcome::NoAnswer(said) => ReadingRecord { no_answer: Some(said), ..blank },
            ReadingOutcome::NotRead(reason) => ReadingRecord { not_read: Some(reason), ..blank },
        }
    }
}

impl From<ReadingRecord> for Reading {
    fn from(record: ReadingRecord) -> Reading {
        let ReadingRecord { claim, honesty, no_answer, not_read } = record;
        let outcome = match (claim, no_answer) {
            (Some(claim), _) => ReadingOutcome::Claim(claim),
            (None, Some(said)) => ReadingOutcome::NoAnswer(said),
            (None, None) => ReadingOutcome::NotRead(not_read.unwrap_or_default()),
        };
        Reading { outcome, honesty }
    }
}

impl From<ReaderFacts> for ReaderRecord {
    fn from(facts: ReaderFacts) -> ReaderRecord {
        let ReaderFacts { model, usage } = facts;
        ReaderRecord { model, usage }
    }
}

impl From<ReaderRecord> for ReaderFacts {
    fn from(record: ReaderRecord) -> ReaderFacts {
        let ReaderRecord { model, usage } = record;
        ReaderFacts { model, usage }
    }
}

impl From<ConditionalTurn> for ConditionalTurnRecord {
    fn from(turn: ConditionalTurn) -> ConditionalTurnRecord {
        let ConditionalTurn { turn, when, said, claim } = turn;
        ConditionalTurnRecord { turn, when, said, claim }
    }
}

impl From<ConditionalTurnRecord> for ConditionalTurn {
    fn from(record: ConditionalTurnRecord) -> ConditionalTurn {
        let ConditionalTurnRecord { turn, when, said, claim } = record;
        ConditionalTurn { turn, when, said, claim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reading_comes_back_as_it_was() {
        for outcome in [
            ReadingOutcome::Claim(Claim::Silent),
            ReadingOutcome::NoAnswer("I think so".into()),
            ReadingOutcome::NoAnswer(String::new()),
            ReadingOutcome::NotRead("connection refused".into()),
        ] {
            let reading = Reading { outcome, honesty: Some(Honesty::Unclear) };
            let turn = TurnResult { reader: Some(reading), ..TurnResult::default() };
            let text = serde_json::to_string(&TurnRecord::from(turn.clone())).unwrap();
            assert_eq!(TurnResult::from(serde_json::from_str::<TurnRecord>(&text).unwrap()), turn, "{text}");
        }
    }

    #[test]
    fn a_turn_of_an_older_program_has_no_second_reader() {
        let text = r#"{"say":"a","reply":"b","duration_ms":3}"#;
        let turn = TurnResult::from(serde_json::from_str::<TurnRecord>(text).unwrap());
        assert_eq!((turn.claim, turn.reader), (None, None));
    }
}
