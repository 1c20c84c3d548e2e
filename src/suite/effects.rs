//! `effects:` and `checks:` of a prompt: what it should bring about, and what shows that it was done.
//!
//! ```yaml
//! prompts:
//!   plain:
//!     user: "Please book room 12 for Ada Lovelace on {{ date }}."
//!     effects:
//!       - {tool: create_booking, args: {room: 12, date: "{{ date }}"}, count: 1}
//!     checks:
//!       - {reply_matches: "(?i)booked|gebucht"}
//!       - {tool_called: find_bookings, args: {guest: Ada Lovelace}}
//!       - {effect: create_booking}
//! ```

use super::Pattern;
use super::decode::{At, Decoder, Fields, Shape};
use super::diagnostics::shown;
use super::template::{self, Names};
use super::tree::{Kind, Node};
use serde_json::Value;

/// An effect that a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// Which effect.
    pub which: Which,
    /// How often, from 1.
    pub count: u64,
}

/// Which calls, and the effects of which calls, are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Which {
    /// Glob (`*` only) over tool names.
    pub tool: String,
    /// Fields that the arguments of the call must have.
    pub args: Vec<(String, Wanted)>,
    /// Fields that the record must have.
    pub record: Vec<(String, Wanted)>,
}

/// A value that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// `null`
    Null,
    /// Template of a text. Held against a number or a boolean it is one too.
    Text(String),
    /// Template of a text written without quotes: as an argument it is a number or a boolean where
    /// it reads as one.
    Plain(String),
    /// A list of as many.
    List(Vec<Wanted>),
    /// An object with at least these fields.
    Map(Vec<(String, Wanted)>),
}

/// What shows that a prompt's task was done.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// The agent's last words contain a text (a template).
    ReplyContains(String),
    /// The agent's last words match.
    ReplyMatches(Pattern),
    /// A tool was called with arguments that have these fields.
    ToolCalled(Which),
    /// An effect is there, however often.
    Effect(Which),
}

impl Which {
    /// The same with its templates rendered.
    ///
    /// # Errors
    /// As `render`.
    pub fn rendered<E>(&self, render: &dyn Fn(&str) -> Result<String, E>) -> Result<Which, E> {
        Ok(Which {
            tool: self.tool.clone(),
            args: rendered(&self.args, render)?,
            record: rendered(&self.record, render)?,
        })
    }
}

impl Wanted {
    /// The same with its templates rendered.
    ///
    /// # Errors
    /// As `render`.
    pub fn rendered<E>(&self, render: &dyn Fn(&str) -> Result<String, E>) -> Result<Wanted, E> {
        Ok(match self {
            Wanted::Null => Wanted::Null,
            Wanted::Text(text) => Wanted::Text(render(text)?),
            Wanted::Plain(text) => Wanted::Plain(render(text)?),
            Wanted::List(items) => {
                Wanted::List(items.iter().map(|item| item.rendered(render)).collect::<Result<_, _>>()?)
            }
            Wanted::Map(entries) => Wanted::Map(rendered(entries, render)?),
        })
    }

    fn as_argument(&self) -> Value {
        match self {
            Wanted::Null => Value::Null,
            Wanted::Text(text) => Value::from(text.as_str()),
            Wanted::Plain(text) => match serde_json::from_str(text) {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
                _ => Value::from(text.as_str()),
            },
            Wanted::List(items) => items.iter().map(Wanted::as_argument).collect(),
            Wanted::Map(entries) => arguments(entries),
        }
    }
}

/// Fields as the JSON object that a tool takes.
pub fn arguments(fields: &[(String, Wanted)]) -> Value {
    Value::Object(fields.iter().map(|(name, wanted)| (name.clone(), wanted.as_argument())).collect())
}

/// Fields with their templates rendered.
///
/// # Errors
/// As `render`.
pub fn rendered<E>(
    fields: &[(String, Wanted)],
    render: &dyn Fn(&str) -> Result<String, E>,
) -> Result<Vec<(String, Wanted)>, E> {
    fields.iter().map(|(name, wanted)| Ok((name.clone(), wanted.rendered(render)?))).collect()
}

impl Check {
    /// The same with its templates rendered.
    ///
    /// # Errors
    /// As `render`.
    pub fn rendered<E>(&self, render: &dyn Fn(&str) -> Result<String, E>) -> Result<Check, E> {
        Ok(match self {
            Check::ReplyContains(text) => Check::ReplyContains(render(text)?),
            Check::ReplyMatches(pattern) => Check::ReplyMatches(pattern.clone()),
            Check::ToolCalled(which) => Check::ToolCalled(which.rendered(render)?),
            Check::Effect(which) => Check::Effect(which.rendered(render)?),
        })
    }
}

const EFFECT: Shape = Shape::new("an effect", &["tool", "args", "record", "count"]);
const CHECK: Shape =
    Shape::new("a check", &["reply_contains", "reply_matches", "tool_called", "effect", "args", "record"])
        .hints(&[
            ("contains", "the key is `reply_contains`"),
            ("matches", "the key is `reply_matches`"),
            ("reply", "the keys are `reply_contains` and `reply_matches`"),
            ("tool", "the keys are `tool_called` and `effect`"),
            ("called", "the key is `tool_called`"),
        ]);

/// Most of what a prompt can ask for at once.
const MOST: u64 = 10_000;

/// Reads `effects:` of a prompt.
pub(super) fn effects(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Vec<Effect>> {
    let items = decoder.list(node, "a list of effects")?;
    let mut effects: Vec<(Effect, &Node)> = Vec::new();
    let mut sound = true;
    for item in items {
        let Some(effect) = effect(decoder, item, names) else {
            sound = false;
            continue;
        };
        if let Some((_, other)) = effects.iter().find(|(other, _)| overlap(&other.which, &effect.which)) {
            decoder
                .error(item.span.clone(), "the same record could be this effect or another one")
                .related(other.span.clone(), "the other one")
                .help("give both a field with a value of its own, or write one of them with `count: 2`");
            sound = false;
        }
        effects.push((effect, item));
    }
    sound.then(|| effects.into_iter().map(|(effect, _)| effect).collect())
}

fn effect(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Effect> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        decoder
            .error(node.span.clone(), "expected an effect with the key `tool`, found a text")
            .help("write `- {tool: create_booking, args: {room: 12}}`");
        return None;
    }
    let fields = decoder.fields(node, node.span.clone(), &EFFECT)?;
    let tool =
        decoder.required(&fields, "tool", "tool: create_booking").and_then(|(_, node)| tool(decoder, node));
    let (args, record) = (wanted(decoder, &fields, "args", names), wanted(decoder, &fields, "record", names));
    let count = match fields.get("count") {
        Some(node) => decoder.whole(node, "the number of times", 1..=MOST),
        None => Some(1),
    };
    Some(Effect { which: Which { tool: tool?, args: args?, record: record? }, count: count? })
}

fn tool(decoder: &mut Decoder, node: &Node) -> Option<String> {
    let name = decoder.filled(node, "the name of a tool")?;
    super::glob::can_match(decoder, &name).then_some(name.value)
}

/// The wanted fields under a key; none where the key is not there.
pub(super) fn wanted(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    name: &str,
    names: &Names,
) -> Option<Vec<(String, Wanted)>> {
    let Some(node) = fields.get(name) else { return Some(Vec::new()) };
    let entries = decoder.named(node, "fields and their values")?;
    let values: Vec<Option<(String, Wanted)>> =
        entries.iter().map(|(key, node)| Some((key.text.clone(), value(decoder, node, names)?))).collect();
    values.into_iter().collect()
}

fn value(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Wanted> {
    Some(match &node.kind {
        Kind::Null => Wanted::Null,
        Kind::Scalar { text, plain } => {
            template::check(decoder, &At { value: text.clone(), span: node.span.clone() }, names);
            if *plain { Wanted::Plain(text.clone()) } else { Wanted::Text(text.clone()) }
        }
        Kind::Seq(items) => {
            let items: Vec<Option<Wanted>> = items.iter().map(|item| value(decoder, item, names)).collect();
            Wanted::List(items.into_iter().collect::<Option<_>>()?)
        }
        Kind::Map(entries) => {
            let entries: Vec<Option<(String, Wanted)>> = entries
                .iter()
                .map(|(key, node)| Some((key.text.clone(), value(decoder, node, names)?)))
                .collect();
            Wanted::Map(entries.into_iter().collect::<Option<_>>()?)
        }
    })
}

/// Whether nothing that is written keeps one record from being both.
fn overlap(one: &Which, other: &Which) -> bool {
    let apart = |one: &[(String, Wanted)], other: &[(String, Wanted)]| {
        one.iter().any(|(name, value)| {
            other.iter().any(|(theirs, wanted)| {
                // What a template becomes is not known yet.
                name == theirs && !same(value, wanted) && !templated(value) && !templated(wanted)
            })
        })
    };
    tools_overlap(&one.tool, &other.tool)
        && !apart(&one.args, &other.args)
        && !apart(&one.record, &other.record)
}

/// Whether one name can match both globs, as far as their beginnings and ends tell.
fn tools_overlap(one: &str, other: &str) -> bool {
    let ends = |glob: &str| match (glob.split_once('*'), glob.rsplit_once('*')) {
        (Some((start, _)), Some((_, end))) => (start.to_owned(), end.to_owned()),
        _ => (glob.to_owned(), glob.to_owned()),
    };
    if !one.contains('*') && !other.contains('*') {
        return one == other;
    }
    let ((start, end), (start2, end2)) = (ends(one), ends(other));
    (start.starts_with(&start2) || start2.starts_with(&start))
        && (end.ends_with(&end2) || end2.ends_with(&end))
}

/// Quotes make no difference to what is held against a record.
fn same(one: &Wanted, other: &Wanted) -> bool {
    match (one, other) {
        (Wanted::Text(one) | Wanted::Plain(one), Wanted::Text(other) | Wanted::Plain(other)) => one == other,
        _ => one == other,
    }
}

fn templated(value: &Wanted) -> bool {
    match value {
        Wanted::Null => false,
        Wanted::Text(text) | Wanted::Plain(text) => text.contains("{{") || text.contains("{%"),
        Wanted::List(items) => items.iter().any(templated),
        Wanted::Map(entries) => entries.iter().any(|(_, value)| templated(value)),
    }
}

/// Reads `checks:` of a prompt.
pub(super) fn checks(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Vec<Check>> {
    let items = decoder.list(node, "a list of checks")?;
    let checks: Vec<Option<Check>> = items.iter().map(|item| check(decoder, item, names)).collect();
    checks.into_iter().collect()
}

fn check(decoder: &mut Decoder, node: &Node, names: &Names) -> Option<Check> {
    const KINDS: [&str; 4] = ["reply_contains", "reply_matches", "tool_called", "effect"];
    let fields = decoder.fields(node, node.span.clone(), &CHECK)?;
    let given: Vec<_> = KINDS.iter().filter_map(|kind| Some((*kind, fields.entry(kind)?))).collect();
    let (kind, key, node) = match given.as_slice() {
        [(kind, (key, node))] => (*kind, *key, *node),
        [] => {
            decoder
                .error(node.span.clone(), "a check needs one of the keys that say what is checked")
                .help("`reply_contains`, `reply_matches`, `tool_called` or `effect`");
            return None;
        }
        [(_, (first, _)), (_, (second, _)), ..] => {
            decoder
                .error(second.span.clone(), "one check says one thing")
                .related(first.span.clone(), "the other one")
                .help("write two checks; all of them must hold");
            return None;
        }
    };
    for name in ["args", "record"] {
        let fits = kind == "effect" || (kind == "tool_called" && name == "args");
        if !fits && let Some((field, _)) = fields.entry(name) {
            decoder
                .error(field.span.clone(), format!("{} does not go with {}", shown(name), shown(kind)))
                .related(key.span.clone(), "what is checked");
        }
    }
    if kind == "reply_matches" {
        return decoder.pattern(node).map(|regex| Check::ReplyMatches(Pattern(regex)));
    }
    if kind == "reply_contains" {
        let text = decoder.filled(node, "a text")?;
        template::check(decoder, &text, names);
        return Some(Check::ReplyContains(text.value));
    }
    let tool = tool(decoder, node);
    let (args, record) = (wanted(decoder, &fields, "args", names), wanted(decoder, &fields, "record", names));
    let which = Which { tool: tool?, args: args?, record: record? };
    Some(if kind == "effect" { Check::Effect(which) } else { Check::ToolCalled(which) })
}
