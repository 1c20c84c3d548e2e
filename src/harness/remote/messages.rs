//! Anthropic Messages: `POST …/v1/messages`.

use super::refusal;
use super::{Assembly, Key, Settings, Wire, number, system, words};
use crate::harness::message::{Message, ToolSpec};
use crate::harness::model::{Consumption, ModelError, ModelTurn, Request, Stop, Unit};
use serde_json::{Value, json};

pub(super) const WIRE: Wire = Wire {
    path: |_, _| "/v1/messages".to_owned(),
    headers: |key| {
        let mut headers = vec![("anthropic-version", "2023-06-01".to_owned())];
        match key {
            Key::None => {}
            Key::Own(key) => headers.push(("x-api-key", key.clone())),
            Key::Bearer(token) => headers.push(("authorization", format!("Bearer {token}"))),
        }
        headers
    },
    write,
    read,
    assemble: || Box::new(Assembling::default()),
};

/// A request has to say how long its answer may be.
const MOST_TOKENS: u64 = 8192;

fn write(request: &Request<'_>, model: &str, settings: &Settings) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": settings.max_tokens.unwrap_or(MOST_TOKENS),
        "messages": messages(request.messages),
    });
    let system = system(request.messages);
    if !system.is_empty() {
        // What comes before a mark, tools included, is kept by the endpoint for the next request.
        body["system"] = json!([{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]);
    }
    super::common(&mut body, request, settings, tool);
    body
}

fn tool(tool: &ToolSpec) -> Value {
    let mut schema = Value::Object(tool.input_schema.clone());
    if schema.get("type").is_none() {
        schema["type"] = "object".into();
    }
    json!({"name": tool.name, "description": tool.description, "input_schema": schema})
}

/// User and assistant by turns: results, and what the user says next, are one message.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![json!({"type": "text", "text": text})]),
            Message::ToolResult { call_id, text, is_error } => (
                "user",
                vec![json!({"type": "tool_result", "tool_use_id": call_id, "content": text,
                            "is_error": is_error})],
            ),
            Message::Assistant { text, tool_calls } => {
                // An empty text is refused.
                let said = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
                let calls = tool_calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
                });
                ("assistant", said.into_iter().chain(calls).collect())
            }
        };
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((before, more)) if *before == role => more.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    if let Some(last) = turns.last_mut().and_then(|(_, blocks)| blocks.last_mut()) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn read(body: &Value) -> Result<ModelTurn, String> {
    let content = body.get("content").and_then(Value::as_array).ok_or("it has no content")?;
    let of = |kind: &'static str| content.iter().filter(move |block| words(block, "/type") == kind);
    let calls = of("tool_use")
        .map(|block| super::call_of_object(words(block, "/id"), words(block, "/name"), block.get("input")));
    let cached = number(body, "/usage/cache_read_input_tokens");
    Ok(ModelTurn {
        text: of("text").map(|block| words(block, "/text")).collect(),
        tool_calls: calls.collect(),
        stop: match words(body, "/stop_reason") {
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => Stop::Withheld,
            _ => Stop::Done,
        },
        usage: Consumption {
            // The three are told apart here; everywhere else the first number holds all.
            input: number(body, "/usage/input_tokens")
                + number(body, "/usage/cache_creation_input_tokens")
                + cached,
            output: number(body, "/usage/output_tokens"),
            cached,
            answers: 1,
            retries: 0,
            unit: Unit::Tokens,
        },
    })
}

/// A whole answer in the making.
#[derive(Default)]
struct Assembling {
    blocks: Vec<Block>,
    usage: Value,
    stop: Value,
    stopped: bool,
}

#[derive(Default)]
struct Block {
    start: Value,
    text: String,
    input: String,
}

impl Assembly for Assembling {
    fn event(&mut self, data: &Value) -> Result<String, ModelError> {
        match words(data, "/type") {
            "error" => return Err(refusal::in_stream(data.get("error").unwrap_or(data))),
            "message_start" => self.usage = data.pointer("/message/usage").cloned().unwrap_or_default(),
            "content_block_start" => {
                let start = data.get("content_block").cloned().unwrap_or_default();
                let text = words(&start, "/text").to_owned();
                self.blocks.push(Block { start, text: text.clone(), input: String::new() });
                return Ok(text);
            }
            "content_block_delta" => {
                let Some(block) = self.blocks.last_mut() else { return Ok(String::new()) };
                let text = words(data, "/delta/text");
                block.text.push_str(text);
                block.input.push_str(words(data, "/delta/partial_json"));
                return Ok(text.to_owned());
            }
            "message_delta" => {
                self.stop = data.pointer("/delta/stop_reason").cloned().unwrap_or_default();
                if let (Some(all), Some(more)) =
                    (self.usage.as_object_mut(), data.get("usage").and_then(Value::as_object))
                {
                    // Counts that are told again are the later ones.
                    all.extend(
                        more.iter().filter(|(_, n)| !n.is_null()).map(|(k, n)| (k.clone(), n.clone())),
                    );
                }
            }
            "message_stop" => self.stopped = true,
            _ => {}
        }
        Ok(String::new())
    }

    fn whole(&mut self) -> Option<Value> {
        if !self.stopped {
            return None;
        }
        let blocks = std::mem::take(&mut self.blocks).into_iter().map(|block| {
            let mut whole = block.start;
            match words(&whole, "/type") {
                "text" => whole["text"] = block.text.into(),
                "tool_use" if !block.input.trim().is_empty() => whole["input"] = block.input.into(),
                _ => {}
            }
            whole
        });
        let content: Vec<Value> = blocks.collect();
        Some(json!({"content": content, "stop_reason": self.stop, "usage": self.usage}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::{Object, ToolCall};

    #[test]
    fn results_and_the_next_words_of_the_user_are_one_message() {
        let call = ToolCall::new("a".into(), "f".into(), Object::new());
        let history = [
            Message::System { text: "s".into() },
            Message::User { text: "book".into() },
            Message::Assistant { text: String::new(), tool_calls: vec![call] },
            Message::ToolResult { call_id: "a".into(), text: "timed out".into(), is_error: true },
            Message::User { text: "again".into() },
            Message::Assistant { text: " ".into(), tool_calls: Vec::new() },
        ];
        let sent = messages(&history);
        let roles: Vec<_> = sent.iter().map(|turn| words(turn, "/role")).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(sent[2]["content"][0]["is_error"], true);
        assert_eq!(sent[2]["content"][1]["text"], "again");
        assert!(
            sent[2]["content"][1]["cache_control"].is_object()
                && sent[0]["content"][0]["cache_control"].is_null()
        );
    }
}
