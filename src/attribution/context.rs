//! `context`: a fact that was needed had been compacted away, or did not fit.

use super::{Case, sign};
use crate::domain::Confidence;

/// How programs tell that the context was too small.
const OVERFLOWN: &[&str] = &["context_length_exceeded", "maximum context length", "context window exceeded"];
const COMPACTED: &[&str] =
    &["compacted", "compaction", "auto-compact", "context was summarised", "context was summarized"];

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    let told = |signs| sign(&run.reason, signs).or_else(|| sign(&run.agent.stderr, signs));
    if let Some(sign) = told(OVERFLOWN) {
        return Some((Confidence::High, format!("the agent said “{sign}”")));
    }
    // That something was cut does not say that it was what was needed.
    told(COMPACTED).map(|sign| (Confidence::Low, format!("the agent said “{sign}” during the run")))
}
