//! What must outlive every cut: identifiers, and what became of calls that change something.

use crate::domain::ToolClass;
use crate::domain::words::clip;
use crate::harness::message::{Message, ToolCall};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// How many identifiers are kept, the latest.
const IDENTIFIERS: usize = 200;
/// An identifier is no longer than this.
const LONGEST: usize = 120;
/// How many calls are kept, the latest.
const CALLS: usize = 60;
/// What is kept of a call's arguments and of its result, in characters.
const CALL_PART: usize = 240;

/// The identifiers in a text, in order, each once: words that hold a digit and are no plain short
/// number, addresses, and the values of JSON fields that are named like one.
pub fn identifiers(text: &str) -> Vec<String> {
    let mut found = Found::default();
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => in_value(&value, &mut found),
        _ => in_words(text, &mut found),
    }
    found.in_order
}

#[derive(Default)]
struct Found {
    in_order: Vec<String>,
    seen: HashSet<String>,
}

impl Found {
    fn add(&mut self, text: &str) {
        if !text.is_empty() && text.len() <= LONGEST && self.seen.insert(text.to_owned()) {
            self.in_order.push(text.to_owned());
        }
    }
}

fn in_value(value: &Value, found: &mut Found) {
    // A list of its own, not recursion: a result may be nested as deeply as it likes.
    let mut open: Vec<(Option<&str>, &Value)> = vec![(None, value)];
    while let Some((name, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                open.extend(fields.iter().rev().map(|(name, value)| (Some(name.as_str()), value)));
            }
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (name, item))),
            Value::String(text) if name.is_some_and(names_an_identifier) && !text.contains('\n') => {
                found.add(text.trim());
            }
            Value::Number(number) if name.is_some_and(names_an_identifier) => found.add(&number.to_string()),
            Value::String(text) => in_words(text, found),
            _ => {}
        }
    }
}

fn names_an_identifier(name: &str) -> bool {
    const NAMES: [&str; 11] =
        ["id", "ids", "uuid", "guid", "key", "number", "reference", "ref", "code", "token", "confirmation"];
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit(['_', '-', ' ']).next().unwrap_or_default();
    NAMES.contains(&last) || name.ends_with("Id") || name.ends_with("ID") || name.ends_with("Key")
}

fn in_words(text: &str, found: &mut Found) {
    let border = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|')
    };
    for word in text.split(border) {
        let word = word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '*' | '='));
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let mixed = word.bytes().any(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'/'));
        if (digits > 0 && mixed && word.len() > 2) || digits > 3 || word.contains("://") || is_mail(word) {
            found.add(word);
        }
    }
}

fn is_mail(word: &str) -> bool {
    word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
}

/// The line that keeps the identifiers of messages; none where there is none.
pub fn line(messages: &[Message]) -> Option<String> {
    let mut found = Found::default();
    for message in messages {
        match message {
            // The system prompt is never cut.
            Message::System { .. } => {}
            Message::User { text } | Message::ToolResult { text, .. } => {
                identifiers(text).iter().for_each(|identifier| found.add(identifier));
            }
            Message::Assistant { text, tool_calls, .. } => {
                identifiers(text).iter().for_each(|identifier| found.add(identifier));
                for call in tool_calls {
                    in_value(&Value::Object(call.arguments.clone()), &mut found);
                }
            }
        }
    }
    let from = found.in_order.len().saturating_sub(IDENTIFIERS);
    let kept = &found.in_order[from..];
    (!kept.is_empty()).then(|| format!("Facts: {}", kept.join(", ")))
}

/// A line for every call of messages that may have changed something, with what became of it.
pub fn calls(messages: &[Message], class: &dyn Fn(&str) -> ToolClass) -> Vec<String> {
    let results: HashMap<&str, (&str, bool)> = messages
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { call_id, text, is_error } => {
                Some((call_id.as_str(), (text.as_str(), *is_error)))
            }
            _ => None,
        })
        .collect();
    let line = |call: &ToolCall| {
        let arguments = clip(&Value::Object(call.arguments.clone()).to_string(), CALL_PART);
        let (text, failed) = results.get(call.id.as_str()).copied().unwrap_or(("no result", true));
        let how = if failed { "error: " } else { "" };
        format!("- {} {arguments} → {how}{}", call.name, clip(&one_line(text), CALL_PART))
    };
    let mut lines: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls),
            _ => None,
        })
        .flatten()
        .filter(|call| class(&call.name) != ToolClass::Read)
        .map(line)
        .collect();
    let over = lines.len().saturating_sub(CALLS);
    lines.drain(..over);
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn identifiers_are_found_in_prose_and_in_json() {
        assert_eq!(
            identifiers("Booked (BK-1001) on 2026-12-03 for ada@example.org, room 7. See https://a/b?c"),
            ["BK-1001", "2026-12-03", "ada@example.org", "https://a/b?c"]
        );
        let value =
            json!({"bookings": [{"booking_id": "BK-1001", "room": 7}], "orderId": "abc", "n": 123456});
        let mut found = identifiers(&value.to_string());
        found.sort();
        assert_eq!(found, ["BK-1001", "abc"]);
        assert_eq!(identifiers("nothing to see"), Vec::<String>::new());
    }

    #[test]
    fn a_call_that_changes_something_is_kept_with_what_became_of_it() {
        let call = |id: &str, name: &str| ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: json!({"room": 12}).as_object().unwrap().clone(),
            ..ToolCall::default()
        };
        let messages = [
            Message::Assistant {
                text: String::new(),
                tool_calls: vec![call("1", "create_booking"), call("2", "find_bookings")],
            },
            Message::ToolResult { call_id: "1".into(), text: "timed\nout".into(), is_error: true },
            Message::ToolResult { call_id: "2".into(), text: "[]".into(), is_error: false },
        ];
        let class =
            |name: &str| if name == "find_bookings" { ToolClass::Read } else { ToolClass::Unclassified };
        assert_eq!(calls(&messages, &class), ["- create_booking {\"room\":12} → error: timed out"]);
    }

    proptest! {
        #[test]
        fn any_text_has_its_identifiers_once(text in ".{0,200}") {
            let found = identifiers(&text);
            let mut distinct = found.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), found.len());
        }

        #[test]
        fn a_clipped_text_is_its_beginning(text in ".{0,40}", characters in 0_usize..50) {
            let clipped = clip(&text, characters);
            prop_assert!(text.starts_with(clipped.trim_end_matches('…')) || clipped == text);
        }
    }
}
