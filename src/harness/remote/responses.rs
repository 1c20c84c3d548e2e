//! OpenAI Responses: `POST …/responses`. Nothing is kept at the endpoint: every request carries the whole
//! history, and what a model thought between two calls is not sent back, as with Chat Completions.

use super::refusal;
use super::{Assembly, Key, Settings, Wire, chat, number, system, words};
use crate::harness::endpoint::ask::list;
use crate::harness::message::{Message, ToolCall, ToolSpec};
use crate::harness::model::{Consumption, ModelError, ModelTurn, Request, Stop, Unit};
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    path: |_, _| "/responses".to_owned(),
    headers: |key: &Key| (chat::WIRE.headers)(key),
    write,
    read,
    assemble: || Box::new(Assembling::default()),
};

fn write(request: &Request<'_>, model: &str, settings: &Settings) -> Value {
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    let mut body = json!({"model": model, "input": input, "store": false});
    let system = system(request.messages);
    if !system.is_empty() {
        body["instructions"] = system.into();
    }
    super::common(&mut body, request, settings, tool);
    if let Some(most) = settings.max_tokens {
        body["max_output_tokens"] = most.into();
    }
    body
}

/// Schemas are those of the server: without the word the endpoint would hold them to a stricter form.
fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "name": tool.name, "description": tool.description,
           "parameters": tool.input_schema, "strict": false})
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::System { .. } => Vec::new(),
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Assistant { text, tool_calls } => {
            let said = (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
            let calls = tool_calls.iter().map(|call| {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
            });
            said.into_iter().chain(calls).collect()
        }
        // There is no flag for a failed call here.
        Message::ToolResult { call_id, text, .. } => {
            vec![json!({"type": "function_call_output", "call_id": call_id, "output": text})]
        }
    }
}

fn read(body: &Value) -> Result<ModelTurn, String> {
    let output = body.get("output").filter(|output| output.is_array()).ok_or("it has no output")?;
    let of = |kind: &'static str| list(Some(output)).filter(move |item| words(item, "/type") == kind);
    let parts = |name: &'static str| -> String {
        of("message").flat_map(|item| list(item.get("content"))).map(|part| words(part, name)).collect()
    };
    let calls = of("function_call").map(|item| {
        let (id, name) = (words(item, "/call_id").to_owned(), words(item, "/name").to_owned());
        ToolCall::from_text(id, name, words(item, "/arguments"))
    });
    let text = match parts("/text") {
        text if text.is_empty() => parts("/refusal"),
        text => text,
    };
    Ok(ModelTurn {
        text,
        tool_calls: calls.collect(),
        stop: match words(body, "/incomplete_details/reason") {
            "max_output_tokens" => Stop::Length,
            "content_filter" => Stop::Withheld,
            _ => Stop::Done,
        },
        usage: Consumption {
            input: number(body, "/usage/input_tokens"),
            output: number(body, "/usage/output_tokens"),
            cached: number(body, "/usage/input_tokens_details/cached_tokens"),
            answers: 1,
            retries: 0,
            unit: Unit::Tokens,
        },
    })
}

/// A stream ends with the whole answer.
#[derive(Default)]
struct Assembling(Option<Value>);

impl Assembly for Assembling {
    fn event(&mut self, data: &Value) -> Result<String, ModelError> {
        match words(data, "/type") {
            "error" => return Err(refusal::in_stream(data.get("error").unwrap_or(data))),
            "response.failed" => {
                let error = data.pointer("/response/error").cloned().unwrap_or_default();
                return Err(refusal::in_stream(&error));
            }
            "response.output_text.delta" => return Ok(words(data, "/delta").to_owned()),
            "response.completed" | "response.incomplete" => self.0 = data.get("response").cloned(),
            _ => {}
        }
        Ok(String::new())
    }

    fn whole(&mut self) -> Option<Value> {
        self.0.take()
    }
}
