//! What a call means for the other operations of its tool.

use super::operation::OtherDuringHold;
use super::refresh::prepare;
use super::respelling::Relation;
use super::stamp::Stamp;
use super::state::Judge;
use super::tools::{Other, Repeat};
use crate::domain::{RawJson, ToolClass};
use std::sync::Arc;

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
