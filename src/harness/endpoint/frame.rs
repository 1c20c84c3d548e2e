//! The user's words, without what agent programs put around them: reminders, the date, the folder,
//! the rules of a project. A model tells them apart; a script would take dates from them.

use crate::harness::message::Message;

/// What some programs begin a message of their own with.
const OWN: &[&str] =
    &["This is the Gemini CLI", "This is the Qwen Code", "# AGENTS.md instructions", "# Context from my IDE"];

/// The conversation between user and model alone. The messages before the model's first words are
/// one: the last of them that is the user's.
pub fn conversation(messages: &[Message]) -> Vec<Message> {
    let mut kept: Vec<Message> = Vec::new();
    let mut prompt: Option<usize> = None;
    let mut spoke = false;
    for message in messages {
        match message {
            Message::User { text } => {
                let own = own_words(text);
                if own.is_empty() {
                    continue;
                }
                match prompt {
                    Some(at) if !spoke => kept[at] = Message::User { text: own },
                    _ => {
                        prompt = prompt.or(Some(kept.len()));
                        kept.push(Message::User { text: own });
                    }
                }
            }
            // A greeting that a program puts into the model's mouth.
            Message::Assistant { tool_calls, .. } if prompt.is_none() && tool_calls.is_empty() => {}
            Message::Assistant { .. } => {
                spoke = true;
                kept.push(message.clone());
            }
            _ => kept.push(message.clone()),
        }
    }
    // A user who speaks in tags after all.
    if prompt.is_none() { messages.to_vec() } else { kept }
}

/// A text without blocks in tags that stand on a line of their own.
fn own_words(text: &str) -> String {
    let mut own = String::new();
    let mut rest = text;
    while let Some(line_end) = rest.find('\n').map(|at| at + 1).or((!rest.is_empty()).then_some(rest.len())) {
        let line = &rest[..line_end];
        let end = tag(line).and_then(|name| {
            let closing = format!("</{name}>");
            rest.find(&closing).map(|at| at + closing.len())
        });
        match end {
            Some(end) => rest = &rest[end..],
            None => {
                own.push_str(line);
                rest = &rest[line_end..];
            }
        }
    }
    let own = own.trim();
    if OWN.iter().any(|start| own.starts_with(start)) { String::new() } else { own.to_owned() }
}

/// The name of the tag that a line begins with.
fn tag(line: &str) -> Option<&str> {
    let inside = line.trim_start().strip_prefix('<')?;
    let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'))?;
    let name = &inside[..end];
    let opens = inside[end..].starts_with('>') || inside[end..].starts_with(' ');
    (opens && name.len() > 2 && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::{Object, ToolCall};

    fn user(text: &str) -> Message {
        Message::User { text: text.into() }
    }

    fn assistant(text: &str) -> Message {
        Message::Assistant { text: text.into(), tool_calls: Vec::new() }
    }

    #[test]
    fn reminders_are_not_the_users_words() {
        let text = "<system-reminder>\nToday is 2020-01-01.\n</system-reminder>\nBook room 12, please.\n<env cwd='x'>a</env>";
        assert_eq!(conversation(&[user(text)]), [user("Book room 12, please.")]);
        assert_eq!(
            own_words("a <b> c\n<b>\n5 < 6 <unclosed>\n<unclosed>"),
            "a <b> c\n<b>\n5 < 6 <unclosed>\n<unclosed>"
        );
    }

    #[test]
    fn the_prompt_is_the_last_message_before_the_model_speaks() {
        let context = user("<environment_context>\n  <cwd>/x</cwd>\n</environment_context>");
        let call = ToolCall::new("a".into(), "f".into(), Object::new());
        let calls = Message::Assistant { text: String::new(), tool_calls: vec![call] };
        let heard = conversation(&[
            user("This is the Gemini CLI. Today is 2020-01-01."),
            assistant("Got it."),
            context.clone(),
            user("some rules"),
            user("book"),
            calls.clone(),
            context,
            user("again"),
        ]);
        assert_eq!(heard, [user("book"), calls, user("again")]);
    }

    #[test]
    fn a_user_who_speaks_in_tags_only_is_heard() {
        let messages = [user("<booking>room 12</booking>")];
        assert_eq!(conversation(&messages), messages);
    }
}
