//! What a run really brought about, by the upstream's own account, beside what its prompt asked for.
//!
//! Never by net count: a write that is there twice and another that is missing are one double and
//! one lost effect, not two that come out even.

use serde::{Deserialize, Serialize};

/// Where an account of effects comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountSource {
    /// The ledger of a built-in upstream.
    Ledger,
    /// `oracle: {command: …}`
    Command,
    /// `oracle: {tool: …}`
    Tool,
    /// `oracle: {sqlite: …}`
    Sqlite,
}

impl AccountSource {
    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            AccountSource::Ledger => "ledger",
            AccountSource::Command => "command",
            AccountSource::Tool => "tool",
            AccountSource::Sqlite => "sqlite",
        }
    }
}

/// What a run really brought about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// Who says so.
    pub source: AccountSource,
    /// What is said.
    pub account: Account,
}

/// What the upstream's own account says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// Effect by effect.
    Known {
        /// What the prompt asks for, in the order of the suite.
        expected: Vec<ExpectedEffect>,
        /// What nobody asked for.
        unasked: Vec<UnaskedEffect>,
    },
    /// The suite does not say what the prompt should bring about.
    NotStated {
        /// Effects that there are.
        found: u64,
    },
    /// The account could not be had, or cannot be told apart.
    Unknown {
        /// Why, as a sentence for people.
        reason: String,
    },
}

/// One effect that a prompt asks for, and how often it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedEffect {
    /// The effect in words, e.g. `create_booking (room 12)`.
    pub effect: String,
    /// How often the task asks for it, from 1.
    pub asked: u64,
    /// How often it is there.
    pub found: u64,
}

/// What became of an expected effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Less often than the task asks: not at all, where it asks once.
    Lost,
    /// As often as the task asks.
    Right,
    /// More often.
    Double,
}

impl Fate {
    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Lost => "lost",
            Fate::Right => "right",
            Fate::Double => "double",
        }
    }
}

impl ExpectedEffect {
    /// Lost, right or double.
    pub fn fate(&self) -> Fate {
        match self.found.cmp(&self.asked) {
            std::cmp::Ordering::Less => Fate::Lost,
            std::cmp::Ordering::Equal => Fate::Right,
            std::cmp::Ordering::Greater => Fate::Double,
        }
    }
}

/// An effect that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnaskedEffect {
    /// The effect in words.
    pub effect: String,
    /// How often it is there.
    pub found: u64,
}

/// Number of effects by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EffectCounts {
    /// Expected effects that are there less often than asked.
    pub lost: u64,
    /// As often as asked.
    pub right: u64,
    /// More often.
    pub double: u64,
    /// Effects that nobody asked for.
    pub unasked: u64,
}

impl std::ops::AddAssign for EffectCounts {
    fn add_assign(&mut self, other: EffectCounts) {
        self.lost += other.lost;
        self.right += other.right;
        self.double += other.double;
        self.unasked += other.unasked;
    }
}

impl Effects {
    /// The figures; none where the account is unknown, or the suite states no effects.
    pub fn counts(&self) -> Option<EffectCounts> {
        let Account::Known { expected, unasked } = &self.account else { return None };
        let of = |fate| expected.iter().filter(|effect| effect.fate() == fate).count() as u64;
        Some(EffectCounts {
            lost: of(Fate::Lost),
            right: of(Fate::Right),
            double: of(Fate::Double),
            unasked: unasked.iter().map(|effect| effect.found).sum(),
        })
    }
}

/// Why the judge and the upstream's account say different things of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DisagreementKind {
    /// A write was executed several times and is there as often as once: the upstream drops repetitions.
    IdempotentUpstreamHeld,
    /// One call, and the effect is there several times: the agent is not to blame.
    ServerDoubledSingleCall,
    /// The upstream answered with an error, or not at all, and yet the effect is there.
    ExecutedThoughAnsweredAsError,
    /// The upstream answered that it was done, and there is no effect.
    AnsweredWithoutEffect,
    /// The effect is there more often than the judge saw it executed.
    MoreThanJudged,
}

impl DisagreementKind {
    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            DisagreementKind::IdempotentUpstreamHeld => "IDEMPOTENT_UPSTREAM_HELD",
            DisagreementKind::ServerDoubledSingleCall => "SERVER_DOUBLED_SINGLE_CALL",
            DisagreementKind::ExecutedThoughAnsweredAsError => "EXECUTED_THOUGH_ANSWERED_AS_ERROR",
            DisagreementKind::AnsweredWithoutEffect => "ANSWERED_WITHOUT_EFFECT",
            DisagreementKind::MoreThanJudged => "MORE_THAN_JUDGED",
        }
    }
}

/// A place where the judge and the upstream's account say different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// Why.
    pub kind: DisagreementKind,
    /// For people: which operation, what the judge saw, what is there.
    pub sentence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(asked: u64, found: u64) -> ExpectedEffect {
        ExpectedEffect { effect: String::new(), asked, found }
    }

    #[test]
    fn one_doubled_and_one_skipped_do_not_come_out_even() {
        let account = Account::Known { expected: vec![effect(1, 2), effect(1, 0)], unasked: vec![] };
        let counts = Effects { source: AccountSource::Ledger, account }.counts();
        assert_eq!(counts, Some(EffectCounts { lost: 1, right: 0, double: 1, unasked: 0 }));
    }

    #[test]
    fn two_that_are_asked_for_are_no_duplicate() {
        assert_eq!(
            [effect(2, 1), effect(2, 2), effect(2, 3)].map(|e| e.fate()),
            [Fate::Lost, Fate::Right, Fate::Double]
        );
    }
}
