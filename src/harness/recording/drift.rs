//! What is different between two requests. Pure.

use crate::harness::message::{Message, ToolSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The most that is told of a text, in characters.
const SHOWN: usize = 60;

/// One difference between what was recorded and what is asked today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Which request, from 1.
    pub request: usize,
    /// Where in it: `system prompt`, `user`, `answer`, `tool result`, `tools`, `requests`.
    pub place: String,
    /// What is different, in words.
    pub what: String,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}, {}: {}", self.request, self.place, self.what)
    }
}

/// Every difference between a request as it was recorded and as it is today.
pub(super) fn between(
    request: usize,
    (messages_then, tools_then): (&[Message], &[ToolSpec]),
    (messages_now, tools_now): (&[Message], &[ToolSpec]),
) -> Vec<Drift> {
    let mut found = Vec::new();
    let mut note = |place: &str, what: String| found.push(Drift { request, place: place.to_owned(), what });
    let (then, now) = (by_name(tools_then), by_name(tools_now));
    for (name, tool) in &then {
        match now.get(name) {
            None => note("tools", format!("{name} is no longer offered")),
            Some(other) if tool.description != other.description => {
                note("tools", format!("{name}: {}", texts(&tool.description, &other.description)));
            }
            Some(other) if tool.input_schema != other.input_schema => {
                let (one, other) = (show(&tool.input_schema), show(&other.input_schema));
                note("tools", format!("the arguments of {name}: {}", texts(&one, &other)));
            }
            // Hints are for the loop; no model sees them.
            Some(_) => {}
        }
    }
    for name in now.keys().filter(|name| !then.contains_key(*name)) {
        note("tools", format!("{name} is offered now"));
    }
    let order = |tools: &[ToolSpec]| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    if then.keys().eq(now.keys()) && order(tools_then) != order(tools_now) {
        note("tools", "they are offered in another order".to_owned());
    }
    for at in 0..messages_then.len().max(messages_now.len()) {
        match (messages_then.get(at), messages_now.get(at)) {
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) if place(one) != place(other) => {
                let what = format!("message {} was of the kind \"{}\"", at + 1, place(one));
                note(place(other), what);
                // From here on nothing stands beside what it was.
                break;
            }
            (Some(one), Some(other)) => note(place(other), message(at, one, other)),
            (Some(one), None) => note(place(one), format!("message {} is missing: {}", at + 1, said(one))),
            (None, Some(other)) => note(place(other), format!("message {} is new: {}", at + 1, said(other))),
            (None, None) => {}
        }
    }
    found
}

fn by_name(tools: &[ToolSpec]) -> BTreeMap<&str, &ToolSpec> {
    tools.iter().map(|tool| (tool.name.as_str(), tool)).collect()
}

fn place(message: &Message) -> &'static str {
    match message {
        Message::System { .. } => "system prompt",
        Message::User { .. } => "user",
        Message::Assistant { .. } => "answer",
        Message::ToolResult { .. } => "tool result",
    }
}

fn message(at: usize, one: &Message, other: &Message) -> String {
    let place = at + 1;
    match (one, other) {
        (
            Message::ToolResult { is_error: was, text: then, .. },
            Message::ToolResult { is_error: is, text: now, .. },
        ) if was != is => {
            let word = |is_error: bool| if is_error { "a failure" } else { "a success" };
            format!("message {place} was {} and is {}: {}", word(*was), word(*is), texts(then, now))
        }
        _ => format!("message {place}: {}", texts(&said(one), &said(other))),
    }
}

/// All that a model sees of a message, as a text.
fn said(message: &Message) -> String {
    match message {
        Message::System { text } | Message::User { text } => text.clone(),
        Message::ToolResult { text, call_id, .. } => format!("{text} (of {call_id})"),
        Message::Assistant { text, tool_calls } => {
            let calls =
                tool_calls.iter().map(|call| format!("{} {}{}", call.id, call.name, show(&call.arguments)));
            std::iter::once(text.clone())
                .chain(calls)
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }
    }
}

fn show(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Two texts from a little before the place where they part.
fn texts(one: &str, other: &str) -> String {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN / 3);
    let part = |text: &str| {
        let mut shown: String = text.chars().skip(from).take(SHOWN).collect();
        if from > 0 {
            shown.insert(0, '…');
        }
        if text.chars().count() > from + SHOWN {
            shown.push('…');
        }
        format!("{shown:?}")
    };
    format!("it was {}, and is {}", part(one), part(other))
}
