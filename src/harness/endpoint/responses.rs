//! OpenAI Responses: `POST /v1/responses`.
//!
//! Tools may come in a `namespace`; here such a tool is called `NAMESPACE/NAME`, which no tool of
//! this protocol can be called by itself.

use super::ask::{self, Ask, arguments, list, result, system, text, word};
use super::chat::{CREATED, form, refusal};
use super::protocol::{Answer, Event, Protocol, Route, Wanted};
use crate::harness::message::{Message, ToolCall, ToolSpec};
use serde_json::{Value, json};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "responses",
    route: |path, _| Route::ending(path, "/responses", "/v1", Wanted::Answer),
    read,
    whole,
    events,
    refusal,
    count: |words| json!({"input_tokens": words}),
};

fn read(body: &Value, _: &Route) -> Result<Ask, String> {
    let mut messages: Vec<Message> = system(text(body.get("instructions"))).into_iter().collect();
    match body.get("input") {
        Some(Value::String(text)) => messages.push(Message::User { text: text.clone() }),
        Some(Value::Array(items)) => items.iter().for_each(|item| read_item(item, &mut messages)),
        _ => return Err("\"input\" must be a text or a list".to_owned()),
    }
    let none = body.get("tool_choice").and_then(Value::as_str) == Some("none");
    let mut tools = Vec::new();
    for value in list(body.get("tools")).filter(|_| !none) {
        match word(value, "type").as_str() {
            "namespace" => tools.extend(
                list(value.get("tools"))
                    .filter_map(read_tool)
                    .map(|tool| ToolSpec { name: format!("{}/{}", word(value, "name"), tool.name), ..tool }),
            ),
            "function" => tools.extend(read_tool(value)),
            // What the endpoint itself would carry out, and tools that take free text.
            _ => {}
        }
    }
    Ok(Ask {
        model: word(body, "model"),
        messages,
        tools,
        stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        include_usage: true,
        seed: body.get("seed").and_then(Value::as_u64),
        form: form(body.pointer("/text/format"), "/schema"),
    })
}

fn read_tool(value: &Value) -> Option<ToolSpec> {
    ask::tool(value, &["parameters", "input_schema"])
}

fn read_item(item: &Value, into: &mut Vec<Message>) {
    let content = || text(item.get("content"));
    match (word(item, "type").as_str(), word(item, "role").as_str()) {
        ("function_call", _) => {
            let name = match item.get("namespace").and_then(Value::as_str) {
                Some(namespace) if !namespace.is_empty() => format!("{namespace}/{}", word(item, "name")),
                _ => word(item, "name"),
            };
            let call = ToolCall::new(word(item, "call_id"), name, arguments(item.get("arguments")));
            // Calls that were asked for at once are items of their own here.
            match into.last_mut() {
                Some(Message::Assistant { tool_calls, .. }) => tool_calls.push(call),
                _ => into.push(Message::Assistant { text: String::new(), tool_calls: vec![call] }),
            }
        }
        ("function_call_output", _) => {
            let output = item.get("output");
            let flag = output.and_then(|output| output.get("success")).and_then(Value::as_bool);
            let content = match output {
                Some(Value::Object(fields)) => text(fields.get("content")),
                output => text(output),
            };
            into.push(result(word(item, "call_id"), unheaded(&content), flag.map(|success| !success)));
        }
        (_, "system" | "developer") => into.extend(system(content())),
        (_, "user") => into.push(Message::User { text: content() }),
        (_, "assistant") => into.push(Message::Assistant { text: content(), tool_calls: Vec::new() }),
        _ => {}
    }
}

/// An output without the lines about its duration that some programs put before it.
fn unheaded(output: &str) -> &str {
    match output.split_once("\nOutput:\n") {
        Some((head, rest)) if head.starts_with("Wall time") => rest,
        _ => output,
    }
}

/// Message and calls, each with the events that its stream has between `added` and `done`.
fn items(answer: &Answer<'_>) -> Vec<Value> {
    let (turn, number) = (answer.turn, answer.number);
    let mut items = Vec::new();
    if !turn.text.is_empty() || turn.tool_calls.is_empty() {
        items.push(json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]}));
    }
    items.extend(turn.tool_calls.iter().map(|call| {
        let mut item = json!({"type": "function_call", "id": format!("fc_{number}_{}", call.id), "call_id": call.id,
            "arguments": Value::Object(call.arguments.clone()).to_string(), "status": "completed"});
        match call.name.rsplit_once('/') {
            Some((namespace, name)) => {
                item["name"] = name.into();
                item["namespace"] = namespace.into();
            }
            None => item["name"] = call.name.as_str().into(),
        }
        item
    }));
    items
}

fn whole(answer: &Answer<'_>) -> Value {
    let usage = answer.turn.usage;
    json!({"id": format!("resp_{}", answer.number), "object": "response", "created_at": CREATED,
           "status": "completed", "model": answer.model, "output": items(answer),
           "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
           "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
           "usage": {"input_tokens": usage.input, "input_tokens_details": {"cached_tokens": 0},
                     "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
                     "total_tokens": usage.input + usage.output}})
}

fn events(answer: &Answer<'_>) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        data["sequence_number"] = events.len().into();
        events.push(Event { name: Some(name), data: data.to_string() });
    };
    let whole = whole(answer);
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    event("response.created", json!({"response": begun}));
    event("response.in_progress", json!({"response": begun}));
    for (index, item) in items(answer).into_iter().enumerate() {
        let at = |mut data: Value| {
            data["item_id"] = item["id"].clone();
            data["output_index"] = index.into();
            data
        };
        let mut added = item.clone();
        added["status"] = "in_progress".into();
        if item["type"] == "message" {
            added["content"] = json!([]);
            event("response.output_item.added", json!({"output_index": index, "item": added}));
            let text = answer.turn.text.as_str();
            let part =
                |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
            event("response.content_part.added", at(json!({"content_index": 0, "part": part("")})));
            for piece in text.split_inclusive(' ') {
                let delta = json!({"content_index": 0, "delta": piece, "logprobs": []});
                event("response.output_text.delta", at(delta));
            }
            let done = json!({"content_index": 0, "text": text, "logprobs": []});
            event("response.output_text.done", at(done));
            event("response.content_part.done", at(json!({"content_index": 0, "part": part(text)})));
        } else {
            added["arguments"] = "".into();
            event("response.output_item.added", json!({"output_index": index, "item": added}));
            let arguments = word(&item, "arguments");
            for piece in arguments.split_inclusive(',') {
                event("response.function_call_arguments.delta", at(json!({"delta": piece})));
            }
            let done = json!({"name": item["name"], "arguments": arguments});
            event("response.function_call_arguments.done", at(done));
        }
        event("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    event("response.completed", json!({"response": whole}));
    events
}

#[cfg(test)]
mod tests {
    use super::super::protocol::tests::{answer, calling, data, joined};
    use super::*;

    fn parse(body: &Value) -> Ask {
        read(body, &(PROTOCOL.route)("/v1/responses", "").unwrap()).unwrap()
    }

    #[test]
    fn items_become_messages_and_calls_at_once_one_message() {
        let ask = parse(&json!({"model": "naive", "instructions": "i", "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "patch"}]},
            {"role": "user", "content": "book"},
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "a", "name": "f", "namespace": "mcp__x", "arguments": "{\"x\":1}"},
            {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "Wall time: 0.1 seconds\nOutput:\n[{\"type\":\"text\",\"text\":\"Request timed out\"}]"},
            {"type": "function_call_output", "call_id": "b", "output": {"content": "fine", "success": false}}]}));
        assert_eq!(ask.messages[1], Message::System { text: "patch".into() });
        assert!(matches!(&ask.messages[3], Message::Assistant { tool_calls, .. }
            if tool_calls[0].name == "mcp__x/f" && tool_calls[1].name == "g"));
        assert!(
            matches!(&ask.messages[4], Message::ToolResult { is_error: true, text, .. } if text == "Request timed out")
        );
        assert!(
            matches!(&ask.messages[5], Message::ToolResult { is_error: true, text, .. } if text == "fine")
        );
    }

    #[test]
    fn a_namespace_goes_there_and_back() {
        let ask = parse(&json!({"model": "naive", "input": "book", "tools": [
            {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]},
            {"type": "web_search"}, {"type": "function", "name": "g"}]}));
        assert_eq!(ask.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["mcp__x/f", "g"]);
        let mut turn = calling();
        turn.tool_calls[0].name = "mcp__x/f".into();
        let whole = whole(&answer(&turn));
        assert_eq!(whole["output"][1]["name"], "f");
        assert_eq!(whole["output"][1]["namespace"], "mcp__x");
        assert!(whole["output"][2].get("namespace").is_none());
    }

    #[test]
    fn a_stream_adds_up_to_the_whole() {
        let turn = calling();
        let (data, whole) = (data(&events(&answer(&turn))), whole(&answer(&turn)));
        assert_eq!(data.last().unwrap()["response"], whole);
        let of = |kind: &str, index: u64| -> Vec<Value> {
            let fits = |event: &&Value| event["type"] == kind && event["output_index"] == index;
            data.iter().filter(fits).cloned().collect()
        };
        assert_eq!(joined(&of("response.output_text.delta", 0), "/delta"), turn.text);
        assert_eq!(
            joined(&of("response.function_call_arguments.delta", 1), "/delta"),
            whole["output"][1]["arguments"].as_str().unwrap()
        );
        assert_eq!(of("response.output_item.done", 2)[0]["item"], whole["output"][2]);
        let numbers: Vec<u64> = data.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, (0..data.len() as u64).collect::<Vec<_>>());
    }
}
