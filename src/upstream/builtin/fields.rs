//! What the built-in upstreams share: reading arguments with errors that a person understands,
//! declaring tools, honouring idempotency keys.

use super::{Object, Outcome, ToolDef, ToolKind};
use crate::domain::json::canonical;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A tool with an object of properties, of which some are required.
pub(super) fn tool(
    name: &'static str,
    description: &'static str,
    kind: ToolKind,
    properties: Value,
    required: &[&str],
) -> ToolDef {
    let mut input = Object::new();
    input.insert("type".into(), "object".into());
    input.insert("properties".into(), properties);
    if !required.is_empty() {
        input.insert("required".into(), json!(required));
    }
    ToolDef { name, description, input, kind }
}

/// A text with something in it.
pub(super) fn text<'a>(arguments: &'a Object, name: &str) -> Result<&'a str, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Err(format!("{name} is missing")),
        Some(Value::String(text)) if text.trim().is_empty() => Err(format!("{name} must not be empty")),
        Some(Value::String(text)) => Ok(text.trim()),
        Some(other) => Err(format!("{name} must be a string, not {other}")),
    }
}

/// A text, where it is given.
pub(super) fn optional<'a>(arguments: &'a Object, name: &str) -> Result<Option<&'a str>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(arguments, name).map(Some),
    }
}

/// The idempotency key, where there is one.
pub(super) fn key(arguments: &Object) -> Result<Option<&str>, String> {
    optional(arguments, "idempotency_key")
}

/// A whole number; JSON Schema counts 12.0 as an integer.
pub(super) fn whole(arguments: &Object, name: &str) -> Result<Option<i64>, String> {
    let value = arguments.get(name).ok_or_else(|| format!("{name} is missing"))?;
    let near = |number: &f64| number.fract() == 0.0 && number.abs() < 1e9;
    Ok(value.as_i64().or_else(|| value.as_f64().filter(near).map(|number| number as i64)))
}

/// A day of the calendar.
pub(super) fn day<'a>(arguments: &'a Object, name: &str) -> Result<&'a str, String> {
    let date = text(arguments, name)?;
    let shape = date.len() == 10
        && date.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if shape && date.parse::<jiff::civil::Date>().is_ok() {
        Ok(date)
    } else {
        Err(format!("{name} must be a day of the calendar as YYYY-MM-DD, not \"{date}\""))
    }
}

/// Whether a field has that text; upper and lower case are one.
pub(super) fn same_text(value: Option<&Value>, wanted: &str) -> bool {
    value.and_then(Value::as_str).is_some_and(|value| value.to_lowercase() == wanted.to_lowercase())
}

/// The number in an id such as `BK-1001`.
pub(super) fn number(id: &str, prefix: &str) -> Option<u64> {
    id.strip_prefix(prefix)?.parse().ok()
}

/// The id of a record.
pub(super) fn id_of(record: &Object, name: &str, prefix: &str) -> Option<u64> {
    number(record.get(name)?.as_str()?, prefix)
}

/// Cancels a record; one that is cancelled already is answered as it stands, and nothing is done.
pub(super) fn cancelled(tool: &'static str, record: &Object) -> Outcome {
    if same_text(record.get("status"), "cancelled") {
        return Outcome::answered(&Value::Object(record.clone()));
    }
    let mut record = record.clone();
    record.insert("status".into(), "cancelled".into());
    Outcome::done(tool, record)
}

/// What was asked for under each idempotency key, and what was answered. Keys of different tools
/// have nothing to do with each other.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<(String, String), (String, Object)>);

impl Keys {
    /// The answer that the key had, where the same was asked under it before.
    pub fn answered(&self, tool: &str, arguments: &Object) -> Result<Option<&Object>, String> {
        let Some(key) = key(arguments)? else { return Ok(None) };
        match self.0.get(&(tool.to_owned(), key.to_owned())) {
            Some((asked, answer)) if *asked == without_key(arguments) => Ok(Some(answer)),
            Some(_) => Err(format!(
                "idempotency_key \"{key}\" was already used with other parameters; use another key for another request"
            )),
            None => Ok(None),
        }
    }

    /// Keeps an answer.
    pub fn keep(&mut self, tool: &str, arguments: &Object, answer: &Object) {
        if let Ok(Some(key)) = key(arguments) {
            self.0.insert((tool.to_owned(), key.to_owned()), (without_key(arguments), answer.clone()));
        }
    }
}

fn without_key(arguments: &Object) -> String {
    let mut rest = arguments.clone();
    rest.remove("idempotency_key");
    canonical(&Value::Object(rest).to_string())
}
