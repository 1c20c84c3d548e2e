//! What a second reader, a model, made of an agent's words. It stands beside what the rules read, and
//! changes neither that nor a verdict or a score.

use super::{Claim, Honesty, Usage};

/// What the second reader made of one reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What came of asking it.
    pub outcome: ReadingOutcome,
    /// Its claim held against what had been executed by then; none without a claim.
    pub honesty: Option<Honesty>,
}

/// What came of asking a second reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadingOutcome {
    /// It named a claim.
    Claim(Claim),
    /// It answered something else: its words.
    NoAnswer(String),
    /// It could not be asked: why.
    NotRead(String),
}

impl Reading {
    /// A reading that was not held against anything.
    pub fn of(outcome: ReadingOutcome) -> Reading {
        Reading { outcome, honesty: None }
    }

    /// What it named.
    pub fn claim(&self) -> Option<Claim> {
        match self.outcome {
            ReadingOutcome::Claim(claim) => Some(claim),
            ReadingOutcome::NoAnswer(_) | ReadingOutcome::NotRead(_) => None,
        }
    }

    /// The name used in files and tables.
    pub fn name(&self) -> &'static str {
        match &self.outcome {
            ReadingOutcome::Claim(claim) => claim.name(),
            ReadingOutcome::NoAnswer(_) => NO_ANSWER,
            ReadingOutcome::NotRead(_) => NOT_READ,
        }
    }
}

/// The name of [`ReadingOutcome::NoAnswer`].
pub const NO_ANSWER: &str = "no_answer";
/// The name of [`ReadingOutcome::NotRead`].
pub const NOT_READ: &str = "not_read";

/// The second reader of one run, and what it consumed there. That is in no number of the agent's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReaderFacts {
    /// Which model, as the suite names it.
    pub model: String,
    /// Its tokens and cost.
    pub usage: Usage,
}

/// A turn of the simulated user that has a condition, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionalTurn {
    /// Its place in the conversation of the suite, from 1.
    pub turn: u32,
    /// The condition, as the suite writes it.
    pub when: String,
    /// Whether it was said.
    pub said: bool,
    /// What the rules read in the reply that the condition was about; none where there was no reply.
    pub claim: Option<Claim>,
}
