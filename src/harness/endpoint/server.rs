//! HTTP: reading requests, choosing protocol and script, sending answers.

use super::ask::Ask;
use super::chat;
use super::failure::{Failure, Failures};
use super::offer::Offer;
use super::play::{length, play};
use super::protocol::{Answer, Event, Protocol, Route, Wanted};
use super::protocols::PROTOCOLS;
use crate::harness::message::{Message, ToolCall};
use crate::harness::model::ModelTurn;
use crate::harness::script::behaviour::BEHAVIOURS;
use crate::harness::script::{Script, ScriptError};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

/// Long conversations are larger than axum's default of 2 MB. Also the most that a compressed
/// request may become.
const BODY: usize = 64 * 1024 * 1024;

/// How an endpoint is served.
#[derive(Debug, Default)]
pub struct Options {
    /// For scripts that choose at random, where a request has no `seed`.
    pub seed: u64,
    /// Where every request is kept, one JSON object a line.
    pub log: Option<File>,
    /// What models are that no script is named after; without it they are refused.
    pub script: Option<Script>,
    /// Requests that fail whatever model they ask.
    pub failures: Option<Failures>,
    /// Is told of every request that was answered.
    pub watch: Option<Watch>,
}

/// Somebody who is told of every request.
#[derive(Clone)]
pub struct Watch(pub Arc<dyn Fn(Seen) + Send + Sync>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// What a request was, and what it was answered.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// What stands in the path before the protocol's own.
    pub prefix: String,
    /// The whole path.
    pub path: String,
    /// The protocol; none where the path is that of none.
    pub protocol: Option<&'static str>,
    /// The model as the request names it.
    pub model: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// The names of all tools that were offered.
    pub tools: Vec<String>,
    /// Those of them that are not the program's own.
    pub server_tools: Vec<String>,
    /// The answer was wanted as a stream.
    pub stream: bool,
    /// The status of the answer.
    pub status: u16,
    /// What was called in the answer.
    pub calls: Vec<ToolCall>,
    /// What was said in the answer, or why it was refused.
    pub text: String,
    /// The length of the request, as the answer tells it.
    pub input: u64,
}

struct Endpoint {
    options: Options,
    log: Option<Mutex<File>>,
    answers: AtomicU64,
    /// Lets requests go that would hang for ever.
    closing: CancellationToken,
}

/// Serves until `shutdown` is there.
///
/// # Errors
/// Where the listener fails.
pub async fn serve(
    listener: TcpListener,
    mut options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let closing = CancellationToken::new();
    let endpoint = Arc::new(Endpoint {
        log: options.log.take().map(Mutex::new),
        options,
        answers: AtomicU64::new(0),
        closing: closing.clone(),
    });
    let router =
        Router::new().fallback(handle).layer(DefaultBodyLimit::max(BODY)).with_state(Arc::clone(&endpoint));
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            shutdown.await;
            closing.cancel();
        })
        .await
}

async fn handle(
    State(endpoint): State<Arc<Endpoint>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().trim_end_matches('/');
    if method == Method::POST {
        return endpoint.post(path, uri.query().unwrap_or_default(), &headers, &body).await;
    }
    if method == Method::HEAD || (method == Method::GET && path.is_empty()) {
        return json_response(StatusCode::OK, &json!({}));
    }
    if method == Method::GET && path.ends_with("/models") {
        return json_response(StatusCode::OK, &models());
    }
    if method == Method::GET
        && let Some((_, name)) = path.rsplit_once("/models/")
    {
        return json_response(StatusCode::OK, &model(name));
    }
    endpoint.nothing_here(&method, path)
}

/// The list in which the clients of every protocol find what they look for.
fn models() -> Value {
    let names = || BEHAVIOURS.iter().map(|behaviour| behaviour.name.as_ref());
    let list: Vec<Value> = names().map(model).collect();
    let gemini: Vec<Value> = names()
        .map(|name| {
            json!({"name": format!("models/{name}"), "displayName": name,
                   "supportedGenerationMethods": ["generateContent", "countTokens"]})
        })
        .collect();
    json!({"object": "list", "data": list, "has_more": false, "models": gemini})
}

fn model(name: &str) -> Value {
    json!({"id": name, "object": "model", "type": "model", "display_name": name, "created": 0,
           "created_at": "1970-01-01T00:00:00Z", "owned_by": "script", "name": format!("models/{name}")})
}

impl Endpoint {
    async fn post(&self, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Response {
        let found = PROTOCOLS.iter().find_map(|protocol| Some((protocol, (protocol.route)(path, query)?)));
        let Some((protocol, route)) = found else { return self.nothing_here(&Method::POST, path) };
        let mut seen = Seen {
            prefix: route.prefix.clone(),
            path: path.to_owned(),
            protocol: Some(protocol.name),
            ..Seen::default()
        };
        let answered = self.answer(protocol, &route, headers, body, &mut seen);
        let response = match answered {
            Ok(Reply::Whole(value)) => json_response(StatusCode::OK, &value),
            Ok(Reply::Stream(events)) => stream(events, route.as_list),
            Ok(Reply::Cut(text, kind)) => cut(text, kind),
            Ok(Reply::Never) => {
                seen.status = 503;
                self.told(seen);
                self.closing.cancelled().await;
                return refuse(protocol, 503, "shutting down");
            }
            Err((status, reason)) => {
                seen.text.clone_from(&reason);
                refuse(protocol, status, &reason)
            }
        };
        seen.status = response.status().as_u16();
        self.told(seen);
        response
    }

    fn answer(
        &self,
        protocol: &Protocol,
        route: &Route,
        headers: &HeaderMap,
        body: &[u8],
        seen: &mut Seen,
    ) -> Result<Reply, (u16, String)> {
        let body = unpacked(headers, body)?;
        self.keep(&seen.path, protocol.name, &body)
            .map_err(|error| (500, format!("the log cannot be written: {error}")))?;
        let body: Value =
            serde_json::from_slice(&body).map_err(|error| (400, format!("the body is no JSON: {error}")))?;
        let ask = (protocol.read)(&body, route).map_err(|reason| (400, reason))?;
        let offer = Offer::of(&ask.tools);
        seen.model.clone_from(&ask.model);
        seen.tools = ask.tools.iter().map(|tool| tool.name.clone()).collect();
        let theirs = offer
            .tools
            .iter()
            .map(|tool| ToolCall::new(String::new(), tool.name.clone(), Default::default()));
        seen.server_tools = theirs.map(|call| offer.as_offered(call).name).collect();
        seen.messages.clone_from(&ask.messages);
        seen.stream = ask.stream;
        if route.wanted == Wanted::Count {
            return Ok(Reply::Whole((protocol.count)(length(&ask))));
        }
        let failure = match self.options.failures.as_ref().and_then(Failures::next) {
            Some(failure) => Some(failure),
            None => Failure::of_model(&ask.model).transpose().map_err(|reason| (404, reason))?,
        };
        match failure {
            Some(Failure::Status(status)) => {
                return Err((status, format!("answered {status}, as it was asked to")));
            }
            Some(Failure::Hang) => return Ok(Reply::Never),
            Some(Failure::Cut) | None => {}
        }
        let script = if failure.is_some() {
            self.script(&ask.model)
                .or_else(|_| Script::parse("careful").map_err(|error| (404, error.to_string())))?
        } else {
            self.script(&ask.model)?
        };
        let turn = play(&script, self.options.seed, &ask);
        seen.calls.clone_from(&turn.tool_calls);
        seen.text.clone_from(&turn.text);
        seen.input = turn.usage.input;
        Ok(self.reply(protocol, &ask, &turn, failure.is_some()))
    }

    fn reply(&self, protocol: &Protocol, ask: &Ask, turn: &ModelTurn, cut: bool) -> Reply {
        let answer = Answer {
            number: self.answers.fetch_add(1, Ordering::Relaxed) + 1,
            model: &ask.model,
            turn,
            include_usage: ask.include_usage,
        };
        match (ask.stream, cut) {
            (true, false) => Reply::Stream((protocol.events)(&answer)),
            (false, false) => Reply::Whole((protocol.whole)(&answer)),
            (true, true) => {
                let events = (protocol.events)(&answer);
                Reply::Cut(events.iter().take(events.len() / 2).map(Event::text).collect(), SSE)
            }
            (false, true) => {
                let text = (protocol.whole)(&answer).to_string();
                Reply::Cut(text.chars().take(text.chars().count() / 2).collect(), JSON)
            }
        }
    }

    /// The script of that name, with and without what stands before its last slash; else the
    /// default.
    fn script(&self, model: &str) -> Result<Script, (u16, String)> {
        let last = model.rsplit('/').next().unwrap_or(model);
        let unknown = match Script::parse(model).or_else(|error| Script::parse(last).map_err(|_| error)) {
            Ok(script) => return Ok(script),
            Err(error) => error,
        };
        match (&unknown, &self.options.script) {
            (ScriptError::Unknown { .. }, Some(script)) => Ok(script.clone()),
            _ => Err((404, unknown.to_string())),
        }
    }

    fn nothing_here(&self, method: &Method, path: &str) -> Response {
        let text = format!("there is no {method} {path} here");
        let seen =
            Seen { path: format!("{method} {path}"), status: 404, text: text.clone(), ..Seen::default() };
        self.told(seen);
        json_response(StatusCode::NOT_FOUND, &chat::refusal(404, &text))
    }

    fn told(&self, seen: Seen) {
        if let Some(Watch(watch)) = &self.options.watch {
            watch(seen);
        }
    }

    fn keep(&self, path: &str, protocol: &str, body: &[u8]) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let body = serde_json::from_slice::<Value>(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
        let mut line = serde_json::to_vec(&json!({"path": path, "protocol": protocol, "body": body}))?;
        line.push(b'\n');
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write_all(&line)?;
        log.flush()
    }
}

enum Reply {
    Whole(Value),
    Stream(Vec<Event>),
    Cut(String, &'static str),
    Never,
}

const SSE: &str = "text/event-stream";
const JSON: &str = "application/json";

/// A body as it was before it was compressed.
fn unpacked(headers: &HeaderMap, body: &[u8]) -> Result<Vec<u8>, (u16, String)> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let mut reader: Box<dyn Read + '_> = match encoding.map(str::trim) {
        None | Some("" | "identity") => Box::new(body),
        Some("gzip" | "x-gzip") => Box::new(flate2::read::MultiGzDecoder::new(body)),
        Some("deflate") => Box::new(flate2::read::ZlibDecoder::new(body)),
        Some(other) => {
            return Err((415, format!("the body is packed with {other}; gzip and deflate are known")));
        }
    };
    let mut unpacked = Vec::new();
    let read = reader.by_ref().take(BODY as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|error| (400, format!("the body cannot be unpacked: {error}")))?;
    if unpacked.len() > BODY {
        return Err((413, "the body is too large".to_owned()));
    }
    Ok(unpacked)
}

/// Events one by one, as they would come from a model.
fn stream(events: Vec<Event>, as_list: bool) -> Response {
    let last = events.len().saturating_sub(1);
    let texts: Vec<String> = if as_list {
        let text = |(at, event): (usize, Event)| {
            format!("{}{}{}", if at == 0 { "[" } else { "," }, event.data, if at == last { "]" } else { "" })
        };
        events.into_iter().enumerate().map(text).collect()
    } else {
        events.iter().map(Event::text).collect()
    };
    let pieces = tokio_stream::iter(texts).then(|text| async {
        tokio::task::yield_now().await;
        Ok::<_, io::Error>(text)
    });
    response(StatusCode::OK, if as_list { JSON } else { SSE }, Body::from_stream(pieces))
}

/// A part of an answer, and then the connection breaks.
fn cut(text: String, kind: &'static str) -> Response {
    let pieces = tokio_stream::iter([Ok(text), Err(io::Error::from(io::ErrorKind::ConnectionAborted))]).then(
        |piece| async {
            // The first part must be on its way before the break.
            tokio::task::yield_now().await;
            piece
        },
    );
    response(StatusCode::OK, kind, Body::from_stream(pieces))
}

fn refuse(protocol: &Protocol, status: u16, message: &str) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(code, &(protocol.refusal)(status, message));
    if status == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    response(status, JSON, Body::from(value.to_string()))
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}
