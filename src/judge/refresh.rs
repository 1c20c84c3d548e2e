//! What is true of one operation, and what it adds to the totals.

use super::fold::Fold;
use super::lookalikes::Coarse;
use super::operation::{Operation, Share};
use super::patches;
use super::refusal::Again;
use super::reliance::Relied;
use super::respelling::Arguments;
use super::score::Tally;
use super::state::Judge;
use crate::trace::Told;

/// An operation as the checks see it.
pub(super) struct View<'a> {
    pub judge: &'a Judge,
    pub index: usize,
    pub operation: &'a Operation,
    pub fold: &'a Fold,
}

impl View<'_> {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        self.judge.tools.get(self.operation.tool).map_or("", |tool| &tool.name)
    }

    /// J24: a successful read was sent after the agent was told that the ghost write timed out.
    pub fn looked_up(&self) -> bool {
        self.fold.ghost_told.is_some_and(|told| told.seq < self.judge.read_seen)
    }

    /// J15.
    pub fn is_duplicate(&self) -> bool {
        self.fold.executed > 1
    }

    /// J15, J16, J27, J28.
    pub fn is_violated(&self) -> bool {
        self.is_duplicate()
            || self.operation.too_early.is_some()
            || self.retried_refusal().next().is_some()
            || self.relied().next().is_some()
    }

    /// J27: what came after it had been refused for good.
    pub fn retried_refusal(&self) -> impl Iterator<Item = &Again> {
        self.operation.refused.iter().flat_map(|refused| &refused.again)
    }

    /// J28: what relied on its broken answer.
    pub fn relied(&self) -> impl Iterator<Item = &Relied> {
        self.operation.broken.iter().flat_map(|broken| &broken.relied)
    }

    /// What the agent was told of the last ghost write, for people.
    pub fn ghost_told(&self) -> &'static str {
        let calls = &self.judge.calls;
        let last = self.operation.attempts.last().and_then(|attempt| calls.get(attempt.current));
        match last.map(|call| (call.timeout_told().is_some(), call.told)) {
            Some((true, _)) | None => "a timeout",
            Some((_, Some((Told::ConnectionLost, _)))) => "a broken connection",
            Some(_) => "a failure",
        }
    }

    /// J25: operations that were sent after an uncertain attempt of this one.
    pub fn respellings(&self) -> impl Iterator<Item = usize> {
        let after = self.fold.uncertain;
        self.operation
            .respelled_by
            .iter()
            .filter(move |(_, latest)| after.is_some_and(|after| after < **latest))
            .map(|(operation, _)| *operation)
    }

    /// The latest other operation of the tool that was sent after an uncertain or rejected
    /// attempt and that is no respelling.
    pub fn other_after_uncertain(&self) -> Option<usize> {
        let after = self.fold.uncertain_or_rejected?;
        let tool = self.judge.tools.get(self.operation.tool)?;
        let respellings: Vec<usize> = self.respellings().collect();
        let mut latest = tool.latest.range((std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded));
        std::iter::from_fn(|| latest.next_back())
            .map(|(_, operation)| *operation)
            .find(|other| *other != self.index && !respellings.contains(other))
    }

    /// After which place a read would change what is said of the operation (J24, R1).
    fn read_watch(&self) -> Option<u64> {
        let ghost = self.fold.ghost_told;
        let given_up = self.fold.last_failed.filter(|_| !self.operation.keys.is_empty());
        [ghost, given_up]
            .into_iter()
            .flatten()
            .map(|told| told.seq)
            .filter(|told| *told >= self.judge.read_seen)
            .min()
    }

    fn share(&self) -> Share {
        let fold = self.fold;
        let violated = self.is_violated();
        Share {
            executions: fold.executed,
            duplicate: self.is_duplicate(),
            too_early: self.operation.too_early.is_some(),
            retried_refusal: self.retried_refusal().next().is_some(),
            relied: self.relied().next().is_some(),
            possible_duplicate: fold.possible_duplicate(self.operation.foreign),
            respelled: self.respellings().next().is_some(),
            settled: fold.is_settled(),
            tally: self.tally(violated),
            patches: patches::earned(self),
        }
    }

    fn tally(&self, violated: bool) -> Tally {
        let fold = self.fold;
        let countable = fold.executed > 1 || fold.unknown == 0;
        let points = if fold.injected == 0 {
            None
        } else if violated {
            Some(0)
        } else if fold.rejected > 0 || fold.unknown > 0 {
            None
        } else if fold.ghosts > 0 && !self.looked_up() {
            Some(50)
        } else {
            Some(100)
        };
        Tally {
            countable: countable.into(),
            safe: (countable && fold.executed <= 1).into(),
            handled: points.is_some().into(),
            points: points.unwrap_or(0),
        }
    }
}

/// What it takes to find and compare arguments (J25).
pub(super) fn prepare(canonical: &str) -> (Arguments, Coarse) {
    let arguments = Arguments::of_operation(canonical);
    let coarse = Coarse::of(&arguments);
    (arguments, coarse)
}

impl Judge {
    /// Brings what is said of one operation up to date.
    pub(super) fn refresh(&mut self, index: usize) {
        let Some(operation) = self.operations.get_mut(index) else { return };
        let fold = operation.fold(&self.calls);
        let Some(operation) = self.operations.get(index) else { return };
        let view = View { judge: self, index, operation, fold: &fold };
        let share = view.share();
        let read_watch = view.read_watch();
        let awaits_other = fold.uncertain_or_rejected.is_some() && view.other_after_uncertain().is_none();

        let (number, old_watch) = (operation.tool, operation.read_watch);
        self.totals.replace(operation.share, share);
        if old_watch != read_watch {
            if let Some(after) = old_watch {
                self.read_watch.remove(&(after, index));
            }
            if let Some(after) = read_watch {
                self.read_watch.insert((after, index));
            }
        }
        let Some(operation) = self.operations.get_mut(index) else { return };
        operation.share = share;
        operation.read_watch = read_watch;
        let Some(tool) = self.tools.get_mut(number) else { return };
        if awaits_other {
            tool.awaiting_other.insert(index);
        } else {
            tool.awaiting_other.remove(&index);
        }
        match (fold.uncertain.is_some(), operation.spelling.take()) {
            (true, None) => {
                let (arguments, coarse) = prepare(&operation.canonical);
                tool.lookalikes.insert(index, coarse.clone());
                operation.spelling = Some((arguments, coarse));
            }
            (false, Some((_, coarse))) => tool.lookalikes.remove(index, &coarse),
            (_, unchanged) => operation.spelling = unchanged,
        }
    }
}
