//! What is said in HTTP: bodies, refusals, and streams of events.

use super::headers::{Accepted, error_body};
use crate::domain::RawJson;
use crate::proxy::hub::Refusal;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::time::Duration;
use tokio_stream::StreamExt as _;

/// After this long without an answer a stream is begun, and it says every so often that it lives:
/// clients and what lies between give up on answers that do not begin.
pub(super) const QUIET: Duration = Duration::from_secs(15);

/// How long a client waits before it comes back for the rest of a broken stream.
const COME_BACK: Duration = Duration::from_secs(1);

pub(super) fn plain(status: StatusCode, text: &str) -> Response {
    (status, text.to_owned()).into_response()
}

pub(super) fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

pub(super) fn refuse(status: StatusCode, id: Option<&RawJson>, code: i64, reason: &str) -> Response {
    json(status, error_body(id, code, reason))
}

pub(super) fn missing_session(named: Option<&str>, id: Option<&RawJson>) -> Response {
    match named {
        Some(_) => refuse(StatusCode::NOT_FOUND, id, -32001, "Session not found"),
        None => refuse(StatusCode::BAD_REQUEST, id, -32000, "Bad Request: Mcp-Session-Id is missing"),
    }
}

/// The stream of an answer that breaks off.
#[derive(Debug, thiserror::Error)]
#[error("the connection broke")]
pub(super) struct Broken;

/// An answer that begins and breaks off.
pub(super) fn broken(accepted: Accepted) -> Response {
    let (kind, begin) =
        if accepted.events { ("text/event-stream", ":\n\n") } else { ("application/json", "{") };
    let parts = tokio_stream::iter([Ok(begin), Err(Broken)]).then(|part| async {
        // What was begun is on its way before it breaks.
        tokio::task::yield_now().await;
        part
    });
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(parts)).into_response()
}

/// Numbers the events of one stream, so that a client can come back for the rest of it.
pub(super) struct EventIds {
    /// The stream's, where it has ids.
    pub(super) number: Option<u64>,
    pub(super) last: usize,
}

impl EventIds {
    /// An event with an id and nothing else.
    pub(super) fn primer(&self) -> String {
        let number = self.number.unwrap_or_default();
        format!("id: {number}/{}\nretry: {}\ndata: \n\n", self.last, COME_BACK.as_millis())
    }

    pub(super) fn event(&mut self, message: &str) -> String {
        self.last += 1;
        let data = message.replace(['\n', '\r'], " ");
        match self.number {
            Some(number) => format!("id: {number}/{}\nevent: message\ndata: {data}\n\n", self.last),
            None => format!("event: message\ndata: {data}\n\n"),
        }
    }
}

/// The status that the upstream gave, where it speaks HTTP, too.
pub(super) fn with_refusal(mut response: Response, refusal: Option<&Refusal>) -> Response {
    if let Some(refusal) = refusal {
        if let Ok(status) = StatusCode::from_u16(refusal.status) {
            *response.status_mut() = status;
        }
        if let Some(value) = &refusal.authenticate {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, value.clone());
        }
    }
    response
}

/// Events, with a sign of life in long silences.
pub(super) fn events<S>(events: S) -> Response
where
    S: tokio_stream::Stream<Item = Result<String, Broken>> + Send + 'static,
{
    let lines = events
        .timeout_repeating(tokio::time::interval(QUIET))
        .map(|event| event.unwrap_or_else(|_| Ok(":\n\n".to_owned())));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (axum::http::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(lines)).into_response()
}
