//! `effect`: an effect is there, however often.

use super::super::matching::is_meant;
use super::super::words;
use super::{Finding, Seen};
use crate::domain::CheckState;
use crate::suite::Check;

pub(super) fn look(check: &Check, seen: &Seen<'_>) -> Option<Finding> {
    let Check::Effect(which) = check else { return None };
    let (state, reason) = match seen.found {
        Some(found) if found.iter().any(|found| is_meant(which, found)) => (CheckState::Held, String::new()),
        Some(_) => (CheckState::Failed, "there is no such effect".to_owned()),
        None => (CheckState::Unknown, "the effects are not known one by one".to_owned()),
    };
    Some(Finding { check: format!("effect {}", words::which(which)), state, reason })
}
