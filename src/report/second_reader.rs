//! What a second reader, a model, made of the agents' words, beside what the rules read. It has counts
//! of its own: `honesty`, conditional turns, gates and verdicts go by the rules alone.

use super::told::{CellTold, HonestySummary};
use crate::domain::{Claim, NO_ANSWER, NOT_READ, ReadClaim, Reading, ReadingOutcome, RunResult, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The runs and replies of a cell as its second reader read them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CellReader {
    /// Runs by what their last reply was worth.
    pub told: CellTold,
    /// Runs of whose last reply the reader said something else than a claim.
    pub no_answer: u32,
    /// Runs whose last reply it could not be asked about.
    pub not_read: u32,
    /// Replies in which it named a claim; those of turns before the last one are among them.
    pub replies: u32,
    /// Those in which the rules read another one.
    pub differing: u32,
    /// What it consumed.
    pub usage: Usage,
}

impl CellReader {
    pub(super) fn of(runs: &[&RunResult]) -> CellReader {
        let last = || runs.iter().filter_map(|run| run.turns.last()?.reader.as_ref());
        let named = |name: &str| last().map(|reading| u32::from(reading.name() == name)).sum();
        let mut reader = CellReader {
            told: last().filter_map(|reading| reading.honesty).collect(),
            no_answer: named(NO_ANSWER),
            not_read: named(NOT_READ),
            ..CellReader::default()
        };
        for reply in runs.iter().flat_map(|run| replies(run)) {
            let claim = reply.reading.claim();
            reader.replies += u32::from(claim.is_some());
            reader.differing += u32::from(claim.is_some_and(|claim| claim != reply.rules.claim));
        }
        for facts in runs.iter().filter_map(|run| run.reader.as_ref()) {
            reader.usage += facts.usage;
        }
        reader
    }

    /// Runs whose last reply was given to it.
    pub fn runs(&self) -> u32 {
        self.told.runs() + self.no_answer + self.not_read
    }
}

/// A reply that was given to a second reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadReply<'a> {
    /// Its run.
    pub run: &'a RunResult,
    /// Its turn, from 1.
    pub turn: usize,
    /// What the agent said.
    pub words: &'a str,
    /// What the rules read.
    pub rules: &'a ReadClaim,
    /// What the second reader made of it.
    pub reading: &'a Reading,
}

/// The replies of a run that were given to a second reader.
pub(super) fn replies<'a>(run: &'a RunResult) -> impl Iterator<Item = ReadReply<'a>> {
    run.turns.iter().zip(1..).filter_map(move |(turn, place)| {
        let (words, rules, reading) = (turn.reply.as_deref()?, turn.claim.as_ref()?, turn.reader.as_ref()?);
        Some(ReadReply { run, turn: place, words, rules, reading })
    })
}

/// One second reader, over all cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondReaderSummary {
    /// The model.
    pub model: String,
    /// Runs with a reply that was given to it.
    pub runs: u32,
    /// Replies that were given to it.
    pub replies: u32,
    /// Replies in which it named a claim.
    pub claims: u32,
    /// Those of them in which the rules read another one.
    pub differing: u32,
    /// Replies to which it said something else than a claim.
    pub no_answer: u32,
    /// Replies that it could not be asked about.
    pub not_read: u32,
    /// Why, for one of them.
    pub not_read_example: Option<String>,
    /// Tokens sent to it; null is "not told".
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Requests that failed and were sent again.
    pub retries: Option<u64>,
    /// What the rules read → what it named, or `no_answer` or `not_read` → replies.
    pub claims_by_rules: BTreeMap<String, BTreeMap<String, u32>>,
}

impl SecondReaderSummary {
    /// Every second reader of these runs, by its model.
    pub(super) fn of<'a>(runs: impl Iterator<Item = &'a RunResult>) -> Vec<SecondReaderSummary> {
        let mut readers: BTreeMap<&str, (SecondReaderSummary, Usage)> = BTreeMap::new();
        for run in runs {
            let Some(facts) = &run.reader else { continue };
            let (reader, usage) = readers.entry(&facts.model).or_default();
            reader.runs += 1;
            *usage += facts.usage;
            for reply in replies(run) {
                reader.count(&reply);
            }
        }
        let readers = readers.into_iter().map(|(model, (reader, usage))| SecondReaderSummary {
            model: model.to_owned(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
            retries: usage.retries,
            ..reader
        });
        readers.collect()
    }

    fn count(&mut self, reply: &ReadReply<'_>) {
        self.replies += 1;
        match &reply.reading.outcome {
            ReadingOutcome::Claim(claim) => {
                self.claims += 1;
                self.differing += u32::from(*claim != reply.rules.claim);
            }
            ReadingOutcome::NoAnswer(_) => self.no_answer += 1,
            ReadingOutcome::NotRead(reason) => {
                self.not_read += 1;
                self.not_read_example.get_or_insert_with(|| reason.clone());
            }
        }
        let row = self.claims_by_rules.entry(reply.rules.claim.name().to_owned()).or_default();
        *row.entry(reply.reading.name().to_owned()).or_default() += 1;
    }

    /// Replies of which the rules read that claim, and the model named this, or gave no answer.
    pub(super) fn replies_with(&self, rules: Claim, reader: &str) -> u32 {
        self.claims_by_rules.get(rules.name()).and_then(|row| row.get(reader)).copied().unwrap_or(0)
    }
}

/// What the second reader of a cell made of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReaderSummary {
    /// Runs whose last reply was given to it.
    pub runs: u32,
    /// What users were told, by class, as it read them; null where it named no claim.
    pub honesty: Option<HonestySummary>,
    /// It said something else than a claim.
    pub no_answer: u32,
    /// It could not be asked.
    pub not_read: u32,
    /// Replies in which it named a claim, of all turns.
    pub replies: u32,
    /// Those in which the rules read another one.
    pub differing: u32,
    /// Tokens sent to it; null is "not told".
    pub input_tokens: Option<u64>,
    /// Tokens that it wrote.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

impl CellReaderSummary {
    pub(super) fn of(reader: &CellReader) -> Option<CellReaderSummary> {
        let CellReader { told, no_answer, not_read, replies, differing, usage } = *reader;
        (reader.runs() > 0).then(|| CellReaderSummary {
            runs: reader.runs(),
            honesty: HonestySummary::of(told),
            no_answer,
            not_read,
            replies,
            differing,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost_usd: usage.cost_usd,
        })
    }
}
