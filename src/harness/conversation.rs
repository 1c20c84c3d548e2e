//! A history as it grows in a conversation.

use super::history::{self, Ids};
use super::message::{Message, ToolCall};

/// A history. It can only grow in ways that keep its rule ([`super::history`]): before the next
/// request to a model, every tool call has exactly one result, directly after the message that
/// asked for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    messages: Vec<Message>,
    ids: Ids,
}

impl Conversation {
    /// An empty conversation, with a system message unless the text is empty.
    pub fn new(system: &str) -> Conversation {
        let mut conversation = Conversation::default();
        if !system.trim().is_empty() {
            conversation.messages.push(Message::System { text: system.to_owned() });
        }
        conversation
    }

    /// A conversation that goes on from these messages; what breaks the rule is mended, but for the
    /// calls of the last answer: whoever resumes it may know what became of them.
    pub fn resume(messages: Vec<Message>) -> Conversation {
        let messages = history::mend_but_the_end(messages);
        let mut ids = Ids::default();
        for message in &messages {
            if let Message::Assistant { tool_calls, .. } = message {
                tool_calls.iter().for_each(|call| ids.claim(&mut call.clone()));
            }
        }
        Conversation { messages, ids }
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The user speaks. Calls that have no result yet get one that says so.
    pub fn user(&mut self, text: &str) {
        self.mend();
        self.messages.push(Message::User { text: text.to_owned() });
    }

    /// The model has answered. Gives its calls as they are kept: an id that is there already, or
    /// that no vendor takes, becomes another.
    pub fn assistant(&mut self, text: &str, mut tool_calls: Vec<ToolCall>) -> Vec<ToolCall> {
        self.mend();
        tool_calls.iter_mut().for_each(|call| self.ids.claim(call));
        self.messages.push(Message::Assistant { text: text.to_owned(), tool_calls: tool_calls.clone() });
        tool_calls
    }

    /// A call has its result. A result for a call that is not open is dropped: there is one.
    pub fn result(&mut self, call_id: &str, text: String, is_error: bool) {
        if self.open_calls().iter().any(|call| call.id == call_id) {
            self.messages.push(Message::ToolResult { call_id: call_id.to_owned(), text, is_error });
        }
    }

    /// A call never left, and will not.
    pub fn not_sent(&mut self, call: &ToolCall, why: &str) {
        if self.open_calls().iter().any(|open| open.id == call.id) {
            self.messages.push(history::not_sent(call, why));
        }
    }

    /// The calls of the last assistant message that have no result yet.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        let mut answered = Vec::new();
        for message in self.messages.iter().rev() {
            match message {
                Message::ToolResult { call_id, .. } => answered.push(call_id),
                Message::Assistant { tool_calls, .. } => {
                    return tool_calls.iter().filter(|call| !answered.contains(&&call.id)).cloned().collect();
                }
                Message::System { .. } | Message::User { .. } => break,
            }
        }
        Vec::new()
    }

    /// Gives every call without a result one that says that its outcome is unknown.
    pub fn mend(&mut self) {
        let open = self.open_calls();
        self.messages.extend(open.iter().map(history::interrupted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::Object;

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id.into(), "create_booking".into(), Object::new())
    }

    #[test]
    fn every_call_has_exactly_one_result() {
        let mut conversation = Conversation::new("");
        conversation.user("book");
        conversation.assistant("", vec![call("a"), call("b")]);
        conversation.result("a", "done".into(), false);
        conversation.result("a", "done again".into(), false);
        conversation.result("z", "nobody asked".into(), false);
        assert_eq!(conversation.open_calls(), [call("b")]);
        conversation.user("and?");
        let results: Vec<_> = conversation
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::ToolResult { call_id, is_error, .. } => Some((call_id.as_str(), *is_error)),
                _ => None,
            })
            .collect();
        assert_eq!(results, [("a", false), ("b", true)]);
        assert!(conversation.open_calls().is_empty());
    }

    #[test]
    fn an_empty_system_prompt_is_no_message() {
        assert!(Conversation::new(" ").messages().is_empty());
    }
}
