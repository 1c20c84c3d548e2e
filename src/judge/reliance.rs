//! J28: a write that relies on an answer that breaks its tool's contract.

use super::stamp::Stamp;
use crate::domain::RawJson;
use crate::trace::{Fault, Told};
use serde_json::Value;
use std::collections::HashSet;

/// What is kept of an operation whose answer broke its contract.
#[derive(Debug)]
pub(super) struct Broken {
    pub told: Stamp,
    /// The field that was broken, where it was one.
    pub field: Option<String>,
    pub relied: Vec<Relied>,
}

/// A later write, and what in it stems from nothing that the agent was given.
#[derive(Debug, Clone)]
pub(super) struct Relied {
    /// The call, counted from 0.
    pub call: usize,
    pub field: String,
    pub value: String,
}

/// Everything that the agent was given and could use: words of the user, answers, what it had
/// itself sent before.
#[derive(Debug, Default)]
pub(super) struct Given(HashSet<String>);

impl Given {
    /// A text; where it is JSON, its scalars.
    pub fn text(&mut self, text: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => self.value(&value),
            _ => {
                let words = text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
                self.0.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
            }
        }
    }

    fn value(&mut self, value: &Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values()),
                Value::String(text) => drop(self.0.insert(text.clone())),
                Value::Number(number) => drop(self.0.insert(number.to_string())),
                Value::Null | Value::Bool(_) => {}
            }
        }
    }

    fn has(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.0.contains(text),
            Value::Number(number) => self.0.contains(&number.to_string()),
            _ => false,
        }
    }
}

/// The texts of a tool's result; the whole of it where it has none.
pub(super) fn text_of(result: &RawJson) -> String {
    let value: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let blocks = value.get("content").and_then(Value::as_array);
    let texts: Vec<&str> =
        blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str()).collect();
    if texts.is_empty() { result.get().to_owned() } else { texts.join("\n") }
}

/// Whether a name is that of an identifier that another side gives.
fn is_identifier(name: &str) -> bool {
    let lower = name.to_lowercase();
    let own =
        ["request", "idempot", "correlation", "session", "trace"].iter().any(|word| lower.contains(word));
    !own && crate::domain::names::is_identifier(name)
}

/// The first identifier in the arguments that nothing gave the agent.
pub(super) fn unfounded(arguments: &str, field: Option<&str>, given: &Given) -> Option<(String, String)> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let mut open = vec![&arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if (Some(name.as_str()) == field || is_identifier(name)) && !given.has(value) {
                        return Some((name.clone(), value.to_string()));
                    }
                    open.push(value);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a scenario's deed breaks the contract of a tool that writes (M1 to M4).
pub(super) fn breaks_contract(fault: Option<Fault>, told: Told) -> bool {
    match fault {
        Some(Fault::Altered | Fault::Contradiction | Fault::NoContract) => true,
        Some(Fault::Replaced | Fault::Withheld) => {
            matches!(told, Told::Altered | Told::Contradiction | Told::Malformed)
        }
        _ => false,
    }
}
