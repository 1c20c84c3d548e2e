//! Gemini: `POST …/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use super::refusal;
use super::{Assembly, Key, Settings, Wire, number, system, words};
use crate::harness::endpoint::ask::list;
use crate::harness::message::{Message, ToolSpec};
use crate::harness::model::{Consumption, ModelError, ModelTurn, Request, Stop, Unit};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

pub(super) const WIRE: Wire = Wire {
    path: |model, stream| {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("/v1beta/models/{}:{method}", escaped(model))
    },
    headers: |key| match key {
        Key::None => Vec::new(),
        Key::Own(key) => vec![("x-goog-api-key", key.clone())],
        Key::Bearer(token) => vec![("authorization", format!("Bearer {token}"))],
    },
    write,
    read,
    assemble: || Box::new(Assembling::default()),
};

/// A name as one part of a path.
fn escaped(name: &str) -> String {
    let mut path = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => path.push(byte.into()),
            other => path.push_str(&format!("%{other:02X}")),
        }
    }
    path
}

fn write(request: &Request<'_>, _: &str, settings: &Settings) -> Value {
    let mut body = json!({"contents": contents(request.messages)});
    let system = system(request.messages);
    if !system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body["tools"] = json!([{"functionDeclarations": tools}]);
    }
    let mut config = Map::new();
    if let Some(seed) = settings.seed {
        config.insert("seed".to_owned(), (seed & 0x7fff_ffff).into());
    }
    if let Some(temperature) = settings.temperature {
        config.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = settings.max_tokens {
        config.insert("maxOutputTokens".to_owned(), most.into());
    }
    if !config.is_empty() {
        body["generationConfig"] = Value::Object(config);
    }
    body
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema})
}

fn contents(messages: &[Message]) -> Vec<Value> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![json!({"text": text})]),
            Message::ToolResult { call_id, text, is_error } => {
                // Results are found by their function's name here.
                let name = names.get(call_id.as_str()).copied().unwrap_or_default();
                let field = if *is_error { "error" } else { "output" };
                let mut response = json!({"id": call_id, "name": name});
                response["response"] = json!({field: text});
                ("user", vec![json!({"functionResponse": response})])
            }
            Message::Assistant { text, tool_calls } => {
                let said = (!text.is_empty()).then(|| json!({"text": text}));
                let calls = tool_calls.iter().map(|call| {
                    names.insert(&call.id, &call.name);
                    let mut part =
                        json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}});
                    if let Some(signature) = &call.signature {
                        part["thoughtSignature"] = signature.as_str().into();
                    }
                    part
                });
                ("model", said.into_iter().chain(calls).collect())
            }
        };
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((before, more)) if *before == role => more.extend(parts),
            _ => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn read(body: &Value) -> Result<ModelTurn, String> {
    let blocked = words(body, "/promptFeedback/blockReason");
    let finish = words(body, "/candidates/0/finishReason");
    if body.pointer("/candidates/0").is_none() && blocked.is_empty() {
        return Err("it has no candidates".to_owned());
    }
    if matches!(finish, "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") {
        return Err(format!("the model's call is {finish}: {}", words(body, "/candidates/0/finishMessage")));
    }
    let mut turn = ModelTurn {
        stop: match finish {
            "MAX_TOKENS" => Stop::Length,
            "STOP" | "" if blocked.is_empty() => Stop::Done,
            _ => Stop::Withheld,
        },
        usage: Consumption {
            input: number(body, "/usageMetadata/promptTokenCount"),
            output: number(body, "/usageMetadata/candidatesTokenCount")
                + number(body, "/usageMetadata/thoughtsTokenCount"),
            cached: number(body, "/usageMetadata/cachedContentTokenCount"),
            answers: 1,
            retries: 0,
            unit: Unit::Tokens,
        },
        ..ModelTurn::default()
    };
    for part in list(body.pointer("/candidates/0/content/parts")) {
        if let Some(call) = part.get("functionCall") {
            let mut call = super::call_of_object(words(call, "/id"), words(call, "/name"), call.get("args"));
            call.signature = part.get("thoughtSignature").and_then(Value::as_str).map(str::to_owned);
            turn.tool_calls.push(call);
        } else if part.get("thought").and_then(Value::as_bool) != Some(true) {
            turn.text.push_str(words(part, "/text"));
        }
    }
    Ok(turn)
}

/// A whole answer in the making.
#[derive(Default)]
struct Assembling {
    parts: Vec<Value>,
    usage: Value,
    feedback: Value,
    finish: Option<(Value, Value)>,
}

impl Assembly for Assembling {
    fn event(&mut self, data: &Value) -> Result<String, ModelError> {
        if let Some(error) = data.get("error") {
            return Err(refusal::in_stream(error));
        }
        if let Some(usage) = data.get("usageMetadata") {
            self.usage = usage.clone();
        }
        if let Some(feedback) = data.get("promptFeedback") {
            self.feedback = feedback.clone();
        }
        let mut text = String::new();
        for part in list(data.pointer("/candidates/0/content/parts")) {
            if part.get("thought").and_then(Value::as_bool) != Some(true) {
                text.push_str(words(part, "/text"));
            }
            self.parts.push(part.clone());
        }
        if let Some(reason) = data.pointer("/candidates/0/finishReason").filter(|reason| reason.is_string()) {
            let message = data.pointer("/candidates/0/finishMessage").cloned().unwrap_or_default();
            self.finish = Some((reason.clone(), message));
        }
        Ok(text)
    }

    fn whole(&mut self) -> Option<Value> {
        let mut whole = json!({"usageMetadata": self.usage, "promptFeedback": self.feedback});
        match self.finish.take() {
            Some((reason, message)) => {
                let parts = std::mem::take(&mut self.parts);
                whole["candidates"] =
                    json!([{"content": {"parts": parts}, "finishReason": reason, "finishMessage": message}]);
            }
            None if words(&self.feedback, "/blockReason").is_empty() => return None,
            None => {}
        }
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::{Object, ToolCall};

    #[test]
    fn a_result_carries_its_functions_name_and_a_call_its_signature() {
        let call =
            ToolCall { signature: Some("s1".into()), ..ToolCall::new("a".into(), "f".into(), Object::new()) };
        let sent = contents(&[
            Message::Assistant { text: String::new(), tool_calls: vec![call] },
            Message::ToolResult { call_id: "a".into(), text: "timed out".into(), is_error: true },
        ]);
        assert_eq!(sent[0]["parts"][0]["thoughtSignature"], "s1");
        assert_eq!(
            sent[1]["parts"][0]["functionResponse"],
            json!({"id": "a", "name": "f", "response": {"error": "timed out"}})
        );
    }

    #[test]
    fn a_models_name_is_one_part_of_the_path() {
        assert_eq!(
            (WIRE.path)("models/a/b?c", true),
            "/v1beta/models/a%2Fb%3Fc:streamGenerateContent?alt=sse"
        );
    }
}
