//! `eval`: a check, an oracle or the judging itself.

use super::Case;
use crate::domain::{Confidence, ReasonCode};

pub(super) fn find(case: &Case<'_>) -> Option<(Confidence, String)> {
    let run = case.run;
    match run.reason_code {
        ReasonCode::EffectsUnknown | ReasonCode::Unjudgeable => Some((Confidence::High, run.reason.clone())),
        ReasonCode::NoPatchObserved => Some((Confidence::High, run.reason.clone())),
        _ => None,
    }
}
