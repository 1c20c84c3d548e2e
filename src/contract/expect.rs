//! `expect:` of a case: what the tool must say, and what it may have done.

use crate::suite::Pattern;
use crate::suite::decode::{Decoder, Shape};
use crate::suite::diagnostics::shown;
use crate::suite::tree::{Key, Kind, Node};
use crate::suite::value;
use serde_json::Value;
use std::collections::BTreeMap;

/// What must come of a case; what is absent is not looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// `isError`.
    pub is_error: Option<bool>,
    /// One of these as `category` of the result.
    pub category: Vec<String>,
    /// One of these as `retry` of the result.
    pub retry: Vec<String>,
    /// How many requests reached the backend.
    pub requests: Option<Requests>,
    /// Whether the backend carried something out.
    pub committed: Option<bool>,
    /// That the result holds a secret, which it otherwise must not.
    pub secret_in_result: bool,
    /// Conditions on parts of the result.
    pub result: Vec<(String, PartCheck)>,
    /// Conditions on all that the result says.
    pub text: TextCheck,
}

/// How many requests reached the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requests {
    /// In all.
    All(u64),
    /// By method; of others, none.
    ByMethod(BTreeMap<String, u64>),
}

/// A condition on a part of the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartCheck {
    /// It is this.
    pub equals: Option<Value>,
    /// It is a text that this matches.
    pub matches: Option<Pattern>,
    /// It is of this type.
    pub is: Option<JsonType>,
    /// It has so many elements, keys or characters.
    pub length: Option<u64>,
    /// It is there, or not.
    pub present: Option<bool>,
}

/// The types of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` and `false`
    Boolean,
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// A text.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

/// Every type and its word.
pub const TYPES: [(&str, JsonType); 7] = [
    ("null", JsonType::Null),
    ("boolean", JsonType::Boolean),
    ("number", JsonType::Number),
    ("integer", JsonType::Integer),
    ("string", JsonType::String),
    ("array", JsonType::Array),
    ("object", JsonType::Object),
];

impl JsonType {
    /// Whether a value is of this type.
    pub fn is(self, value: &Value) -> bool {
        match self {
            JsonType::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            JsonType::Number => value.is_number(),
            other => JsonType::of(value) == other,
        }
    }

    /// The type of a value.
    pub fn of(value: &Value) -> JsonType {
        match value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(_, one)| *one == self).map_or("", |(word, _)| word)
    }
}

/// Conditions on all texts of a result together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextCheck {
    /// Each of these is in it, case ignored.
    pub contains: Vec<String>,
    /// None of these is in it, case ignored.
    pub lacks: Vec<String>,
    /// It matches.
    pub matches: Option<Pattern>,
}

pub(super) const EXPECT: Shape = Shape::new(
    "an expectation",
    &["is_error", "category", "retry", "requests", "committed", "secret_in_result", "result", "text"],
)
.hints(&[
    ("isError", "it is called `is_error`"),
    ("error", "it is called `is_error`"),
    ("status", "what the backend answers stands under `fixture:`; the tool's own words under `result:`"),
]);
const PART: Shape = Shape::new("a part of the result", &["equals", "matches", "type", "length", "present"])
    .hints(&[("absent", "write `present: false`"), ("is", "it is called `type` or `equals`")]);
pub(super) const TEXT: Shape = Shape::new("the text of the result", &["contains", "lacks", "matches"])
    .hints(&[("not_contains", "it is called `lacks`"), ("absent", "it is called `lacks`")]);

/// The most requests that can be expected.
const MOST: u64 = 10_000;

/// Reads `expect:`.
pub(super) fn read(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Expect> {
    let before = decoder.count();
    let fields = decoder.fields(node, key.span.clone(), &EXPECT)?;
    let mut boolean = |name: &str| match fields.get(name) {
        Some(node) => decoder.boolean(node).map(Some),
        None => Some(None),
    };
    let (is_error, committed, secret) =
        (boolean("is_error"), boolean("committed"), boolean("secret_in_result"));
    let category = words(decoder, fields.get("category"), "a category, or a list of them");
    let retry = words(decoder, fields.get("retry"), "an advice, or a list of them");
    let requests = match fields.get("requests") {
        Some(node) => Some(requests(decoder, node)?),
        None => None,
    };
    let result = fields.get("result").map_or(Some(Vec::new()), |node| parts(decoder, node));
    let text = match fields.entry("text") {
        Some((key, node)) => text(decoder, key, node),
        None => Some(TextCheck::default()),
    };
    let expect = Expect {
        is_error: is_error?,
        category: category?,
        retry: retry?,
        requests,
        committed: committed?,
        secret_in_result: secret?.unwrap_or(false),
        result: result?,
        text: text?,
    };
    if expect == Expect::default() && fields.get("secret_in_result").is_none() {
        if decoder.count() > before {
            return None;
        }
        decoder.error(key.span.clone(), "nothing is expected, so every answer would pass").help(
            "for example `{is_error: true, category: authentication_failed, retry: never, requests: 1}`",
        );
        return None;
    }
    Some(expect)
}

fn words(decoder: &mut Decoder, node: Option<&Node>, what: &str) -> Option<Vec<String>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let words = match &node.kind {
        Kind::Seq(_) => decoder.texts(node, what)?,
        _ => vec![decoder.filled(node, what)?],
    };
    if words.is_empty() {
        decoder.error(node.span.clone(), "an empty list allows nothing");
        return None;
    }
    Some(words.into_iter().map(|word| word.value).collect())
}

fn requests(decoder: &mut Decoder, node: &Node) -> Option<Requests> {
    let Kind::Map(entries) = &node.kind else {
        return decoder.whole(node, "the number of requests", 0..=MOST).map(Requests::All);
    };
    let mut by_method = BTreeMap::new();
    for (key, node) in entries {
        let count = decoder.whole(node, "the number of requests", 0..=MOST)?;
        if by_method.insert(key.text.to_uppercase(), count).is_some() {
            decoder.error(key.span.clone(), format!("{} is counted twice", key.text.to_uppercase()));
            return None;
        }
    }
    Some(Requests::ByMethod(by_method))
}

fn parts(decoder: &mut Decoder, node: &Node) -> Option<Vec<(String, PartCheck)>> {
    let entries = decoder.named(node, "parts of the result, such as `{/id: {type: string}}`")?;
    let mut read = Vec::new();
    let mut sound = true;
    for (key, node) in entries {
        if !key.text.is_empty() && !key.text.starts_with('/') {
            decoder
                .error(key.span.clone(), format!("{} is no JSON pointer", shown(&key.text)))
                .help(format!("write `/{}`", key.text.replace('.', "/")));
            sound = false;
        }
        match part(decoder, key, node) {
            Some(part) => read.push((key.text.clone(), part)),
            None => sound = false,
        }
    }
    sound.then_some(read)
}

fn part(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<PartCheck> {
    if !matches!(node.kind, Kind::Map(_)) {
        // `/name: v1` for `/name: {equals: v1}`.
        return Some(PartCheck { equals: Some(value::json(node)), ..PartCheck::default() });
    }
    let fields = decoder.fields(node, key.span.clone(), &PART)?;
    let part = PartCheck {
        equals: fields.get("equals").map(value::json),
        matches: match fields.get("matches") {
            Some(node) => Some(Pattern(decoder.pattern(node)?)),
            None => None,
        },
        is: match fields.get("type") {
            Some(node) if node.kind == Kind::Null => Some(JsonType::Null),
            Some(node) => Some(decoder.choice(node, "type of JSON", &TYPES)?),
            None => None,
        },
        length: match fields.get("length") {
            Some(node) => Some(decoder.whole(node, "a length", 0..=u64::MAX)?),
            None => None,
        },
        present: match fields.get("present") {
            Some(node) => Some(decoder.boolean(node)?),
            None => None,
        },
    };
    if part == PartCheck::default() {
        decoder
            .error(key.span.clone(), "nothing is expected of this part")
            .help("for example `{type: string}`, `{equals: v1}` or `{present: false}`");
        return None;
    }
    Some(part)
}

fn text(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<TextCheck> {
    let fields = decoder.fields(node, key.span.clone(), &TEXT)?;
    let contains = words(decoder, fields.get("contains"), "a text, or a list of them");
    let lacks = words(decoder, fields.get("lacks"), "a text, or a list of them");
    let matches = match fields.get("matches") {
        Some(node) => Some(Pattern(decoder.pattern(node)?)),
        None => None,
    };
    Some(TextCheck { contains: contains?, lacks: lacks?, matches })
}
