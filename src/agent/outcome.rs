//! What is told during a conversation, and what is known after it.

use super::launch::Launch;
use crate::domain::{AgentFacts, ConditionalTurn, TurnResult, Usage};
use std::path::PathBuf;

/// What is told while a conversation goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// The simulated user spoke.
    TurnStarted {
        /// From 0, the prompt.
        turn: u32,
        /// What was said.
        text: String,
    },
    /// The agent's turn is over, well or not.
    TurnEnded {
        /// From 0.
        turn: u32,
        /// Its last words.
        reply: Option<String>,
    },
}

/// How a conversation ended. Reasons are sentences for people and say what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every turn was answered.
    Completed,
    /// The agent could not be launched.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// A file or folder of the run could not be written: nothing is known of the agent.
    NotWritten {
        /// Which.
        path: PathBuf,
        /// What the system says.
        kind: std::io::ErrorKind,
    },
    /// The agent failed before the conversation was over.
    Failed {
        /// Why.
        reason: String,
        /// Its exit code, where it ended by itself.
        exit: Option<i32>,
    },
    /// The agent's model endpoint refused or was not reached.
    ModelEndpoint {
        /// What the agent said.
        reason: String,
    },
    /// The time was up.
    TimedOut,
    /// Cancelled from outside.
    Cancelled,
}

/// What is known after a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOutcome {
    /// The turns that were begun.
    pub turns: Vec<TurnResult>,
    /// The turns whose condition was looked at.
    pub conditions: Vec<ConditionalTurn>,
    /// Consumption over all turns, as the agent tells it.
    pub usage: Usage,
    /// What is known of its processes.
    pub facts: AgentFacts,
    /// How it ended.
    pub ended: Ended,
    /// The session at the end.
    pub session: String,
    /// The last that a process which serves all turns printed and that was no message.
    pub stray: Option<String>,
}

/// Receives what is [`Observed`].
pub type Observer<'a> = &'a mut (dyn FnMut(Observed) + Send);

impl AgentOutcome {
    pub(super) fn not_started(launch: &Launch<'_>, reason: String) -> AgentOutcome {
        AgentOutcome {
            turns: Vec::new(),
            conditions: Vec::new(),
            usage: Usage::default(),
            facts: AgentFacts::default(),
            ended: Ended::NotStarted { reason },
            session: launch.session.to_owned(),
            stray: None,
        }
    }
}
