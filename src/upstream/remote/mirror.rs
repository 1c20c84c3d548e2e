//! What MCP 2026-07-28 wants a client to repeat in the headers of a request.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Parameters of tools that a server wants to see in headers.
#[derive(Debug, Default)]
pub(crate) struct Mirrored {
    tools: HashMap<String, Vec<(Vec<String>, HeaderName)>>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    name: String,
    #[serde(borrow, default, rename = "inputSchema")]
    schema: Option<&'a RawValue>,
}

/// Headers for a method and the name of what it is about.
pub(crate) fn standard(method: &str, name: Option<&str>, headers: &mut HeaderMap) {
    if let Ok(method) = HeaderValue::from_str(method) {
        headers.insert(HeaderName::from_static("mcp-method"), method);
    }
    if let Some(name) = name.and_then(value) {
        headers.insert(HeaderName::from_static("mcp-name"), name);
    }
}

impl Mirrored {
    /// Learns a tool from a `tools/list`, given as the server wrote it.
    pub fn learn(&mut self, tool: &RawValue) {
        let Ok(tool) = serde_json::from_str::<Tool<'_>>(tool.get()) else { return };
        let schema = tool.schema.and_then(|schema| serde_json::from_str::<Value>(schema.get()).ok());
        let mut found = Vec::new();
        if let Some(schema) = &schema {
            annotated(schema, &mut Vec::new(), &mut found);
        }
        self.tools.insert(tool.name, found);
    }

    /// Adds the headers of a call.
    pub fn add(&self, tool: &str, arguments: &RawValue, headers: &mut HeaderMap) {
        for (path, name) in self.tools.get(tool).into_iter().flatten() {
            if let Some(value) = at(arguments, path).as_deref().and_then(value) {
                headers.insert(name.clone(), value);
            }
        }
    }
}

/// Annotations are reached through `properties` alone.
fn annotated(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, HeaderName)>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(Ok(header)) = header.map(|header| format!("mcp-param-{header}").parse()) {
            found.push((path.clone(), header));
        }
        annotated(property, path, found);
        path.pop();
    }
}

/// The value at a path, as text; nothing where it is absent, null, or no primitive.
fn at(arguments: &RawValue, path: &[String]) -> Option<String> {
    let mut here = arguments;
    for name in path {
        let object: HashMap<String, &RawValue> = serde_json::from_str(here.get()).ok()?;
        here = object.get(name)?;
    }
    match here.get() {
        "null" => None,
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        text if text.starts_with(['{', '[']) => None,
        text => Some(text.to_owned()),
    }
}

/// A value for a header: as it is where it can be, in Base64 otherwise.
fn value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain {
        return HeaderValue::from_str(text).ok();
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    HeaderValue::from_str(&format!("=?base64?{encoded}?=")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn annotated_parameters_stand_in_headers() {
        let mut mirrored = Mirrored::default();
        mirrored.learn(raw(
            r#"{"name":"sql","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
            "to":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
            "off":{"type":"boolean","x-mcp-header":"Off"}}}}"#,
        ));
        let mut headers = HeaderMap::new();
        mirrored.add("sql", raw(r#"{"region":"Köln","to":{"n":42},"off":null}"#), &mut headers);
        assert_eq!(headers["mcp-param-region"], "=?base64?S8O2bG4=?=");
        assert_eq!(headers["mcp-param-n"], "42");
        assert_eq!(headers.len(), 2);
    }

    #[test]
    fn what_a_header_cannot_hold_is_encoded() {
        for (text, header) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(value(text).unwrap(), header);
        }
    }
}
