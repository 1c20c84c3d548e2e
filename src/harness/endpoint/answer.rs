//! Chat Completions answers: whole, as a stream, and as an error.

use crate::harness::model::ModelTurn;
use serde_json::{Value, json};

/// There is no clock here, and no client reads it.
const CREATED: u64 = 0;

/// A whole answer.
pub fn whole(id: &str, model: &str, turn: &ModelTurn) -> Value {
    let mut message = json!({"role": "assistant", "content": content(turn), "refusal": null});
    if !turn.tool_calls.is_empty() {
        let calls = turn.tool_calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                   "function": {"name": call.name, "arguments": Value::Object(call.arguments.clone()).to_string()}})
        });
        message["tool_calls"] = calls.collect();
    }
    json!({"id": id, "object": "chat.completion", "created": CREATED, "model": model,
           "choices": [{"index": 0, "message": message, "finish_reason": finish(turn), "logprobs": null}],
           "usage": usage(turn)})
}

/// The same answer as server-sent events, in as many pieces as a real model would send.
pub fn stream(id: &str, model: &str, turn: &ModelTurn, include_usage: bool) -> String {
    let mut events = String::new();
    let mut event = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({"id": id, "object": "chat.completion.chunk", "created": CREATED, "model": model,
                               "choices": choices});
        if include_usage {
            chunk["usage"] = usage.unwrap_or(Value::Null);
        }
        events.push_str(&format!("data: {chunk}\n\n"));
    };
    let delta = |delta: Value| json!([{"index": 0, "delta": delta, "finish_reason": null}]);
    event(delta(json!({"role": "assistant", "content": content(turn).as_str().map(|_| "")})), None);
    for piece in turn.text.split_inclusive(' ') {
        event(delta(json!({"content": piece})), None);
    }
    for (index, call) in turn.tool_calls.iter().enumerate() {
        event(
            delta(json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
                                         "function": {"name": call.name, "arguments": ""}}]})),
            None,
        );
        let arguments = Value::Object(call.arguments.clone()).to_string();
        for piece in arguments.split_inclusive(',') {
            event(delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})), None);
        }
    }
    event(json!([{"index": 0, "delta": {}, "finish_reason": finish(turn)}]), None);
    if include_usage {
        event(json!([]), Some(usage(turn)));
    }
    events.push_str("data: [DONE]\n\n");
    events
}

/// An error in the form that OpenAI's clients read.
pub fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        500..=599 => ("server_error", None),
        _ => ("invalid_request_error", None),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn content(turn: &ModelTurn) -> Value {
    if turn.text.is_empty() && !turn.tool_calls.is_empty() { Value::Null } else { turn.text.clone().into() }
}

fn finish(turn: &ModelTurn) -> &'static str {
    if turn.tool_calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage(turn: &ModelTurn) -> Value {
    let usage = turn.usage;
    json!({"prompt_tokens": usage.input, "completion_tokens": usage.output,
           "total_tokens": usage.input + usage.output})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::ToolCall;

    fn calling() -> ModelTurn {
        let arguments = json!({"guest": "Ada, Countess", "room": 12}).as_object().cloned().unwrap();
        let call = ToolCall { id: "call_1".into(), name: "create_booking".into(), arguments };
        ModelTurn { tool_calls: vec![call], ..ModelTurn::default() }
    }

    fn chunks(stream: &str) -> Vec<Value> {
        let lines = stream.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
        lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    #[test]
    fn a_stream_adds_up_to_the_whole() {
        let stream = stream("id", "naive", &calling(), true);
        assert!(stream.ends_with("data: [DONE]\n\n"));
        let chunks = chunks(&stream);
        let arguments: String = chunks
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str())
            .collect();
        let whole = whole("id", "naive", &calling());
        assert_eq!(whole.pointer("/choices/0/message/tool_calls/0/function/arguments").unwrap(), &arguments);
        assert_eq!(whole.pointer("/choices/0/finish_reason").unwrap(), "tool_calls");
        assert_eq!(chunks.last().unwrap()["usage"], whole["usage"]);
    }

    #[test]
    fn a_text_is_streamed_in_pieces() {
        let turn = ModelTurn { text: "one two three".into(), ..ModelTurn::default() };
        let chunks = chunks(&stream("id", "m", &turn, false));
        let texts: Vec<&str> =
            chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/content")?.as_str()).collect();
        assert_eq!(texts, ["", "one ", "two ", "three"]);
        assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
    }
}
