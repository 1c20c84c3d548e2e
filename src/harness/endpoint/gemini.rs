//! Gemini: `POST /v1beta/models/MODEL:generateContent`, `:streamGenerateContent`, `:countTokens`.

use super::ask::{self, Ask, arguments, list, result, system, text, word};
use super::protocol::{Answer, Event, Protocol, Route, Wanted};
use crate::domain::percent_decoded;
use crate::harness::message::{Message, Object, ToolCall, ToolSpec};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    route,
    read,
    whole,
    events,
    refusal,
    count: |words| json!({"totalTokens": words}),
};

fn route(path: &str, query: &str) -> Option<Route> {
    let (before, after) = path.rsplit_once("/models/")?;
    let (model, method) = after.rsplit_once(':')?;
    let (wanted, stream) = match method {
        "generateContent" => (Wanted::Answer, false),
        "streamGenerateContent" => (Wanted::Answer, true),
        "countTokens" => (Wanted::Count, false),
        _ => return None,
    };
    let prefix = ["/v1beta", "/v1alpha", "/v1"].iter().find_map(|version| before.strip_suffix(version));
    Some(Route {
        prefix: prefix.unwrap_or(before).to_owned(),
        wanted,
        model: Some(percent_decoded(model)),
        stream: Some(stream),
        as_list: !query.split('&').any(|pair| pair == "alt=sse"),
    })
}

/// The field under one of the two ways in which clients spell names.
fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

fn read(body: &Value, route: &Route) -> Result<Ask, String> {
    // A count may hold the request in a field of its own.
    let body = body.get("generateContentRequest").unwrap_or(body);
    let contents: Vec<&Value> = match body.get("contents") {
        Some(Value::Array(contents)) => contents.iter().collect(),
        Some(content @ Value::Object(_)) => vec![content],
        _ => return Err("\"contents\" must be a list".to_owned()),
    };
    let instruction = field(body, "systemInstruction", "system_instruction");
    let instruction = instruction
        .map(|content| content.get("parts").map_or(text(Some(content)), |parts| text(Some(parts))));
    let mut messages: Vec<Message> = instruction.and_then(system).into_iter().collect();
    let mut ids = Ids::default();
    contents.iter().for_each(|content| read_content(content, &mut ids, &mut messages));
    let mode = field(body, "toolConfig", "tool_config")
        .and_then(|config| field(config, "functionCallingConfig", "function_calling_config"))
        .map(|config| word(config, "mode"));
    let none = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("none"));
    let tools = list(body.get("tools"))
        .filter(|_| !none)
        .flat_map(|tool| list(field(tool, "functionDeclarations", "function_declarations")));
    let config = field(body, "generationConfig", "generation_config");
    Ok(Ask {
        model: route.model.clone().unwrap_or_default(),
        messages,
        tools: tools.filter_map(read_tool).collect(),
        stream: route.stream.unwrap_or(false),
        include_usage: true,
        seed: config.and_then(|config| config.get("seed")).and_then(Value::as_u64),
        form: config.and_then(read_form),
    })
}

fn read_tool(value: &Value) -> Option<ToolSpec> {
    let names = ["parametersJsonSchema", "parameters_json_schema", "parameters"];
    let tool = ask::tool(value, &names)?;
    Some(ToolSpec { input_schema: lower_types(tool.input_schema), ..tool })
}

fn read_form(config: &Value) -> Option<Object> {
    let names = [
        "responseJsonSchema",
        "response_json_schema",
        "responseSchema",
        "response_schema",
        "_responseJsonSchema",
    ];
    let schema = names.iter().find_map(|name| config.get(*name)?.as_object().cloned());
    let json = field(config, "responseMimeType", "response_mime_type").and_then(Value::as_str)
        == Some("application/json");
    schema.or_else(|| json.then(Object::new)).map(lower_types)
}

/// `OBJECT` is `object` in JSON Schema.
fn lower_types(schema: Object) -> Object {
    let mut whole = Value::Object(schema);
    let mut open = vec![&mut whole];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if name == "type" => *text = text.to_lowercase(),
                        value => open.push(value),
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    match whole {
        Value::Object(schema) => schema,
        _ => Object::new(),
    }
}

/// The ids of calls. They are optional here; without them results follow in the order of calls.
#[derive(Default)]
struct Ids {
    calls: usize,
    open: HashMap<String, VecDeque<String>>,
}

impl Ids {
    fn of_call(&mut self, call: &Value) -> String {
        self.calls += 1;
        let id = match word(call, "id") {
            id if id.is_empty() => format!("unnamed_{}", self.calls),
            id => id,
        };
        self.open.entry(word(call, "name")).or_default().push_back(id.clone());
        id
    }

    fn of_response(&mut self, response: &Value) -> String {
        let open = self.open.entry(word(response, "name")).or_default();
        match word(response, "id") {
            id if id.is_empty() => open.pop_front().unwrap_or_default(),
            id => {
                open.retain(|other| *other != id);
                id
            }
        }
    }
}

fn read_content(content: &Value, ids: &mut Ids, into: &mut Vec<Message>) {
    let parts: Vec<&Value> = list(content.get("parts"))
        .filter(|part| part.get("thought").and_then(Value::as_bool) != Some(true))
        .collect();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    let said = texts.join("\n");
    if word(content, "role") == "model" {
        let calls = parts.iter().filter_map(|part| field(part, "functionCall", "function_call"));
        let calls = calls
            .map(|call| ToolCall::new(ids.of_call(call), word(call, "name"), arguments(call.get("args"))));
        into.push(Message::Assistant { text: said, tool_calls: calls.collect() });
        return;
    }
    for response in parts.iter().filter_map(|part| field(part, "functionResponse", "function_response")) {
        let (content, is_error) = read_response(response.get("response"));
        into.push(result(ids.of_response(response), &content, is_error));
    }
    if !said.is_empty() {
        into.push(Message::User { text: said });
    }
}

/// What a function answered, and whether that is an error, where it is told.
fn read_response(response: Option<&Value>) -> (String, Option<bool>) {
    let Some(Value::Object(fields)) = response else { return (text(response), None) };
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if let Some(error) = fields.get("error").filter(|error| !error.is_null()) {
        return (plain(error), Some(true));
    }
    let only = ["output", "result", "content"].iter().find_map(|name| fields.get(*name));
    (only.map_or_else(|| Value::Object(fields.clone()).to_string(), plain), None)
}

fn chunk(answer: &Answer<'_>, parts: &[Value], last: bool) -> Value {
    let usage = answer.turn.usage;
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({"candidates": [candidate], "modelVersion": answer.model,
           "responseId": format!("response-{}", answer.number),
           "usageMetadata": {"promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
                             "totalTokenCount": usage.input + usage.output}})
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    let call =
        |call: &ToolCall| json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
    answer.turn.tool_calls.iter().map(call).collect()
}

fn whole(answer: &Answer<'_>) -> Value {
    let mut parts = Vec::new();
    if !answer.turn.text.is_empty() || answer.turn.tool_calls.is_empty() {
        parts.push(json!({"text": answer.turn.text}));
    }
    parts.extend(calls(answer));
    chunk(answer, &parts, true)
}

fn events(answer: &Answer<'_>) -> Vec<Event> {
    let mut parts: Vec<Vec<Value>> =
        answer.turn.text.split_inclusive(' ').map(|piece| vec![json!({"text": piece})]).collect();
    // Calls are never in pieces here.
    if !answer.turn.tool_calls.is_empty() {
        parts.push(calls(answer));
    }
    if parts.is_empty() {
        parts.push(vec![json!({"text": ""})]);
    }
    let last = parts.len() - 1;
    let event = |(at, parts): (usize, &Vec<Value>)| Event {
        name: None,
        data: chunk(answer, parts, at == last).to_string(),
    };
    parts.iter().enumerate().map(event).collect()
}

fn refusal(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        500..=599 => "INTERNAL",
        _ => "FAILED_PRECONDITION",
    };
    json!({"error": {"code": status, "message": message, "status": name}})
}

#[cfg(test)]
mod tests {
    use super::super::protocol::tests::{answer, calling, data, joined};
    use super::*;

    fn parse(body: &Value) -> Ask {
        read(body, &route("/v1beta/models/script%3Anaive:generateContent", "").unwrap()).unwrap()
    }

    #[test]
    fn the_model_and_the_stream_stand_in_the_path() {
        let route = route("/v1beta/models/script%3Anaive:streamGenerateContent", "key=x&alt=sse").unwrap();
        assert_eq!(
            (route.model.as_deref(), route.stream, route.as_list),
            (Some("script:naive"), Some(true), false)
        );
    }

    #[test]
    fn results_without_ids_follow_in_the_order_of_their_calls() {
        let ask = parse(&json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [
            {"role": "user", "parts": [{"text": "book"}]},
            {"role": "model", "parts": [{"thought": true, "text": "hm"},
                {"functionCall": {"name": "f", "args": {"x": 1}}}, {"functionCall": {"name": "f", "args": {"x": 2}}},
                {"functionCall": {"id": "own", "name": "g", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "{\"a\":1}"}}},
                {"functionResponse": {"name": "f", "response": {"error": "all is well"}}},
                {"functionResponse": {"id": "own", "name": "g", "response": {"output": "Request timed out"}}}]}]}));
        assert_eq!(ask.messages[0], Message::System { text: "s".into() });
        let Message::Assistant { tool_calls, text } = &ask.messages[2] else { panic!() };
        assert_eq!(text, "");
        let results: Vec<(&str, bool)> = ask.messages[3..]
            .iter()
            .filter_map(|message| match message {
                Message::ToolResult { call_id, is_error, .. } => Some((call_id.as_str(), *is_error)),
                _ => None,
            })
            .collect();
        assert_eq!(results, [(tool_calls[0].id.as_str(), false), (&tool_calls[1].id, true), ("own", true)]);
    }

    #[test]
    fn types_in_capitals_are_those_of_json_schema() {
        let ask = parse(&json!({"contents": {"parts": [{"text": "x"}]}, "tools": [{"functionDeclarations": [
            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"room": {"type": "INTEGER"}}}}]}],
            "generationConfig": {"responseMimeType": "application/json"}}));
        assert_eq!(ask.tools[0].input_schema["properties"]["room"]["type"], "integer");
        assert_eq!(ask.form, Some(Object::new()));
    }

    #[test]
    fn a_stream_adds_up_to_the_whole() {
        let turn = calling();
        let (data, whole) = (data(&events(&answer(&turn))), whole(&answer(&turn)));
        let parts = whole.pointer("/candidates/0/content/parts").unwrap();
        assert_eq!(joined(&data, "/candidates/0/content/parts/0/text"), parts[0]["text"].as_str().unwrap());
        let last = data.last().unwrap();
        assert_eq!(last.pointer("/candidates/0/content/parts").unwrap()[0], parts[1]);
        assert_eq!(last.pointer("/candidates/0/finishReason").unwrap(), "STOP");
        assert_eq!(last["usageMetadata"], whole["usageMetadata"]);
    }
}
