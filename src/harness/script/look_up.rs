//! Looking a record up without an identifier that was never received.

use super::choose::{class, required, things, verb};
use super::words::{is_identifier, is_key, plain, singular, split};
use super::{arguments, follow_up, leaves, records};
use crate::domain::ToolClass;
use crate::harness::message::{Object, ToolSpec};
use serde_json::Value;

/// How often a look-up that fails is tried. Reading again harms nobody.
const TRIES: u32 = 2;

/// The call with which the record of a write can be looked up, after `failed` tries that
/// failed; none where no tool fits or the tries are used up.
pub fn call(tools: &[ToolSpec], write: &ToolSpec, written: &Object, failed: u32) -> Option<(String, Object)> {
    if failed >= TRIES {
        return None;
    }
    let mut usable: Vec<(Fit, &ToolSpec, Object)> = tools
        .iter()
        .filter(|tool| class(tool) == ToolClass::Read)
        .filter_map(|tool| fit(tool, write, written).map(|(fit, arguments)| (fit, tool, arguments)))
        .collect();
    // Stable: the first of equals as the server lists them.
    usable.sort_by_key(|(fit, ..)| std::cmp::Reverse(*fit));
    let at = (failed as usize).min(usable.len().checked_sub(1)?);
    usable.into_iter().nth(at).map(|(_, tool, arguments)| (tool.name.clone(), arguments))
}

/// How well a tool fits: it speaks of the same thing; it is asked for more of what was written.
type Fit = (usize, usize);

/// Whether a read tool can tell that a record is not there: it must speak of what is written
/// (`create_booking`, `find_bookings`) or be a search in all there is (`search_nodes`). Where
/// another tool shows nothing, nothing is known.
fn fit(tool: &ToolSpec, write: &ToolSpec, written: &Object) -> Option<(Fit, Object)> {
    let own = things(tool);
    if own
        .iter()
        .any(|word| matches!(word.as_str(), "availability" | "available" | "free" | "price" | "quote"))
    {
        return None;
    }
    let shared = things(write).iter().filter(|thing| own.contains(thing)).count();
    let mut arguments = Object::new();
    let mut searches = false;
    let needed: Vec<&str> = required(tool).collect();
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if let Some(value) = same_named(name, schema, written) {
            arguments.insert(name.clone(), value);
        } else if is_query(name)
            && arguments::type_of(schema) == "string"
            && (needed.contains(&name.as_str()) || shared > 0)
        {
            arguments.insert(name.clone(), main_text(written)?.into());
            searches = true;
        }
    }
    if needed.iter().any(|name| !arguments.contains_key(*name)) {
        return None;
    }
    searches |= !arguments.is_empty()
        && matches!(verb(tool).as_str(), "search" | "find" | "query" | "open" | "lookup");
    let everything = own.iter().any(|word| matches!(word.as_str(), "graph" | "all" | "everything"));
    (shared > 0 || searches || everything).then_some(((shared, arguments.len()), arguments))
}

fn is_query(name: &str) -> bool {
    split(name)
        .iter()
        .any(|word| matches!(word.as_str(), "query" | "q" | "search" | "text" | "term" | "keyword"))
}

/// The written value of the same name, at any depth; a list where the schema wants one
/// (`names` of what was written as `name`).
fn same_named(name: &str, schema: &Value, written: &Object) -> Option<Value> {
    if is_identifier(name) && !written.contains_key(name) {
        return None;
    }
    let words = |name: &str| -> Vec<String> { split(name).iter().map(|word| singular(word)).collect() };
    let wanted = words(name);
    let mut near = None;
    let mut open: Vec<(&str, &Value)> = written.iter().map(|(name, value)| (name.as_str(), value)).collect();
    open.reverse();
    while let Some((field, value)) = open.pop() {
        let own = words(field);
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(name, value)| (name.as_str(), value))),
            Value::Array(items) => open.extend(items.iter().map(|item| (field, item))),
            scalar if own == wanted && !is_key(field) => return shaped(scalar, schema),
            // `entityName` for `name`, where nothing has just that name.
            scalar if own.ends_with(&wanted) && !is_key(field) => near = near.or(Some(scalar)),
            _ => {}
        }
    }
    near.and_then(|scalar| shaped(scalar, schema))
}

/// A scalar as the schema wants it.
fn shaped(scalar: &Value, schema: &Value) -> Option<Value> {
    match arguments::type_of(schema) {
        "array" => Some(Value::Array(vec![scalar.clone()])),
        "object" => None,
        "string" => Some(plain(scalar).into()),
        _ => Some(scalar.clone()),
    }
}

/// The first text that was written, to search for.
fn main_text(written: &Object) -> Option<String> {
    for wanted in ["name", "guest", "title", "customer", "patient", "subject"] {
        if let Some(Value::String(text)) = same_named(wanted, &serde_json::json!({"type": "string"}), written)
        {
            return Some(text);
        }
    }
    let mut found = Vec::new();
    for (_, value) in written.iter().filter(|(name, _)| !is_key(name)) {
        leaves(value, &mut found);
    }
    found.iter().find_map(|leaf| leaf.as_str()).map(str::to_owned)
}

/// Whether the answer of a look-up shows what was written: a record that has every written
/// field that it has at all, at least half of them, and is not cancelled; in a text, every
/// written value.
pub fn shows(answer: &str, written: &Object) -> bool {
    let parts = parts(written);
    !parts.is_empty() && parts.iter().all(|part| shows_part(answer, part))
}

/// The identifier that the answer of a look-up gives to what was written.
pub fn identifier(answer: &str, written: &Object) -> Option<Value> {
    let value = serde_json::from_str::<Value>(answer).ok()?;
    let parts = parts(written);
    let mut found = records(&value).filter(|record| parts.iter().any(|part| is_record_of(record, part)));
    found.find_map(follow_up::of_record).cloned()
}

/// The records that a call writes: its arguments; where nothing of a record stands in them
/// themselves, the elements of a list of objects in them. (What hangs below a record is seldom
/// shown in a list of records.)
fn parts(written: &Object) -> Vec<Object> {
    let mut whole = written.clone();
    whole.retain(|name, _| !is_key(name));
    let elements: Vec<Object> = whole
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|item| item.as_object().cloned())
        .collect();
    let scalars = whole.values().any(|value| !value.is_array() && !value.is_object());
    if !elements.is_empty() && !scalars {
        return elements;
    }
    if whole.is_empty() { Vec::new() } else { vec![whole] }
}

fn shows_part(answer: &str, part: &Object) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(answer) else { return shows_texts(answer, part) };
    let mut comparable = false;
    for record in records(&value) {
        if is_record_of(record, part) {
            return true;
        }
        comparable |= part.keys().any(|name| record.get(name).is_some_and(|there| !there.is_array()));
    }
    // Records with other names for the same things can only be read like a text.
    !comparable && shows_texts(answer, part)
}

fn shows_texts(answer: &str, part: &Object) -> bool {
    let answer = answer.to_lowercase();
    let mut texts = Vec::new();
    part.values().for_each(|value| leaves(value, &mut texts));
    !texts.is_empty() && texts.iter().all(|text| answer.contains(&plain(text).to_lowercase()))
}

fn is_record_of(record: &Object, part: &Object) -> bool {
    let gone = ["status", "state"].iter().filter_map(|name| record.get(*name)?.as_str()).any(|status| {
        let status = status.to_lowercase();
        status.starts_with("cancel") || status.starts_with("delete") || status == "failed"
    });
    let common: Vec<bool> =
        part.iter().filter_map(|(name, value)| record.get(name).map(|there| same(there, value))).collect();
    !gone && common.len() * 2 >= part.len() && !common.is_empty() && common.iter().all(|same| *same)
}

/// Equal, as far as a reader cares: `12` and `"12"`, letter case, and a list that has grown.
fn same(there: &Value, written: &Value) -> bool {
    match (there, written) {
        (Value::Array(there), Value::Array(written)) => written.iter().all(|item| there.contains(item)),
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => there == written,
        _ => plain(there).to_lowercase() == plain(written).to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Object {
        value.as_object().cloned().unwrap()
    }

    fn ada() -> Object {
        object(json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03", "idempotency_key": "k"}))
    }

    #[test]
    fn a_search_is_asked_for_what_was_written() {
        let tools = samples::hotel(true);
        let (name, arguments) = call(&tools, &tools[0], &ada(), 0).unwrap();
        assert_eq!(name, "find_bookings");
        assert_eq!(Value::Object(arguments), json!({"guest": "Ada Lovelace", "date": "2026-12-03"}));
    }

    #[test]
    fn an_identifier_is_never_invented() {
        let tools = samples::hotel(false);
        assert_eq!(call(&tools, &tools[0], &ada(), 0), None);
    }

    #[test]
    fn a_failed_look_up_is_tried_once_more() {
        let tools = samples::hotel(true);
        assert!(call(&tools, &tools[0], &ada(), 1).is_some());
        assert_eq!(call(&tools, &tools[0], &ada(), 2), None);
    }

    #[test]
    fn a_tool_that_speaks_of_other_things_is_no_look_up() {
        let mut tools = samples::hotel(false);
        for name in ["check_availability", "list_rooms", "get_weather"] {
            tools.push(samples::tool(
                name,
                json!({"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]}),
            ));
        }
        assert_eq!(call(&tools, &tools[0], &ada(), 0), None);
    }

    #[test]
    fn the_memory_server_can_be_searched() {
        let tools = samples::memory();
        let written = object(
            json!({"entities": [{"name": "Ada Lovelace", "entityType": "person", "observations": ["quiet"]}]}),
        );
        let (name, arguments) = call(&tools, &tools[0], &written, 0).unwrap();
        assert_eq!(name, "search_nodes");
        assert_eq!(Value::Object(arguments), json!({"query": "Ada Lovelace"}));
        let (name, arguments) = call(&tools, &tools[0], &written, 1).unwrap();
        assert_eq!(name, "open_nodes");
        assert_eq!(Value::Object(arguments), json!({"names": ["Ada Lovelace"]}));
        let graph = json!({"entities": [{"name": "Ada Lovelace", "entityType": "person",
                                         "observations": ["loud", "quiet"]}], "relations": []});
        assert!(shows(&graph.to_string(), &written));
        assert!(!shows(r#"{"entities":[],"relations":[]}"#, &written));
    }

    #[test]
    fn a_record_is_looked_up_in_a_list_that_leaves_out_what_hangs_below_it() {
        let tools = samples::tasks();
        let written =
            object(json!({"originalRequest": "Room 12", "tasks": [{"title": "Beds", "description": "two"}]}));
        let (name, arguments) = call(&tools, &tools[0], &written, 0).unwrap();
        assert_eq!((name.as_str(), arguments.len()), ("list_requests", 0));
        let list = |request: &str| {
            json!({"message": "1", "requests": [{"requestId": "req-1", "originalRequest": request, "totalTasks": 1}]})
                .to_string()
        };
        assert!(shows(&list("Room 12"), &written));
        assert!(!shows(&list("Room 13"), &written));
        assert!(!shows(r#"{"message": "none", "requests": []}"#, &written));
    }

    #[test]
    fn records_with_other_names_are_read_like_a_text() {
        let tools = samples::memory();
        let written =
            object(json!({"observations": [{"entityName": "Ada Lovelace", "contents": ["quiet room"]}]}));
        let (_, arguments) = call(&tools, &tools[2], &written, 0).unwrap();
        assert_eq!(Value::Object(arguments), json!({"query": "Ada Lovelace"}));
        let (_, arguments) = call(&tools, &tools[2], &written, 1).unwrap();
        assert_eq!(Value::Object(arguments), json!({"names": ["Ada Lovelace"]}));
        let graph = |observation: &str| {
            json!({"entities": [{"name": "Ada Lovelace", "entityType": "person", "observations": [observation]}]})
                .to_string()
        };
        assert!(shows(&graph("quiet room"), &written));
        assert!(!shows(&graph("loud room"), &written));
    }

    #[test]
    fn a_record_is_found_only_where_all_common_fields_are_the_same() {
        let answer = |room: i64, status: &str| {
            json!({"bookings": [{"booking_id": "BK-1", "guest": "Ada Lovelace", "room": room,
                                 "date": "2026-12-03", "status": status}]})
            .to_string()
        };
        assert!(shows(&answer(12, "confirmed"), &ada()));
        assert!(!shows(&answer(13, "confirmed"), &ada()));
        assert!(!shows(&answer(12, "cancelled"), &ada()));
        assert!(!shows(r#"{"bookings":[]}"#, &ada()));
        assert!(shows("1 booking: Ada Lovelace, room 12, night of 2026-12-03", &ada()));
        assert!(!shows("No bookings for Ada Lovelace", &ada()));
    }
}
