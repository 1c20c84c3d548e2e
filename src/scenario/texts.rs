//! What the agent reads when something failed. Fixed, generic, and silent about why (J13).

use crate::domain::RawJson;
use crate::trace::{Category, Retry};
use serde::Serialize;

/// The text of every timeout: by a scenario and by the upstream time limit (J7) alike, so that the
/// agent cannot tell one from the other.
pub fn timeout() -> &'static str {
    "Error: the request timed out. No response was received."
}

/// The text where the connection to the server broke during the call.
pub fn connection_lost() -> &'static str {
    "Error: the connection to the server was lost before a response was received."
}

/// The text where the server was gone before the call (J7).
pub fn unavailable() -> &'static str {
    "UPSTREAM_UNAVAILABLE: the server is not available; the request was not sent."
}

/// The text where no connection came about (L1).
pub(super) fn connection_refused() -> &'static str {
    "Error: connection refused. The request was not sent."
}

/// The text of a 429 (F2).
pub(super) fn rate_limited(seconds: u64) -> String {
    format!("HTTP 429 Too Many Requests. retry_after: {seconds} (seconds)")
}

/// The text of a 500 (F5, E1, chaos).
pub(super) fn server_error() -> &'static str {
    "HTTP 500 Internal Server Error"
}

/// The text of a credential that is no longer accepted (A1).
pub(super) fn unauthorized() -> &'static str {
    "HTTP 401 Unauthorized\nWWW-Authenticate: Bearer error=\"invalid_token\", \
     error_description=\"The access token expired\""
}

/// The text of a missing permission (A2).
pub(super) fn forbidden() -> &'static str {
    "HTTP 403 Forbidden: insufficient_scope. This account may not do this."
}

/// The text of a person's refusal (A3).
pub(super) fn refused(tool: &str) -> String {
    format!("Approval required: {tool}. The approver declined this request; it was not carried out.")
}

/// What a client is asked, before the approver is, about a call (A3): whether it wants to ask.
pub fn approval_question(tool: &str, arguments: &str) -> String {
    format!("Approval required: {tool} {arguments}. Submit this request to the approver?")
}

/// A body that says that nothing was done, as a success of the tool (E1).
pub(super) fn success_false() -> &'static str {
    r#"{"success":false,"error":"The request could not be processed."}"#
}

/// A body that says success and failure at once (M3).
pub(super) fn contradiction() -> &'static str {
    r#"{"status":"ok","error":{"code":"internal_error","message":"The request could not be completed."}}"#
}

/// An error status with a page in place of an answer (M4).
pub(super) fn page() -> &'static str {
    "HTTP 503 Service Unavailable\n<!DOCTYPE html>\n<html><head><title>503 Service Unavailable</title></head>\
     <body><h1>Service Unavailable</h1><p>The server is temporarily unable to service your request.</p>\
     <hr></body></html>"
}

/// The text of an HTTP status.
pub(super) fn status(code: u16) -> String {
    let reason = match code {
        400 => "Bad Request",
        401 => return unauthorized().to_owned(),
        402 => "Payment Required",
        403 => return forbidden().to_owned(),
        404 => "Not Found",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        423 => "Locked",
        429 => "Too Many Requests",
        500 => return server_error().to_owned(),
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    };
    format!("HTTP {code} {reason}").trim_end().to_owned()
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: [Content<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<RawJson>,
    #[serde(skip_serializing_if = "is_false")]
    is_error: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it asks by reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A tool result with that text. Connections of MCP 2026-07-28 and later need a `resultType`.
pub fn text_result(text: &str, is_error: bool, with_result_type: bool) -> RawJson {
    result(text, None, is_error, with_result_type)
}

/// A tool result with that text and `isError: true` (J13).
pub fn error_result(text: &str, with_result_type: bool) -> RawJson {
    text_result(text, true, with_result_type)
}

fn result(text: &str, structured: Option<RawJson>, is_error: bool, with_result_type: bool) -> RawJson {
    RawJson::of(&CallToolResult {
        result_type: with_result_type.then_some("complete"),
        content: [Content { r#type: "text", text }],
        structured_content: structured,
        is_error,
    })
    .unwrap_or_else(|_| RawJson::null())
}

/// A failure in the form of a contract: what is known of it, and what can be done safely.
pub fn structured_result(
    advice: (Category, Retry),
    operation: &str,
    correlation_id: &str,
    text: &str,
    with_result_type: bool,
) -> RawJson {
    #[derive(Serialize)]
    struct Contract<'a> {
        ok: bool,
        category: &'static str,
        operation: &'a str,
        retry: &'static str,
        correlation_id: &'a str,
        message: &'a str,
    }
    let message = text.strip_prefix("Error: ").unwrap_or(text);
    let contract = Contract {
        ok: false,
        category: advice.0.name(),
        operation,
        retry: advice.1.name(),
        correlation_id,
        message: message.lines().next().unwrap_or_default(),
    };
    match RawJson::of(&contract) {
        Ok(contract) => {
            let text = contract.get().to_owned();
            result(&text, Some(contract), true, with_result_type)
        }
        Err(_) => error_result(text, with_result_type),
    }
}
