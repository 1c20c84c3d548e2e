//! Which tool a scripted model writes with.

use super::words::{is_identifier, local, singular, split};
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

/// The words of a tool's own name that say what it is about: all of them, but for a verb that
/// begins it.
pub fn things(tool: &ToolSpec) -> Vec<String> {
    let mut words = split(local(&tool.name));
    let verbs = [MAKING, CHANGING, READING];
    if words.first().is_some_and(|first| verbs.iter().any(|verbs| verbs.contains(&first.as_str()))) {
        words.remove(0);
    }
    words.iter().map(|word| singular(word)).collect()
}

/// The tool that fits the user's words best: the one that they name; one that can be called
/// without an identifier, whose name's words occur in the prompt, that makes something; the first
/// of equals. A tool whose class nobody knows is taken only where it is named.
pub fn write_tool<'a>(tools: &'a [ToolSpec], prompt: &str) -> Option<&'a ToolSpec> {
    let said = split(prompt);
    let mut best = None;
    for tool in tools {
        let named = is_named(tool, prompt);
        if !(class(tool) == ToolClass::Write || named && class(tool) == ToolClass::Unclassified) {
            continue;
        }
        let words = split(local(&tool.name));
        let spoken = words.iter().filter(|word| said.iter().any(|said| related(word, said))).count();
        let score = (named, !needs_identifier(tool), spoken, MAKING.contains(&verb(tool).as_str()));
        if best.is_none_or(|(before, _)| score > before) {
            best = Some((score, tool));
        }
    }
    best.map(|(_, tool)| tool)
}

/// Whether the prompt holds the tool's own name. A name of one word (`book`) is prose.
fn is_named(tool: &ToolSpec, prompt: &str) -> bool {
    let name = local(&tool.name);
    split(name).len() > 1
        && prompt
            .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
            .any(|word| word.trim_matches('-') == name)
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

    #[test]
    fn a_tool_that_the_prompt_names_comes_first() {
        let tasks = samples::tasks();
        let chosen = |prompt| write_tool(&tasks, prompt).map(|tool| tool.name.as_str());
        assert_eq!(chosen("Use request_planning to register a task"), Some("request_planning"));
        assert_eq!(chosen("Call `request_planning`."), Some("request_planning"));
        // It is not named here, and a name within a longer one is none.
        assert_eq!(chosen("Add tasks"), Some("add_tasks_to_request"));
        assert_eq!(chosen("Add my_request_planning"), Some("add_tasks_to_request"));
        // A tool that only looks is never the write.
        assert_eq!(chosen("Add tasks, then look with list_requests"), Some("add_tasks_to_request"));
        assert_eq!(
            write_tool(&[tool("book"), tool("reserve")], "reserve, do not book").unwrap().name,
            "book"
        );
    }

    #[test]
    fn a_name_without_a_verb_is_about_all_its_words() {
        assert_eq!(things(&tool("create_bookings")), ["booking"]);
        assert_eq!(things(&tool("request_planning")), ["request", "planning"]);
    }
}
