//! What of a history is sent to the model, where all of it would be too much.
//!
//! The history itself is never shortened; what is sent is a view of it. In this order, and only
//! as far as needed: old tool results are cut; the older part is replaced by a summary that a
//! model writes; where there is none, by what the user said; the longest results that are left are
//! cut in their middle. Identifiers, and every call that may have changed something with what
//! became of it, outlive all of that: who forgets that a booking was made makes it again.

pub mod facts;
pub mod size;
pub mod summary;

#[cfg(test)]
mod tests;

use super::message::{Message, ToolSpec};
use crate::domain::ToolClass;
use crate::domain::words::clip;
use serde::{Deserialize, Serialize};
use size::Scale;
use std::borrow::Cow;

/// From which part of the window on something is done.
const TRIGGER: f64 = 0.8;
/// How much of it is used afterwards: not less, or every turn would cut again and no endpoint's
/// cache would ever be hit.
const TARGET: f64 = 0.5;
/// A part smaller than this is not worth a summary.
const WORTH: f64 = 0.05;
/// The answers with calls whose results are never cut first.
const RECENT: usize = 2;
/// A result that is no longer than this, in characters, is not cut.
const SHORT: usize = 400;
/// The least that the longest results are cut to, in characters.
const LEAST: usize = 400;

/// What was done about the size of a history so far. Indices count the history's messages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Stands for the messages before `upto`, but for the system prompt.
    pub summary: Option<Summary>,
    /// Results before this message are cut.
    pub cut_before: usize,
    /// All results are cut to this many characters.
    pub longest: Option<usize>,
    /// The window that an endpoint has shown by refusing more, in its unit.
    pub learnt: Option<u64>,
    /// What the endpoint counts where we estimate.
    pub scale: Scale,
    /// A summary was not worth it with this many messages.
    pub not_before: usize,
}

/// Stands for the older part of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What is sent in place of it.
    pub text: String,
    /// The first message that it does not stand for.
    pub upto: usize,
}

/// What has to fit, and into what.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// The history.
    pub messages: &'a [Message],
    /// The tools that are offered with it.
    pub tools: &'a [ToolSpec],
    /// The window, in the model's unit; none where nobody told.
    pub window: Option<u64>,
}

impl Context {
    /// What is sent.
    pub fn view<'m>(&self, messages: &'m [Message]) -> Cow<'m, [Message]> {
        if self.summary.is_none() && self.cut_before == 0 && self.longest.is_none() {
            return Cow::Borrowed(messages);
        }
        let from = self.summary.as_ref().map_or(0, |summary| summary.upto.min(messages.len()));
        let mut view: Vec<Message> = messages[..from]
            .iter()
            .filter(|message| matches!(message, Message::System { .. }))
            .cloned()
            .collect();
        if let Some(summary) = &self.summary {
            view.push(Message::User { text: summary.text.clone() });
        }
        for (at, message) in messages.iter().enumerate().skip(from) {
            match message {
                // Two messages of one speaker in a row are refused by some endpoints.
                Message::User { text } if at == from && self.summary.is_some() => {
                    if let Some(Message::User { text: before }) = view.last_mut() {
                        before.push_str("\n\n");
                        before.push_str(text);
                    }
                }
                message => view.push(self.shortened(at, message)),
            }
        }
        Cow::Owned(view)
    }

    fn shortened(&self, at: usize, message: &Message) -> Message {
        let Message::ToolResult { call_id, text, is_error } = message else { return message.clone() };
        let mut text = if at < self.cut_before { cut(text) } else { text.clone() };
        if let Some(longest) = self.longest {
            text = middle_out(text, longest);
        }
        Message::ToolResult { call_id: call_id.clone(), text, is_error: *is_error }
    }

    /// How much is sent, in the model's unit.
    pub fn size(&self, room: Room<'_>) -> u64 {
        self.scale.apply(size::messages(&self.view(room.messages)) + size::tools(room.tools))
    }

    /// The endpoint counted `real` for the view as it is now.
    pub fn measured(&mut self, room: Room<'_>, real: u64) {
        if self.window(room).is_some() {
            let estimate = size::messages(&self.view(room.messages)) + size::tools(room.tools);
            self.scale.learn(estimate, real);
        }
    }

    /// The endpoint refused the view as it is now: the window is smaller than that.
    pub fn refused(&mut self, room: Room<'_>) {
        let size = self.size(room);
        self.learnt = Some(self.learnt.map_or(size, |before| before.min(size)) * 3 / 4);
        self.not_before = 0;
    }

    fn window(&self, room: Room<'_>) -> Option<u64> {
        match (room.window, self.learnt) {
            (Some(told), Some(learnt)) => Some(told.min(learnt)),
            (told, learnt) => told.or(learnt),
        }
    }

    /// Whether something has to be done.
    pub fn is_full(&self, room: Room<'_>) -> bool {
        self.window(room).is_some_and(|window| self.size(room) > part(window, TRIGGER))
    }

    /// Cuts old results until the target is met. True where that changed anything.
    pub fn cut_results(&mut self, room: Room<'_>) -> bool {
        let Some(window) = self.window(room) else { return false };
        let last = recent(room.messages);
        let before = self.cut_before;
        self.cut_before = before.max(self.summary.as_ref().map_or(0, |summary| summary.upto));
        let mut excess = self.size(room).saturating_sub(part(window, TARGET));
        while self.cut_before < last && excess > 0 {
            if let Message::ToolResult { text, .. } = &room.messages[self.cut_before] {
                let saved = size::text(text).saturating_sub(size::text(&cut(text)));
                excess = excess.saturating_sub(self.scale.apply(saved));
            }
            self.cut_before += 1;
        }
        self.cut_before > before
    }

    /// Where a summary would end so that the rest is half of the target; none where what it would
    /// stand for is not worth it, or was not worth it a moment ago.
    pub fn to_summarise(&self, room: Room<'_>) -> Option<usize> {
        let window = self.window(room)?;
        if room.messages.len() < self.not_before {
            return None;
        }
        let from = self.summary.as_ref().map_or(0, |summary| summary.upto);
        let mut keep = part(window, TARGET) / 2;
        let mut upto = room.messages.len();
        while upto > from {
            let cost = self.scale.apply(size::message(&self.shortened(upto - 1, &room.messages[upto - 1])));
            if cost > keep {
                break;
            }
            keep -= cost;
            upto -= 1;
        }
        // A result does not stand without its call. The last exchange always stays.
        while upto < room.messages.len() && matches!(room.messages[upto], Message::ToolResult { .. }) {
            upto += 1;
        }
        upto = upto.min(last_exchange(room.messages));
        let older = room.messages.get(from..upto)?;
        let worth = self.scale.apply(size::messages(older)) >= part(window, WORTH);
        (worth && older.iter().any(|message| !matches!(message, Message::System { .. }))).then_some(upto)
    }

    /// Puts a text in the place of the messages before `upto`, with the facts of all of them.
    /// False where that would not be shorter: then nothing is changed.
    pub fn replace(
        &mut self,
        room: Room<'_>,
        upto: usize,
        text: &str,
        class: &dyn Fn(&str) -> ToolClass,
    ) -> bool {
        let after = Context {
            summary: Some(Summary { text: summary::block(room.messages, upto, text, class), upto }),
            ..self.clone()
        };
        let shorter = after.size(room) < self.size(room);
        if shorter {
            *self = after;
        } else {
            // Some more has to be there before it can be worth it.
            self.not_before = room.messages.len() + 4;
        }
        shorter
    }

    /// Cuts the longest results that are left, recent ones too, until it fits.
    pub fn squeeze(&mut self, room: Room<'_>) {
        let Some(window) = self.window(room) else { return };
        let longest = room.messages.iter().filter_map(|message| match message {
            Message::ToolResult { text, .. } => Some(text.chars().count()),
            _ => None,
        });
        let mut limit = self.longest.or_else(|| longest.max()).unwrap_or(0);
        while limit > LEAST && self.size(room) > part(window, TRIGGER) {
            limit = (limit / 2).max(LEAST);
            self.longest = Some(limit);
        }
    }
}

fn part(window: u64, part: f64) -> u64 {
    (window as f64 * part) as u64
}

/// The message with which the last answers that ask for calls begin.
fn recent(messages: &[Message]) -> usize {
    let asks = |message: &Message| matches!(message, Message::Assistant { tool_calls, .. } if !tool_calls.is_empty());
    let places = messages.iter().enumerate().rev().filter(|(_, message)| asks(message));
    places.map(|(at, _)| at).nth(RECENT - 1).unwrap_or(0)
}

/// Where the last answer with its results begins, or the last message.
fn last_exchange(messages: &[Message]) -> usize {
    messages.iter().rposition(|message| !matches!(message, Message::ToolResult { .. })).unwrap_or(0)
}

/// What is left of an old result: its beginning and its identifiers.
fn cut(text: &str) -> String {
    let characters = text.chars().count();
    if characters <= SHORT {
        return text.to_owned();
    }
    let identifiers = clip(&facts::identifiers(text).join(", "), SHORT / 2);
    let begin = clip(text, SHORT / 4);
    let facts = if identifiers.is_empty() { String::new() } else { format!(" Facts: {identifiers}.") };
    let short = format!("{begin} [shortened; it had {characters} characters.{facts}]");
    if short.len() < text.len() { short } else { text.to_owned() }
}

/// The beginning and the end of a text, of at most so many characters and a mark between.
fn middle_out(text: String, longest: usize) -> String {
    let characters = text.chars().count();
    if characters <= longest {
        return text;
    }
    let half = longest / 2;
    let end = text.char_indices().nth(characters - half).map_or("", |(at, _)| &text[at..]);
    let short = format!("{} [{} characters left out] {end}", clip(&text, half), characters - 2 * half);
    // Of a text that is hardly too long the mark would make a longer one.
    if short.len() < text.len() { short } else { text }
}
