//! `fixture:` of a case: which request the backend answers, how, and how far it gets.
//!
//! | phase | the request | the caller | carried out |
//! |---|---|---|---|
//! | `refuse` | finds nobody who listens | connection refused | no |
//! | `after_headers` | its headers arrived, its body is not read | the connection is closed | no |
//! | `after_commit` | arrived whole and was carried out | the connection is closed, without an answer | yes |
//! | `mid_body` | arrived whole | half of the answer's body, then the connection is closed | with a status of 2xx |
//! | `whole` | arrived whole | the whole answer | with a status of 2xx |
//!
//! `delay` is how long the backend waits at that point before it goes on; what is carried out is
//! carried out before. Reads (GET, HEAD, OPTIONS) carry out nothing. `committed: true` says of a
//! `whole` or `mid_body` answer that the work was done whatever its status says, `false` that it was
//! not.

use crate::domain::classify::glob;
use crate::suite::decode::{Decoder, Shape};
use crate::suite::diagnostics::shown;
use crate::suite::tree::{Key, Kind, Node};
use crate::suite::value;
use axum::http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use std::time::Duration;

/// How far a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nobody listens.
    Refuse,
    /// The connection ends behind the request's headers.
    AfterHeaders,
    /// It ends when the work is done, without an answer.
    AfterCommit,
    /// It ends in the middle of the answer's body.
    MidBody,
    /// The whole answer is given.
    Whole,
}

/// Every phase and its word.
pub const PHASES: [(&str, Phase); 5] = [
    ("refuse", Phase::Refuse),
    ("after_headers", Phase::AfterHeaders),
    ("after_commit", Phase::AfterCommit),
    ("mid_body", Phase::MidBody),
    ("whole", Phase::Whole),
];

/// One answer of the backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixture {
    /// Which requests it is for.
    pub matches: Match,
    /// The status.
    pub status: u16,
    /// Headers of the answer, in order.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, as it is sent.
    pub body: String,
    /// How far it gets.
    pub phase: Phase,
    /// How long it waits there.
    pub delay: Duration,
    /// Whether the work was done, where the file says so.
    pub committed: Option<bool>,
}

/// Which requests are meant; what is absent may be anything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Match {
    /// In capitals.
    pub method: Option<String>,
    /// Glob over the path, or over path and query where it holds a `?`.
    pub path: Option<String>,
    /// Names in lower case, and globs over values.
    pub headers: Vec<(String, String)>,
    /// What the JSON of the body must hold, at least.
    pub body: Option<Value>,
}

/// A request as far as matching needs it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// In capitals.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// What stands behind `?`, may be empty.
    pub query: &'a str,
    /// Names in lower case, and values.
    pub headers: &'a [(String, String)],
    /// The body, where it was read.
    pub body: Option<&'a str>,
}

impl Match {
    /// Whether the headers' part fits: all that is known before the body.
    pub fn fits_head(&self, asked: &Asked<'_>) -> bool {
        let path = |pattern: &String| {
            if pattern.contains('?') {
                glob(pattern, &format!("{}?{}", asked.path, asked.query))
            } else {
                glob(pattern, asked.path)
            }
        };
        let header = |(name, pattern): &(String, String)| {
            asked.headers.iter().any(|(key, value)| key == name && glob(pattern, value))
        };
        self.method.as_ref().is_none_or(|method| method == asked.method)
            && self.path.as_ref().is_none_or(path)
            && self.headers.iter().all(header)
    }

    /// Whether a whole request fits.
    pub fn fits(&self, asked: &Asked<'_>) -> bool {
        let body = |wanted: &Value| {
            let there = asked.body.and_then(|body| serde_json::from_str::<Value>(body).ok());
            there.is_some_and(|there| holds(&there, wanted))
        };
        self.fits_head(asked) && self.body.as_ref().is_none_or(body)
    }
}

/// Whether a value has all that is wanted: objects may hold more.
pub fn holds(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| there.get(key).is_some_and(|there| holds(there, wanted)))
        }
        (Value::Array(there), Value::Array(wanted)) => {
            there.len() == wanted.len()
                && there.iter().zip(wanted).all(|(there, wanted)| holds(there, wanted))
        }
        (there, wanted) => same(there, wanted),
    }
}

/// Whether two values are equal; `1` is `1.0`.
pub fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| same(one, two)))
        }
        _ => one == two,
    }
}

impl Fixture {
    /// Whether a request with this method is carried out.
    pub fn commits(&self, method: &str) -> bool {
        let reads = matches!(method, "GET" | "HEAD" | "OPTIONS");
        match self.phase {
            Phase::Refuse | Phase::AfterHeaders => false,
            Phase::AfterCommit => !reads,
            Phase::MidBody | Phase::Whole => {
                self.committed.unwrap_or(!reads && (200..300).contains(&self.status))
            }
        }
    }
}

pub(super) const FIXTURE: Shape =
    Shape::new("a fixture", &["match", "status", "headers", "body", "phase", "delay", "committed"]).hints(&[
        ("method", "it stands under `match:`"),
        ("path", "it stands under `match:`"),
        ("url", "the path stands under `match:`, as `path: /v1/…`"),
        ("text", "a body that is no JSON is a text: `body: \"<html>…\"`"),
    ]);
pub(super) const MATCH: Shape = Shape::new("a match", &["method", "path", "headers", "body"]);
/// The longest wait: a test that takes longer has other troubles.
const LONGEST: Duration = Duration::from_secs(3600);

/// Reads one fixture, or a list of them.
pub(super) fn read(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Vec<Fixture>> {
    let Kind::Seq(items) = &node.kind else {
        return Some(vec![one(decoder, node, key.span.clone())?]);
    };
    if items.is_empty() {
        decoder.error(key.span.clone(), "a case needs a fixture: what does the backend answer?");
        return None;
    }
    let read: Vec<Option<Fixture>> = items.iter().map(|item| one(decoder, item, item.span.clone())).collect();
    let fixtures: Vec<Fixture> = read.into_iter().collect::<Option<_>>()?;
    if let Some(at) = fixtures.iter().position(|fixture| fixture.phase == Phase::Refuse)
        && fixtures.len() > 1
        && let Some(item) = items.get(at)
    {
        decoder
            .error(
                item.span.clone(),
                "`phase: refuse` stands alone: where nobody listens, nothing is answered",
            )
            .help("make it a case of its own");
        return None;
    }
    Some(fixtures)
}

fn one(decoder: &mut Decoder, node: &Node, anchor: std::ops::Range<usize>) -> Option<Fixture> {
    let fields = decoder.fields(node, anchor, &FIXTURE)?;
    let phase = match fields.get("phase") {
        Some(node) => decoder.choice(node, "phase", &PHASES),
        None => Some(Phase::Whole),
    };
    let mut sound = true;
    let mut pointless = |decoder: &mut Decoder, names: &[&str], why: &str| {
        for name in names {
            if let Some((key, _)) = fields.entry(name) {
                decoder.error(key.span.clone(), format!("{} is never used: {why}", shown(name)));
                sound = false;
            }
        }
    };
    match phase {
        // A whole fixture with another phase is a case of its own: what its answer would be may stay.
        Some(Phase::Refuse) => {
            pointless(decoder, &["committed"], "with `phase: refuse` there is no request");
        }
        Some(Phase::AfterHeaders | Phase::AfterCommit) => {
            pointless(decoder, &["committed"], "the phase says whether the work was done");
        }
        Some(Phase::MidBody | Phase::Whole) | None => {}
    }
    let matches = match fields.entry("match") {
        Some((key, node)) => matches_of(decoder, key, node),
        None => Some(Match::default()),
    };
    if let (Some(Phase::AfterHeaders), Some(Match { body: Some(_), .. }), Some((key, _))) =
        (phase, &matches, fields.entry("match"))
    {
        decoder.error(key.span.clone(), "with `phase: after_headers` no body is read that could match");
        sound = false;
    }
    let status = match fields.get("status") {
        Some(node) => {
            decoder.whole(node, "a status", 200..=599).and_then(|status| u16::try_from(status).ok())
        }
        None => Some(200),
    };
    let (body, json) = match fields.get("body") {
        Some(node) => body(node),
        None => (String::new(), false),
    };
    let mut headers = fields.get("headers").map_or(Some(Vec::new()), |node| headers(decoder, node));
    if let Some(headers) = &mut headers
        && !body.is_empty()
        && !headers.iter().any(|(name, _)| name.as_str() == "content-type")
    {
        let kind = if json { "application/json" } else { "text/plain; charset=utf-8" };
        headers.push((axum::http::header::CONTENT_TYPE, HeaderValue::from_static(kind)));
    }
    if phase == Some(Phase::MidBody) && body.len() < 2 {
        decoder
            .error(fields.anchor(), "`phase: mid_body` needs a `body` that can end in its middle")
            .help("for example `body: {id: rel_1, name: v1}`");
        sound = false;
    }
    let delay = match fields.get("delay") {
        Some(node) => decoder.duration(node, Duration::ZERO..=LONGEST),
        None => Some(Duration::ZERO),
    };
    let committed = match fields.get("committed") {
        Some(node) => Some(decoder.boolean(node)?),
        None => None,
    };
    let fixture = Fixture {
        matches: matches?,
        status: status?,
        headers: headers?,
        body,
        phase: phase?,
        delay: delay?,
        committed,
    };
    sound.then_some(fixture)
}

/// The bytes, and whether they are JSON. A text is sent as it is written.
fn body(node: &Node) -> (String, bool) {
    match value::json(node) {
        Value::String(text) => (text, false),
        Value::Null => ("null".to_owned(), true),
        other => (other.to_string(), true),
    }
}

/// Headers that say where a message ends; the backend writes them itself.
const FRAMING: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

fn headers(decoder: &mut Decoder, node: &Node) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let mut headers = Vec::new();
    let mut sound = true;
    for (key, node) in decoder.named(node, "names and values of headers")? {
        let name = HeaderName::from_bytes(key.text.as_bytes());
        if name.is_err() {
            decoder.error(key.span.clone(), format!("{} is no name of a header", shown(&key.text)));
        }
        let framing = FRAMING.iter().any(|name| key.text.eq_ignore_ascii_case(name));
        if framing {
            decoder
                .error(
                    key.span.clone(),
                    format!("{} cannot be set: it follows from `body`", shown(&key.text)),
                )
                .help("leave it out; `phase: mid_body` ends an answer in its middle");
        }
        let value = decoder.text(node, "a value").and_then(|text| {
            let value = HeaderValue::from_str(&text.value);
            if value.is_err() {
                decoder.error(text.span, "a header's value is one line of printable characters");
            }
            value.ok()
        });
        match (name, value) {
            (Ok(name), Some(value)) if !framing => headers.push((name, value)),
            _ => sound = false,
        }
    }
    sound.then_some(headers)
}

fn matches_of(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Match> {
    let fields = decoder.fields(node, key.span.clone(), &MATCH)?;
    let mut sound = true;
    let mut method = None;
    if let Some(text) = fields.get("method").and_then(|node| decoder.filled(node, "a method")) {
        let upper = text.value.to_uppercase();
        if Method::from_bytes(upper.as_bytes()).is_err() {
            decoder.error(text.span, format!("{} is no method", shown(&text.value)));
            sound = false;
        }
        method = Some(upper);
    }
    let mut path = None;
    if let Some(text) = fields.get("path").and_then(|node| decoder.filled(node, "a path")) {
        if !text.value.starts_with(['/', '*']) {
            decoder
                .error(text.span, format!("the path {} can never match", shown(&text.value)))
                .help("a path begins with `/`; `*` stands for any text");
            sound = false;
        }
        path = Some(text.value);
    }
    let mut headers = Vec::new();
    if let Some(node) = fields.get("headers") {
        for (key, node) in decoder.named(node, "names and patterns of headers")? {
            if let Some(value) = decoder.text(node, "a pattern") {
                headers.push((key.text.to_lowercase(), value.value));
            }
        }
    }
    let body = fields.get("body").map(value::json);
    sound.then_some(Match { method, path, headers, body })
}
