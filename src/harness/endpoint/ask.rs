//! A request without its protocol, read as leniently as agents write them.

use crate::harness::message::{Message, Object, ToolSpec};
use crate::harness::script::words::{reads_as_error, unwrap_content};
use serde_json::Value;

/// What the endpoint has to know of a request. Every other field is left aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// Which model is asked.
    pub model: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// The tools that may be asked for; none where the request forbids calls.
    pub tools: Vec<ToolSpec>,
    /// The answer is wanted as a stream.
    pub stream: bool,
    /// The stream is to end with the usage.
    pub include_usage: bool,
    /// The seed, where one is given.
    pub seed: Option<u64>,
    /// The JSON Schema that the answer's text is to follow.
    pub form: Option<Object>,
}

/// Content: a text, a list of parts, or nothing.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                part => part.get("text").or_else(|| part.get("tool_name")).and_then(Value::as_str),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The elements of a list; none where there is no list.
pub(crate) fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// A field's text; empty where there is none.
pub(super) fn word(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Arguments of a call, as an object or as the text of one.
pub(super) fn arguments(value: Option<&Value>) -> Object {
    match value {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Object(arguments)) => arguments.clone(),
        _ => Object::new(),
    }
}

/// A tool; none without a name.
pub(super) fn tool(value: &Value, schema: &[&str]) -> Option<ToolSpec> {
    Some(ToolSpec {
        name: value.get("name")?.as_str()?.to_owned(),
        description: text(value.get("description")),
        input_schema: schema
            .iter()
            .find_map(|name| value.get(*name)?.as_object().cloned())
            .unwrap_or_default(),
        ..ToolSpec::default()
    })
}

/// A result. Where nothing says whether it is an error, only its words can tell.
pub(super) fn result(call_id: String, content: &str, is_error: Option<bool>) -> Message {
    let text = unwrap_content(content);
    let is_error = is_error.unwrap_or_else(|| reads_as_error(&text));
    Message::ToolResult { call_id, text, is_error }
}

/// A system message, unless it is empty.
pub(super) fn system(text: String) -> Option<Message> {
    (!text.trim().is_empty()).then_some(Message::System { text })
}
