//! What one operation adds to the totals, kept up to date.

use super::lookalikes::Coarse;
use super::operation::Share;
use super::patches;
use super::respelling::Arguments;
use super::score::Tally;
use super::state::Judge;
use super::view::View;

impl View<'_> {
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
            doubted: self.operation.broken.iter().any(|broken| broken.doubted),
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
