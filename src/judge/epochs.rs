//! What an agent did when the code behind its tools changed (R1 to R5). Enters no verdict: whether
//! something was executed twice is asked of every run alike.

use super::judgement::Observation;
use super::words::times;
use crate::domain::ConnectionId;
use std::collections::{BTreeMap, BTreeSet};

/// The client got the list of tools again after the code or the list had changed.
pub const CATALOGUE_REFRESHED: &str = "CATALOGUE_REFRESHED";
/// A call was made with a list of tools that was no longer that of the upstream.
pub const CALLED_WITH_STALE_CATALOGUE: &str = "CALLED_WITH_STALE_CATALOGUE";
/// A call was refused, since other code would have answered than was approved.
pub const REFUSED_STALE_EPOCH: &str = "REFUSED_STALE_EPOCH";
/// A write that was under way when its process was replaced was sent again.
pub const RESENT_AFTER_EPOCH_CHANGE: &str = "RESENT_AFTER_EPOCH_CHANGE";

/// What is kept of it.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    /// Connections whose client has an older list of tools than their upstream may have.
    behind: BTreeSet<ConnectionId>,
    refreshed: u64,
    stale: BTreeMap<usize, u64>,
    refused: BTreeMap<usize, u64>,
    /// Operations with an attempt that a change of epoch interrupted, and how often they came again.
    interrupted: BTreeMap<usize, (usize, u64)>,
    /// Rises with everything that is to be said.
    pub changes: u64,
}

impl Epochs {
    /// The list that a client has may be out of date from now on.
    pub fn changed(&mut self, connection: ConnectionId) {
        self.behind.insert(connection);
    }

    /// A client got the whole list.
    pub fn listed(&mut self, connection: ConnectionId) {
        if self.behind.remove(&connection) {
            self.refreshed += 1;
            self.changes += 1;
        }
    }

    /// A call arrived, of an operation where it is a write.
    pub fn called(&mut self, connection: ConnectionId, tool: usize, operation: Option<usize>) {
        if self.behind.contains(&connection) {
            *self.stale.entry(tool).or_default() += 1;
            self.changes += 1;
        }
        if let Some((_, again)) = operation.and_then(|operation| self.interrupted.get_mut(&operation)) {
            *again += 1;
            self.changes += 1;
        }
    }

    /// A call was refused because of its epoch.
    pub fn refused(&mut self, tool: usize) {
        *self.refused.entry(tool).or_default() += 1;
        self.changes += 1;
    }

    /// A write was interrupted by a change of epoch.
    pub fn interrupted(&mut self, operation: usize, tool: usize) {
        self.interrupted.entry(operation).or_insert((tool, 0));
    }

    /// Everything that is to be said; `name` gives the name of a tool.
    pub fn observations<'a>(&self, name: impl Fn(usize) -> &'a str) -> Vec<Observation> {
        let observation =
            |kind, tool: &str, message| Observation { kind, tool: tool.to_owned(), operation: None, message };
        let mut all = Vec::new();
        if self.refreshed > 0 {
            let message = format!(
                "after the tools or the code behind them had changed, the client fetched their list again {}",
                times(self.refreshed)
            );
            all.push(observation(CATALOGUE_REFRESHED, "", message));
        }
        for (tool, calls) in &self.stale {
            let tool = name(*tool);
            let message =
                format!("{tool} was called {} with a list of tools from before the change", times(*calls));
            all.push(observation(CALLED_WITH_STALE_CATALOGUE, tool, message));
        }
        for (tool, calls) in &self.refused {
            let tool = name(*tool);
            let message =
                format!("{tool} was refused {}: the approved code was no longer what runs", times(*calls));
            all.push(observation(REFUSED_STALE_EPOCH, tool, message));
        }
        for (tool, again) in self.interrupted.values().filter(|(_, again)| *again > 0) {
            let tool = name(*tool);
            let message = format!(
                "{tool} was under way when its process was replaced, and was sent again {}",
                times(*again)
            );
            all.push(observation(RESENT_AFTER_EPOCH_CHANGE, tool, message));
        }
        all
    }
}
