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

/// The first of the signs that stands in a text, in lower case.
fn sign<'s>(text: &str, signs: &[&'s str]) -> Option<&'s str> {
    let text = text.to_lowercase();
    signs.iter().find(|sign| text.contains(**sign)).copied()
}

#[cfg(test)]
mod tests;
