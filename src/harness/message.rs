//! Vendor-neutral messages, calls and tools, as a journal keeps them and each protocol writes them.

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
    /// What the endpoint wants to get back with the call, unread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ToolCall {
    /// A call with arguments that could be read.
    pub fn new(id: String, name: String, arguments: Object) -> ToolCall {
        ToolCall { id, name, arguments, unreadable: None, signature: None }
    }

    /// A call whose arguments are a text, as most protocols have them. Nothing at all is no argument.
    pub fn from_text(id: String, name: String, arguments: &str) -> ToolCall {
        let read = match arguments.trim() {
            "" | "null" => Ok(Object::new()),
            text => serde_json::from_str(text),
        };
        match read {
            Ok(arguments) => ToolCall::new(id, name, arguments),
            Err(_) => {
                ToolCall { unreadable: Some(arguments.to_owned()), ..ToolCall::new(id, name, Object::new()) }
            }
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
