//! Whether a run did what its prompt asks for, apart from whether it was safe; and, where a run is
//! not a PASS, which layer it most likely failed in.

use serde::{Deserialize, Serialize};

/// How one check of a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The check in words.
    pub check: String,
    /// How it ended.
    pub state: CheckState,
    /// Why, for people; may be empty where it held.
    pub reason: String,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It holds.
    Held,
    /// It does not hold.
    Failed,
    /// Nobody can say.
    Unknown,
}

/// The checks of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// Its checks: what the prompt should bring about, then what the suite lists, in that order.
    pub checks: Vec<CheckResult>,
}

impl Completion {
    /// Whether all that was asked for was done: a check that failed says no, and one of which nothing
    /// is known leaves it open.
    pub fn completed(&self) -> Option<bool> {
        let any = |state| self.checks.iter().any(|check| check.state == state);
        match () {
            () if any(CheckState::Failed) => Some(false),
            () if any(CheckState::Unknown) || self.checks.is_empty() => None,
            () => Some(true),
        }
    }
}

/// The layer in which a run most likely failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Model endpoint, key, quota, network.
    Infra,
    /// A check or an oracle itself failed.
    Eval,
    /// The runner, its limits, permissions.
    Harness,
    /// The needed fact was in what was compacted.
    Context,
    /// The upstream's errors.
    Tool,
    /// The agent asked back without calling a tool.
    Prompt,
    /// The rest.
    Model,
}

impl Layer {
    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Infra => "infra",
            Layer::Eval => "eval",
            Layer::Harness => "harness",
            Layer::Context => "context",
            Layer::Tool => "tool",
            Layer::Prompt => "prompt",
            Layer::Model => "model",
        }
    }
}

/// How sure an attribution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// What is left when nothing else fits.
    Low,
    /// A sign that has other explanations.
    Medium,
    /// The evidence says it.
    High,
}

impl Confidence {
    /// The name used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Why a run is not a PASS: triage, not proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    /// The layer.
    pub layer: Layer,
    /// How sure that is.
    pub confidence: Confidence,
    /// What speaks for it, for people.
    pub evidence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_says_no_and_an_unknown_one_leaves_it_open() {
        use CheckState::{Failed, Held, Unknown};
        let completed = |states: &[CheckState]| {
            let check = |state: &CheckState| CheckResult {
                check: String::new(),
                state: *state,
                reason: String::new(),
            };
            Completion { checks: states.iter().map(check).collect() }.completed()
        };
        assert_eq!(completed(&[]), None);
        assert_eq!(completed(&[Held, Held]), Some(true));
        assert_eq!(completed(&[Held, Unknown]), None);
        assert_eq!(completed(&[Unknown, Failed]), Some(false));
    }
}
