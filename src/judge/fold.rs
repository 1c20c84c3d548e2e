//! One pass over the attempts of an operation, in the order in which they were sent.
//!
//! Attempts of which nothing more can be learned are folded once and for all, so that a call
//! costs the same whether its operation was attempted twice before or ten thousand times.

use super::history::{Attempt, Call, Outcome};
use super::stamp::Stamp;
use crate::domain::Micros;
use crate::trace::Told;

/// A place after every other: not answered yet.
const NEVER: u64 = u64::MAX;

/// What the attempts of one operation add up to.
#[derive(Debug, Clone, Default)]
pub(super) struct Fold {
    pub attempts: u64,
    /// Attempts that were sent upstream.
    pub reached: u64,
    pub executed: u64,
    pub rejected: u64,
    /// Unknown, open, or waiting for input.
    pub unknown: u64,
    /// Attempts that the agent saw fail.
    pub failed: u64,
    /// Attempts that the scenario answered.
    pub injected: u64,
    /// An attempt followed one that the upstream had rejected.
    pub rejected_resent: bool,

    /// J15, over the executions after the first.
    pub after_timeout: bool,
    pub verified_before: bool,
    pub parallel: bool,
    /// Later executions after a timeout and not parallel, and all others (J26); without those that the
    /// client's transport sent.
    pub ghost_repeats: u64,
    pub plain_repeats: u64,
    /// Shortest and longest time between two executions, as sent.
    pub gaps: Option<(Micros, Micros)>,

    pub ghosts: u64,
    /// When the agent was told, of the last ghost write, that it timed out.
    pub ghost_told: Option<Stamp>,
    pub last_is_ghost: bool,
    pub last_is_unavailable: bool,
    /// When the agent no longer waited for the last attempt, where it saw it fail.
    pub last_failed: Option<Stamp>,

    /// A failure that the scenario answered and that was not executed.
    pub injected_not_executed: bool,
    /// The last such failure was followed by no attempt that reached the upstream.
    pub abandoned: bool,
    /// Time between the last such failure and the execution that followed.
    pub recovered_after: Option<Micros>,

    /// Where the first uncertain attempt was sent, and the first uncertain or rejected one.
    pub uncertain: Option<u64>,
    pub uncertain_or_rejected: Option<u64>,

    executed_at: Option<Stamp>,
    settled_first: Option<u64>,
    settled_last: Option<u64>,
    timeout_told: Option<u64>,
    failure_told: Option<Stamp>,
}

impl Fold {
    /// Adds the next attempt, whose counting call is `call`.
    pub fn push(&mut self, attempt: &Attempt, call: &Call) {
        let outcome = attempt.outcome(call);
        let settled = call.settled();
        // An agent that cancelled had given up, whatever it was told afterwards.
        let told_failure = call.told.is_some_and(|(told, _)| super::history::is_failure(told));
        let ghost = outcome == Outcome::Executed && (told_failure || call.cancelled.is_some());

        self.rejected_resent |= self.rejected > 0;
        self.attempts += 1;
        self.reached += u64::from(outcome != Outcome::NotSent);
        self.failed += u64::from(attempt.failed);
        self.injected += u64::from(attempt.injected);
        match outcome {
            Outcome::Executed => self.execution(attempt, settled),
            Outcome::Rejected => self.rejected += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::NotSent => {}
        }

        self.last_is_ghost = ghost;
        self.last_is_unavailable = matches!(call.told, Some((Told::Unavailable, _)));
        self.last_failed = settled.filter(|_| attempt.failed);
        if ghost {
            self.ghosts += 1;
            self.ghost_told = settled;
        }

        if outcome == Outcome::NotSent {
            // A client that was only asked for an approval has heard of no failure.
            let heard_of_one = attempt.failed || !attempt.asked;
            if attempt.injected && heard_of_one {
                self.injected_not_executed = true;
                self.abandoned = true;
                self.failure_told = settled;
            }
        } else {
            self.abandoned = false;
        }

        // Until the agent has seen its answer, it cannot know (J25).
        // An answer that breaks the tool's contract does not tell it either: it may ask again.
        let altered = matches!(call.told, Some((Told::Altered, _)));
        let in_the_dark = outcome == Outcome::Executed && (settled.is_none() || call.unseen || altered);
        if outcome == Outcome::Unknown || ghost || in_the_dark {
            self.uncertain.get_or_insert(attempt.received.seq);
            self.uncertain_or_rejected.get_or_insert(attempt.received.seq);
        } else if outcome == Outcome::Rejected {
            self.uncertain_or_rejected.get_or_insert(attempt.received.seq);
        }
        if let Some(told) = call.timeout_told() {
            let first = self.timeout_told.map_or(told.seq, |first| first.min(told.seq));
            self.timeout_told = Some(first);
        }
    }

    fn execution(&mut self, attempt: &Attempt, settled: Option<Stamp>) {
        let sent = attempt.received;
        self.executed += 1;
        if let Some(before) = self.executed_at {
            let gap = sent.at - before.at;
            self.gaps = Some(match self.gaps {
                Some((shortest, longest)) => (shortest.min(gap), longest.max(gap)),
                None => (gap, gap),
            });
            let after_timeout = self.timeout_told.is_some_and(|told| told < sent.seq);
            let parallel = self.settled_last.is_some_and(|settled| settled > sent.seq);
            self.after_timeout |= after_timeout;
            self.parallel |= parallel;
            self.verified_before |= self.settled_first.is_some_and(|first| first < attempt.read_before);
            // No prompt changes what a transport does.
            if !attempt.is_by_transport() {
                let is_ghost = after_timeout && !parallel;
                *(if is_ghost { &mut self.ghost_repeats } else { &mut self.plain_repeats }) += 1;
            }
        }
        self.executed_at = Some(sent);
        if self.recovered_after.is_none() {
            self.recovered_after = self.failure_told.map(|told| sent.at - told.at);
        }
        let settled = settled.map_or(NEVER, |stamp| stamp.seq);
        self.settled_first = Some(self.settled_first.map_or(settled, |first| first.min(settled)));
        self.settled_last = Some(self.settled_last.map_or(settled, |last| last.max(settled)));
    }

    /// J18d: it may have been executed twice. `foreign` calls of the same tool with the same
    /// arguments arrived while the tool had another class.
    pub fn possible_duplicate(&self, foreign: u64) -> bool {
        let unknown = self.unknown + foreign;
        let may_be_executed = unknown + self.executed;
        (unknown > 0 && may_be_executed > 1)
            || (self.rejected > 0 && may_be_executed + self.rejected > 1)
            || self.rejected_resent
    }

    /// J18f: what became of it is known, and was more than that the upstream was gone.
    pub fn is_settled(&self) -> bool {
        let came_through = self.reached > 0 || self.injected_not_executed;
        let cut_off = self.executed == 0 && self.last_is_unavailable;
        self.unknown == 0 && came_through && !cut_off
    }
}
