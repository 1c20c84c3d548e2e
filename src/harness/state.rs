//! All that a conversation is, and nothing of who leads it: what is kept in a checkpoint.

use super::context::Context;
use super::conversation::Conversation;
use super::model::{Consumption, Prices};
use serde::{Deserialize, Serialize};

/// A conversation, what was done about its length, and what it consumed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// What was said and done.
    pub conversation: Conversation,
    /// What of it is sent.
    pub context: Context,
    /// What it consumed so far.
    pub spent: Spent,
}

impl State {
    /// The beginning of a conversation.
    pub fn new(system: &str) -> State {
        State { conversation: Conversation::new(system), ..State::default() }
    }
}

/// What a conversation consumed, summaries and turns without a reply included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// In the model's unit.
    pub usage: Consumption,
    /// In US dollars; 0 where no prices are known.
    pub cost_usd: f64,
}

impl Spent {
    /// Adds one answer.
    pub fn add(&mut self, usage: Consumption, prices: Option<&Prices>) {
        self.usage += usage;
        self.cost_usd += prices.and_then(|prices| prices.of(usage)).unwrap_or(0.0);
    }

    /// Sent to the model and written by it.
    pub fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }
}
