//! How an agent's output is read: which part of it is the reply, the session, the usage.
//!
//! ```yaml
//! output:
//!   format: jsonl                       # text | json | jsonl
//!   file: "{{ run.dir }}/out.json"      # instead of its standard output
//!   reply: {where: {/type: result}, get: /result}
//!   session: /session_id                # short for {get: /session_id}
//!   error: {where: {/type: error}, get: /message}
//!   usage:
//!     input:  {where: {/type: step}, get: /tokens/input, take: sum}
//!     output: {where: {/type: step}, get: /tokens/output, take: sum}
//!     cost_usd: /total_cost_usd
//!     cumulative: [cost_usd]            # or true: these grow over the turns of a session
//! ```
//!
//! A part of `usage` may be a list of places whose numbers are added: `[/tokens/new, /tokens/cached]`.
//!
//! `text`: the reply is the whole output, without the white space around it. `json`: the output
//! is one document; if that is an array, its elements are looked through one by one. `jsonl`:
//! every line that is JSON is a document; the others are passed over. A selector keeps the
//! documents in which everything under `where` is so (a JSON Pointer and the value there,
//! compared as text), gets from each what `get` points at, and takes the `last` of these (or
//! the `first`; `join` puts texts together line by line; `sum` adds numbers).

use super::decode::{Decoder, Shape};
use super::diagnostics::shown;
use super::template::{self, Names};
use super::tree::{Key, Kind, Node};
use serde_json::Value;

/// What an agent writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its form.
    pub format: Format,
    /// Template of the path of a file that holds the output; standard output where absent.
    pub file: Option<String>,
    /// The agent's last words of the turn; absent for [`Format::Text`] only.
    pub reply: Option<Selector>,
    /// The id under which the session goes on; the runner's own where absent.
    pub session: Option<Selector>,
    /// If it finds something that is not false or null, the agent failed, and this is why.
    pub error: Option<Selector>,
    /// Tokens and cost.
    pub usage: UsageSelectors,
}

/// The form of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// The reply itself.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    JsonLines,
}

/// Where tokens and cost stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSelectors {
    /// Tokens sent to the model.
    pub input: Option<UsageSelector>,
    /// Tokens that the model wrote.
    pub output: Option<UsageSelector>,
    /// US dollars.
    pub cost_usd: Option<UsageSelector>,
}

/// Where one number stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSelector {
    /// Where.
    pub selector: Selector,
    /// Further places whose numbers are added, where they are there.
    pub plus: Vec<Selector>,
    /// It counts the whole session so far, not this turn.
    pub cumulative: bool,
}

/// Which part of which document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// JSON Pointers and the value that must stand there.
    pub conditions: Vec<(String, String)>,
    /// JSON Pointer of the part.
    pub get: String,
    /// Which one, where several documents have it.
    pub take: Take,
}

/// What to make of several findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Take {
    /// The last one.
    #[default]
    Last,
    /// The first one.
    First,
    /// All, as text, line by line.
    Join,
    /// Their sum.
    Sum,
}

impl Output {
    /// The JSON documents of an output, in order; none for [`Format::Text`].
    pub fn documents(&self, text: &str) -> Vec<Value> {
        match self.format {
            Format::Text => Vec::new(),
            Format::Json => match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
                Ok(Value::Array(items)) => items,
                Ok(one) => vec![one],
                Err(_) => Vec::new(),
            },
            Format::JsonLines => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        }
    }

    /// The agent's words in an output; none where they are not to be found.
    pub fn reply(&self, text: &str) -> Option<String> {
        match &self.reply {
            Some(selector) => selector.text(&self.documents(text)),
            None => {
                let words = text.trim();
                (!words.is_empty()).then(|| words.to_owned())
            }
        }
    }
}

impl Selector {
    fn findings<'v>(&self, documents: &'v [Value]) -> Vec<&'v Value> {
        documents
            .iter()
            .filter(|document| {
                self.conditions.iter().all(|(pointer, wanted)| {
                    document.pointer(pointer).is_some_and(|value| as_text(value) == *wanted)
                })
            })
            .filter_map(|document| document.pointer(&self.get))
            .filter(|value| !value.is_null())
            .collect()
    }

    /// What was found, as text: a string is itself, anything else its JSON.
    pub fn text(&self, documents: &[Value]) -> Option<String> {
        let findings = self.findings(documents);
        match self.take {
            Take::Last => findings.last().map(|value| as_text(value)),
            Take::First => findings.first().map(|value| as_text(value)),
            Take::Join if findings.is_empty() => None,
            Take::Join => Some(findings.into_iter().map(as_text).collect::<Vec<_>>().join("\n")),
            Take::Sum => self.number(documents).map(|number| number.to_string()),
        }
    }

    /// What was found, as a number; none where it is not one.
    pub fn number(&self, documents: &[Value]) -> Option<f64> {
        let findings = self.findings(documents);
        match self.take {
            Take::First => findings.first().and_then(|value| value.as_f64()),
            Take::Sum if !findings.is_empty() => findings.into_iter().map(Value::as_f64).sum(),
            _ => findings.last().and_then(|value| value.as_f64()),
        }
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

const OUTPUT: Shape =
    Shape::new("an agent's output", &["format", "file", "reply", "session", "error", "usage"]);
const USAGE: Shape = Shape::new("an output's usage", &["input", "output", "cost_usd", "cumulative"]);
const SELECTOR: Shape = Shape::new("a selector", &["where", "get", "take"]);

/// Reads `output:`.
pub(super) fn decode(decoder: &mut Decoder, key: &Key, node: &Node, names: &Names) -> Option<Output> {
    let fields = decoder.fields(node, key.span.clone(), &OUTPUT)?;
    let format = match fields.get("format") {
        Some(node) => {
            let formats = [("text", Format::Text), ("json", Format::Json), ("jsonl", Format::JsonLines)];
            decoder.choice(node, "output format", &formats)
        }
        None => Some(Format::Text),
    };
    let file = fields.get("file").and_then(|node| {
        let path = decoder.filled(node, "the path of a file")?;
        template::check(decoder, &path, names);
        Some(path.value)
    });
    if format == Some(Format::Text) {
        for name in ["reply", "session", "error", "usage"] {
            if let Some((key, _)) = fields.entry(name) {
                decoder
                    .error(key.span.clone(), format!("{} cannot be found in an output of format `text`", shown(name)))
                    .help("with `text` the whole output is the reply; the others need `format: json` or `jsonl`");
            }
        }
        return Some(Output { file, ..Output::default() });
    }
    let reply = if format.is_some() {
        decoder
            .required(&fields, "reply", "reply: /result")
            .and_then(|(key, node)| selector(decoder, key, node, &[Take::Last, Take::First, Take::Join]))
    } else {
        None
    };
    let mut optional = |name: &str| {
        let (key, node) = fields.entry(name)?;
        selector(decoder, key, node, &[Take::Last, Take::First, Take::Join])
    };
    let session = optional("session");
    let error = optional("error");
    let usage = match fields.entry("usage") {
        Some((key, node)) => usage(decoder, key, node)?,
        None => UsageSelectors::default(),
    };
    Some(Output { format: format?, file, reply: Some(reply?), session, error, usage })
}

fn usage(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<UsageSelectors> {
    let fields = decoder.fields(node, key.span.clone(), &USAGE)?;
    let parts = ["input", "output", "cost_usd"];
    let mut cumulative = [false; 3];
    match fields.get("cumulative") {
        Some(node) if matches!(node.kind, Kind::Seq(_)) => {
            for item in decoder.list(node, "a list")? {
                let which = [(parts[0], 0), (parts[1], 1), (parts[2], 2)];
                if let Some(index) = decoder.choice(item, "part of usage", &which) {
                    cumulative[index] = true;
                }
            }
        }
        Some(node) => cumulative = [decoder.boolean(node)?; 3],
        None => {}
    }
    let mut part = |index: usize| {
        let (key, node) = fields.entry(parts[index])?;
        let takes = [Take::Last, Take::First, Take::Sum];
        let mut places = match &node.kind {
            Kind::Seq(items) if !items.is_empty() => {
                items.iter().map(|item| selector(decoder, key, item, &takes)).collect::<Option<Vec<_>>>()?
            }
            _ => vec![selector(decoder, key, node, &takes)?],
        };
        let first = places.remove(0);
        Some(UsageSelector { selector: first, plus: places, cumulative: cumulative[index] })
    };
    Some(UsageSelectors { input: part(0), output: part(1), cost_usd: part(2) })
}

fn selector(decoder: &mut Decoder, key: &Key, node: &Node, takes: &[Take]) -> Option<Selector> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        let get = pointer(decoder, node)?;
        return Some(Selector { conditions: Vec::new(), get, take: Take::Last });
    }
    let fields = decoder.fields(node, key.span.clone(), &SELECTOR)?;
    let get = decoder.required(&fields, "get", "get: /result").and_then(|(_, node)| pointer(decoder, node));
    let take = match fields.get("take") {
        Some(node) => {
            let words: Vec<(&str, Take)> =
                [("last", Take::Last), ("first", Take::First), ("join", Take::Join), ("sum", Take::Sum)]
                    .into_iter()
                    .filter(|(_, take)| takes.contains(take))
                    .collect();
            decoder.choice(node, "way to take", &words)
        }
        None => Some(Take::Last),
    };
    let mut conditions = Vec::new();
    if let Some(node) = fields.get("where") {
        for (key, node) in decoder.named(node, "JSON Pointers and the values that stand there")? {
            if let Some(reason) = not_a_pointer(&key.text) {
                decoder.error(key.span.clone(), format!("{} is no JSON Pointer: {reason}", shown(&key.text)));
            } else if let Some(value) = decoder.text(node, "the value that stands there") {
                conditions.push((key.text.clone(), value.value));
            }
        }
    }
    Some(Selector { conditions, get: get?, take: take? })
}

fn pointer(decoder: &mut Decoder, node: &Node) -> Option<String> {
    let text = decoder.text(node, "a JSON Pointer")?;
    if let Some(reason) = not_a_pointer(&text.value) {
        let help = format!(
            "a pointer looks like `/result` or `/items/0/text`; perhaps `/{}`",
            text.value.trim_start_matches(['$', '.']).replace('.', "/")
        );
        decoder.error(text.span, format!("{} is no JSON Pointer: {reason}", shown(&text.value))).help(help);
        return None;
    }
    Some(text.value)
}

fn not_a_pointer(text: &str) -> Option<&'static str> {
    if !text.is_empty() && !text.starts_with('/') {
        return Some("it must begin with `/`");
    }
    text.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])).then_some("`~` must be written `~0`")
}
