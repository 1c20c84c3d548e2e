//! Chat Completions requests, read as leniently as agents write them.

use crate::harness::message::{Message, Object, ToolCall, ToolSpec};
use crate::harness::script::words::{reads_as_error, unwrap_content};
use serde_json::Value;

/// What the endpoint has to know of a request. Every other field is left aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which model is asked.
    pub model: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// The tools that may be asked for; none where `tool_choice` is `none`.
    pub tools: Vec<ToolSpec>,
    /// The answer is wanted as a stream.
    pub stream: bool,
    /// The stream is to end with the usage.
    pub include_usage: bool,
    /// The seed, where one is given.
    pub seed: Option<u64>,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// Where it is no JSON object, or has no messages.
    pub fn parse(body: &[u8]) -> Result<Request, String> {
        let body: Value =
            serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))?;
        let Some(messages) = body.get("messages").and_then(Value::as_array) else {
            return Err("\"messages\" must be a list".to_owned());
        };
        let none = body.get("tool_choice").and_then(Value::as_str) == Some("none");
        let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten().filter(|_| !none);
        Ok(Request {
            model: text(body.get("model")),
            messages: messages.iter().filter_map(message).collect(),
            tools: tools.filter_map(tool).collect(),
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            include_usage: body
                .pointer("/stream_options/include_usage")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            seed: body.get("seed").and_then(Value::as_u64),
        })
    }
}

fn message(value: &Value) -> Option<Message> {
    let content = || text(value.get("content"));
    match value.get("role")?.as_str()? {
        "system" | "developer" => Some(Message::System { text: content() }),
        "user" => Some(Message::User { text: content() }),
        "assistant" => {
            let calls = value.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
            Some(Message::Assistant { text: content(), tool_calls: calls.filter_map(call).collect() })
        }
        "tool" => {
            // Chat Completions have no flag for a failed call; only the text can tell.
            let text = unwrap_content(&content());
            let is_error = reads_as_error(&text);
            Some(Message::ToolResult {
                call_id: value.get("tool_call_id")?.as_str()?.to_owned(),
                text,
                is_error,
            })
        }
        _ => None,
    }
}

/// Content: a text, a list of parts, or nothing.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                part => part.get("text").and_then(Value::as_str),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn call(value: &Value) -> Option<ToolCall> {
    let function = value.get("function")?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Object(arguments)) => arguments.clone(),
        _ => Object::new(),
    };
    Some(ToolCall {
        id: value.get("id")?.as_str()?.to_owned(),
        name: function.get("name")?.as_str()?.to_owned(),
        arguments,
    })
}

fn tool(value: &Value) -> Option<ToolSpec> {
    let function = value.get("function")?;
    Some(ToolSpec {
        name: function.get("name")?.as_str()?.to_owned(),
        description: text(function.get("description")),
        input_schema: function.get("parameters").and_then(Value::as_object).cloned().unwrap_or_default(),
        ..ToolSpec::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(body: &Value) -> Result<Request, String> {
        Request::parse(body.to_string().as_bytes())
    }

    #[test]
    fn content_may_be_a_text_or_parts() {
        let request = parse(&json!({"model": "obedient", "messages": [
            {"role": "developer", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "Request timed out"}]},
            {"role": "tool", "tool_call_id": "call_2", "content": "{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}"}],
            "stream_options": {"include_usage": true}, "parallel_tool_calls": false, "seed": 7}))
        .unwrap();
        assert_eq!(request.messages[0], Message::System { text: "s".into() });
        assert_eq!(request.messages[1], Message::User { text: "a\nb".into() });
        assert!(matches!(&request.messages[2],
            Message::Assistant { tool_calls, .. } if tool_calls[0].arguments["x"] == 1));
        assert_eq!(
            request.messages[3],
            Message::ToolResult {
                call_id: "call_1".into(),
                text: "Request timed out".into(),
                is_error: true
            }
        );
        assert_eq!(
            request.messages[4],
            Message::ToolResult { call_id: "call_2".into(), text: "{\"a\":1}".into(), is_error: false }
        );
        assert!(request.include_usage && !request.stream);
        assert_eq!(request.seed, Some(7));
    }

    #[test]
    fn tool_choice_none_offers_no_tool() {
        let tools =
            json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
        let request = |choice: &str| {
            parse(&json!({"model": "m", "messages": [], "tools": tools, "tool_choice": choice})).unwrap()
        };
        assert_eq!(request("auto").tools[0].name, "f");
        assert!(request("none").tools.is_empty());
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_reason() {
        assert!(Request::parse(b"{").unwrap_err().contains("no JSON"));
        assert_eq!(parse(&json!({"model": "m"})).unwrap_err(), "\"messages\" must be a list");
    }
}
