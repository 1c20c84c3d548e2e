//! What is known of an upstream's tool.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The class of a tool (C1–C6). Only writes fire scenarios and are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Changes something upstream.
    Write,
    /// Changes nothing; a successful one counts as looking up (J24).
    Read,
    /// Neither is known: passed through, not judged.
    Unclassified,
}

impl ToolClass {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            ToolClass::Write => "write",
            ToolClass::Read => "read",
            ToolClass::Unclassified => "unclassified",
        }
    }
}

impl fmt::Display for ToolClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool that the upstream listed, with its class and why it has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// The tool's name, as listed.
    pub tool: String,
    /// Its class.
    pub class: ToolClass,
    /// What decided the class, for people.
    pub reason: String,
    /// The key fields (J2) that its input schema declares, as the schema spells them.
    pub key_fields: Vec<String>,
}
