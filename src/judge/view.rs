//! One operation as the checks see it, and what they ask of it.

use super::fold::Fold;
use super::operation::Operation;
use super::refusal::Again;
use super::reliance::Relied;
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
            Some((_, Some((Told::Contradiction, _)))) => "a success and a failure at once",
            Some((_, Some((Told::Malformed, _)))) => "nothing that can be read",
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
}
