//! What is kept of a conversation while it goes on, so that it can go on after a crash.

mod record;
pub mod sqlite;
mod tree;

#[cfg(test)]
mod tests;

pub use tree::Resumed;

use super::message::ToolCall;
use super::state::State;
use super::tools::ToolOutcome;

/// Keeps every step, in the order of the calls below. When a method has returned, what it was
/// given survives the end of the process. The loop sends no call whose intention was not kept.
pub trait Journal: Send {
    /// The state after a step: keeps what is new in it.
    ///
    /// # Errors
    /// Where it cannot be kept.
    fn keep(&mut self, state: &State) -> Result<(), JournalError>;

    /// These calls are about to leave.
    ///
    /// # Errors
    /// Where that cannot be kept; then they must not leave.
    fn sending(&mut self, calls: &[&ToolCall]) -> Result<(), JournalError>;

    /// One of several calls that left together has its result. [`Journal::keep`] follows when all have.
    ///
    /// # Errors
    /// Where it cannot be kept.
    fn finished(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> Result<(), JournalError>;
}

/// Why something cannot be kept, or what was kept cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The file, and what it says.
    #[error("the session {file}: {reason}")]
    Store {
        /// The file.
        file: String,
        /// What went wrong.
        reason: String,
    },
    /// Another process has it open.
    #[error("the session {0} is in use by another process; end that one, or begin another session")]
    InUse(String),
    /// It is no session.
    #[error("{file} is no session: {reason}")]
    Foreign {
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// There is no such branch.
    #[error("there is no branch {0}; /branches lists them")]
    NoBranch(i64),
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Forgets;

impl Journal for Forgets {
    fn keep(&mut self, _state: &State) -> Result<(), JournalError> {
        Ok(())
    }

    fn sending(&mut self, _calls: &[&ToolCall]) -> Result<(), JournalError> {
        Ok(())
    }

    fn finished(&mut self, _call: &ToolCall, _outcome: &ToolOutcome) -> Result<(), JournalError> {
        Ok(())
    }
}
