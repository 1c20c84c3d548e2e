//! What the agent reads when something failed. Fixed, generic, and silent about why (J13).

use crate::domain::RawJson;
use serde::Serialize;

/// The text of every timeout: by F1 and by the upstream time limit (J7) alike, so that the agent
/// cannot tell one from the other.
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

/// The text of a 429 (F2).
pub(super) fn rate_limited(seconds: u64) -> String {
    format!("HTTP 429 Too Many Requests. retry_after: {seconds} (seconds)")
}

/// The text of a 500 (F5, chaos).
pub(super) fn server_error() -> &'static str {
    "HTTP 500 Internal Server Error"
}

/// A tool result with that text and `isError: true`. Connections of MCP 2026-07-28 and later
/// need a `resultType` beside it.
pub fn error_result(text: &str, with_result_type: bool) -> RawJson {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
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
        is_error: bool,
    }
    RawJson::of(&CallToolResult {
        result_type: with_result_type.then_some("complete"),
        content: [Content { r#type: "text", text }],
        is_error: true,
    })
    .unwrap_or_else(|_| RawJson::null())
}
