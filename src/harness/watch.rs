//! What happens in a turn, told while it happens: for people, and for spans.

use super::message::{Message, ToolCall};
use super::model::{ModelError, ModelTurn};
use super::reply::{Reply, TurnError};
use super::tools::ToolOutcome;

/// Hears what happens. Nothing that it does changes what happens.
pub trait Watch: Send + Sync {
    /// Something happened.
    fn event(&self, event: Event<'_>);
}

/// What happened. Every beginning has its end, also where the turn was cancelled between.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The user has spoken, or an interrupted turn goes on.
    TurnBegins,
    /// There is a reply, or a reason why there is none.
    TurnEnds(&'a Result<Reply, TurnError>),
    /// The model is asked.
    ModelBegins {
        /// What it is sent.
        messages: &'a [Message],
    },
    /// The model has answered; none where the turn was cancelled.
    ModelEnds(Option<&'a Result<ModelTurn, ModelError>>),
    /// A call leaves.
    ToolBegins(&'a ToolCall),
    /// A call has a result; none where it was interrupted.
    ToolEnds(&'a ToolCall, Option<&'a ToolOutcome>),
    /// A call was not sent, and what the model is told.
    ToolRefused(&'a ToolCall, &'a str),
    /// The history is too long.
    CompactionBegins {
        /// Its size, in the model's unit.
        size: u64,
    },
    /// Something was done about it.
    CompactionEnds {
        /// Its size now.
        size: u64,
        /// What was done.
        how: Compaction,
    },
}

/// What was done about the length of a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Old results were cut.
    pub cut: bool,
    /// A summary written by the model took the place of the older part.
    pub summarised: bool,
    /// The model gave no summary, or none that was shorter: the user's words took that place.
    pub degraded: bool,
    /// The longest results that were left were cut too.
    pub squeezed: bool,
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&self, _event: Event<'_>) {}
}
