//! Why a run is no PASS: the layer in which it most likely failed. Pure.
//!
//! The first rule that matches decides, in the order of [`TABLE`]: what lies below the agent comes
//! before the agent, and the model is what is left. It is triage, not proof, so every attribution has
//! a confidence and the evidence that it rests on.
//!
//! | rule | it was |
//! |---|---|
//! | `infra` | the model's endpoint, key, quota or network |
//! | `eval` | a check, an oracle or the judging itself |
//! | `harness` | the runner, its limits, permissions, the agent's program |
//! | `context` | a fact that was needed and had been compacted away |
//! | `tool` | the upstream: errors of its own, no answer, two effects of one call |
//! | `prompt` | the agent asked back instead of calling a tool |
//! | `model` | the rest |

mod context;
mod eval;
mod harness;
mod infra;
mod model;
mod prompt;
mod tool;

use crate::domain::{Attribution, Confidence, Layer, RunResult, Verdict};
use crate::judge::Judgement;
use crate::trace::Record;

/// What a rule may look at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The run, its verdict given.
    pub run: &'a RunResult,
    /// What the judge says; none where the trace could not be judged.
    pub judgement: Option<&'a Judgement>,
    /// The trace; empty where there is none.
    pub records: &'a [Record],
}

/// A rule: whether it was this layer, how sure that is, and what speaks for it.
type Rule = fn(&Case<'_>) -> Option<(Confidence, String)>;

/// Every rule, in the order in which they are tried.
const TABLE: &[(Layer, Rule)] = &[
    (Layer::Infra, infra::find),
    (Layer::Eval, eval::find),
    (Layer::Harness, harness::find),
    (Layer::Context, context::find),
    (Layer::Tool, tool::find),
    (Layer::Prompt, prompt::find),
    (Layer::Model, model::find),
];

/// The layer in which a run failed; none for a PASS.
pub fn attribute(case: &Case<'_>) -> Option<Attribution> {
    if case.run.verdict == Verdict::Pass {
        return None;
    }
    TABLE.iter().find_map(|(layer, rule)| {
        rule(case).map(|(confidence, evidence)| Attribution { layer: *layer, confidence, evidence })
    })
}

/// The first of the signs, in lower case, that begins a word of a text: `ENOTFOUND` stands in no
/// `ModuleNotFoundError`, and `authentication` does in `AuthenticationError`.
fn sign<'s>(text: &str, signs: &[&'s str]) -> Option<&'s str> {
    let stands = |sign: &&&str| {
        text.char_indices().any(|(at, first)| {
            text.get(at..at + sign.len()).is_some_and(|part| part.eq_ignore_ascii_case(sign))
                && begins_a_word(text, at, first)
        })
    };
    signs.iter().find(stands).copied()
}

fn begins_a_word(text: &str, at: usize, first: char) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let second = text.get(at..).and_then(|rest| rest.chars().nth(1));
    before.is_none_or(|before| {
        let is_inside = before.is_alphanumeric();
        let is_hump =
            first.is_uppercase() && (before.is_lowercase() || second.is_some_and(char::is_lowercase));
        !is_inside || is_hump
    })
}

#[cfg(test)]
mod tests;
