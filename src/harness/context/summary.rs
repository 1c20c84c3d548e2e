//! The request for a summary, and what is sent in place of what it stands for.

use super::facts;
use crate::domain::ToolClass;
use crate::domain::words::clip;
use crate::harness::message::Message;
use serde_json::Value;

/// What the model is told that writes a summary.
const TASK: &str = "You shorten the earlier part of a conversation between a user, an assistant and its tools, so \
that the assistant can go on without it. Say what the user wants, what was decided, what was done with which result, \
and what is open. Copy every name, number, date and identifier exactly. Say of every call that changed something \
whether it was carried out, failed, or has an unknown outcome. Write prose without a heading, shorter than the text.";

/// What is kept of one result in the request for a summary, in characters.
const RESULT: usize = 2_000;
/// What is kept of one message of the user where there is no summary, in characters.
const SAID: usize = 300;
/// What is kept of the message that the user is waiting for an answer to.
const ASKED: usize = 4_000;

/// The messages with which a model is asked for a summary of the first `upto` messages, of which
/// those before `from` are in the summary `before` already. At most `longest` characters of them.
pub fn request(messages: &[Message], before: Option<(&str, usize)>, longest: usize) -> [Message; 2] {
    let (earlier, from) = before.unwrap_or(("", 0));
    let mut text = String::from(earlier);
    for message in &messages[from.min(messages.len())..] {
        match message {
            Message::System { .. } => {}
            Message::User { text: said } => text.push_str(&format!("\n\nUser: {said}")),
            Message::Assistant { text: said, tool_calls, .. } => {
                text.push_str("\n\nAssistant: ");
                text.push_str(said);
                for call in tool_calls {
                    let arguments = Value::Object(call.arguments.clone());
                    text.push_str(&format!("\n[calls {} {arguments}]", call.name));
                }
            }
            Message::ToolResult { text: said, is_error, .. } => {
                let how = if *is_error { "Error" } else { "Result" };
                text.push_str(&format!("\n{how}: {}", clip(said, RESULT)));
            }
        }
    }
    // The end is what matters most for going on.
    let characters = text.chars().count();
    let at = text.char_indices().nth(characters.saturating_sub(longest)).map_or(0, |(at, _)| at);
    [Message::System { text: TASK.to_owned() }, Message::User { text: text[at..].trim().to_owned() }]
}

/// What stands in where no model wrote a summary: the user's words.
pub fn without_a_model(messages: &[Message]) -> String {
    let mut lines = vec!["The assistant's words and the results were left out. The user said:".to_owned()];
    lines.extend(messages.iter().filter_map(|message| match message {
        Message::User { text } => Some(format!("- {}", clip(text, SAID))),
        _ => None,
    }));
    lines.join("\n")
}

/// What is sent in place of the first `upto` messages: a text that stands for them, what the user
/// last asked for, the calls that may have changed something, and the identifiers.
pub fn block(messages: &[Message], upto: usize, text: &str, class: &dyn Fn(&str) -> ToolClass) -> String {
    let is_user = |message: &Message| matches!(message, Message::User { .. });
    let (messages, rest) = messages.split_at(upto.min(messages.len()));
    let longest = if rest.iter().any(is_user) { SAID } else { ASKED };
    let mut parts = vec![format!("[The earlier part of this conversation, shortened]\n{}", text.trim())];
    let asked = messages.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text),
        _ => None,
    });
    if let Some(asked) = asked {
        parts.push(format!("The user's last words in it: {}", clip(asked, longest)));
    }
    let calls = facts::calls(messages, class);
    if !calls.is_empty() {
        parts.push(format!("Calls in it that may have changed something:\n{}", calls.join("\n")));
    }
    parts.extend(facts::line(messages));
    parts.push("[End of the earlier part]".to_owned());
    parts.join("\n\n")
}
