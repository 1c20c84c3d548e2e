//! Models behind HTTP, over a thin client of our own (why: `docs/decisions/models.md`).
//!
//! | module | what it holds |
//! |---|---|
//! | [`Wire`] | what a protocol is, seen from the client: a table's row |
//! | `chat`, `responses`, `messages`, `gemini` | one protocol each: request → JSON, answer → [`ModelTurn`] |
//! | `address` | base URLs and keys out of the environment |
//! | `http` | sending, streams, statuses |
//! | `refusal` | what an answer that is none says: its reason, how long to wait |
//! | [`retry`] | asking again, for what can pass |
//!
//! A stream is put together to the JSON that would have come without streaming, and read as that:
//! there is one reading for both. An answer whose end did not come is no answer.

mod address;
mod chat;
mod gemini;
mod http;
mod messages;
mod refusal;
mod responses;
pub mod retry;
#[cfg(test)]
mod tests;

pub use address::{AddressError, Environment, Own, Place};
pub use http::RemoteModel;

use super::message::{Message, Object, ToolCall, ToolSpec};
use super::model::{ModelError, ModelTurn, Request};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// Chat Completions, as OpenAI, Ollama, vLLM, llama.cpp and many others speak them.
pub const CHAT: Wire = chat::WIRE;
/// Responses, as OpenAI speaks it.
pub const RESPONSES: Wire = responses::WIRE;
/// Anthropic Messages.
pub const MESSAGES: Wire = messages::WIRE;
/// Gemini.
pub const GEMINI: Wire = gemini::WIRE;

/// How a request is made beside its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Answers come as streams.
    pub stream: bool,
    /// For endpoints that can repeat themselves.
    pub seed: Option<u64>,
    /// The endpoint's own where none is given.
    pub temperature: Option<f64>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u64>,
    /// How long an endpoint may be silent.
    pub silence: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            stream: true,
            seed: None,
            temperature: None,
            max_tokens: None,
            silence: Duration::from_secs(600),
        }
    }
}

/// A protocol, seen from its client.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// The path of a request below the base URL, with its query.
    path: fn(model: &str, stream: bool) -> String,
    /// Headers beside the content type.
    headers: fn(key: &Key) -> Vec<(&'static str, String)>,
    /// The body of a request.
    write: fn(&Request<'_>, model: &str, &Settings) -> Value,
    /// Reads a whole answer.
    read: fn(&Value) -> Result<ModelTurn, String>,
    /// Begins to put a stream together.
    assemble: fn() -> Box<dyn Assembly>,
}

/// How a request says who asks.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Key {
    /// It does not.
    #[default]
    None,
    /// With the provider's own kind of key.
    Own(String),
    /// With a bearer's token.
    Bearer(String),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Key::None { "no key" } else { "a key" })
    }
}

impl Key {
    /// A text in which the key does not stand.
    fn hidden(&self, text: &str) -> String {
        match self {
            Key::Own(key) | Key::Bearer(key) if key.len() > 3 => text.replace(key.as_str(), "[key]"),
            _ => text.to_owned(),
        }
    }
}

/// A stream on its way to a whole answer.
trait Assembly: Send {
    /// Takes an event's data. Gives the text that it adds.
    fn event(&mut self, data: &Value) -> Result<String, ModelError>;

    /// The whole answer, or nothing where its end did not come.
    fn whole(&mut self) -> Option<Value>;
}

/// Gives each call an id of its own in the conversation: some endpoints give none, or the same
/// ones in every answer.
fn distinct(turn: &mut ModelTurn, messages: &[Message]) {
    let mut used: HashSet<String> = HashSet::new();
    for message in messages {
        if let Message::Assistant { tool_calls, .. } = message {
            used.extend(tool_calls.iter().map(|call| call.id.clone()));
        }
    }
    let mut number = used.len();
    for call in &mut turn.tool_calls {
        while call.id.is_empty() || used.contains(&call.id) {
            number += 1;
            call.id = format!("call_{number}");
        }
        used.insert(call.id.clone());
    }
}

/// What most protocols call alike: tools, whether the answer is to be a stream, the temperature.
fn common(body: &mut Value, request: &Request<'_>, settings: &Settings, tool: fn(&ToolSpec) -> Value) {
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if settings.stream {
        body["stream"] = true.into();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
}

/// A number out of a body; 0 where there is none.
fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// A text out of a body; empty where there is none.
fn words<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A call's arguments where they come as an object.
fn call_of_object(id: &str, name: &str, arguments: Option<&Value>) -> ToolCall {
    match arguments {
        Some(Value::Object(fields)) => ToolCall::new(id.to_owned(), name.to_owned(), fields.clone()),
        None | Some(Value::Null) => ToolCall::new(id.to_owned(), name.to_owned(), Object::new()),
        Some(other) => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            ToolCall::from_text(id.to_owned(), name.to_owned(), &text)
        }
    }
}

/// All system messages as one text.
fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
