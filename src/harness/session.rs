//! An agent that is spoken to: one conversation, one reply for each user message; and the
//! JSON Lines in which a program speaks to it.

use super::journal::{Forgets, Journal};
use super::message::Message;
use super::reply::{Reply, TurnError};
use super::state::State;
use super::turn::{self, Agent};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// An agent, a conversation, and what keeps it.
pub struct Session<'a, J = Forgets> {
    /// Who leads it.
    pub agent: Agent<'a>,
    /// As it stands.
    pub state: State,
    /// Keeps its steps.
    pub journal: J,
}

impl<'a> Session<'a> {
    /// A new conversation that nothing keeps.
    pub fn new(agent: Agent<'a>, system: &str) -> Session<'a> {
        Session { agent, state: State::new(system), journal: Forgets }
    }
}

impl<J: Journal> Session<'_, J> {
    /// The user says something; the agent replies.
    ///
    /// # Errors
    /// As [`turn::run`]. The conversation can go on.
    pub async fn say(&mut self, text: &str, cancel: &CancellationToken) -> Result<Reply, TurnError> {
        self.state.conversation.user(text);
        turn::run(&self.agent, &mut self.state, &mut self.journal, cancel).await
    }

    /// Goes on with a turn that was interrupted, or that a limit ended. None where there is none.
    ///
    /// # Errors
    /// As [`turn::run`]. The conversation can go on.
    pub async fn go_on(&mut self, cancel: &CancellationToken) -> Option<Result<Reply, TurnError>> {
        if !self.is_pending() {
            return None;
        }
        Some(turn::run(&self.agent, &mut self.state, &mut self.journal, cancel).await)
    }

    /// Whether the last turn has no reply.
    pub fn is_pending(&self) -> bool {
        matches!(
            self.state.conversation.messages().last(),
            Some(Message::User { .. } | Message::ToolResult { .. })
        )
    }

    /// Answers JSON Lines until they end or the session is cancelled.
    ///
    /// # Errors
    /// Where an answer cannot be written: nobody listens any more.
    pub async fn serve(
        &mut self,
        lines: &mut mpsc::Receiver<io::Result<String>>,
        out: &mut dyn Write,
        cancel: &CancellationToken,
    ) -> io::Result<()> {
        loop {
            let line = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(()),
                line = lines.recv() => match line {
                    Some(Ok(line)) => line,
                    Some(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                        Output::Error { message: error.to_string(), kind: None }.write(out)?;
                        continue;
                    }
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                },
            };
            if line.trim().is_empty() {
                continue;
            }
            let turn = match serde_json::from_str::<Input>(&line) {
                Ok(Input::User { text }) => Some(self.say(&text, cancel).await),
                Ok(Input::Continue) => self.go_on(cancel).await,
                Err(error) => {
                    let message = format!("expected {{\"type\":\"user\",\"text\":…}} on one line: {error}");
                    Output::Error { message, kind: None }.write(out)?;
                    continue;
                }
            };
            let output = match turn {
                Some(Ok(reply)) => Output::reply(&reply),
                Some(Err(TurnError::Cancelled)) => return Ok(()),
                Some(Err(error)) => Output::error(&error),
                None => Output::Error { message: "there is no turn to go on with".to_owned(), kind: None },
            };
            output.write(out)?;
        }
    }
}

/// A line that comes in.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Input {
    /// The user speaks.
    User { text: String },
    /// An interrupted turn goes on.
    Continue,
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
    /// US dollars, where prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl From<&Reply> for UsageLine {
    fn from(reply: &Reply) -> UsageLine {
        let usage = reply.usage;
        UsageLine {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            answers: usage.answers,
            retries: usage.retries,
            unit: usage.unit.name(),
            cost_usd: reply.cost_usd,
        }
    }
}

impl Output {
    /// A reply as a line.
    pub fn reply(reply: &Reply) -> Output {
        Output::Reply { text: reply.text.clone(), usage: reply.into() }
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
