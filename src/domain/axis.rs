//! The axes of a matrix, and the key of one cell.

use super::Present;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One axis of the matrix. The order of the variants is the order of columns everywhere:
/// in tables, in CSV files and in the key of a cell.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// The agent program, a profile's name.
    Agent,
    /// The model that the agent is told to use.
    Model,
    /// The first prompt.
    Prompt,
    /// What the simulated user says next.
    Conversation,
    /// The MCP server behind the proxy.
    Upstream,
    /// The fault.
    Scenario,
    /// The addition to the system prompt, or `off`.
    Patch,
    /// How failures are told that are not the server's own.
    Present,
}

impl Axis {
    /// Every axis, in column order.
    pub const ALL: [Axis; 8] = [
        Axis::Agent,
        Axis::Model,
        Axis::Prompt,
        Axis::Conversation,
        Axis::Upstream,
        Axis::Scenario,
        Axis::Patch,
        Axis::Present,
    ];

    /// The name as users write it in a suite.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Agent => "agent",
            Axis::Model => "model",
            Axis::Prompt => "prompt",
            Axis::Conversation => "conversation",
            Axis::Upstream => "upstream",
            Axis::Scenario => "scenario",
            Axis::Patch => "patch",
            Axis::Present => "present",
        }
    }

    /// The axis of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Axis> {
        Axis::ALL.into_iter().find(|axis| axis.name() == name)
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value on every axis: which cell of the matrix a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellKey {
    /// Value on [`Axis::Agent`].
    pub agent: String,
    /// Value on [`Axis::Model`].
    pub model: String,
    /// Value on [`Axis::Prompt`].
    pub prompt: String,
    /// Value on [`Axis::Conversation`].
    pub conversation: String,
    /// Value on [`Axis::Upstream`].
    pub upstream: String,
    /// Value on [`Axis::Scenario`].
    pub scenario: String,
    /// Value on [`Axis::Patch`].
    pub patch: String,
    /// Value on [`Axis::Present`]; results from before there was that axis are plain.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub present: String,
}

fn plain() -> String {
    Present::Plain.name().to_owned()
}

fn is_plain(value: &str) -> bool {
    value == Present::Plain.name()
}

impl CellKey {
    /// The value on one axis.
    pub fn get(&self, axis: Axis) -> &str {
        match axis {
            Axis::Agent => &self.agent,
            Axis::Model => &self.model,
            Axis::Prompt => &self.prompt,
            Axis::Conversation => &self.conversation,
            Axis::Upstream => &self.upstream,
            Axis::Scenario => &self.scenario,
            Axis::Patch => &self.patch,
            Axis::Present => &self.present,
        }
    }

    /// The same key with another value on one axis: the partner of a comparison.
    #[must_use]
    pub fn with(&self, axis: Axis, value: &str) -> CellKey {
        let mut key = self.clone();
        let slot = match axis {
            Axis::Agent => &mut key.agent,
            Axis::Model => &mut key.model,
            Axis::Prompt => &mut key.prompt,
            Axis::Conversation => &mut key.conversation,
            Axis::Upstream => &mut key.upstream,
            Axis::Scenario => &mut key.scenario,
            Axis::Patch => &mut key.patch,
            Axis::Present => &mut key.present,
        };
        *slot = value.to_owned();
        key
    }
}

impl fmt::Display for CellKey {
    /// `agent=builtin model=m …`, for people; not a stored format.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = Axis::ALL.into_iter().filter(|axis| *axis != Axis::Present || !is_plain(&self.present));
        for (index, axis) in told.enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{}={}", axis.name(), self.get(axis))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CellId;

    /// As `runs.jsonl` had it before there was the axis `present`.
    const BEFORE: &str = r#"{"agent":"a","model":"m","prompt":"p","conversation":"c","upstream":"u","scenario":"F1","patch":"off"}"#;

    #[test]
    fn a_plain_cell_is_written_and_named_as_before_there_was_the_axis() {
        let key: CellKey = serde_json::from_str(BEFORE).unwrap();
        assert_eq!(key.present, "plain");
        assert_eq!(serde_json::to_string(&key).unwrap(), BEFORE);
        let before = crate::domain::digest_all(["a", "m", "p", "c", "u", "F1", "off"]);
        assert!(before.starts_with(&CellId::of(&key).0));
        let structured = key.with(Axis::Present, "structured");
        assert_ne!(CellId::of(&structured), CellId::of(&key));
        assert!(
            structured.to_string().ends_with(" present=structured") && !key.to_string().contains("present")
        );
    }
}
