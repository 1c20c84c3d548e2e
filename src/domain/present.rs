//! How a tool tells its caller of a failure.

use serde::{Deserialize, Serialize};

/// In which form the agent is told of a failure that is not the upstream's own.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Present {
    /// As prose, as most tools do.
    #[default]
    Plain,
    /// As a small result contract, which says what is known and whether to try again.
    Structured,
}

impl Present {
    /// Both.
    pub const ALL: [Present; 2] = [Present::Plain, Present::Structured];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Present::Plain => "plain",
            Present::Structured => "structured",
        }
    }

    /// The form of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Present> {
        Present::ALL.into_iter().find(|present| present.name() == name)
    }
}
