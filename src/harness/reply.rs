//! How a turn ends: with a reply, or with the reason why there is none.

use super::history::HistoryError;
use super::journal::JournalError;
use super::model::{Consumption, ModelError};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The model's last words.
    pub text: String,
    /// What the turn consumed.
    pub usage: Consumption,
    /// What that cost in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
}

/// Why a turn ended without a reply. The conversation can go on after each of them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TurnError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model kept asking for tools.
    #[error("no reply after {0} requests to the model")]
    Turns(u32),
    /// The model asked for the same call over and over.
    #[error("the model asked {count} times in a row for {tool} with the same arguments")]
    EqualCalls {
        /// The tool.
        tool: String,
        /// How often, the last of which was not carried out.
        count: u32,
    },
    /// It took too long.
    #[error("no reply after {} s", .0.as_secs_f64())]
    Time(Duration),
    /// The conversation consumed what it may.
    #[error("the conversation has used {used} of {limit} {unit}")]
    Tokens {
        /// So far.
        used: u64,
        /// What it may.
        limit: u64,
        /// What was counted.
        unit: &'static str,
    },
    /// The conversation cost what it may.
    #[error("the conversation has cost {used:.4} of {limit:.4} US dollars")]
    Cost {
        /// So far.
        used: f64,
        /// What it may.
        limit: f64,
    },
    /// A step could not be kept, so nothing further was done.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The history breaks its rule: a bug here, and no endpoint would take it.
    #[error("the history cannot be sent: {0}")]
    History(#[from] HistoryError),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Ends with the reason why a turn has to stop.
pub(super) type Stop<'s> = Pin<&'s mut (dyn Future<Output = TurnError> + Send)>;
