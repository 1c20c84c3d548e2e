//! Filling a tool's arguments from its input schema, always the same for the same prompt.
//!
//! What the prompt says literally comes first; then what the schema itself offers (`const`,
//! `examples`, `enum`, `default`); then a fixed sample that suits the name and the type.

use super::leaves;
use super::words::{is_identifier, is_key, plain, singular, split};
use crate::harness::message::Object;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Deeper schemas are recursive ones.
const DEPTH: usize = 12;

/// Arguments for a call: what the schema requires, and what else the prompt has a value for.
/// A key is filled only for a model that uses keys.
pub fn fill(schema: &Object, prompt: &str, keyed: bool) -> Object {
    let filler = Filler { root: schema, prompt };
    let whole = Value::Object(schema.clone());
    let mut arguments = match filler.object(&whole, 0) {
        Value::Object(arguments) => arguments,
        _ => Object::new(),
    };
    let keys: Vec<String> =
        properties(&whole).map(|(name, _)| name.clone()).filter(|name| is_key(name)).collect();
    let required = required(&whole);
    arguments.retain(|name, _| !is_key(name));
    for key in keys.into_iter().filter(|key| keyed || required.contains(&key.as_str())) {
        let value = key_for(&arguments);
        arguments.insert(key, value.into());
    }
    arguments
}

/// A key that the same booking gets every time.
fn key_for(arguments: &Object) -> String {
    let mut parts = Vec::new();
    arguments.values().for_each(|value| leaves(value, &mut parts));
    let words: Vec<String> = parts
        .iter()
        .flat_map(|part| plain(part).to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    words.join("-")
}

/// The type that a schema names, the first that is not null; `string` where it names none.
pub fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn required(schema: &Value) -> Vec<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

struct Filler<'a> {
    root: &'a Object,
    prompt: &'a str,
}

impl Filler<'_> {
    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required = required(schema);
        let mut object = Object::new();
        for (name, property) in properties(schema) {
            let property = self.resolve(property, depth);
            let wanted = if required.is_empty() {
                !is_identifier(name) && !is_paging(name)
            } else {
                required.contains(&name.as_str())
            };
            if wanted {
                object.insert(name.clone(), self.value(name, &property, depth + 1));
            } else if !is_identifier(name)
                && let Some(value) = self.literal(name, &property)
            {
                object.insert(name.clone(), value);
            }
        }
        Value::Object(object)
    }

    fn value(&self, name: &str, schema: &Value, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Null;
        }
        let schema = &self.resolve(schema, depth);
        let first =
            |key: &str| schema.get(key).and_then(Value::as_array).and_then(|list| list.first()).cloned();
        let offered = || {
            first("examples")
                .or_else(|| schema.get("example").cloned())
                .or_else(|| first("enum"))
                .or_else(|| schema.get("default").filter(|value| !value.is_null()).cloned())
        };
        if let Some(value) =
            schema.get("const").cloned().or_else(|| self.literal(name, schema)).or_else(offered)
        {
            return value;
        }
        match type_of(schema) {
            "object" => self.object(schema, depth),
            "array" => {
                let item = schema.get("items").cloned().unwrap_or(json!({}));
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 16);
                Value::Array((0..least).map(|_| self.value(&singular_name(name), &item, depth + 1)).collect())
            }
            "integer" => json!(number(schema, true) as i64),
            "number" => json!(number(schema, false)),
            "boolean" => json!(false),
            "null" => Value::Null,
            _ => sample(name, schema).into(),
        }
    }

    /// The schema behind a `$ref`, or the first alternative that is not null.
    fn resolve(&self, schema: &Value, depth: usize) -> Value {
        let mut schema = schema.clone();
        for _ in depth..DEPTH {
            let next = if let Some(Value::String(path)) = schema.get("$ref") {
                let mut target: Option<&Value> = None;
                for part in path.strip_prefix("#/").unwrap_or_default().split('/') {
                    target = match target {
                        None => self.root.get(part),
                        Some(value) => value.get(part),
                    };
                    if target.is_none() {
                        break;
                    }
                }
                target.cloned()
            } else {
                ["anyOf", "oneOf", "allOf"].iter().find_map(|key| {
                    schema.get(*key)?.as_array()?.iter().find(|one| type_of(one) != "null").cloned()
                })
            };
            match next {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    /// A value that stands in the prompt.
    fn literal(&self, name: &str, schema: &Value) -> Option<Value> {
        let words = split(name);
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        if let Some(Value::Array(options)) = schema.get("enum") {
            let said = split(self.prompt);
            return options
                .iter()
                .find(|option| option.as_str().is_some_and(|option| said.contains(&option.to_lowercase())))
                .cloned();
        }
        match type_of(schema) {
            "integer" => self.number_after(&words)?.parse::<i64>().ok().map(Value::from),
            "number" => self.number_after(&words)?.parse::<f64>().ok().map(Value::from),
            "string" => {
                let format = schema.get("format").and_then(Value::as_str);
                let end = has(&["end", "to", "until", "departure", "out"]);
                let text = if format == Some("date") || has(&["date", "day", "night"]) {
                    DATE.find_iter(self.prompt).nth(usize::from(end))
                } else if format == Some("email") || has(&["email", "mail"]) {
                    EMAIL.find(self.prompt)
                } else if format == Some("time") || has(&["time"]) {
                    TIME.find(self.prompt)
                } else if has(PERSON) {
                    AFTER_FOR
                        .captures(self.prompt)
                        .and_then(|found| found.get(1))
                        .or_else(|| NAME.find(self.prompt))
                } else {
                    QUOTED.captures(self.prompt).and_then(|found| found.get(1)).filter(|_| has(QUOTABLE))
                };
                match text {
                    Some(found) => Some(found.as_str().into()),
                    None => self.number_after(&words).map(Value::from),
                }
            }
            _ => None,
        }
    }

    /// The number that follows the name's last word: `room 12`, `Room no. 12`.
    fn number_after(&self, words: &[String]) -> Option<&str> {
        let word = words.iter().rev().find(|word| !matches!(word.as_str(), "number" | "no" | "nr"))?;
        let mut rest = self.prompt.split(|c: char| c.is_whitespace() || matches!(c, ':' | '#' | ',' | ';'));
        while let Some(said) = rest.next() {
            if singular(&said.to_lowercase()) != singular(word) {
                continue;
            }
            let next = rest.clone().find(|said| {
                !matches!(said.trim_end_matches('.').to_lowercase().as_str(), "" | "number" | "no" | "nr")
            });
            let number = next.map(|next| next.trim_end_matches(|c: char| !c.is_ascii_digit()));
            if let Some(number) = number
                && number.starts_with(|c: char| c.is_ascii_digit())
                && number.chars().all(|c| c.is_ascii_digit() || c == '.')
            {
                return Some(number);
            }
        }
        None
    }
}

const PERSON: &[&str] =
    &["guest", "name", "customer", "patient", "client", "person", "recipient", "attendee", "payee", "owner"];

/// Names of what a user says word for word, in quotation marks.
const QUOTABLE: &[&str] = &["title", "subject", "text", "content", "message", "note", "body", "request"];

/// A pattern of this file; one that did not compile would match nothing.
fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles each of them")]
    Regex::new(text).expect("a constant pattern")
}

static DATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{4}-\d{2}-\d{2}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{1,2}:\d{2}\b"));
static EMAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"["“„]([^"“”„]+)["”“]"#));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"\p{Lu}\p{Ll}+(?:[ -]\p{Lu}\p{Ll}+)+"));
static AFTER_FOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:for|named|called|guest|für|namens) (\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)*)")
});

fn is_paging(name: &str) -> bool {
    split(name).iter().any(|word| matches!(word.as_str(), "limit" | "offset" | "page" | "cursor"))
}

/// The name of an element of a list of that name.
fn singular_name(name: &str) -> String {
    let mut words = split(name);
    if let Some(last) = words.last_mut() {
        *last = singular(last);
    }
    words.join("_")
}

fn number(schema: &Value, whole: bool) -> f64 {
    let get = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least =
        get("minimum").or_else(|| get("exclusiveMinimum").map(|least| least + if whole { 1.0 } else { 0.5 }));
    let most =
        get("maximum").or_else(|| get("exclusiveMaximum").map(|most| most - if whole { 1.0 } else { 0.5 }));
    let value = 1.0_f64.max(least.unwrap_or(f64::MIN)).min(most.unwrap_or(f64::MAX));
    if whole { value.ceil() } else { value }
}

/// What a text property gets where nothing better is known, by the first word that fits.
const SAMPLES: &[(&[&str], &str)] = &[
    (&["email", "mail"], "ada.lovelace@example.com"),
    (&["phone", "mobile", "tel"], "+44 20 7946 0958"),
    (&["type", "kind", "category", "role"], "person"),
    (&["date", "day", "night"], "2026-12-03"),
    (&["time", "hour"], "10:00"),
    (&["url", "uri", "link", "website"], "https://example.com/"),
    (&["currency"], "EUR"),
    (&["city", "place", "location"], "London"),
    (&["country"], "United Kingdom"),
    (&["address", "street"], "12 St James's Square"),
    (&["path", "file", "filename"], "notes.txt"),
    (&["to"], "Charles Babbage"),
    (&["title", "subject", "topic"], "Quiet room"),
    (
        &[
            "observation",
            "content",
            "text",
            "message",
            "note",
            "notes",
            "body",
            "description",
            "comment",
            "reason",
        ],
        "Prefers a quiet room",
    ),
];

fn sample(name: &str, schema: &Value) -> String {
    let by_format = match schema.get("format").and_then(Value::as_str) {
        Some("date") => Some("2026-12-03"),
        Some("date-time") => Some("2026-12-03T10:00:00Z"),
        Some("time") => Some("10:00:00"),
        Some("email") => Some("ada.lovelace@example.com"),
        Some("uri") => Some("https://example.com/"),
        Some("uuid") => Some("7d444840-9dc0-41d1-b245-5ffdce74fad2"),
        _ => None,
    };
    let words: Vec<String> = split(name).iter().map(|word| singular(word)).collect();
    let by_name = || {
        SAMPLES
            .iter()
            .find(|(names, _)| words.iter().any(|word| names.contains(&word.as_str())))
            .map(|(_, sample)| *sample)
    };
    let mut text = by_format.or_else(by_name).unwrap_or("Ada Lovelace").to_owned();
    if let Some(most) = schema.get("maxLength").and_then(Value::as_u64) {
        text = text.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
    }
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(10_000);
    while (text.chars().count() as u64) < least {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn filled(schema: Value, prompt: &str) -> Value {
        Value::Object(fill(schema.as_object().unwrap(), prompt, false))
    }

    #[test]
    fn what_the_prompt_says_comes_before_the_examples() {
        let hotel = samples::hotel(true);
        let prompt = "Please book room 14 for Grace Hopper on 2027-01-05.";
        assert_eq!(
            Value::Object(fill(&hotel[0].input_schema, prompt, false)),
            json!({"guest": "Grace Hopper", "room": 14, "date": "2027-01-05"})
        );
        assert_eq!(
            Value::Object(fill(&hotel[0].input_schema, "Book the usual", false)),
            json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"})
        );
    }

    #[test]
    fn a_key_is_filled_only_for_a_model_that_uses_keys() {
        let hotel = samples::hotel(true);
        let prompt = "Please book room 14 for Grace Hopper on 2027-01-05.";
        let arguments = fill(&hotel[0].input_schema, prompt, true);
        assert_eq!(arguments["idempotency_key"], "2027-01-05-grace-hopper-14");
        assert!(!fill(&hotel[0].input_schema, prompt, false).contains_key("idempotency_key"));
    }

    #[test]
    fn lists_of_objects_are_filled() {
        let memory = samples::memory();
        let prompt = "Please remember Grace Hopper as a guest.";
        assert_eq!(
            Value::Object(fill(&memory[0].input_schema, prompt, false)),
            json!({"entities": [{"name": "Grace Hopper", "entityType": "person",
                                 "observations": ["Prefers a quiet room"]}]})
        );
    }

    #[test]
    fn what_is_quoted_is_taken_word_for_word() {
        let tasks = samples::tasks();
        let prompt = "Use request_planning for \"Room 12 for Ada Lovelace\", please.";
        assert_eq!(
            Value::Object(fill(&tasks[0].input_schema, prompt, false)),
            json!({"originalRequest": "Room 12 for Ada Lovelace",
                   "tasks": [{"title": "Room 12 for Ada Lovelace", "description": "Prefers a quiet room"}]})
        );
    }

    #[test]
    fn every_kind_of_schema_gets_a_value_of_its_type() {
        let schema = json!({"type": "object",
            "$defs": {"money": {"type": "object", "properties": {"amount": {"type": "number", "minimum": 5}},
                                "required": ["amount"]}},
            "properties": {
                "kind": {"enum": ["single", "double"]}, "version": {"const": 2}, "price": {"$ref": "#/$defs/money"},
                "nights": {"type": "integer", "exclusiveMinimum": 1}, "vip": {"type": "boolean"},
                "email": {"anyOf": [{"type": "null"}, {"type": "string"}]}, "size": {"default": "large"},
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2}},
            "required": ["kind", "version", "price", "nights", "vip", "email", "size", "tags"]});
        assert_eq!(
            filled(schema, "A double room, please"),
            json!({"kind": "double", "version": 2, "price": {"amount": 5.0}, "nights": 2, "vip": false,
                   "email": "ada.lovelace@example.com", "size": "large", "tags": ["Ada", "Ada"]})
        );
    }

    #[test]
    fn a_number_follows_its_name() {
        let schema = json!({"type": "object", "required": ["room_number"],
                            "properties": {"room_number": {"type": "integer"}}});
        for (prompt, room) in [
            ("Book room 14.", 14),
            ("Room no. 15, please", 15),
            ("the room: #16", 16),
            ("rooms are nice, take room number 17!", 17),
            ("a room on 2026-12-03", 1),
        ] {
            assert_eq!(filled(schema.clone(), prompt)["room_number"], room, "{prompt}");
        }
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let schema = json!({"type": "object", "$defs": {"node": {"type": "object",
                "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}},
            "properties": {"list": {"$ref": "#/$defs/node"}}, "required": ["list"]});
        assert!(filled(schema, "")["list"]["next"].is_object());
        assert_eq!(filled(json!({"$ref": "#/$ref"}), ""), json!({}));
    }

    #[test]
    fn the_patterns_compile() {
        for pattern in [&DATE, &TIME, &EMAIL, &QUOTED, &NAME, &AFTER_FOR] {
            assert!(!pattern.as_str().is_empty());
        }
    }
}
