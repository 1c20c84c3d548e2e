//! OpenAI Chat Completions: `POST /v1/chat/completions`.

use super::ask::{self, Ask, arguments, list, result, text, word};
use super::protocol::{Answer, Event, Protocol, Route, Wanted};
use crate::harness::message::{Message, ToolCall};
use crate::harness::model::ModelTurn;
use serde_json::{Value, json};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "chat",
    route: |path, _| Route::ending(path, "/chat/completions", "/v1", Wanted::Answer),
    read,
    whole,
    events,
    refusal,
    count: |words| json!({"total_tokens": words}),
};

/// There is no clock here, and no client reads it.
pub(super) const CREATED: u64 = 0;

fn read(body: &Value, _: &Route) -> Result<Ask, String> {
    let Some(messages) = body.get("messages").and_then(Value::as_array) else {
        return Err("\"messages\" must be a list".to_owned());
    };
    let none = body.get("tool_choice").and_then(Value::as_str) == Some("none");
    let tools = list(body.get("tools")).filter(|_| !none);
    let flag = |pointer: &str| body.pointer(pointer).and_then(Value::as_bool).unwrap_or(false);
    Ok(Ask {
        model: word(body, "model"),
        messages: messages.iter().filter_map(message).collect(),
        tools: tools.filter_map(|tool| ask::tool(tool.get("function")?, &["parameters"])).collect(),
        stream: flag("/stream"),
        include_usage: flag("/stream_options/include_usage"),
        seed: body.get("seed").and_then(Value::as_u64),
        form: form(body.get("response_format"), "/json_schema/schema"),
    })
}

/// The schema of an answer, where one is asked for; an empty one where it may be any object.
pub(super) fn form(format: Option<&Value>, schema: &str) -> Option<crate::harness::message::Object> {
    let format = format?;
    match format.get("type")?.as_str()? {
        "json_schema" => Some(format.pointer(schema)?.as_object()?.clone()),
        "json_object" => Some(Default::default()),
        _ => None,
    }
}

fn message(value: &Value) -> Option<Message> {
    let content = || text(value.get("content"));
    match value.get("role")?.as_str()? {
        "system" | "developer" => Some(Message::System { text: content() }),
        "user" => Some(Message::User { text: content() }),
        "assistant" => {
            let calls = list(value.get("tool_calls"));
            Some(Message::Assistant { text: content(), tool_calls: calls.filter_map(call).collect() })
        }
        // Chat Completions have no flag for a failed call.
        "tool" => Some(result(value.get("tool_call_id")?.as_str()?.to_owned(), &content(), None)),
        _ => None,
    }
}

fn call(value: &Value) -> Option<ToolCall> {
    let function = value.get("function")?;
    Some(ToolCall::new(
        value.get("id")?.as_str()?.to_owned(),
        function.get("name")?.as_str()?.to_owned(),
        arguments(function.get("arguments")),
    ))
}

fn id(answer: &Answer<'_>) -> String {
    format!("chatcmpl-{}", answer.number)
}

fn whole(answer: &Answer<'_>) -> Value {
    let turn = answer.turn;
    let mut message = json!({"role": "assistant", "content": content(turn), "refusal": null});
    if !turn.tool_calls.is_empty() {
        let calls = turn.tool_calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                   "function": {"name": call.name, "arguments": Value::Object(call.arguments.clone()).to_string()}})
        });
        message["tool_calls"] = calls.collect();
    }
    json!({"id": id(answer), "object": "chat.completion", "created": CREATED, "model": answer.model,
           "choices": [{"index": 0, "message": message, "finish_reason": finish(turn), "logprobs": null}],
           "usage": usage(turn)})
}

fn events(answer: &Answer<'_>) -> Vec<Event> {
    let (turn, id) = (answer.turn, id(answer));
    let mut events = Vec::new();
    let mut event = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({"id": id, "object": "chat.completion.chunk", "created": CREATED,
                               "model": answer.model, "choices": choices});
        if answer.include_usage {
            chunk["usage"] = usage.unwrap_or(Value::Null);
        }
        events.push(Event { name: None, data: chunk.to_string() });
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
    if answer.include_usage {
        event(json!([]), Some(usage(turn)));
    }
    events.push(Event { name: None, data: "[DONE]".to_owned() });
    events
}

/// An error in the form that OpenAI's clients read.
pub(super) fn refusal(status: u16, message: &str) -> Value {
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
    use super::super::protocol::tests::{answer, calling, data, joined};
    use super::*;

    fn parse(body: &Value) -> Result<Ask, String> {
        read(body, &(PROTOCOL.route)("/v1/chat/completions", "").unwrap())
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
        let result = |call_id: &str, text: &str, is_error| Message::ToolResult {
            call_id: call_id.into(),
            text: text.into(),
            is_error,
        };
        assert_eq!(request.messages[3], result("call_1", "Request timed out", true));
        assert_eq!(request.messages[4], result("call_2", "{\"a\":1}", false));
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
        assert_eq!(parse(&json!({"model": "m"})).unwrap_err(), "\"messages\" must be a list");
    }

    #[test]
    fn a_stream_adds_up_to_the_whole() {
        let turn = calling();
        let events = events(&answer(&turn));
        assert_eq!(events.last().unwrap().data, "[DONE]");
        let (chunks, whole) = (data(&events), whole(&answer(&turn)));
        let first: Vec<Value> = chunks
            .iter()
            .filter(|chunk| {
                chunk.pointer("/choices/0/delta/tool_calls/0/index").is_none_or(|index| *index == 0)
            })
            .cloned()
            .collect();
        let streamed = joined(&first, "/choices/0/delta/tool_calls/0/function/arguments");
        assert_eq!(whole.pointer("/choices/0/message/tool_calls/0/function/arguments").unwrap(), &streamed);
        assert_eq!(joined(&chunks, "/choices/0/delta/content"), "one two three");
        assert_eq!(whole.pointer("/choices/0/finish_reason").unwrap(), "tool_calls");
        assert_eq!(chunks.last().unwrap()["usage"], whole["usage"]);
        let without = PROTOCOL.events;
        let without = data(&without(&Answer { include_usage: false, ..answer(&turn) }));
        assert!(without.iter().all(|chunk| chunk.get("usage").is_none()));
    }
}
