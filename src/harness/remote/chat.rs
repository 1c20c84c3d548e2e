//! OpenAI Chat Completions: `POST …/chat/completions`.

use super::refusal;
use super::{Assembly, Key, Settings, Wire, number, words};
use crate::harness::endpoint::ask::list;
use crate::harness::message::{Message, ToolCall, ToolSpec};
use crate::harness::model::{Consumption, ModelError, ModelTurn, Request, Stop, Unit};
use serde_json::{Map, Value, json};

pub(super) const WIRE: Wire = Wire {
    path: |_, _| "/chat/completions".to_owned(),
    headers: |key| match key {
        Key::None => Vec::new(),
        Key::Own(key) | Key::Bearer(key) => vec![("authorization", format!("Bearer {key}"))],
    },
    write,
    read,
    assemble: || Box::new(Assembling::default()),
};

fn write(request: &Request<'_>, model: &str, settings: &Settings) -> Value {
    let mut body =
        json!({"model": model, "messages": request.messages.iter().map(message).collect::<Vec<_>>()});
    super::common(&mut body, request, settings, tool);
    if settings.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(seed) = settings.seed {
        // Servers read it into 32 bits, with a sign.
        body["seed"] = (seed & 0x7fff_ffff).into();
    }
    if let Some(most) = settings.max_tokens {
        body["max_tokens"] = most.into();
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema}})
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, tool_calls } => {
            let content = if text.is_empty() { Value::Null } else { text.as_str().into() };
            let calls: Vec<Value> = tool_calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        // There is no flag for a failed call here.
        Message::ToolResult { call_id, text, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

/// Arguments that could not be read go back as none: servers that take them apart refuse the
/// whole conversation otherwise.
fn call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn read(body: &Value) -> Result<ModelTurn, String> {
    let message = body.pointer("/choices/0/message").ok_or("it has no choices")?;
    let calls = list(message.get("tool_calls")).map(|call| {
        let (id, name) = (words(call, "/id").to_owned(), words(call, "/function/name").to_owned());
        match call.pointer("/function/arguments") {
            Some(Value::String(text)) => ToolCall::from_text(id, name, text),
            arguments => super::call_of_object(&id, &name, arguments),
        }
    });
    let text = match words(message, "/content") {
        "" => words(message, "/refusal"),
        text => text,
    };
    Ok(ModelTurn {
        text: text.to_owned(),
        tool_calls: calls.collect(),
        stop: match words(body, "/choices/0/finish_reason") {
            "length" => Stop::Length,
            "content_filter" => Stop::Withheld,
            _ => Stop::Done,
        },
        usage: Consumption {
            input: number(body, "/usage/prompt_tokens"),
            output: number(body, "/usage/completion_tokens"),
            cached: number(body, "/usage/prompt_tokens_details/cached_tokens"),
            answers: 1,
            retries: 0,
            unit: Unit::Tokens,
        },
    })
}

/// A whole answer in the making.
#[derive(Default)]
struct Assembling {
    content: String,
    refusal: String,
    calls: Vec<Piece>,
    finish: Option<String>,
    usage: Value,
}

#[derive(Default)]
struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Assembling {
    /// The call that a delta belongs to. Some servers number every call 0, or none: an id that was
    /// not there yet begins a new one.
    fn piece(&mut self, delta: &Value) -> Option<&mut Piece> {
        let (index, id) = (delta.get("index").and_then(Value::as_u64), words(delta, "/id"));
        let known = self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id),
            None => id.is_empty() || call.id == id,
        });
        let at = match known {
            Some(at) => at,
            None => {
                self.calls.push(Piece { index, ..Piece::default() });
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at)
    }

    fn call(&mut self, delta: &Value) {
        let Some(piece) = self.piece(delta) else { return };
        if piece.id.is_empty() {
            piece.id = words(delta, "/id").to_owned();
        }
        if piece.name.is_empty() {
            piece.name = words(delta, "/function/name").to_owned();
        }
        match delta.pointer("/function/arguments") {
            Some(Value::String(text)) => piece.arguments.push_str(text),
            Some(whole @ Value::Object(_)) => piece.arguments = whole.to_string(),
            _ => {}
        }
    }
}

impl Assembly for Assembling {
    fn event(&mut self, data: &Value) -> Result<String, ModelError> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::in_stream(error));
        }
        if let Some(usage) = data.get("usage").filter(|usage| usage.is_object()) {
            self.usage = usage.clone();
        }
        let Some(choice) = data.pointer("/choices/0") else { return Ok(String::new()) };
        let piece = words(choice, "/delta/content");
        self.content.push_str(piece);
        self.refusal.push_str(words(choice, "/delta/refusal"));
        for delta in list(choice.pointer("/delta/tool_calls")) {
            self.call(delta);
        }
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        Ok(piece.to_owned())
    }

    fn whole(&mut self) -> Option<Value> {
        let finish = self.finish.take()?;
        let mut message = Map::new();
        message.insert("content".to_owned(), std::mem::take(&mut self.content).into());
        message.insert("refusal".to_owned(), std::mem::take(&mut self.refusal).into());
        let calls = std::mem::take(&mut self.calls)
            .into_iter()
            .map(|call| json!({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}));
        message.insert("tool_calls".to_owned(), calls.collect());
        Some(json!({"choices": [{"message": message, "finish_reason": finish}], "usage": self.usage}))
    }
}
