//! Anthropic Messages: `POST /v1/messages` and `/v1/messages/count_tokens`.

use super::ask::{self, Ask, arguments, list, result, system, text, word};
use super::protocol::{Answer, Event, Protocol, Route, Wanted};
use crate::harness::message::{Message, ToolCall, ToolSpec};
use crate::harness::model::ModelTurn;
use serde_json::{Value, json};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "messages",
    route: |path, _| {
        Route::ending(path, "/messages", "/v1", Wanted::Answer)
            .or_else(|| Route::ending(path, "/messages/count_tokens", "/v1", Wanted::Count))
    },
    read,
    whole,
    events,
    refusal,
    count: |words| json!({"input_tokens": words}),
};

fn read(body: &Value, _: &Route) -> Result<Ask, String> {
    let Some(list_of) = body.get("messages").and_then(Value::as_array) else {
        return Err("\"messages\" must be a list".to_owned());
    };
    let mut messages: Vec<Message> = system(text(body.get("system"))).into_iter().collect();
    list_of.iter().for_each(|value| read_message(value, &mut messages));
    let none = body.pointer("/tool_choice/type").and_then(Value::as_str) == Some("none");
    let tools = list(body.get("tools")).filter(|_| !none).filter_map(|tool| read_tool(tool, &messages));
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"));
    Ok(Ask {
        model: word(body, "model"),
        tools: tools.collect(),
        messages,
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        include_usage: true,
        seed: None,
        form: super::chat::form(format, "/schema"),
    })
}

fn read_message(value: &Value, into: &mut Vec<Message>) {
    let content = value.get("content");
    match value.get("role").and_then(Value::as_str) {
        Some("system") => into.extend(system(text(content))),
        Some("assistant") => {
            let calls = list(content).filter(|block| word(block, "type") == "tool_use").map(|block| {
                ToolCall::new(word(block, "id"), word(block, "name"), arguments(block.get("input")))
            });
            into.push(Message::Assistant { text: text(content), tool_calls: calls.collect() });
        }
        Some("user") => {
            let is_result = |block: &&Value| word(block, "type") == "tool_result";
            let results = list(content).filter(is_result);
            into.extend(results.map(|block| {
                let is_error = block.get("is_error").and_then(Value::as_bool);
                result(word(block, "tool_use_id"), &text(block.get("content")), is_error)
            }));
            // What the user says beside results comes after them.
            let said = text(content);
            if !said.is_empty() {
                into.push(Message::User { text: said });
            }
        }
        _ => {}
    }
}

/// A tool. A deferred one can be called once a search has named it; tools that the endpoint itself
/// would carry out have no schema, and are none of ours.
fn read_tool(value: &Value, messages: &[Message]) -> Option<ToolSpec> {
    value.get("input_schema")?;
    let tool = ask::tool(value, &["input_schema"])?;
    let deferred = value.get("defer_loading").and_then(Value::as_bool).unwrap_or(false);
    let named =
        |message: &Message| matches!(message, Message::ToolResult { text, .. } if text.contains(&tool.name));
    (!deferred || messages.iter().any(named)).then_some(tool)
}

fn blocks(turn: &ModelTurn) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !turn.text.is_empty() || turn.tool_calls.is_empty() {
        blocks.push(json!({"type": "text", "text": turn.text}));
    }
    blocks.extend(turn.tool_calls.iter().map(|call| {
        json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name, "input": call.arguments})
    }));
    blocks
}

fn stop(turn: &ModelTurn) -> &'static str {
    if turn.tool_calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn message(answer: &Answer<'_>) -> Value {
    let usage = answer.turn.usage;
    json!({"id": format!("msg_{:020}", answer.number), "type": "message", "role": "assistant",
           "model": answer.model, "content": blocks(answer.turn), "stop_reason": stop(answer.turn),
           "stop_sequence": null,
           "usage": {"input_tokens": usage.input, "cache_creation_input_tokens": 0,
                     "cache_read_input_tokens": 0, "output_tokens": usage.output}})
}

fn whole(answer: &Answer<'_>) -> Value {
    message(answer)
}

fn events(answer: &Answer<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        events.push(Event { name: Some(name), data: data.to_string() });
    };
    let mut start = message(answer);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = 0.into();
    event("message_start", json!({"message": start}));
    for (index, mut block) in blocks(answer.turn).into_iter().enumerate() {
        let whole = block.clone();
        let deltas: Vec<Value> = match whole.get("text").and_then(Value::as_str) {
            Some(text) => {
                block["text"] = "".into();
                text.split_inclusive(' ').map(|piece| json!({"type": "text_delta", "text": piece})).collect()
            }
            None => {
                block["input"] = json!({});
                let input = whole.get("input").map(Value::to_string).unwrap_or_default();
                input
                    .split_inclusive(',')
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .collect()
            }
        };
        event("content_block_start", json!({"index": index, "content_block": block}));
        for delta in deltas {
            event("content_block_delta", json!({"index": index, "delta": delta}));
        }
        event("content_block_stop", json!({"index": index}));
    }
    event(
        "message_delta",
        json!({"delta": {"stop_reason": stop(answer.turn), "stop_sequence": null},
               "usage": {"input_tokens": answer.turn.usage.input, "output_tokens": answer.turn.usage.output}}),
    );
    event("message_stop", json!({}));
    events
}

fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": null})
}

#[cfg(test)]
mod tests {
    use super::super::protocol::tests::{answer, calling, data, joined};
    use super::*;

    fn parse(body: &Value) -> Ask {
        read(body, &(PROTOCOL.route)("/v1/messages", "").unwrap()).unwrap()
    }

    #[test]
    fn results_come_before_what_the_user_says_beside_them() {
        let ask = parse(&json!({"model": "naive", "system": [{"type": "text", "text": "s"}], "messages": [
            {"role": "user", "content": "book"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {}}]},
            {"role": "user", "content": [
                {"type": "text", "text": "well"},
                {"type": "tool_result", "tool_use_id": "a", "content": "all is well", "is_error": true},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "Request timed out"}]}]},
            {"role": "system", "content": "later"}]}));
        assert_eq!(ask.messages[0], Message::System { text: "s".into() });
        assert!(matches!(&ask.messages[2], Message::Assistant { tool_calls, .. } if tool_calls.len() == 2));
        assert!(
            matches!(&ask.messages[3], Message::ToolResult { is_error: true, text, .. } if text == "all is well")
        );
        assert!(
            matches!(&ask.messages[4], Message::ToolResult { is_error: true, call_id, .. } if call_id == "b")
        );
        assert_eq!(ask.messages[5], Message::User { text: "well".into() });
        assert_eq!(ask.messages[6], Message::System { text: "later".into() });
    }

    #[test]
    fn a_deferred_tool_is_offered_once_a_search_has_named_it() {
        let mut body = json!({"model": "naive", "messages": [], "tools": [
            {"name": "f", "defer_loading": true, "input_schema": {"type": "object"}},
            {"type": "web_search_20260101", "name": "web_search"}]});
        assert!(parse(&body).tools.is_empty());
        body["messages"] = json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a",
            "content": [{"type": "tool_reference", "tool_name": "f"}]}]}]);
        assert_eq!(parse(&body).tools[0].name, "f");
    }

    #[test]
    fn a_stream_adds_up_to_the_whole() {
        let turn = calling();
        let (data, whole) = (data(&events(&answer(&turn))), whole(&answer(&turn)));
        assert_eq!(joined(&data, "/delta/text"), whole["content"][0]["text"].as_str().unwrap());
        let first: Vec<Value> = data.iter().filter(|event| event["index"] == 1).cloned().collect();
        let input: Value = serde_json::from_str(&joined(&first, "/delta/partial_json")).unwrap();
        assert_eq!(input, whole["content"][1]["input"]);
        assert_eq!(whole["content"][2]["id"], "toolu_call_2");
        assert_eq!(
            (&data[0]["type"], &data.last().unwrap()["type"]),
            (&json!("message_start"), &json!("message_stop"))
        );
        assert_eq!(data[data.len() - 2]["delta"]["stop_reason"], whole["stop_reason"]);
    }
}
