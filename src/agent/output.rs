//! What agents print: finding the reply, the session and the usage in it. Pure.

use crate::domain::Usage;
use regex::Regex;
use serde_json::Value;

/// The form of an agent's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// The output is the reply.
    #[default]
    Text,
    /// One JSON document, with anything before and after it.
    Json,
    /// One JSON object a line; other lines are ignored.
    JsonLines,
}

/// How to read an agent's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// Its form.
    pub format: Format,
    /// Where the agent's last words are.
    pub reply: Option<Find>,
    /// Where the session is that a later turn resumes.
    pub session: Option<Find>,
    /// Where a flag is that says that the turn failed: `true`, or anything but `false`, `null`,
    /// zero and empty.
    pub error: Option<Find>,
    /// Where the number of input tokens is.
    pub input_tokens: Option<Find>,
    /// Where the number of output tokens is.
    pub output_tokens: Option<Find>,
    /// Where the cost is, in US dollars.
    pub cost_usd: Option<Find>,
    /// Token counts of a resumed session include the turns before.
    pub cumulative_tokens: bool,
    /// The cost of a resumed session includes the turns before.
    pub cumulative_cost: bool,
}

/// A place in the output: the last record that meets the conditions and has the pointer. A
/// record is a line, the document, or, where the document is a list, each of its elements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Find {
    /// JSON Pointer (RFC 6901); a part `*` means every element or value.
    pub pointer: String,
    /// Pointers and the text that must be there.
    pub matching: Vec<(String, String)>,
    /// For numbers: the sum over all matching records instead of the last.
    pub sum: bool,
}

impl Find {
    /// A pointer without conditions.
    pub fn at(pointer: impl Into<String>) -> Find {
        Find { pointer: pointer.into(), ..Find::default() }
    }

    /// The same with one more condition.
    #[must_use]
    pub fn when(mut self, pointer: impl Into<String>, text: impl Into<String>) -> Find {
        self.matching.push((pointer.into(), text.into()));
        self
    }

    fn applies(&self, record: &Value) -> bool {
        self.matching
            .iter()
            .all(|(pointer, text)| record.pointer(pointer).is_some_and(|value| plain(value) == *text))
    }

    fn all<'a>(&self, records: &'a [Value]) -> Vec<&'a Value> {
        let records = records.iter().filter(|record| self.applies(record));
        records.flat_map(|record| resolve(record, &self.pointer)).collect()
    }

    fn last<'a>(&self, records: &'a [Value]) -> Option<&'a Value> {
        self.all(records).pop()
    }

    fn number(&self, records: &[Value]) -> Option<f64> {
        // A pointer with `*` names several numbers of one record: they are parts of a whole.
        if self.sum {
            return total(self.all(records));
        }
        let last = records
            .iter()
            .rev()
            .find(|record| self.applies(record) && !resolve(record, &self.pointer).is_empty());
        total(last.map(|record| resolve(record, &self.pointer)).unwrap_or_default())
    }
}

impl std::fmt::Display for Find {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.pointer)?;
        for (index, (pointer, text)) in self.matching.iter().enumerate() {
            write!(f, "{} `{pointer}` is `{text}`", if index == 0 { " where" } else { " and" })?;
        }
        Ok(())
    }
}

fn total(values: Vec<&Value>) -> Option<f64> {
    let numbers: Vec<f64> = values.into_iter().filter_map(Value::as_f64).collect();
    (!numbers.is_empty()).then(|| numbers.into_iter().sum())
}

/// Every value that a pointer with `*` names.
fn resolve<'a>(record: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let mut found = vec![record];
    if pointer.is_empty() {
        return found;
    }
    let Some(parts) = pointer.strip_prefix('/') else { return Vec::new() };
    for part in parts.split('/') {
        let key = part.replace("~1", "/").replace("~0", "~");
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&Value> {
                match value {
                    Value::Object(map) if part == "*" => map.values().collect(),
                    Value::Array(list) if part == "*" => list.iter().collect(),
                    Value::Object(map) => map.get(&key).into_iter().collect(),
                    Value::Array(list) => {
                        key.parse().ok().and_then(|index: usize| list.get(index)).into_iter().collect()
                    }
                    _ => Vec::new(),
                }
            })
            .collect();
    }
    found
}

/// What one turn's output holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The agent's last words; none where it said nothing.
    pub reply: Option<String>,
    /// The session to resume.
    pub session: Option<String>,
    /// Consumption, as the output tells it.
    pub usage: Usage,
    /// The output says that the turn failed.
    pub failed: bool,
}

/// Why an output could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// There is nothing.
    #[error("it printed nothing, where {wanted} was expected")]
    Nothing {
        /// What was expected.
        wanted: &'static str,
    },
    /// There is no JSON in it.
    #[error("its output holds no {wanted}; it begins: {head}")]
    NotJson {
        /// What was expected.
        wanted: &'static str,
        /// The first characters.
        head: String,
    },
    /// The pointer to the reply names nothing.
    #[error("its output has no reply at {find}; it begins: {head}")]
    NoReply {
        /// The place, in words.
        find: String,
        /// The first characters.
        head: String,
    },
}

/// Reads the output of one turn.
///
/// # Errors
/// Where there is no JSON although there should be, or nothing at the place of the reply.
pub fn parse(spec: &Spec, text: &str) -> Result<Parsed, OutputError> {
    let (records, wanted) = match spec.format {
        Format::Text => {
            let reply = text.trim();
            return Ok(Parsed { reply: (!reply.is_empty()).then(|| reply.to_owned()), ..Parsed::default() });
        }
        Format::Json => (records_of_document(spec, text), "JSON document"),
        Format::JsonLines => (text.lines().filter_map(json_line).collect(), "JSON line"),
    };
    if records.is_empty() {
        return Err(match text.trim() {
            "" => OutputError::Nothing { wanted },
            _ => OutputError::NotJson { wanted, head: head(text) },
        });
    }
    let parsed = read(spec, &records);
    let Some(find) = &spec.reply else { return Ok(parsed) };
    // A turn without last words prints no reply line; that its other lines are understood shows
    // that the place is right.
    let silent =
        spec.format == Format::JsonLines && (parsed.session.is_some() || parsed.usage != Usage::default());
    if find.last(&records).is_none() && !parsed.failed && !silent {
        return Err(OutputError::NoReply { find: find.to_string(), head: head(text) });
    }
    Ok(parsed)
}

/// Reads what the places name, without asking whether they name anything.
pub fn read(spec: &Spec, records: &[Value]) -> Parsed {
    let last_text = |find: &Option<Find>| find.as_ref().and_then(|find| find.last(records)).and_then(words);
    let number = |find: &Option<Find>| find.as_ref().and_then(|find| find.number(records));
    Parsed {
        reply: last_text(&spec.reply),
        session: last_text(&spec.session),
        usage: Usage {
            input_tokens: number(&spec.input_tokens).and_then(whole),
            output_tokens: number(&spec.output_tokens).and_then(whole),
            cost_usd: number(&spec.cost_usd).filter(|cost| cost.is_finite()),
        },
        failed: spec.error.as_ref().and_then(|find| find.last(records)).is_some_and(truthy),
    }
}

/// The usage of a conversation out of its turns'.
pub fn add_usage(spec: &Spec, before: Usage, turn: Usage) -> Usage {
    fn join<T: std::ops::Add<Output = T>>(cumulative: bool, before: Option<T>, turn: Option<T>) -> Option<T> {
        match (before, turn) {
            (Some(before), Some(turn)) if !cumulative => Some(before + turn),
            (before, turn) => turn.or(before),
        }
    }
    Usage {
        input_tokens: join(spec.cumulative_tokens, before.input_tokens, turn.input_tokens),
        output_tokens: join(spec.cumulative_tokens, before.output_tokens, turn.output_tokens),
        cost_usd: join(spec.cumulative_cost, before.cost_usd, turn.cost_usd),
    }
}

/// Whether one of the patterns, which mean a failure of the model endpoint, is found.
pub fn is_model_error(patterns: &[Regex], texts: &[&str]) -> bool {
    patterns.iter().any(|pattern| texts.iter().any(|text| pattern.is_match(text)))
}

fn json_line(line: &str) -> Option<Value> {
    let line = line.trim();
    line.starts_with(['{', '[']).then(|| serde_json::from_str(line).ok()).flatten()
}

/// Starts of lines at which a document is tried; beyond them an output is not worth the time.
const ATTEMPTS: usize = 2_000;

/// The records of the document. Programs print warnings around it, which can look like JSON
/// themselves (`[info] …`), so the last document that has the reply is taken.
fn records_of_document(spec: &Spec, text: &str) -> Vec<Value> {
    if let Ok(document @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text.trim()) {
        return spread(document);
    }
    let mut best = Vec::new();
    let mut from = 0;
    for _ in 0..ATTEMPTS {
        let Some(rest) = text.get(from..) else { break };
        if rest.is_empty() {
            break;
        }
        let blanks = rest.len() - rest.trim_start().len();
        let mut length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if rest.trim_start().starts_with(['{', '[']) {
            let start = rest.get(blanks..).unwrap_or_default();
            let mut documents = serde_json::Deserializer::from_str(start).into_iter::<Value>();
            if let Some(Ok(document)) = documents.next() {
                length = blanks + documents.byte_offset().max(1);
                let records = spread(document);
                let replies = spec.reply.as_ref().is_none_or(|find| find.last(&records).is_some());
                if replies || best.is_empty() {
                    best = records;
                }
            } else {
                length = length.max(blanks + start.find('\n').map_or(start.len(), |end| end + 1));
            }
        }
        from += length;
    }
    best
}

fn spread(document: Value) -> Vec<Value> {
    match document {
        Value::Array(list) => {
            let whole = Value::Array(list.clone());
            std::iter::once(whole).chain(list).collect()
        }
        document => vec![document],
    }
}

/// A value as words: text as it is, a list of texts or of `{"text": …}` joined.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                .collect();
            Some(if texts.is_empty() && !parts.is_empty() { value.to_string() } else { texts.concat() })
        }
        value => Some(plain(value)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// A count that a JSON number means; some programs write `100.0`.
fn whole(number: f64) -> Option<u64> {
    // Above 2^53 neighbouring counts are no longer told apart, and no token count is that large.
    let fits = (0.0..=9_007_199_254_740_992.0).contains(&number);
    fits.then(|| number.round() as u64)
}

const HEAD: usize = 200;

/// The first characters of an output on one line, for a message.
pub(crate) fn head(text: &str) -> String {
    let mut line = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == HEAD {
            line.push('…');
            break;
        }
        line.push(if character.is_control() { ' ' } else { character });
    }
    line
}
