//! Where a conversation stands, read from its messages.

use super::behaviour::Situation;
use super::words;
use super::{follow_up, look_up};
use crate::harness::message::{Message, Object};
use serde_json::Value;
use std::collections::HashMap;

/// What a script has to know of the messages so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Where it stands.
    pub situation: Situation,
    /// The arguments of the last write, if there was one.
    pub arguments: Option<Object>,
    /// What the write was last answered.
    pub answer: String,
    /// How often the write was sent again since the user last spoke.
    pub repeats: u32,
    /// How many look-ups failed since the write was sent or the user last spoke.
    pub failed_look_ups: u32,
    /// How many moments there were before this one in which a chance may have decided.
    pub choices: u32,
    /// How many tools were called.
    pub calls: usize,
    /// What stands where the record's identifier should, in the last answer that has such a place.
    pub identifier: Option<Value>,
    /// The write was last answered as carried out.
    pub confirmed: bool,
    /// The write was refused for good.
    pub refused: bool,
    /// What the last failure of the write said of sending it again, where it said so in a form.
    pub advice: Option<String>,
}

/// The system prompt.
pub fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What the user asked for at first: all before the model's first words, since some agents put
/// a message of their own before the user's.
pub fn prompt(messages: &[Message]) -> String {
    let first = messages.iter().take_while(|message| !matches!(message, Message::Assistant { .. }));
    let texts = first.filter_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl Reading {
    /// Reads the messages of a conversation in which `write` is the tool that writes, and `follow` the one
    /// that goes on with what was written.
    pub fn of(messages: &[Message], write: &str, follow: Option<&str>) -> Reading {
        let mut reading = Reading {
            situation: Situation::Asked,
            arguments: None,
            answer: String::new(),
            repeats: 0,
            failed_look_ups: 0,
            choices: 0,
            calls: 0,
            identifier: None,
            confirmed: false,
            refused: false,
            advice: None,
        };
        let mut called: HashMap<&str, (&str, &Object)> = HashMap::new();
        let mut spoke = false;
        for message in messages {
            match message {
                Message::System { .. } => {}
                Message::User { .. } if !spoke => {}
                Message::User { .. } => reading.user(),
                Message::Assistant { tool_calls, .. } => {
                    spoke = true;
                    for call in tool_calls {
                        reading.calls += 1;
                        called.insert(&call.id, (&call.name, &call.arguments));
                        if call.name == write {
                            reading.repeats += u32::from(reading.arguments.is_some());
                            reading.failed_look_ups = 0;
                            reading.arguments = Some(call.arguments.clone());
                        }
                    }
                }
                Message::ToolResult { call_id, text, is_error } => match called.get(call_id.as_str()) {
                    Some((name, _)) if *name == write => reading.written(text, *is_error),
                    Some((name, _)) if Some(*name) == follow => reading.followed(text, *is_error),
                    Some(_) => reading.looked_up(text, *is_error),
                    None => {}
                },
            }
        }
        reading
    }

    fn user(&mut self) {
        self.repeats = 0;
        self.failed_look_ups = 0;
        self.situation = match self.situation {
            Situation::Asked => Situation::Asked,
            Situation::Succeeded | Situation::Found | Situation::Settled | Situation::Followed => {
                Situation::Settled
            }
            Situation::TurnedAway | Situation::Pressed => {
                self.choices += 1;
                Situation::Pressed
            }
            _ => {
                self.choices += 1;
                Situation::Insisted
            }
        };
    }

    fn written(&mut self, text: &str, is_error: bool) {
        self.answer = text.to_owned();
        self.identifier = follow_up::of_answer(text).filter(|_| !is_error);
        self.confirmed = !is_error;
        self.refused = is_error && words::refuses(text);
        self.advice = words::advice(text).filter(|_| is_error);
        self.situation = if !is_error {
            Situation::Succeeded
        } else {
            // The first failure is choice 0.
            self.choices += u32::from(self.situation != Situation::Asked);
            if words::turned_away(text) { Situation::TurnedAway } else { Situation::Failed }
        };
    }

    fn followed(&mut self, text: &str, is_error: bool) {
        self.answer = text.to_owned();
        self.refused |= is_error && words::refuses(text);
        self.situation = if is_error { Situation::Stranded } else { Situation::Followed };
    }

    fn looked_up(&mut self, text: &str, is_error: bool) {
        let Some(arguments) = &self.arguments else { return };
        let found = look_up::identifier(text, arguments).filter(|_| !is_error);
        let is_shown = found.is_some();
        self.identifier = found.or(self.identifier.take());
        // What was said to be done is not sent again because it is not shown yet.
        if self.confirmed && matches!(self.situation, Situation::Succeeded | Situation::Unclear) {
            self.failed_look_ups += u32::from(!is_shown);
            self.situation = if is_shown { Situation::Found } else { Situation::Unclear };
            return;
        }
        if matches!(self.situation, Situation::Settled | Situation::Found | Situation::Followed) {
            return;
        }
        self.situation = if is_error {
            self.failed_look_ups += 1;
            Situation::Unclear
        } else if look_up::shows(text, arguments) {
            Situation::Found
        } else {
            Situation::Missing
        };
    }
}
