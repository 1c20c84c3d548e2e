//! What is read from the headers of a request, and what a request must say in them.

use super::super::message::View;
use super::super::splice::{key, named};
use crate::domain::RawJson;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use base64::Engine as _;
use serde_json::value::RawValue;
use std::borrow::Cow;

pub(super) const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// JSON-RPC code of MCP 2026-07-28: header and body contradict each other.
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;
const METHOD_NOT_FOUND: i64 = -32601;

/// Headers that belong to one connection or one hop, or that we set ourselves.
const OWN: [HeaderName; 16] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::EXPECT,
    header::HOST,
    header::ORIGIN,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::REFERER,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers of a client that an upstream over HTTP gets, too.
pub(super) fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in &OWN {
        kept.remove(name);
    }
    for name in [SESSION, "keep-alive", "last-event-id"] {
        kept.remove(name);
    }
    kept
}

/// Pages of other hosts must not reach a server on loopback (DNS rebinding).
pub(super) fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    matches!(without_port(host), "localhost" | "127.0.0.1" | "[::1]")
}

fn without_port(host: &str) -> &str {
    host.rsplit_once(':')
        .map_or(host, |(name, port)| if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host })
}

/// Whether a request that came in on loopback was meant for it.
pub(super) fn host_is_local(headers: &HeaderMap) -> bool {
    match headers.get(header::HOST) {
        Some(host) => host.to_str().is_ok_and(is_local),
        None => true,
    }
}

/// What kinds of answer a client takes; where it does not say, all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    pub json: bool,
    pub events: bool,
}

pub(super) fn accepted(headers: &HeaderMap) -> Accepted {
    let mut accepted = Accepted { json: false, events: false };
    let mut said = false;
    for value in headers.get_all(header::ACCEPT) {
        said = true;
        for kind in value.to_str().unwrap_or("").split(',') {
            match kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase().as_str() {
                "*/*" => (accepted.json, accepted.events) = (true, true),
                "application/*" | "application/json" => accepted.json = true,
                "text/*" | "text/event-stream" => accepted.events = true,
                _ => {}
            }
        }
    }
    if said { accepted } else { Accepted { json: true, events: true } }
}

/// The version in the header is a date; an unreadable one is refused as the protocol wants.
pub(super) fn version_is_readable(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(VERSION) else { return true };
    let bytes = value.as_bytes();
    bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(place, byte)| if matches!(place, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() })
}

/// Checks that the headers of a request of MCP 2026-07-28 say what its body says.
pub(super) fn mismatch(headers: &HeaderMap, view: &View<'_>) -> Option<String> {
    let params = named(view.params);
    let method = view.method.as_deref().unwrap_or("");
    let name = match method {
        "tools/call" | "prompts/get" => params.name,
        "resources/read" => params.uri,
        _ => None,
    };
    let wanted = [
        (VERSION, params.protocol_version().map(Cow::Borrowed)),
        ("mcp-method", Some(Cow::Borrowed(method))),
        ("mcp-name", name.and_then(text).map(Cow::Owned)),
    ];
    wanted.into_iter().find_map(|(header, body)| {
        let body = body?;
        match headers.get(header).map(|value| decoded(value.as_bytes())) {
            Some(Some(found)) if found == body => None,
            Some(_) => Some(format!("Header mismatch: {header} does not say what the body says")),
            None => Some(format!("Header mismatch: {header} is missing")),
        }
    })
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn decoded(value: &[u8]) -> Option<String> {
    let encoded = value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    let bytes = match encoded {
        Some(encoded) => base64::engine::general_purpose::STANDARD.decode(encoded).ok()?,
        None => value.to_vec(),
    };
    String::from_utf8(bytes).ok()
}

pub(super) fn mismatch_body(id: Option<&RawJson>, reason: &str) -> String {
    error_body(id, HEADER_MISMATCH, reason)
}

pub(super) fn error_body(id: Option<&RawJson>, code: i64, reason: &str) -> String {
    let id = id.map_or("null", RawJson::get);
    let reason = RawJson::string(reason);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{reason}}}}}"#)
}

/// The status of an answer of MCP 2026-07-28 whose upstream speaks stdio.
pub(super) fn modern_status(message: &str) -> StatusCode {
    #[derive(serde::Deserialize)]
    struct Code<'a> {
        #[serde(borrow)]
        code: &'a RawValue,
    }
    let code = View::parse(message)
        .ok()
        .and_then(|view| serde_json::from_str::<Code<'_>>(view.error?.get()).ok())
        .and_then(|error| key(error.code.get()).parse::<i64>().ok());
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_pages_of_this_machine_come_in() {
        for origin in ["http://localhost", "http://localhost:3000", "http://127.0.0.1:1", "http://[::1]:80"] {
            assert!(is_local(origin), "{origin}");
        }
        for origin in
            ["http://example.com", "http://localhost.example.com", "null", "http://127.0.0.1.evil.net:80"]
        {
            assert!(!is_local(origin), "{origin}");
        }
    }

    #[test]
    fn a_client_that_does_not_say_what_it_accepts_accepts_all() {
        let all = Accepted { json: true, events: true };
        assert_eq!(accepted(&HeaderMap::new()), all);
        assert_eq!(accepted(&headers(&[("accept", "application/json, text/event-stream;q=0.5")])), all);
        assert_eq!(accepted(&headers(&[("accept", "*/*")])), all);
        assert_eq!(accepted(&headers(&[("accept", "text/html")])), Accepted { json: false, events: false });
    }

    #[test]
    fn headers_that_contradict_the_body_are_found() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b\u00fcro","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let view = View::parse(body).unwrap();
        let good = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?YsO8cm8=?="),
        ];
        assert_eq!(mismatch(&headers(&good), &view), None);
        for place in 0..good.len() {
            let mut bad = good;
            bad[place].1 = "other";
            assert!(mismatch(&headers(&bad), &view).is_some(), "{}", good[place].0);
            let missing: Vec<_> = good.iter().copied().filter(|pair| *pair != good[place]).collect();
            assert!(mismatch(&headers(&missing), &view).unwrap().contains("missing"));
        }
    }

    #[test]
    fn statuses_follow_the_error_codes() {
        let error = |code: &str| modern_status(&format!(r#"{{"id":1,"error":{{"code":{code}}}}}"#));
        assert_eq!(error("-32601"), StatusCode::NOT_FOUND);
        assert_eq!(error("-32020"), StatusCode::BAD_REQUEST);
        assert_eq!(error("-32603"), StatusCode::OK);
        assert_eq!(modern_status(r#"{"id":1,"result":{}}"#), StatusCode::OK);
    }
}
