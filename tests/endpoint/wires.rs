//! The protocols as their clients write and read them.

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub text: String,
    pub calls: Vec<Call>,
    pub input: u64,
    pub output: u64,
}

/// A conversation without its protocol.
pub struct Chat {
    system: String,
    pub tools: bool,
    pub form: Option<Value>,
    said: Vec<Said>,
}

enum Said {
    User(String),
    Model(Turn),
    Result { call: Call, text: String, is_error: bool },
}

impl Chat {
    pub fn new(system: &str, prompt: &str) -> Chat {
        Chat { system: system.into(), tools: true, form: None, said: vec![Said::User(prompt.into())] }
    }

    pub fn user(&mut self, text: &str) {
        self.said.push(Said::User(text.into()));
    }

    pub fn answered(&mut self, turn: &Turn) {
        self.said.push(Said::Model(turn.clone()));
    }

    pub fn result(&mut self, call: &Call, text: &str, is_error: bool) {
        self.said.push(Said::Result { call: call.clone(), text: text.into(), is_error });
    }

    pub fn calls_at_once(&mut self, write: &str, read: &str) -> Vec<Call> {
        let call = |id: &str, name: &str, arguments| Call { id: id.into(), name: name.into(), arguments };
        let calls = vec![
            call("one", write, json!({"guest": "Grace Hopper", "room": 14, "date": "2027-01-01"})),
            call("two", read, json!({"guest": "Grace Hopper"})),
        ];
        self.answered(&Turn { calls: calls.clone(), ..Turn::default() });
        calls
    }
}

pub fn schema() -> Value {
    json!({"type": "object", "required": ["guest", "room", "date"], "properties": {
        "guest": {"type": "string"}, "room": {"type": "integer"}, "date": {"type": "string", "format": "date"}}})
}

fn find_schema() -> Value {
    json!({"type": "object", "properties": {"guest": {"type": "string"}, "date": {"type": "string"}}})
}

pub struct Wire {
    pub name: &'static str,
    /// The write tool as calls name it.
    pub tool: &'static str,
    /// Whether results have an error flag.
    pub flags: bool,
    /// What only a finished answer has.
    pub end: &'static str,
    pub path: fn(&str, bool) -> String,
    pub body: fn(&Chat, &str, bool) -> Value,
    pub whole: fn(&Value) -> Turn,
    pub streamed: fn(&[Value]) -> Turn,
}

pub const WIRES: [Wire; 4] = [
    Wire {
        name: "chat",
        tool: "mcp__booking__create_booking",
        flags: false,
        end: "usage\":{",
        path: |_, _| "/v1/chat/completions".into(),
        body: chat_body,
        whole: |answer| chat_turn(&answer["choices"][0]["message"], &answer["usage"]),
        streamed: chat_streamed,
    },
    Wire {
        name: "responses",
        tool: "mcp__booking/create_booking",
        flags: true,
        end: "response.completed",
        path: |_, _| "/v1/responses".into(),
        body: responses_body,
        whole: responses_turn,
        streamed: |events| responses_turn(&events.last().unwrap()["response"]),
    },
    Wire {
        name: "messages",
        tool: "mcp__booking__create_booking",
        flags: true,
        end: "message_stop",
        path: |_, _| "/v1/messages?beta=true".into(),
        body: messages_body,
        whole: |answer| messages_turn(&answer["content"], &answer["usage"]),
        streamed: messages_streamed,
    },
    Wire {
        name: "gemini",
        tool: "mcp_booking_create_booking",
        flags: true,
        end: "finishReason",
        path: |model, stream| {
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            format!("/v1beta/models/{model}:{method}")
        },
        body: gemini_body,
        whole: |answer| gemini_streamed(std::slice::from_ref(answer)),
        streamed: gemini_streamed,
    },
];

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn with(mut body: Value, name: &str, value: Option<Value>) -> Value {
    if let Some(value) = value {
        body[name] = value;
    }
    body
}

fn chat_body(chat: &Chat, model: &str, stream: bool) -> Value {
    let mut messages = vec![json!({"role": "system", "content": chat.system})];
    messages.extend(chat.said.iter().map(|said| match said {
        Said::User(text) => json!({"role": "user", "content": text}),
        Said::Model(turn) => {
            let calls: Vec<Value> = turn
                .calls
                .iter()
                .map(|call| {
                    json!({"id": call.id, "type": "function",
                           "function": {"name": call.name, "arguments": call.arguments.to_string()}})
                })
                .collect();
            let message = json!({"role": "assistant", "content": turn.text});
            with(message, "tool_calls", (!calls.is_empty()).then(|| calls.into()))
        }
        Said::Result { call, text, .. } => json!({"role": "tool", "tool_call_id": call.id, "content": text}),
    }));
    let tool =
        |name: &str, schema| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let tools = json!([
        tool("bash", json!({"type": "object"})),
        tool("mcp__booking__create_booking", schema()),
        tool("mcp__booking__find_bookings", find_schema())
    ]);
    let body = json!({"model": model, "messages": messages, "stream": stream,
                      "stream_options": {"include_usage": true}});
    let form =
        |schema: &Value| json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    with(with(body, "tools", chat.tools.then_some(tools)), "response_format", chat.form.as_ref().map(form))
}

fn chat_turn(message: &Value, usage: &Value) -> Turn {
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| Call {
        id: text(&call["id"]),
        name: text(&call["function"]["name"]),
        arguments: serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap(),
    });
    Turn {
        text: text(&message["content"]),
        calls: calls.collect(),
        input: number(&usage["prompt_tokens"]),
        output: number(&usage["completion_tokens"]),
    }
}

fn chat_streamed(events: &[Value]) -> Turn {
    let mut calls: Vec<Value> = Vec::new();
    let mut content = String::new();
    for event in events {
        let delta = &event["choices"][0]["delta"];
        content.push_str(delta["content"].as_str().unwrap_or_default());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            match calls.get_mut(number(&piece["index"]) as usize) {
                None => calls.push(piece.clone()),
                Some(call) => {
                    let whole = text(&call["function"]["arguments"])
                        + piece["function"]["arguments"].as_str().unwrap();
                    call["function"]["arguments"] = whole.into();
                }
            }
        }
    }
    chat_turn(&json!({"content": content, "tool_calls": calls}), &events.last().unwrap()["usage"])
}

fn responses_body(chat: &Chat, model: &str, stream: bool) -> Value {
    let mut input = vec![
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": chat.system}]}),
        json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>\n<date>2020-01-01</date>\n</environment_context>"}]}),
    ];
    for said in &chat.said {
        match said {
            Said::User(text) => input.push(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}),
            ),
            Said::Model(turn) => {
                if !turn.text.is_empty() {
                    input.push(json!({"type": "message", "role": "assistant", "content": [
                        {"type": "output_text", "text": turn.text}]}));
                }
                input.extend(turn.calls.iter().map(|call| {
                    let (space, name) =
                        call.name.split_once('/').unwrap_or(("mcp__booking", "find_bookings"));
                    json!({"type": "function_call", "call_id": call.id, "namespace": space, "name": name,
                           "arguments": call.arguments.to_string()})
                }));
            }
            Said::Result { call, text, is_error } => input.push(json!({"type": "function_call_output",
                "call_id": call.id, "output": {"content": text, "success": !is_error}})),
        }
    }
    let tools = json!([
        {"type": "function", "name": "exec_command", "parameters": {"type": "object"}},
        {"type": "web_search"},
        {"type": "namespace", "name": "mcp__booking", "description": "x", "tools": [
            {"type": "function", "name": "create_booking", "parameters": schema()},
            {"type": "function", "name": "find_bookings", "parameters": find_schema()}]}]);
    let body = json!({"model": model, "instructions": "You are an agent.", "input": input, "stream": stream, "store": false});
    let form = |schema: &Value| json!({"format": {"type": "json_schema", "name": "x", "schema": schema}});
    with(with(body, "tools", chat.tools.then_some(tools)), "text", chat.form.as_ref().map(form))
}

fn responses_turn(response: &Value) -> Turn {
    let mut turn = Turn {
        input: number(&response["usage"]["input_tokens"]),
        output: number(&response["usage"]["output_tokens"]),
        ..Turn::default()
    };
    for item in response["output"].as_array().unwrap() {
        match item["type"].as_str().unwrap() {
            "message" => turn.text.push_str(item["content"][0]["text"].as_str().unwrap()),
            _ => turn.calls.push(Call {
                id: text(&item["call_id"]),
                name: format!("{}/{}", text(&item["namespace"]), text(&item["name"])),
                arguments: serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
            }),
        }
    }
    turn
}

fn messages_body(chat: &Chat, model: &str, stream: bool) -> Value {
    let messages: Vec<Value> = chat
        .said
        .iter()
        .map(|said| match said {
            Said::User(text) => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
            Said::Model(turn) => {
                let mut blocks = vec![json!({"type": "text", "text": turn.text})];
                blocks.extend(turn.calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
                }));
                json!({"role": "assistant", "content": blocks})
            }
            Said::Result { call, text, is_error } => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call.id, "is_error": is_error,
                 "content": [{"type": "text", "text": text}]}]}),
        })
        .collect();
    let tools = json!([
        {"name": "Write", "input_schema": {"type": "object"}},
        {"name": "mcp__booking__create_booking", "input_schema": schema()},
        {"name": "mcp__booking__find_bookings", "input_schema": find_schema()}]);
    let body = json!({"model": model, "system": [{"type": "text", "text": chat.system}], "messages": messages,
                      "max_tokens": 1000, "stream": stream, "thinking": {"type": "adaptive"}});
    let form = |schema: &Value| json!({"format": {"type": "json_schema", "schema": schema}});
    with(with(body, "tools", chat.tools.then_some(tools)), "output_config", chat.form.as_ref().map(form))
}

fn messages_turn(content: &Value, usage: &Value) -> Turn {
    let mut turn = Turn {
        input: number(&usage["input_tokens"]),
        output: number(&usage["output_tokens"]),
        ..Turn::default()
    };
    for block in content.as_array().unwrap() {
        match block["type"].as_str().unwrap() {
            "text" => turn.text.push_str(block["text"].as_str().unwrap()),
            _ => turn.calls.push(Call {
                id: text(&block["id"]),
                name: text(&block["name"]),
                arguments: block["input"].clone(),
            }),
        }
    }
    turn
}

fn messages_streamed(events: &[Value]) -> Turn {
    let mut blocks: Vec<Value> = Vec::new();
    let mut json_text = String::new();
    let mut usage = Value::Null;
    for event in events {
        match event["type"].as_str().unwrap() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                json_text.push_str(event["delta"]["partial_json"].as_str().unwrap_or_default());
                if let Some(piece) = event["delta"]["text"].as_str() {
                    let block = blocks.last_mut().unwrap();
                    block["text"] = (text(&block["text"]) + piece).into();
                }
            }
            "content_block_stop" if !json_text.is_empty() => {
                blocks.last_mut().unwrap()["input"] = serde_json::from_str(&json_text).unwrap();
                json_text.clear();
            }
            "message_delta" => usage = event["usage"].clone(),
            _ => {}
        }
    }
    messages_turn(&blocks.into(), &usage)
}

fn gemini_body(chat: &Chat, _: &str, _: bool) -> Value {
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": "<session_context>\nToday is 2020-01-01.\n</session_context>"}]}),
    ];
    contents.extend(chat.said.iter().map(|said| match said {
        Said::User(text) => json!({"role": "user", "parts": [{"text": text}]}),
        Said::Model(turn) => {
            let mut parts = Vec::new();
            if !turn.text.is_empty() {
                parts.push(json!({"text": turn.text}));
            }
            parts.extend(turn.calls.iter().map(
                |call| json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}),
            ));
            json!({"role": "model", "parts": parts})
        }
        Said::Result { call, text, is_error } => {
            let field = if *is_error { "error" } else { "output" };
            json!({"role": "user", "parts": [{"functionResponse": {
                "id": call.id, "name": call.name, "response": {field: text}}}]})
        }
    }));
    let tools = json!([{"functionDeclarations": [
        {"name": "run_shell_command", "parametersJsonSchema": {"type": "object"}},
        {"name": "mcp_booking_create_booking", "parametersJsonSchema": schema()},
        {"name": "mcp_booking_find_bookings", "parameters": {"type": "OBJECT", "properties": {
            "guest": {"type": "STRING"}}}}]}]);
    let body = json!({"contents": contents, "systemInstruction": {"role": "user", "parts": [{"text": chat.system}]}});
    let form = |schema: &Value| json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    with(with(body, "tools", chat.tools.then_some(tools)), "generationConfig", chat.form.as_ref().map(form))
}

fn gemini_streamed(chunks: &[Value]) -> Turn {
    let mut turn = Turn::default();
    for chunk in chunks {
        for part in chunk["candidates"][0]["content"]["parts"].as_array().unwrap() {
            turn.text.push_str(part["text"].as_str().unwrap_or_default());
            if let Some(call) = part.get("functionCall") {
                turn.calls.push(Call {
                    id: text(&call["id"]),
                    name: text(&call["name"]),
                    arguments: call["args"].clone(),
                });
            }
        }
        turn.input = number(&chunk["usageMetadata"]["promptTokenCount"]);
        turn.output = number(&chunk["usageMetadata"]["candidatesTokenCount"]);
    }
    turn
}
