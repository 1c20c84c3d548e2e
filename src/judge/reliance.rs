//! J28: a write that relies on an answer that breaks its tool's contract.

use super::stamp::Stamp;
use crate::domain::{RawJson, names};
use crate::trace::{Fault, Told};
use serde_json::Value;
use std::collections::HashSet;

/// What is kept of an operation whose answer broke its contract.
#[derive(Debug)]
pub(super) struct Broken {
    pub told: Stamp,
    /// The field that was broken, where it was one.
    pub field: Option<String>,
    /// What the broken answer said.
    pub said: Given,
    pub relied: Vec<Relied>,
    /// A later write may have relied on it, for all that the trace knows.
    pub doubted: bool,
}

impl Broken {
    pub fn new(told: Stamp, field: Option<String>) -> Broken {
        Broken { told, field, said: Given::default(), relied: Vec::new(), doubted: false }
    }
}

/// A later write, and what in it stems from nothing that the agent was given.
#[derive(Debug, Clone)]
pub(super) struct Relied {
    /// The call, counted from 0.
    pub call: usize,
    pub field: String,
    pub value: String,
    pub source: Source,
}

/// Where the agent had it from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    BrokenAnswer,
    Nowhere,
}

impl Source {
    pub fn words(self) -> &'static str {
        match self {
            Source::BrokenAnswer => "only that answer had told the agent",
            Source::Nowhere => "nothing had told the agent",
        }
    }
}

/// Everything that the agent was given and could use: words of the user, answers, what it had
/// itself sent before.
#[derive(Debug, Default)]
pub(super) struct Given {
    known: HashSet<String>,
    /// The user's words stand in the trace.
    pub knows_user: bool,
    /// What was told beside calls and turns stands in the trace.
    pub knows_beside: bool,
    /// Some of it was too long to keep.
    pub is_cut: bool,
}

impl Given {
    /// Whether the trace has everything that the agent was told.
    fn is_complete(&self) -> bool {
        self.knows_user && self.knows_beside && !self.is_cut
    }

    /// A text; where it is JSON, its scalars and their words.
    pub fn text(&mut self, text: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => self.value(&value),
            _ => self.words(text),
        }
    }

    /// The words of a text, whatever it is.
    pub fn words(&mut self, text: &str) {
        self.known.extend(words_of(text));
    }

    fn value(&mut self, value: &Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values()),
                Value::String(text) => {
                    self.known.insert(text.to_lowercase());
                    self.words(text);
                }
                Value::Number(number) => drop(self.known.insert(number.to_string())),
                Value::Null | Value::Bool(_) => {}
            }
        }
    }

    fn has(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                // A part of it without a digit names nothing.
                let mut parts = words_of(text).filter(|word| word.contains(|c: char| c.is_ascii_digit()));
                self.known.contains(&text.to_lowercase())
                    || parts.next().is_some_and(|first| {
                        self.known.contains(&first) && parts.all(|word| self.known.contains(&word))
                    })
            }
            Value::Number(number) => self.known.contains(&number.to_string()),
            Value::Array(items) => items.iter().all(|item| self.has(item)),
            _ => false,
        }
    }
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The texts of a tool's result; the whole of it where it has none.
pub(super) fn text_of(result: &RawJson) -> String {
    let value: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let blocks = value.get("content").and_then(Value::as_array);
    let texts: Vec<&str> =
        blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str()).collect();
    if texts.is_empty() { result.get().to_owned() } else { texts.join("\n") }
}

/// Words of names whose value the agent makes itself.
const OWN: &[&str] = &["request", "idempot", "correlation", "session", "trace"];

/// Words of names that may be those of identifiers.
const PERHAPS: &[&str] = &["ref", "code", "number", "no", "nr", "key", "record", "ticket"];

/// Words of names whose numbers are none.
const PLAIN: &[&str] = &["phone", "tel", "mobile", "card", "house", "room"];

fn is_own(name: &str) -> bool {
    let lower = name.to_lowercase();
    OWN.iter().any(|word| lower.contains(word))
}

/// Whether a name is that of an identifier that another side gives.
fn is_identifier(name: &str) -> bool {
    !is_own(name) && names::is_identifier(name)
}

/// Whether it may be an identifier by its form: letters and digits, joined by something; or digits where the
/// name says so.
fn may_be_identifier(name: &str, value: &Value) -> bool {
    let words = names::words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if is_own(name) {
        return false;
    }
    match value {
        Value::Number(_) => has(PERHAPS) && !has(PLAIN),
        Value::String(text) => {
            let is_digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
            (is_digits && has(PERHAPS) && !has(PLAIN))
                || text.split(|c: char| c.is_whitespace() || c == '/').any(is_joined)
        }
        _ => false,
    }
}

/// `BK-9999`, `a_1`, `ord#7x`; no date and no time.
fn is_joined(word: &str) -> bool {
    let joined = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = joined.bytes().take_while(u8::is_ascii_digit).count();
    let is_date = digits == 4 && joined.get(4..5) == Some("-");
    !is_date
        && joined.contains(|c: char| c.is_ascii_digit())
        && joined.contains(char::is_alphabetic)
        && joined.contains(|c: char| !c.is_alphanumeric())
}

/// What of a call's arguments nothing gave the agent.
pub(super) struct Unfounded {
    pub field: String,
    pub value: String,
    pub source: Source,
    /// It is an identifier for certain, and the trace knows all that the agent was told.
    pub is_certain: bool,
}

/// The first identifier in the arguments that nothing gave the agent; one that is certain before others.
pub(super) fn unfounded(arguments: &str, broken: &Broken, given: &Given) -> Option<Unfounded> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let mut open = vec![("", &arguments)];
    let mut doubted = None;
    while let Some((outer, value)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (outer, item))),
            Value::Object(fields) if !fields.is_empty() => {
                open.extend(fields.iter().map(|(name, value)| (name.as_str(), value)));
            }
            _ => {}
        }
        let named = Some(outer) == broken.field.as_deref() || is_identifier(outer);
        let is_scalar = !matches!(value, Value::Array(_));
        if outer.is_empty() || !is_scalar || given.has(value) || !(named || may_be_identifier(outer, value)) {
            continue;
        }
        let said = broken.said.has(value);
        // Nothing tells an agent to use nothing.
        let is_nothing = matches!(value, Value::Null | Value::Object(_)) || value.as_str() == Some("");
        let found = Unfounded {
            field: outer.to_owned(),
            value: value.to_string(),
            source: if said || is_nothing { Source::BrokenAnswer } else { Source::Nowhere },
            is_certain: named && (said || is_nothing || given.is_complete()),
        };
        if found.is_certain {
            return Some(found);
        }
        doubted.get_or_insert(found);
    }
    doubted
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
