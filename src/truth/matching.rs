//! Does a record, or a call, have the fields that are wanted?

use super::reading::Found;
use crate::domain::RawJson;
use crate::domain::classify::glob;
use crate::domain::json::canonical;
use crate::suite::{Wanted, Which};
use serde_json::Value;

/// Whether an effect is one of those that are meant. Of the wanted arguments, one that the call does
/// not have may stand in the record: a server fills in what it knows. Where the call is not known,
/// `record` is held against the record, and `args` where there is no `record`.
pub(super) fn is_meant(which: &Which, found: &Found) -> bool {
    match &found.call {
        Some((tool, arguments)) => {
            glob(&which.tool, tool)
                && which.args.iter().all(|(name, wanted)| {
                    let value = arguments.get(name).or_else(|| found.record.get(name));
                    value.is_some_and(|value| is(wanted, value))
                })
                && has(&found.record, &which.record)
        }
        None if which.record.is_empty() => has(&found.record, &which.args),
        None => has(&found.record, &which.record),
    }
}

/// Whether a call is one of those that are meant, by its tool and its arguments.
pub(super) fn is_called(which: &Which, tool: &str, arguments: &Value) -> bool {
    glob(&which.tool, tool) && has(arguments, &which.args)
}

fn has(value: &Value, fields: &[(String, Wanted)]) -> bool {
    fields.iter().all(|(name, wanted)| value.get(name).is_some_and(|value| is(wanted, value)))
}

/// A text is the same character by character; a number and a boolean are wanted as they are written,
/// numbers by value, also where the record has them in quotes.
fn is(wanted: &Wanted, value: &Value) -> bool {
    match (wanted, value) {
        (Wanted::Null, Value::Null) => true,
        (Wanted::Text(text), Value::String(value)) => text == value,
        (Wanted::Plain(text), Value::String(value)) => {
            text == value || number(text).is_some_and(|wanted| number(value) == Some(wanted))
        }
        (Wanted::Text(text) | Wanted::Plain(text), Value::Number(value)) => {
            canonical(text.trim()) == canonical(&value.to_string())
        }
        (Wanted::Text(text) | Wanted::Plain(text), Value::Bool(value)) => {
            text.trim() == if *value { "true" } else { "false" }
        }
        (Wanted::List(items), Value::Array(values)) => {
            items.len() == values.len() && items.iter().zip(values).all(|(wanted, value)| is(wanted, value))
        }
        (Wanted::Map(fields), value @ Value::Object(_)) => has(value, fields),
        _ => false,
    }
}

/// The value of a text that is a number as JSON writes them; none of `007`, which is a name.
fn number(text: &str) -> Option<String> {
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    (begins && serde_json::from_str::<RawJson>(text).is_ok()).then(|| canonical(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(text: &str) -> Wanted {
        Wanted::Text(text.to_owned())
    }

    #[test]
    fn a_value_is_wanted_as_it_is_written() {
        for (wanted, value, same) in [
            (text("12"), json!(12), true),
            (text("12"), json!(12.0), true),
            (text("12"), json!("12"), true),
            (text("12"), json!("012"), false),
            (text("12"), json!(13), false),
            (text("true"), json!(true), true),
            (text("Ada"), json!("ada"), false),
            (Wanted::Null, json!(null), true),
            (text("null"), json!(null), false),
            (Wanted::List(vec![text("a")]), json!(["a"]), true),
            (Wanted::List(vec![text("a")]), json!(["a", "b"]), false),
            (Wanted::Map(vec![("a".into(), text("1"))]), json!({"a": 1, "b": 2}), true),
            (Wanted::Map(vec![("a".into(), text("1"))]), json!({"b": 2}), false),
        ] {
            assert_eq!(is(&wanted, &value), same, "{wanted:?} {value}");
        }
    }

    #[test]
    fn a_number_is_compared_by_value_with_or_without_quotes() {
        let plain = |text: &str| Wanted::Plain(text.to_owned());
        for (wanted, value, same) in [
            (plain("12"), json!("12.0"), true),
            (plain("12.0"), json!("12"), true),
            (plain("12.0"), json!(12), true),
            (plain("12"), json!("012"), false),
            (plain("9007199254740993"), json!("9007199254740992"), false),
            (plain("Ada"), json!("Ada"), true),
            // A text in quotes is a text: a version is no number.
            (text("1.10"), json!("1.1"), false),
            (text("12.0"), json!(12), true),
        ] {
            assert_eq!(is(&wanted, &value), same, "{wanted:?} {value}");
        }
    }

    #[test]
    fn a_wanted_argument_may_stand_in_the_record() {
        let which = Which {
            tool: "create_*".to_owned(),
            args: vec![("room".to_owned(), text("12"))],
            record: vec![],
        };
        let found = |tool: &str, arguments: Value, record: Value| Found {
            call: Some((tool.to_owned(), arguments)),
            record,
        };
        assert!(is_meant(&which, &found("create_booking", json!({"room": 12}), json!({}))));
        assert!(is_meant(&which, &found("create_booking", json!({}), json!({"room": 12}))));
        assert!(!is_meant(&which, &found("create_booking", json!({"room": 13}), json!({"room": 12}))));
        assert!(!is_meant(&which, &found("cancel_booking", json!({"room": 12}), json!({}))));
        assert!(is_meant(&which, &Found { call: None, record: json!({"room": 12}) }));
    }
}
