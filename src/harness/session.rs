//! An agent that is spoken to: one conversation, one reply for each user message; and the
//! JSON Lines in which a program speaks to it.

use super::message::Conversation;
use super::model::{Consumption, Model};
use super::tools::Tools;
use super::turn::{self, Limits, Reply, TurnError};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A model, tools and a conversation.
pub struct Session<'a> {
    model: &'a dyn Model,
    tools: &'a dyn Tools,
    conversation: Conversation,
    limits: Limits,
    cancel: CancellationToken,
}

impl<'a> Session<'a> {
    /// A new conversation.
    pub fn new(
        model: &'a dyn Model,
        tools: &'a dyn Tools,
        system: &str,
        limits: Limits,
        cancel: CancellationToken,
    ) -> Session<'a> {
        Session { model, tools, conversation: Conversation::new(system), limits, cancel }
    }

    /// The user says something; the agent replies.
    ///
    /// # Errors
    /// As [`turn::run`]. The conversation can go on.
    pub async fn say(&mut self, text: &str) -> Result<Reply, TurnError> {
        self.conversation.user(text);
        turn::run(self.model, self.tools, &mut self.conversation, self.limits, &self.cancel).await
    }

    /// Answers JSON Lines until they end or the session is cancelled.
    ///
    /// # Errors
    /// Where an answer cannot be written: nobody listens any more.
    pub async fn serve(
        &mut self,
        lines: &mut mpsc::Receiver<io::Result<String>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        loop {
            let cancel = self.cancel.clone();
            let line = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                line = lines.recv() => match line {
                    Some(line) => line?,
                    None => return Ok(()),
                },
            };
            if line.trim().is_empty() {
                continue;
            }
            let output = match serde_json::from_str::<Input>(&line) {
                Ok(Input::User { text }) => match self.say(&text).await {
                    Ok(reply) => Output::reply(&reply),
                    Err(TurnError::Cancelled) => return Ok(()),
                    Err(error) => Output::error(&error),
                },
                Err(error) => Output::Error {
                    message: format!("expected {{\"type\":\"user\",\"text\":…}} on one line: {error}"),
                    kind: None,
                },
            };
            output.write(out)?;
        }
    }
}

/// A line that comes in.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input {
    User { text: String },
}

/// A line that goes out.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Output {
    /// The reply to a user message.
    Reply {
        /// The agent's words.
        text: String,
        /// What this turn consumed.
        usage: UsageLine,
    },
    /// There is no reply, and why.
    Error {
        /// For people.
        message: String,
        /// `model_endpoint` where the model gave no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
    },
}

/// What a turn consumed, as it is written.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct UsageLine {
    /// Sent to the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// The part of `input_tokens` that was read from a cache.
    pub cached_tokens: u64,
    /// Answers of the model.
    pub answers: u64,
    /// Requests to it that failed and were sent again.
    pub retries: u64,
    /// What was counted: a scripted model has no tokens, its words are counted.
    pub unit: &'static str,
}

impl From<Consumption> for UsageLine {
    fn from(usage: Consumption) -> UsageLine {
        UsageLine {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            answers: usage.answers,
            retries: usage.retries,
            unit: usage.unit.name(),
        }
    }
}

impl Output {
    /// A reply as a line.
    pub fn reply(reply: &Reply) -> Output {
        Output::Reply { text: reply.text.clone(), usage: reply.usage.into() }
    }

    /// Why there is no reply.
    pub fn error(error: &TurnError) -> Output {
        let kind = matches!(error, TurnError::Model(_)).then_some("model_endpoint");
        Output::Error { message: error.to_string(), kind }
    }

    /// Writes the line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self).map_err(io::Error::other)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()
    }
}
