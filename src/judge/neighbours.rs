//! What a call means for the other operations of its tool, and the sums over all of them.

use super::history::Stamp;
use super::lookalikes::Lookalikes;
use super::operation::{Hold, OtherDuringHold, Share};
use super::patches;
use super::refresh::prepare;
use super::respelling::Relation;
use super::score::Tally;
use super::state::Judge;
use crate::domain::{RawJson, ToolClass, ToolInfo};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A tool that was listed or called.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub name: String,
    pub info: Option<ToolInfo>,
    pub called_unclassified: bool,
    /// Its operations by the place of their latest call.
    pub latest: BTreeMap<u64, usize>,
    pub latest_of: HashMap<usize, u64>,
    /// Its uncertain operations (J25).
    pub lookalikes: Lookalikes,
    /// Its refused operations (J27), and by their arguments without credentials.
    pub refused: Lookalikes,
    pub refused_bare: HashMap<String, usize>,
    /// Uncertain or rejected operations that no other operation has followed yet.
    pub awaiting_other: BTreeSet<usize>,
    /// Operations that a 429 holds off, and how long.
    pub holds: Vec<(usize, Hold)>,
}

/// Calls with the same arguments of a tool that was no write when it was called.
#[derive(Debug, Default)]
pub(super) struct Other {
    pub calls: u64,
    unclassified: u64,
    arguments: Option<RawJson>,
    number: usize,
}

/// An unclassified tool that was called more than once with equal arguments.
#[derive(Debug)]
pub(super) struct Repeat {
    pub tool: usize,
    pub arguments: RawJson,
    pub calls: u64,
}

/// Sums over the operations.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub executions: u64,
    pub duplicates: u64,
    pub too_early: u64,
    pub retried_refusals: u64,
    pub relied: u64,
    pub possible_duplicates: u64,
    pub respelled: u64,
    pub settled: u64,
    pub tally: Tally,
    pub patches: patches::Counts,
}

impl Totals {
    pub fn replace(&mut self, old: Share, new: Share) {
        let swap = |total: &mut u64, old: u64, new: u64| *total = (*total + new).saturating_sub(old);
        swap(&mut self.executions, old.executions, new.executions);
        swap(&mut self.duplicates, old.duplicate.into(), new.duplicate.into());
        swap(&mut self.too_early, old.too_early.into(), new.too_early.into());
        swap(&mut self.retried_refusals, old.retried_refusal.into(), new.retried_refusal.into());
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

impl Judge {
    /// Keeps a call of a tool that is no write now.
    pub(super) fn other(&mut self, tool: usize, canonical: String, arguments: RawJson, class: ToolClass) {
        let key: (usize, Arc<str>) = (tool, canonical.into());
        if let Some(operation) = self.by_arguments.get(&key).copied() {
            if let Some(operation) = self.operations.get_mut(operation) {
                operation.foreign += 1;
            }
            self.touch(operation);
        }
        if class == ToolClass::Unclassified
            && let Some(tool) = self.tools.get_mut(tool)
        {
            tool.called_unclassified = true;
        }
        let next = self.others.len();
        let other = self.others.entry(key).or_insert_with(|| Other { number: next, ..Other::default() });
        other.calls += 1;
        if class != ToolClass::Unclassified {
            return;
        }
        other.unclassified += 1;
        let calls = other.unclassified;
        if calls == 1 {
            other.arguments = Some(arguments);
            return;
        }
        self.repeated_calls += 1;
        if let Some(arguments) = other.arguments.take() {
            self.repeats.insert(other.number, Repeat { tool, arguments, calls });
        } else if let Some(repeat) = self.repeats.get_mut(&other.number) {
            repeat.calls = calls;
        }
    }

    /// Notes a call of a write tool for the other operations of that tool.
    pub(super) fn note_latest(&mut self, number: usize, operation: usize, now: Stamp) {
        let Some(tool) = self.tools.get_mut(number) else { return };
        if let Some(before) = tool.latest_of.insert(operation, now.seq) {
            tool.latest.remove(&before);
        }
        tool.latest.insert(now.seq, operation);
        tool.holds.retain(|(_, hold)| now.at < hold.until);
        let mut others: Vec<usize> = tool.awaiting_other.iter().copied().collect();
        for (held, hold) in &tool.holds {
            let Some(held_operation) = self.operations.get_mut(*held).filter(|_| *held != operation) else {
                continue;
            };
            let first = OtherDuringHold {
                operation,
                waited: now.at - hold.answered.at,
                required: hold.required,
                calls: 0,
            };
            held_operation.other_during_hold.get_or_insert(first).calls += 1;
            others.push(*held);
        }
        for other in others {
            if other != operation {
                self.touch(other);
            }
        }
    }

    /// J25: the operations that are uncertain now and that this call may respell.
    pub(super) fn compare_with_uncertain(&mut self, tool: usize, operation: usize, seq: u64) {
        let Some(found) = self.operations.get_mut(operation) else { return };
        // The call itself is open, hence prepared for comparisons; it is put back below.
        let prepared = found.spelling.take();
        let was_prepared = prepared.is_some();
        let (arguments, coarse) = prepared.unwrap_or_else(|| prepare(&found.canonical));
        let lookalikes = self.tools.get_mut(tool).map(|tool| &mut tool.lookalikes);
        let candidates = lookalikes.map(|found| found.candidates(&coarse)).unwrap_or_default();
        for candidate in candidates {
            let Some(found) = self.operations.get_mut(candidate).filter(|_| candidate != operation) else {
                continue;
            };
            if let Some(latest) = found.respelled_by.get_mut(&operation) {
                *latest = seq;
            } else if let Some((earlier, _)) = &found.spelling
                && earlier.relation(&arguments) == Relation::Respelled
            {
                found.respelled_by.insert(operation, seq);
            } else {
                continue;
            }
            self.touch(candidate);
        }
        if let Some(found) = self.operations.get_mut(operation).filter(|_| was_prepared) {
            found.spelling = Some((arguments, coarse));
        }
    }
}
