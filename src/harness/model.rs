//! What a model is to the loop.

use super::message::{Message, ToolCall, ToolSpec};
use std::future::Future;
use std::ops::AddAssign;
use std::pin::Pin;

/// A future that a trait object can give.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers a history. Holds no history of its own: all that it may know is in the messages.
pub trait Model: Send + Sync {
    /// One answer to the messages so far, with the tools that may be asked for.
    fn respond<'a>(
        &'a self,
        messages: &'a [Message],
        tools: &'a [ToolSpec],
    ) -> BoxFuture<'a, Result<ModelTurn, ModelError>>;
}

/// One answer of a model: text, calls, or both. Without calls its turn is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelTurn {
    /// What it says.
    pub text: String,
    /// What it asks for.
    pub tool_calls: Vec<ToolCall>,
    /// What this answer consumed.
    pub usage: Consumption,
}

/// What was consumed, with the unit in which it was counted: a scripted model has no tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Consumption {
    /// Sent to the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// What was counted.
    pub unit: Unit,
}

/// What a [`Consumption`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// A vendor's tokens.
    #[default]
    Tokens,
    /// White-space separated words, as a stand-in.
    Words,
}

impl Unit {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Tokens => "tokens",
            Unit::Words => "words",
        }
    }
}

impl AddAssign for Consumption {
    fn add_assign(&mut self, more: Consumption) {
        *self = Consumption {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            unit: more.unit,
        };
    }
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The endpoint refused.
    #[error("the model endpoint answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The endpoint could not be reached, or the connection broke.
    #[error("the model endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// The endpoint answered something that is no answer.
    #[error("the model's answer cannot be read: {0}")]
    Malformed(String),
}

impl ModelError {
    /// Whether asking the model again can help. Asking a model again repeats no tool call.
    pub fn is_transient(&self) -> bool {
        match self {
            ModelError::Refused { status, .. } => matches!(status, 408 | 429 | 500..=599),
            ModelError::Unreachable(_) => true,
            ModelError::Malformed(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_pass_is_transient() {
        let refused = |status| ModelError::Refused { status, message: String::new() };
        assert!(refused(429).is_transient() && refused(503).is_transient());
        assert!(!refused(401).is_transient() && !refused(400).is_transient());
        assert!(!ModelError::Malformed(String::new()).is_transient());
    }
}
