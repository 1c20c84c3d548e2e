//! Going on with a record: another write that needs the record's identifier.

use super::arguments::type_of;
use super::choose::{class, needs_identifier, required, things};
use super::records;
use super::words::{is_identifier, local, plain, split};
use crate::domain::ToolClass;
use crate::harness::message::{Object, ToolSpec};
use serde_json::Value;

/// The tool with which a model goes on after a write: another write, about the same thing, that cannot be
/// called without an identifier.
pub fn tool<'a>(tools: &'a [ToolSpec], write: &ToolSpec) -> Option<&'a ToolSpec> {
    let about = things(write);
    tools.iter().find(|tool| {
        tool.name != write.name
            && class(tool) == ToolClass::Write
            && needs_identifier(tool)
            && things(tool).iter().any(|thing| about.contains(thing))
    })
}

/// Its arguments: the identifier, and what else it requires of what was written. None where the identifier
/// cannot be used and none may be made up.
pub fn arguments(tool: &ToolSpec, written: &Object, given: Option<&Value>, invents: bool) -> Option<Object> {
    let mut arguments = Object::new();
    for name in required(tool) {
        let value = match is_identifier(name) {
            true => identifier(tool, name, given, invents)?,
            false => written.get(name)?.clone(),
        };
        arguments.insert(name.to_owned(), value);
    }
    Some(arguments)
}

fn identifier(tool: &ToolSpec, name: &str, given: Option<&Value>, invents: bool) -> Option<Value> {
    let wanted = tool.input_schema.get("properties").and_then(|properties| properties.get(name));
    let is_usable = |value: &Value| match wanted.map(type_of) {
        Some("string") => value.as_str().is_some_and(|text| !text.is_empty()),
        Some("integer" | "number") => value.is_number(),
        _ => value.is_string() || value.is_number(),
    };
    match given {
        Some(value) if is_usable(value) => Some(value.clone()),
        // As it stands there, in the form that the tool takes.
        Some(value @ Value::Number(_)) if invents => Some(plain(value).into()),
        _ if invents => {
            let thing = split(local(&tool.name)).pop().unwrap_or_default();
            Some(format!("{}-1", thing.to_uppercase()).into())
        }
        _ => None,
    }
}

/// The identifier in the answer to a write: the first field that is named like one, whatever stands in it.
pub fn of_answer(answer: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(answer).ok()?;
    records(&value).find_map(of_record).cloned()
}

/// The identifier of a record.
pub fn of_record(record: &Object) -> Option<&Value> {
    record.iter().find(|(name, _)| is_identifier(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use serde_json::json;

    fn goes_on(answer: &str, invents: bool) -> Option<Value> {
        let hotel = samples::hotel(true);
        let tool = tool(&hotel, &hotel[0]).unwrap();
        assert_eq!(tool.name, "cancel_booking");
        let given = of_answer(answer);
        arguments(tool, &Object::new(), given.as_ref(), invents).map(Value::Object)
    }

    #[test]
    fn an_identifier_is_taken_as_it_was_given() {
        for invents in [true, false] {
            let seen = goes_on(r#"{"room":12,"booking_id":"BK-1001"}"#, invents);
            assert_eq!(seen, Some(json!({"booking_id": "BK-1001"})));
        }
    }

    #[test]
    fn one_that_cannot_be_used_is_made_up_or_not_used() {
        for (answer, made_up) in [
            (r#"{"booking_id":null}"#, "BOOKING-1"),
            (r#"{"booking_id":{}}"#, "BOOKING-1"),
            (r#"{"booking_id":1001}"#, "1001"),
            (r#"{"room":12}"#, "BOOKING-1"),
            ("HTTP 503", "BOOKING-1"),
        ] {
            assert_eq!(goes_on(answer, true), Some(json!({"booking_id": made_up})), "{answer}");
            assert_eq!(goes_on(answer, false), None, "{answer}");
        }
    }

    #[test]
    fn there_is_not_always_a_tool_to_go_on_with() {
        let hotel = samples::hotel(true);
        assert_eq!(tool(&hotel[..1], &hotel[0]), None);
    }
}
