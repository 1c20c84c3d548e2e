//! What an upstream's own account says, as a trace keeps it.

use crate::domain::RawJson;
use serde::{Deserialize, Serialize};

/// What came to be in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accounted {
    /// Effect by effect.
    Effects(Vec<AccountedEffect>),
    /// So many, and nothing more is known of them.
    Number(u64),
    /// The account could not be had; why, as a sentence.
    Unknown(String),
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountedEffect {
    /// The call that made it, where the account knows calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<AccountedCall>,
    /// The record as it was afterwards.
    pub record: RawJson,
}

/// A call as a ledger knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountedCall {
    /// The tool.
    pub tool: String,
    /// The arguments, as they came.
    pub arguments: RawJson,
    /// The correlation id that the call carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}
