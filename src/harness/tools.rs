//! What the loop needs of tools, wherever they come from.

use super::message::{ToolCall, ToolSpec};
use super::model::BoxFuture;

/// Offers tools and carries out calls.
pub trait Tools: Send + Sync {
    /// What is offered, names unique.
    fn specs(&self) -> &[ToolSpec];

    /// Carries out a call, once. Every failure is an outcome: the model has to hear of it.
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome>;
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// What the model is told.
    pub text: String,
    /// True where the call failed, or nobody knows.
    pub is_error: bool,
}

impl ToolOutcome {
    /// A failure, in words for the model.
    pub fn error(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { text: text.into(), is_error: true }
    }
}
