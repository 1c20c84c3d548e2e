//! What is written of a conversation: one entry for each step. A mirror of the domain, so that
//! old files stay readable; fields that come later are optional.

use crate::harness::context::size::Scale;
use crate::harness::context::{Context, Summary};
use crate::harness::message::{Message, Object, ToolCall};
use crate::harness::model::{Consumption, Unit};
use crate::harness::state::Spent;
use serde::{Deserialize, Serialize};

/// The version of the file. A file of a later one is not read.
pub(super) const VERSION: i64 = 1;

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Entry {
    System {
        text: String,
    },
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The result that the model is told.
    Result {
        call: String,
        text: String,
        error: bool,
    },
    /// These calls are about to leave.
    Sending {
        calls: Vec<String>,
    },
    /// One of several calls has its result; an entry `result` follows unless the process ended.
    Finished {
        call: String,
        text: String,
        error: bool,
    },
    /// What is sent of the history, from here on.
    View {
        #[serde(default)]
        summary: Option<String>,
        #[serde(default)]
        summary_upto: usize,
        #[serde(default)]
        cut_before: usize,
        #[serde(default)]
        longest: Option<usize>,
        #[serde(default)]
        learnt: Option<u64>,
        #[serde(default)]
        scale: Scale,
        #[serde(default)]
        not_before: usize,
    },
    /// What the conversation consumed so far.
    Spent {
        input: u64,
        output: u64,
        #[serde(default)]
        cached: u64,
        #[serde(default)]
        answers: u64,
        #[serde(default)]
        retries: u64,
        /// True where words were counted, not tokens.
        #[serde(default)]
        words: bool,
        #[serde(default)]
        cost_usd: f64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    id: String,
    name: String,
    arguments: Object,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unreadable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

impl From<&ToolCall> for Call {
    fn from(call: &ToolCall) -> Call {
        let ToolCall { id, name, arguments, unreadable, signature } = call.clone();
        Call { id, name, arguments, unreadable, signature }
    }
}

impl From<Call> for ToolCall {
    fn from(call: Call) -> ToolCall {
        let Call { id, name, arguments, unreadable, signature } = call;
        ToolCall { id, name, arguments, unreadable, signature }
    }
}

impl From<&Message> for Entry {
    fn from(message: &Message) -> Entry {
        match message {
            Message::System { text } => Entry::System { text: text.clone() },
            Message::User { text } => Entry::User { text: text.clone() },
            Message::Assistant { text, tool_calls } => {
                Entry::Assistant { text: text.clone(), calls: tool_calls.iter().map(Call::from).collect() }
            }
            Message::ToolResult { call_id, text, is_error } => {
                Entry::Result { call: call_id.clone(), text: text.clone(), error: *is_error }
            }
        }
    }
}

impl From<&Context> for Entry {
    fn from(context: &Context) -> Entry {
        let Context { summary, cut_before, longest, learnt, scale, not_before } = context.clone();
        let (summary, summary_upto) = summary.map_or((None, 0), |summary| (Some(summary.text), summary.upto));
        Entry::View { summary, summary_upto, cut_before, longest, learnt, scale, not_before }
    }
}

impl From<&Spent> for Entry {
    fn from(spent: &Spent) -> Entry {
        let Consumption { input, output, cached, answers, retries, unit } = spent.usage;
        let words = unit == Unit::Words;
        Entry::Spent { input, output, cached, answers, retries, words, cost_usd: spent.cost_usd }
    }
}

/// What an entry says, in the domain's words.
pub(super) enum Said {
    Message(Message),
    Sending(Vec<String>),
    Finished(String, String, bool),
    Context(Context),
    Spent(Spent),
}

impl From<Entry> for Said {
    fn from(entry: Entry) -> Said {
        match entry {
            Entry::System { text } => Said::Message(Message::System { text }),
            Entry::User { text } => Said::Message(Message::User { text }),
            Entry::Assistant { text, calls } => Said::Message(Message::Assistant {
                text,
                tool_calls: calls.into_iter().map(ToolCall::from).collect(),
            }),
            Entry::Result { call, text, error } => {
                Said::Message(Message::ToolResult { call_id: call, text, is_error: error })
            }
            Entry::Sending { calls } => Said::Sending(calls),
            Entry::Finished { call, text, error } => Said::Finished(call, text, error),
            Entry::View { summary, summary_upto, cut_before, longest, learnt, scale, not_before } => {
                let summary = summary.map(|text| Summary { text, upto: summary_upto });
                Said::Context(Context { summary, cut_before, longest, learnt, scale, not_before })
            }
            Entry::Spent { input, output, cached, answers, retries, words, cost_usd } => {
                let unit = if words { Unit::Words } else { Unit::Tokens };
                let usage = Consumption { input, output, cached, answers, retries, unit };
                Said::Spent(Spent { usage, cost_usd })
            }
        }
    }
}
