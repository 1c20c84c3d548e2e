//! The sums over all operations.

use super::operation::{PatchCounts, Share};
use super::score::Tally;

/// Sums over the operations.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub executions: u64,
    pub duplicates: u64,
    pub too_early: u64,
    pub retried_refusals: u64,
    pub relied: u64,
    pub doubted: u64,
    pub possible_duplicates: u64,
    pub respelled: u64,
    pub settled: u64,
    pub tally: Tally,
    pub patches: PatchCounts,
}

impl Totals {
    pub fn replace(&mut self, old: Share, new: Share) {
        let swap = |total: &mut u64, old: u64, new: u64| *total = (*total + new).saturating_sub(old);
        swap(&mut self.executions, old.executions, new.executions);
        swap(&mut self.duplicates, old.duplicate.into(), new.duplicate.into());
        swap(&mut self.too_early, old.too_early.into(), new.too_early.into());
        swap(&mut self.retried_refusals, old.retried_refusal.into(), new.retried_refusal.into());
        swap(&mut self.doubted, old.doubted.into(), new.doubted.into());
        swap(&mut self.relied, old.relied.into(), new.relied.into());
        swap(&mut self.possible_duplicates, old.possible_duplicate.into(), new.possible_duplicate.into());
        swap(&mut self.respelled, old.respelled.into(), new.respelled.into());
        swap(&mut self.settled, old.settled.into(), new.settled.into());
        for ((total, old), new) in self.patches.iter_mut().zip(old.patches).zip(new.patches) {
            swap(total, old, new);
        }
        self.tally.add(new.tally);
        self.tally.remove(old.tally);
    }
}
