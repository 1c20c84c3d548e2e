//! Vendor-neutral messages, and a history in which every tool call has exactly one result.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A JSON object.
pub type Object = Map<String, Value>;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the model is and how it should work.
    System {
        /// The text.
        text: String,
    },
    /// What the user says.
    User {
        /// The text.
        text: String,
    },
    /// What the model says and asks for.
    Assistant {
        /// The text; may be empty beside tool calls.
        text: String,
        /// The calls that it asks for, in order.
        tool_calls: Vec<ToolCall>,
    },
    /// What came of one call.
    ToolResult {
        /// The call's id.
        call_id: String,
        /// The result's content as text.
        text: String,
        /// True where the call failed, as far as the agent was told.
        is_error: bool,
    },
}

/// A call that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in its conversation.
    pub id: String,
    /// The tool's name, as offered to the model.
    pub name: String,
    /// The arguments; empty where they could not be read.
    pub arguments: Object,
    /// What the model wrote in place of arguments, where that is no JSON object. Such a call is
    /// not carried out: the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl ToolCall {
    /// A call with arguments that could be read.
    pub fn new(id: String, name: String, arguments: Object) -> ToolCall {
        ToolCall { id, name, arguments, unreadable: None }
    }

    /// A call whose arguments are a text, as most protocols have them. Nothing at all is no argument.
    pub fn from_text(id: String, name: String, arguments: &str) -> ToolCall {
        let read = match arguments.trim() {
            "" | "null" => Ok(Object::new()),
            text => serde_json::from_str(text),
        };
        match read {
            Ok(arguments) => ToolCall { id, name, arguments, unreadable: None },
            Err(_) => ToolCall { id, name, arguments: Object::new(), unreadable: Some(arguments.to_owned()) },
        }
    }
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name, unique among the tools of a request.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Object,
    /// `readOnlyHint`, where the server gives it.
    pub read_only: Option<bool>,
    /// `destructiveHint`, where the server gives it.
    pub destructive: Option<bool>,
}

/// A history. It can only grow in ways that keep its rule: before the next request to a model,
/// every tool call has exactly one result, directly after the message that asked for it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    messages: Vec<Message>,
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

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The user speaks. Calls that have no result yet get one that says so.
    pub fn user(&mut self, text: &str) {
        self.mend();
        self.messages.push(Message::User { text: text.to_owned() });
    }

    /// The model has answered.
    pub fn assistant(&mut self, text: &str, tool_calls: Vec<ToolCall>) {
        self.mend();
        self.messages.push(Message::Assistant { text: text.to_owned(), tool_calls });
    }

    /// A call has its result. A result for a call that is not open is dropped: there is one.
    pub fn result(&mut self, call_id: &str, text: String, is_error: bool) {
        if self.open_calls().iter().any(|call| call.id == call_id) {
            self.messages.push(Message::ToolResult { call_id: call_id.to_owned(), text, is_error });
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

    /// Gives every call without a result one: after a cancel or a crash nobody knows what
    /// became of it, and a model that is told nothing would believe that it did not happen.
    pub fn mend(&mut self) {
        for call in self.open_calls() {
            let text =
                format!("The call of {} was interrupted. Whether it was carried out is unknown.", call.name);
            self.result(&call.id, text, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
