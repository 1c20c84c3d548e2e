//! Which tool a scripted model writes with.

use super::words::{is_identifier, local, split};
use crate::domain::ToolClass;
use crate::harness::message::ToolSpec;
use serde_json::Value;

/// Verbs that make something new come first: a model that is asked to book does not cancel.
const MAKING: &[&str] = &[
    "create", "book", "add", "reserve", "schedule", "register", "place", "submit", "send", "post", "insert",
    "write", "pay", "charge", "transfer", "issue", "purchase", "deposit",
];
const CHANGING: &[&str] =
    &["update", "cancel", "delete", "confirm", "refund", "remove", "withdraw", "approve"];
const READING: &[&str] = &[
    "get", "list", "read", "search", "find", "fetch", "look", "lookup", "query", "check", "show", "describe",
    "count", "view", "status", "open",
];

/// What a model takes a tool for: by the server's hints, else by its name.
pub fn class(tool: &ToolSpec) -> ToolClass {
    if tool.read_only == Some(true) {
        return ToolClass::Read;
    }
    if tool.read_only == Some(false) || tool.destructive == Some(true) {
        return ToolClass::Write;
    }
    let verb = verb(tool);
    if MAKING.contains(&verb.as_str()) || CHANGING.contains(&verb.as_str()) {
        ToolClass::Write
    } else if READING.contains(&verb.as_str()) {
        ToolClass::Read
    } else {
        ToolClass::Unclassified
    }
}

/// The first word of a tool's own name.
pub fn verb(tool: &ToolSpec) -> String {
    split(local(&tool.name)).into_iter().next().unwrap_or_default()
}

/// The tool that fits the user's words best: one that can be called without an identifier,
/// whose name's words occur in the prompt, that makes something; the first of equals.
pub fn write_tool<'a>(tools: &'a [ToolSpec], prompt: &str) -> Option<&'a ToolSpec> {
    let prompt = split(prompt);
    let mut best: Option<(&ToolSpec, (bool, usize, bool))> = None;
    for tool in tools.iter().filter(|tool| class(tool) == ToolClass::Write) {
        let words = split(local(&tool.name));
        let spoken = words.iter().filter(|word| prompt.iter().any(|said| related(word, said))).count();
        let score = (!needs_identifier(tool), spoken, MAKING.contains(&verb(tool).as_str()));
        if best.is_none_or(|(_, before)| score > before) {
            best = Some((tool, score));
        }
    }
    best.map(|(tool, _)| tool)
}

/// `book` and `booking`, `entity` and `entities`: one begins like the other.
fn related(one: &str, other: &str) -> bool {
    let shorter = one.chars().count().min(other.chars().count());
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    common >= 3 && common + 1 >= shorter
}

/// Whether a tool cannot be called without an identifier that only an answer could have given.
pub fn needs_identifier(tool: &ToolSpec) -> bool {
    required(tool).any(is_identifier)
}

/// The names that a tool's schema requires.
pub fn required(tool: &ToolSpec) -> impl Iterator<Item = &str> {
    tool.input_schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn tool(name: &str) -> ToolSpec {
        ToolSpec { name: name.into(), ..ToolSpec::default() }
    }

    #[test]
    fn hints_come_before_names() {
        assert_eq!(class(&tool("create_booking")), ToolClass::Write);
        assert_eq!(class(&tool("mcp__hotel__find_bookings")), ToolClass::Read);
        assert_eq!(class(&tool("listing_create")), ToolClass::Unclassified);
        assert_eq!(class(&ToolSpec { read_only: Some(true), ..tool("create_report") }), ToolClass::Read);
        assert_eq!(class(&ToolSpec { destructive: Some(true), ..tool("get_and_clear") }), ToolClass::Write);
    }

    #[test]
    fn the_prompt_chooses_between_writes() {
        let hotel = samples::hotel(true);
        assert_eq!(write_tool(&hotel, "Please book room 12").unwrap().name, "create_booking");
        let memory = samples::memory();
        assert_eq!(write_tool(&memory, "Remember Ada Lovelace").unwrap().name, "create_entities");
        assert_eq!(write_tool(&memory, "Add an observation").unwrap().name, "add_observations");
        assert_eq!(write_tool(&[tool("find_bookings")], "book"), None);
    }
}
