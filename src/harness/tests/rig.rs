//! Models and tools that do as a test says, and a log of what happened in which order.

use crate::domain::ToolClass;
use crate::harness::history;
use crate::harness::journal::{Journal, JournalError};
use crate::harness::message::{Message, ToolCall, ToolSpec};
use crate::harness::model::{BoxFuture, Consumption, Identity, Model, ModelError, ModelTurn, Request};
use crate::harness::reply::{Reply, TurnError};
use crate::harness::state::State;
use crate::harness::tools::{ToolOutcome, Tools, unknown};
use crate::harness::turn::{self, Agent};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

/// What happened, in order.
pub type Log = Arc<Mutex<Vec<String>>>;

pub fn log(log: &Log, line: impl Into<String>) {
    log.lock().unwrap().push(line.into());
}

/// Answers what a closure says, given the number of the request. Every history that it is sent
/// has to follow the rule.
pub struct Plays<F>(F, AtomicUsize);

impl<F> Plays<F>
where
    F: Fn(usize, Request<'_>) -> Result<ModelTurn, ModelError> + Send + Sync,
{
    pub fn new(answer: F) -> Plays<F> {
        Plays(answer, AtomicUsize::new(0))
    }

    pub fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl<F> Model for Plays<F>
where
    F: Fn(usize, Request<'_>) -> Result<ModelTurn, ModelError> + Send + Sync,
{
    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        assert_eq!(history::check(request.messages), Ok(()));
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready((self.0)(number, request)))
    }
}

pub fn says(text: &str) -> Result<ModelTurn, ModelError> {
    let usage = Consumption { input: 2, output: 1, answers: 1, ..Consumption::default() };
    Ok(ModelTurn { text: text.into(), usage, ..ModelTurn::default() })
}

pub fn asks(calls: &[(&str, &str)]) -> Result<ModelTurn, ModelError> {
    let call = |(id, name): &(&str, &str)| ToolCall::new((*id).into(), (*name).into(), Default::default());
    Ok(ModelTurn { tool_calls: calls.iter().map(call).collect(), ..says("").unwrap() })
}

/// Tools by the first letter of their name: `r` reads, `w` writes, `u` nobody knows, `h` writes
/// and hangs, `x` is refused; all others are not there.
pub struct Desk {
    pub log: Log,
    specs: Vec<ToolSpec>,
    /// How many reads have to be under way before one of them ends.
    reads: Barrier,
    /// What every call answers.
    pub answer: String,
    /// Cancelled by the call that hangs.
    pub hanging: CancellationToken,
}

impl Desk {
    pub fn new(log: &Log, reads: usize) -> Desk {
        let spec = |name: &str| ToolSpec { name: name.into(), ..ToolSpec::default() };
        Desk {
            log: Arc::clone(log),
            specs: ["r", "w", "u", "h", "x"].into_iter().map(spec).collect(),
            reads: Barrier::new(reads),
            answer: "done".into(),
            hanging: CancellationToken::new(),
        }
    }
}

impl Tools for Desk {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn class(&self, name: &str) -> ToolClass {
        match name {
            "r" => ToolClass::Read,
            "w" | "h" => ToolClass::Write,
            _ => ToolClass::Unclassified,
        }
    }

    fn refusal(&self, call: &ToolCall) -> Option<String> {
        match call.name.as_str() {
            "x" => Some("Invalid arguments".into()),
            _ => unknown(call, self.specs()),
        }
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            log(&self.log, format!("{} begins", call.id));
            match call.name.as_str() {
                "r" => {
                    self.reads.wait().await;
                }
                "h" => {
                    self.hanging.cancel();
                    std::future::pending::<()>().await;
                }
                _ => tokio::task::yield_now().await,
            }
            log(&self.log, format!("{} ends", call.id));
            ToolOutcome { text: self.answer.clone(), is_error: false }
        })
    }
}

/// Writes into the log what it is to keep; refuses to keep intentions where `full`.
pub struct Notes {
    pub log: Log,
    pub full: bool,
}

impl Journal for Notes {
    fn keep(&mut self, _state: &State) -> Result<(), JournalError> {
        Ok(())
    }

    fn sending(&mut self, calls: &[&ToolCall]) -> Result<(), JournalError> {
        if self.full {
            return Err(JournalError::Store { file: "a.db".into(), reason: "the disk is full".into() });
        }
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        log(&self.log, format!("{} kept", ids.join("+")));
        Ok(())
    }

    fn finished(&mut self, _call: &ToolCall, _outcome: &ToolOutcome) -> Result<(), JournalError> {
        Ok(())
    }
}

/// One turn after the user has said "book".
pub async fn turn(
    agent: &Agent<'_>,
    journal: &mut dyn Journal,
    cancel: &CancellationToken,
) -> (Result<Reply, TurnError>, State) {
    let mut state = State::new("system");
    state.conversation.user("book");
    let done = turn::run(agent, &mut state, journal, cancel).await;
    assert_eq!(history::check(state.conversation.messages()), Ok(()));
    (done, state)
}

/// Every result, as `id: text`.
pub fn results(state: &State) -> Vec<String> {
    state
        .conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::ToolResult { call_id, text, .. } => Some(format!("{call_id}: {text}")),
            _ => None,
        })
        .collect()
}
