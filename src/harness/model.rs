//! What a model is to the loop.

use super::message::{Message, ToolCall, ToolSpec};
pub use crate::domain::Prices;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::ops::AddAssign;
use std::pin::Pin;
use std::time::Duration;

/// A future that a trait object can give.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers a history. Holds no history of its own: all that it may know is in the messages.
pub trait Model: Send + Sync {
    /// One answer to the messages so far. Asking again repeats no tool call: calls are asked for
    /// in the answer, and carried out by whoever asked.
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>>;

    /// Who answers, for people and for spans.
    fn identity(&self) -> Identity;
}

/// What a model is asked.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The messages so far.
    pub messages: &'a [Message],
    /// The tools that may be asked for.
    pub tools: &'a [ToolSpec],
    /// Hears the answer's text while it arrives.
    pub listener: Option<&'a dyn Listener>,
}

impl<'a> Request<'a> {
    /// A request to which nobody listens.
    pub fn new(messages: &'a [Message], tools: &'a [ToolSpec]) -> Request<'a> {
        Request { messages, tools, listener: None }
    }
}

/// Hears an answer while it arrives. What counts is the [`ModelTurn`]; this is for people.
pub trait Listener: Send + Sync {
    /// A piece of the text.
    fn text(&self, piece: &str);

    /// The answer broke off: what was heard of it does not count, and it is asked for again.
    fn discarded(&self);

    /// It is asked for again, because of this.
    fn failed(&self, _error: &ModelError) {}
}

/// Which model of which provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The provider, by OpenTelemetry's names where it has one (`openai`, `anthropic`, `gcp.gemini`).
    pub provider: String,
    /// The model.
    pub model: String,
}

/// One answer of a model: text, calls, or both. Without calls its turn is over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// What it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    #[serde(default)]
    pub stop: Stop,
    /// What this answer consumed.
    #[serde(default)]
    pub usage: Consumption,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done, or asks for tools.
    #[default]
    Done,
    /// It reached the length that an answer may have: its text is cut.
    Length,
    /// The endpoint held it back.
    Withheld,
}

impl Stop {
    /// The name that OpenTelemetry's finish reasons have.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Done => "stop",
            Stop::Length => "length",
            Stop::Withheld => "content_filter",
        }
    }
}

/// What was consumed, with the unit in which it was counted: a scripted model has no tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumption {
    /// Sent to the model, with what it read from its cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// The part of `input` that was read from a cache, where the endpoint tells.
    #[serde(default)]
    pub cached: u64,
    /// Answers.
    #[serde(default)]
    pub answers: u64,
    /// Requests that failed and were sent again.
    #[serde(default)]
    pub retries: u64,
    /// What was counted.
    #[serde(default)]
    pub unit: Unit,
}

/// What a [`Consumption`] counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A vendor's tokens.
    #[default]
    Tokens,
    /// White-space separated words, as a stand-in.
    Words,
    /// Tokens that were paid for when the answer was recorded.
    Recorded,
}

impl Unit {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Tokens => "tokens",
            Unit::Words => "words",
            Unit::Recorded => "recorded_tokens",
        }
    }
}

impl AddAssign for Consumption {
    fn add_assign(&mut self, more: Consumption) {
        *self = Consumption {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cached: self.cached.saturating_add(more.cached),
            answers: self.answers.saturating_add(more.answers),
            retries: self.retries.saturating_add(more.retries),
            unit: more.unit,
        };
    }
}

impl Prices {
    /// What a consumption cost, in US dollars; none where no tokens were counted.
    pub fn of(&self, consumption: Consumption) -> Option<f64> {
        if consumption.unit != Unit::Tokens {
            return None;
        }
        let cached = consumption.cached.min(consumption.input);
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        Some(
            million(consumption.input - cached, self.input)
                + million(cached, self.cached.unwrap_or(self.input))
                + million(consumption.output, self.output),
        )
    }
}

/// Why a model gave no answer. No message holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The endpoint refused.
    #[error("the model endpoint answered {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
        /// How long it wants to be left alone, where it tells.
        retry_after: Option<Duration>,
    },
    /// The request is longer than the model's context. A shorter one may be answered.
    #[error("the model endpoint says that the request is too long for the model: {0}")]
    TooLong(String),
    /// What may be asked for is used up; waiting does not bring it back.
    #[error("the model endpoint answered 429: {0}")]
    Quota(String),
    /// The endpoint could not be reached.
    #[error("the model endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// The answer broke off. Nothing of it counts.
    #[error("the model endpoint broke off its answer: {0}")]
    Broken(String),
    /// The endpoint answered something that is no answer.
    #[error("the model endpoint gave an answer that cannot be read: {0}")]
    Malformed(String),
    /// A recording cannot be written, or holds no answer to this.
    #[error("the model endpoint's recording {0}")]
    Recording(String),
}

impl ModelError {
    /// Whether asking the model again can help. Asking a model again repeats no tool call.
    pub fn is_transient(&self) -> bool {
        match self {
            ModelError::Refused { status, .. } => matches!(status, 408 | 429 | 500 | 502..=504 | 520..=599),
            ModelError::Unreachable(_) | ModelError::Broken(_) => true,
            ModelError::TooLong(_)
            | ModelError::Quota(_)
            | ModelError::Malformed(_)
            | ModelError::Recording(_) => false,
        }
    }

    /// The same, and how often it was asked for again.
    pub fn after(mut self, retries: u32) -> ModelError {
        let (ModelError::Refused { message, .. }
        | ModelError::TooLong(message)
        | ModelError::Quota(message)
        | ModelError::Unreachable(message)
        | ModelError::Broken(message)
        | ModelError::Malformed(message)
        | ModelError::Recording(message)) = &mut self;
        message.push_str(&format!(" (asked {} times)", u64::from(retries) + 1));
        self
    }

    /// What was said, without what this program says of it.
    pub fn message(&self) -> &str {
        let (ModelError::Refused { message, .. }
        | ModelError::TooLong(message)
        | ModelError::Quota(message)
        | ModelError::Unreachable(message)
        | ModelError::Broken(message)
        | ModelError::Malformed(message)
        | ModelError::Recording(message)) = self;
        message
    }

    /// OpenTelemetry's `error.type`: few values, and none that people wrote.
    pub fn kind(&self) -> String {
        match self {
            ModelError::Refused { status, .. } => status.to_string(),
            ModelError::TooLong(_) => "context_length".to_owned(),
            ModelError::Quota(_) => "quota".to_owned(),
            ModelError::Unreachable(_) => "unreachable".to_owned(),
            ModelError::Broken(_) => "broken_stream".to_owned(),
            ModelError::Malformed(_) => "malformed".to_owned(),
            ModelError::Recording(_) => "recording".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_pass_is_transient() {
        let refused = |status| ModelError::Refused { status, message: String::new(), retry_after: None };
        for status in [408, 429, 500, 502, 503, 504, 529] {
            assert!(refused(status).is_transient(), "{status}");
        }
        for status in [400, 401, 403, 404, 413, 422, 501, 505] {
            assert!(!refused(status).is_transient(), "{status}");
        }
        assert!(ModelError::Broken(String::new()).is_transient());
        assert!(!ModelError::Malformed(String::new()).is_transient());
        assert!(!ModelError::TooLong(String::new()).is_transient());
    }

    #[test]
    fn cached_tokens_have_a_price_of_their_own_and_words_have_none() {
        let used =
            Consumption { input: 1_000_000, cached: 400_000, output: 500_000, ..Consumption::default() };
        let prices = Prices { input: 2.0, cached: Some(0.5), output: 8.0 };
        assert_eq!(prices.of(used), Some(1.2 + 0.2 + 4.0));
        assert_eq!(Prices { cached: None, ..prices }.of(used), Some(1.2 + 0.8 + 4.0));
        assert_eq!(prices.of(Consumption { unit: Unit::Words, ..used }), None);
    }
}
