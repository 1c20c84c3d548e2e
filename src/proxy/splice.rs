//! Replacing one value in a message, and leaving every other byte as it arrived.

use super::message::{View, present};
use crate::domain::RawJson;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Values are compared in their canonical form, so that `1` and `1.0` are one id.
pub(super) fn key(value: &str) -> String {
    crate::domain::json::canonical(value)
}

/// The text with the value of its `id` replaced.
pub(super) fn with_id(message: &str, id: &str) -> Option<String> {
    let view = View::parse(message).ok()?;
    replaced(message, view.id?, id)
}

/// The text with a value that was found in it replaced.
pub(super) fn replaced(message: &str, old: &RawValue, new: &str) -> Option<String> {
    let old = old.get();
    let start = (old.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    let mut text = String::with_capacity(message.len() + new.len());
    text.push_str(message.get(..start)?);
    text.push_str(new);
    text.push_str(message.get(start + old.len()..)?);
    Some(text)
}

/// Where a correlation id stands in a message's `_meta`.
const CORRELATION: &str = "correlation-id";

/// The text of a call with an id in its `_meta`, beside what is there. None where its parameters
/// are no object, or it has such an id already.
pub(super) fn with_correlation(message: &str, id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta", deserialize_with = "present")]
        meta: Option<&'a RawValue>,
    }
    let params = View::parse(message).ok()?.params?;
    let meta = serde_json::from_str::<Params<'_>>(params.get()).ok()?.meta;
    Some(Gap::in_call(message, params, meta)?.filled(message, id))
}

/// The place in a call at which its correlation id goes in: behind the brace that opens its `_meta`
/// or, where it has none, its parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    at: usize,
    has_meta: bool,
    is_empty: bool,
}

impl Gap {
    /// `params` and `meta` are slices of the message.
    pub fn in_call(message: &str, params: &RawValue, meta: Option<&RawValue>) -> Option<Gap> {
        #[derive(Deserialize)]
        struct Meta<'a> {
            #[serde(borrow, default, rename = "correlation-id", deserialize_with = "present")]
            correlation: Option<&'a RawValue>,
        }
        if let Some(meta) = meta
            && serde_json::from_str::<Meta<'_>>(meta.get()).ok()?.correlation.is_some()
        {
            return None;
        }
        let object = meta.unwrap_or(params).get();
        let inside = object.strip_prefix('{')?;
        let at = (inside.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
        let is_empty = inside.trim_start().starts_with('}');
        Some(Gap { at, has_meta: meta.is_some(), is_empty })
    }

    /// The message in which the gap was found, with an id there. Nothing else changes.
    pub fn filled(self, message: &str, id: &str) -> String {
        let Some((before, after)) = message.split_at_checked(self.at) else { return message.to_owned() };
        let id = RawJson::string(id);
        let mut text = String::with_capacity(message.len() + id.get().len() + 32);
        text.push_str(before);
        let (open, close) = if self.has_meta { ("", "") } else { ("\"_meta\":{", "}") };
        let comma = if self.is_empty { "" } else { "," };
        for part in [open, "\"", CORRELATION, "\":", id.get(), close, comma, after] {
            text.push_str(part);
        }
        text
    }
}

/// The correlation id that a message carries.
pub(super) fn correlation(message: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(default, rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default, rename = "correlation-id")]
        correlation: Option<String>,
    }
    let view = View::parse(message).ok()?;
    serde_json::from_str::<Params>(view.params?.get()).ok()?.meta?.correlation
}

/// The members of parameters and results that name a request.
#[derive(Default, Deserialize)]
pub(super) struct Named<'a> {
    /// Of a progress notification.
    #[serde(borrow, default, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
    /// Of a cancellation.
    #[serde(borrow, default, rename = "requestId")]
    pub request_id: Option<&'a RawValue>,
    /// Of `tools/call` and `prompts/get`.
    #[serde(borrow, default)]
    pub name: Option<&'a RawValue>,
    /// Of the requests about resources.
    #[serde(borrow, default)]
    pub uri: Option<&'a RawValue>,
    /// Of the requests about tasks.
    #[serde(borrow, default, rename = "taskId")]
    pub task_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<NamedMeta<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct NamedMeta<'a> {
    /// By which a request asks for progress.
    #[serde(borrow, default, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
    /// The id of the `subscriptions/listen` that something belongs to.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/subscriptionId")]
    pub subscription: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<Cow<'a, str>>,
}

/// What the parameters or the result of a message name; nothing where they cannot be read.
pub(super) fn named<'a>(part: Option<&'a RawValue>) -> Named<'a> {
    part.and_then(|part| serde_json::from_str(part.get()).ok()).unwrap_or_default()
}

impl<'a> Named<'a> {
    pub fn token_asked_for(&self) -> Option<&'a RawValue> {
        self.meta.as_ref()?.progress_token
    }

    pub fn subscription(&self) -> Option<&'a RawValue> {
        self.meta.as_ref()?.subscription
    }

    /// MCP 2026-07-28 names its version in every request.
    pub fn protocol_version(&self) -> Option<&str> {
        self.meta.as_ref()?.protocol_version.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_replaced_and_nothing_else() {
        let message = r#"{"params": {"id": 1, "n": 1e400}, "id" : "a\u0062", "jsonrpc":"2.0"}"#;
        assert_eq!(
            with_id(message, "7").unwrap(),
            r#"{"params": {"id": 1, "n": 1e400}, "id" : 7, "jsonrpc":"2.0"}"#
        );
        assert_eq!(with_id(r#"{"method":"ping"}"#, "7"), None);
    }

    #[test]
    fn an_id_goes_along_and_nothing_else_changes() {
        let with = |message: &str| with_correlation(message, "r-1");
        assert_eq!(
            with(r#"{"id":1,"params": {"name":"a", "n": 1e400}}"#).unwrap(),
            r#"{"id":1,"params": {"_meta":{"correlation-id":"r-1"},"name":"a", "n": 1e400}}"#
        );
        assert_eq!(
            with(r#"{"params":{"_meta": {"progressToken":1.0},"n":[]}}"#).unwrap(),
            r#"{"params":{"_meta": {"correlation-id":"r-1","progressToken":1.0},"n":[]}}"#
        );
        assert_eq!(with(r#"{"params":{}}"#).unwrap(), r#"{"params":{"_meta":{"correlation-id":"r-1"}}}"#);
        for left_alone in [
            r#"{"id":1}"#,
            r#"{"params":[]}"#,
            r#"{"params":{"_meta":null}}"#,
            r#"{"params":{"_meta":{"correlation-id":"mine"}}}"#,
        ] {
            assert_eq!(with(left_alone).filter(|text| text != left_alone), None, "{left_alone}");
        }
        assert_eq!(correlation(r#"{"params":{"_meta":{"correlation-id":"r-1"}}}"#).as_deref(), Some("r-1"));
    }

    #[test]
    fn a_token_is_replaced_where_it_stands() {
        let message = r#"{"method":"notifications/progress","params":{"progressToken": 3,"progress":1}}"#;
        let view = View::parse(message).unwrap();
        let token = named(view.params).progress_token.unwrap();
        assert_eq!(replaced(message, token, "\"t\"").unwrap(), message.replace(": 3", ": \"t\""));
    }
}
