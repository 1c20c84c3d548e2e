//! JSON-RPC messages, seen without being understood: borrowed slices of the text that arrived.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The members of a JSON-RPC message that the proxy looks at. A member that stands twice makes
/// the message unreadable, so that nothing can pass around the judge under a second name.
#[derive(Debug, Deserialize)]
pub(super) struct View<'a> {
    /// `Some("null")` for `"id": null`, `None` where there is no id.
    #[serde(borrow, default, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub error: Option<&'a RawValue>,
}

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
pub(super) struct CallParams<'a> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses", deserialize_with = "present")]
    pub input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState", deserialize_with = "present")]
    pub request_state: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
    pub meta: Option<&'a RawValue>,
}

/// `params._meta`, and in it what MCP 2026-07-28 sends with every request in place of a handshake.
#[derive(Debug, Deserialize)]
pub(super) struct MetaParams<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<Meta<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    pub client_info: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "present"
    )]
    pub capabilities: Option<&'a RawValue>,
}

/// What a client can do, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Capabilities<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    elicitation: Option<&'a RawValue>,
}

/// Whether a client with these capabilities shows forms that a server asks for. One that says nothing of
/// the mode does; one that only opens pages does not.
pub(super) fn elicits(capabilities: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct Modes<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        form: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        url: Option<&'a RawValue>,
    }
    let known = capabilities.and_then(|raw| serde_json::from_str::<Capabilities<'_>>(raw.get()).ok());
    let modes = known.and_then(|known| known.elicitation);
    modes
        .and_then(|raw| serde_json::from_str::<Modes<'_>>(raw.get()).ok())
        .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// What a client answers to `elicitation/create`.
#[derive(Debug, Deserialize)]
pub(super) struct Elicited<'a> {
    #[serde(borrow, default)]
    pub action: Option<Cow<'a, str>>,
}

/// The parameters of `initialize` and its result: both sides introduce themselves alike.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Introduction<'a> {
    #[serde(borrow, default, rename = "protocolVersion")]
    pub protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "clientInfo")]
    pub client_info: Option<Implementation<'a>>,
    #[serde(borrow, default, rename = "serverInfo")]
    pub server_info: Option<Implementation<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub capabilities: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Implementation<'a> {
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub version: Option<Cow<'a, str>>,
}

/// The parameters of `notifications/cancelled`.
#[derive(Debug, Deserialize)]
pub(super) struct CancelParams<'a> {
    #[serde(borrow, default, rename = "requestId", deserialize_with = "present")]
    pub request_id: Option<&'a RawValue>,
}

/// What decides how an answer to `tools/call` counts (J4, J5, J9).
#[derive(Debug, Deserialize)]
pub(super) struct CallResult<'a> {
    #[serde(borrow, default, rename = "isError", deserialize_with = "present")]
    pub is_error: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "resultType", deserialize_with = "present")]
    pub result_type: Option<&'a RawValue>,
}

/// The parameters of `tools/list`.
#[derive(Debug, Deserialize)]
pub(super) struct ListParams<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub cursor: Option<&'a RawValue>,
}

/// The result of `tools/list`.
#[derive(Debug, Deserialize)]
pub(super) struct ToolsResult<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub tools: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor", deserialize_with = "present")]
    pub next_cursor: Option<&'a RawValue>,
}

impl<'a> View<'a> {
    pub fn parse(text: &'a str) -> Result<View<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The elements of a batch, where the message is one.
pub(super) fn batch(text: &str) -> Option<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

/// `null` is a value here, and not the same as an absent member.
pub(super) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_id_is_an_id() {
        assert_eq!(View::parse(r#"{"id":null}"#).unwrap().id.map(RawValue::get), Some("null"));
        assert!(View::parse("{}").unwrap().id.is_none());
    }

    #[test]
    fn a_member_that_stands_twice_is_refused() {
        assert!(View::parse(r#"{"method":"ping","method":"tools/call"}"#).is_err());
        assert!(View::parse(r#"{"method":"ping","m\u0065thod":"tools/call"}"#).is_err());
    }

    #[test]
    fn a_client_elicits_where_it_shows_forms() {
        let of = |text: &str| elicits(Some(crate::domain::RawJson::parse(text).unwrap().raw()));
        for text in [
            r#"{"elicitation":{}}"#,
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            r#"{"elicitation":{"form":{}}}"#,
        ] {
            assert!(of(text), "{text}");
        }
        for text in
            [r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":null}"#, "{}", "null", r#"{"elicitation":1}"#]
        {
            assert!(!of(text), "{text}");
        }
    }

    #[test]
    fn escapes_in_a_method_are_read() {
        assert_eq!(View::parse(r#"{"method":"tools\/call"}"#).unwrap().method.unwrap(), "tools/call");
    }
}
