//! Replacing one value in a message, and leaving every other byte as it arrived.

use super::message::View;
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
    fn a_token_is_replaced_where_it_stands() {
        let message = r#"{"method":"notifications/progress","params":{"progressToken": 3,"progress":1}}"#;
        let view = View::parse(message).unwrap();
        let token = named(view.params).progress_token.unwrap();
        assert_eq!(replaced(message, token, "\"t\"").unwrap(), message.replace(": 3", ": \"t\""));
    }
}
