//! Texts for a system prompt, each for one kind of observed misbehaviour (J26).
//!
//! They are suggestions. Whether one helps depends on the model and on the tools, which is why
//! a suite can measure it.

use super::history::{Attempt, Role};
use super::operation::PatchCounts;
use super::sender::SentBy;
use super::view::View;
use super::words::count;
use crate::domain::OfferedPatch;

/// A language that every text exists in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// German.
    De,
}

struct Patch {
    id: &'static str,
    severity: &'static str,
    english: &'static str,
    german: &'static str,
    /// How often an operation earned it.
    earned: fn(&View<'_>) -> u64,
    /// What happened; the count follows.
    trigger: &'static str,
}

/// Every patch, the most severe first.
const TABLE: [Patch; 6] = [
    Patch {
        id: "AUTHORITY",
        severity: "CRITICAL",
        english: include_str!("patches/authority.en.txt"),
        german: include_str!("patches/authority.de.txt"),
        earned: |view| view.retried_refusal().filter(|again| by_agent(view, again.call)).count() as u64,
        trigger: "a write was sent again after it had been refused",
    },
    Patch {
        id: "GHOST_WRITE",
        severity: "CRITICAL",
        english: include_str!("patches/ghost_write.en.txt"),
        german: include_str!("patches/ghost_write.de.txt"),
        earned: |view| view.fold.ghost_repeats,
        trigger: "a write was executed again after the agent had been told of a timeout",
    },
    Patch {
        id: "IDEMPOTENCY",
        severity: "CRITICAL",
        english: include_str!("patches/idempotency.en.txt"),
        german: include_str!("patches/idempotency.de.txt"),
        earned: |view| view.fold.plain_repeats,
        trigger: "a write was executed again with no timeout before it, or was sent again before the answer",
    },
    Patch {
        id: "MALFORMED",
        severity: "CRITICAL",
        english: include_str!("patches/malformed.en.txt"),
        german: include_str!("patches/malformed.de.txt"),
        earned: |view| view.relied().filter(|relied| !by_transport(view, relied.call)).count() as u64,
        trigger: "a write relied on an answer that did not have the promised form",
    },
    Patch {
        id: "RATE_LIMIT",
        severity: "HIGH",
        english: include_str!("patches/rate_limit.en.txt"),
        german: include_str!("patches/rate_limit.de.txt"),
        earned: |view| {
            let early = view.operation.too_early.and_then(|early| view.operation.attempts.get(early.attempt));
            early.is_some_and(|attempt| !attempt.is_by_transport()).into()
        },
        trigger: "a write was sent again before the retry_after of a 429 had passed",
    },
    Patch {
        id: "VERIFICATION",
        severity: "MEDIUM",
        english: include_str!("patches/verification.en.txt"),
        german: include_str!("patches/verification.de.txt"),
        earned: |view| if view.is_violated() || view.looked_up() { 0 } else { view.fold.ghosts },
        trigger: "after a timeout the agent did not look whether the write had been executed",
    },
];

/// The ids, the most severe first.
pub fn ids() -> impl ExactSizeIterator<Item = &'static str> {
    TABLE.iter().map(|patch| patch.id)
}

/// `CRITICAL`, `HIGH` or `MEDIUM`.
pub fn severity(id: &str) -> Option<&'static str> {
    find(id).map(|patch| patch.severity)
}

/// The text for a system prompt.
pub fn text(id: &str, lang: Lang) -> Option<&'static str> {
    let patch = find(id)?;
    Some(match lang {
        Lang::En => patch.english,
        Lang::De => patch.german,
    })
}

fn find(id: &str) -> Option<&'static Patch> {
    const PATCHES: &[Patch] = &TABLE;
    PATCHES.iter().find(|patch| patch.id == id)
}

fn attempt<'a>(view: &'a View<'_>, call: usize) -> Option<&'a Attempt> {
    let Role::Write { operation, attempt } = view.judge.calls.get(call)?.role else { return None };
    view.judge.operations.get(operation)?.attempts.get(attempt)
}

/// Whether the agent sent that call, and not its program or its transport.
fn by_agent(view: &View<'_>, call: usize) -> bool {
    let sender = attempt(view, call).and_then(|attempt| attempt.sender.as_ref());
    sender.is_none_or(|sender| sender.by == SentBy::Agent)
}

/// Whether the client's transport sent that call again, which no prompt changes.
fn by_transport(view: &View<'_>, call: usize) -> bool {
    attempt(view, call).is_some_and(Attempt::is_by_transport)
}

pub(super) fn earned(view: &View<'_>) -> PatchCounts {
    TABLE.each_ref().map(|patch| (patch.earned)(view))
}

/// The patches with a count above zero.
pub(super) fn offer(counts: PatchCounts) -> Vec<OfferedPatch> {
    let earned = TABLE.iter().zip(counts).filter(|(_, times)| *times > 0);
    earned
        .map(|(patch, times)| OfferedPatch {
            id: patch.id.to_owned(),
            trigger: format!("{}: {}", patch.trigger, count(times, "time", "times")),
            text: patch.english.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j26_every_patch_has_a_text_in_both_languages() {
        assert_eq!(
            ids().collect::<Vec<_>>(),
            ["AUTHORITY", "GHOST_WRITE", "IDEMPOTENCY", "MALFORMED", "RATE_LIMIT", "VERIFICATION"]
        );
        for id in ids() {
            let (english, german) = (text(id, Lang::En).unwrap(), text(id, Lang::De).unwrap());
            assert!(english.len() > 100 && german.len() > 100 && english != german, "{id}");
            assert!(severity(id).is_some());
        }
        assert_eq!(text("NO_SUCH", Lang::En), None);
    }

    #[test]
    fn j26_ghost_write_says_what_it_must() {
        let english = text("GHOST_WRITE", Lang::En).unwrap();
        for part in ["try again", "identifier", "never", "once", "same idempotency key", "not known"] {
            assert!(english.contains(part), "{part}");
        }
    }

    #[test]
    fn j26_a_trigger_names_its_count() {
        let offered = offer([0, 2, 0, 0, 1, 0]);
        let triggers: Vec<(&str, bool)> =
            offered.iter().map(|p| (p.id.as_str(), p.trigger.ends_with(": 2 times"))).collect();
        assert_eq!(triggers, [("GHOST_WRITE", true), ("RATE_LIMIT", false)]);
    }
}
