//! What a protocol is to the endpoint: a path, and translations in both directions.

use super::ask::Ask;
use crate::harness::model::ModelTurn;
use serde_json::Value;

/// A way in which agent programs talk to models.
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// What a POST to a path asks for; none where the path is not the protocol's.
    pub route: fn(&str, &str) -> Option<Route>,
    /// Reads a request.
    pub read: fn(&Value, &Route) -> Result<Ask, String>,
    /// A whole answer.
    pub whole: fn(&Answer<'_>) -> Value,
    /// The same answer as a stream, in as many pieces as a real model would send.
    pub events: fn(&Answer<'_>) -> Vec<Event>,
    /// An error in the form that the protocol's clients read.
    pub refusal: fn(u16, &str) -> Value,
    /// The answer to the question how long a request is.
    pub count: fn(u64) -> Value,
}

/// What a path asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// What stands before the protocol's own path.
    pub prefix: String,
    /// What is wanted.
    pub wanted: Wanted,
    /// The model, where the path names it.
    pub model: Option<String>,
    /// Whether it is wanted as a stream, where the path says so.
    pub stream: Option<bool>,
    /// The stream is one JSON list, not server-sent events.
    pub as_list: bool,
}

/// What is wanted of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// An answer.
    Answer,
    /// The length of the request.
    Count,
}

impl Route {
    /// The route of a path that ends like `ending`, with or without the version before it: programs
    /// differ in what they take a base URL for.
    pub(super) fn ending(path: &str, ending: &str, version: &str, wanted: Wanted) -> Option<Route> {
        let prefix = path.strip_suffix(ending)?;
        let prefix = prefix.strip_suffix(version).unwrap_or(prefix).to_owned();
        Some(Route { prefix, wanted, model: None, stream: None, as_list: false })
    }
}

/// What is answered.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Counts the endpoint's answers.
    pub number: u64,
    /// The model as the request names it.
    pub model: &'a str,
    /// What the script answers.
    pub turn: &'a ModelTurn,
    /// The stream is to end with the usage.
    pub include_usage: bool,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name, where the protocol names events.
    pub name: Option<&'static str>,
    /// What it holds, on one line.
    pub data: String,
}

impl Event {
    /// A server-sent event.
    pub fn text(&self) -> String {
        match self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::harness::message::ToolCall;
    use serde_json::json;

    /// An answer with a text and two calls at once.
    pub fn calling() -> ModelTurn {
        let call = |id: &str, arguments: Value| {
            ToolCall::new(id.into(), "create_booking".into(), arguments.as_object().cloned().unwrap())
        };
        ModelTurn {
            text: "one two three".into(),
            tool_calls: vec![
                call("call_1", json!({"guest": "Ada, Countess", "room": 12})),
                call("call_2", json!({})),
            ],
            ..ModelTurn::default()
        }
    }

    /// The data of every event.
    pub fn data(events: &[Event]) -> Vec<Value> {
        events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect()
    }

    /// The texts at a pointer, put together.
    pub fn joined(data: &[Value], pointer: &str) -> String {
        data.iter().filter_map(|value| value.pointer(pointer)?.as_str()).collect()
    }

    pub fn answer(turn: &ModelTurn) -> Answer<'_> {
        Answer { number: 7, model: "naive", turn, include_usage: true }
    }
}
