//! How large a request is: what the model counted last time, and an estimate of what came since.

use crate::harness::message::{Message, Object, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What every message costs beside its text: its role and its borders.
const FRAME: u64 = 4;

/// What a text costs, as tokenizers do on average: four ASCII characters are one token, any other
/// character is one.
pub fn text(text: &str) -> u64 {
    let (mut ascii, mut other) = (0_u64, 0_u64);
    for byte in text.bytes() {
        ascii += u64::from(byte.is_ascii());
        // Continuation bytes are none of a character's own.
        other += u64::from(byte >= 0xC0);
    }
    ascii.div_ceil(4) + other
}

/// What a JSON object costs, without writing it down: this is asked for every message of a history.
fn object(fields: &Object) -> u64 {
    let mut cost = FRAME;
    let mut open: Vec<&Value> = Vec::new();
    for (name, value) in fields {
        cost += 1 + text(name);
        open.push(value);
    }
    while let Some(value) = open.pop() {
        cost += 1;
        match value {
            Value::String(string) => cost += text(string),
            Value::Number(_) => cost += 1,
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                for (name, value) in fields {
                    cost += 1 + text(name);
                    open.push(value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    cost
}

/// What a message costs.
pub fn message(message: &Message) -> u64 {
    FRAME
        + match message {
            Message::System { text: said } | Message::User { text: said } => text(said),
            Message::ToolResult { text: said, .. } => text(said) + FRAME,
            Message::Assistant { text: said, tool_calls, .. } => {
                let calls = tool_calls.iter().map(|call| FRAME + text(&call.name) + object(&call.arguments));
                text(said) + calls.sum::<u64>()
            }
        }
}

/// What messages cost.
pub fn messages(messages: &[Message]) -> u64 {
    messages.iter().map(message).sum()
}

/// What the offered tools cost.
pub fn tools(tools: &[ToolSpec]) -> u64 {
    let one =
        |tool: &ToolSpec| FRAME + text(&tool.name) + text(&tool.description) + object(&tool.input_schema);
    tools.iter().map(one).sum()
}

/// What a model counts where we estimate: learnt from its last answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scale(f64);

impl Default for Scale {
    fn default() -> Scale {
        Scale(1.0)
    }
}

impl Scale {
    /// The endpoint counted `real` where `estimate` was estimated. A count that cannot be right
    /// is not believed: some endpoints count only what was not in their cache.
    pub fn learn(&mut self, estimate: u64, real: u64) {
        let scale = real as f64 / estimate.max(1) as f64;
        if (0.2..=5.0).contains(&scale) {
            self.0 = scale;
        }
    }

    /// The estimate in the model's own unit.
    pub fn apply(self, estimate: u64) -> u64 {
        (estimate as f64 * self.0).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_estimated_by_its_characters() {
        assert_eq!(text(""), 0);
        assert_eq!(text("abcdefgh"), 2);
        assert_eq!(text("日本語"), 3);
        assert_eq!(text("é"), 1);
    }

    #[test]
    fn real_usage_corrects_the_estimate_unless_it_cannot_be_right() {
        let mut scale = Scale::default();
        scale.learn(1000, 1500);
        assert_eq!(scale.apply(2000), 3000);
        scale.learn(1000, 3);
        assert_eq!(scale.apply(2000), 3000);
    }
}
