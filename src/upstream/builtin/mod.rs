//! The built-in upstreams: small servers that keep a ledger of what they really did.
//!
//! Each is a file with one [`Builtin`] and a line in [`BUILTINS`]. What a server is (its tools
//! and its rules) is a [`Desk`]: a pure state machine whose state is the fold of its effects.
//! Serving it over MCP is [`serve`]'s work, keeping the effects is [`ledger`]'s.

mod booking;
mod clinic;
mod fields;
pub mod ledger;
mod payments;
pub mod serve;
#[cfg(test)]
mod testing;

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Every built-in upstream, by name.
pub const BUILTINS: &[&Builtin] = &[&booking::BOOKING, &clinic::CLINIC, &payments::PAYMENTS];

/// A JSON object.
pub type Object = Map<String, Value>;

/// One built-in upstream: what it is called, what can be set, and how it is opened.
#[derive(Debug)]
pub struct Builtin {
    /// The name in suites and on the command line.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// What a suite or a command line can set.
    pub settings: &'static [Setting],
    /// What the server says it is to its clients.
    pub identity: Identity,
    /// Opens it with an empty state.
    pub open: fn(&Settings) -> Box<dyn Desk>,
}

/// What a server tells a client about itself. Nothing here may hint at a test.
#[derive(Debug)]
pub struct Identity {
    /// `serverInfo.name`
    pub name: &'static str,
    /// `serverInfo.title`
    pub title: &'static str,
    /// `serverInfo.version`
    pub version: &'static str,
    /// `instructions`
    pub instructions: &'static str,
}

/// A yes-or-no setting of a built-in upstream.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name, the same in suites (`search: true`) and flags (`--search true`).
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The value where none is given.
    pub default: bool,
}

/// The values of a [`Builtin`]'s settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, bool>);

/// A name that no built-in upstream, or none of its settings, has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownName {
    /// No such upstream.
    #[error("no built-in upstream is called \"{0}\"; there are: {names}", names = names())]
    Upstream(String),
    /// No such setting.
    #[error("the built-in upstream \"{upstream}\" has no setting \"{setting}\"; it has: {known}")]
    Setting {
        /// The upstream.
        upstream: &'static str,
        /// The name that was given.
        setting: String,
        /// The names that it has.
        known: String,
    },
}

fn names() -> String {
    BUILTINS.iter().map(|builtin| builtin.name).collect::<Vec<_>>().join(", ")
}

/// The built-in upstream of that name.
///
/// # Errors
/// Where there is none.
pub fn find(name: &str) -> Result<&'static Builtin, UnknownName> {
    BUILTINS
        .iter()
        .find(|builtin| builtin.name == name)
        .copied()
        .ok_or_else(|| UnknownName::Upstream(name.to_owned()))
}

impl Builtin {
    /// Its settings with the given values, the defaults for the rest.
    ///
    /// # Errors
    /// Where a name is not one of its settings.
    pub fn settings<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, bool)>,
    ) -> Result<Settings, UnknownName> {
        let mut values: BTreeMap<_, _> =
            self.settings.iter().map(|setting| (setting.name, setting.default)).collect();
        for (name, value) in given {
            let Some(setting) = self.settings.iter().find(|setting| setting.name == name) else {
                return Err(UnknownName::Setting {
                    upstream: self.name,
                    setting: name.to_owned(),
                    known: self.settings.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", "),
                });
            };
            values.insert(setting.name, value);
        }
        Ok(Settings(values))
    }
}

impl Settings {
    /// The value of a setting; false for a name that the upstream does not have.
    pub fn on(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }
}

/// A tool as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDef {
    /// Its name.
    pub name: &'static str,
    /// What it is for, as a hotel or a clinic would say it.
    pub description: &'static str,
    /// Its input schema.
    pub input: Object,
    /// What it may do to the state.
    pub kind: ToolKind,
}

/// What a tool may do, as its annotations say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Changes nothing.
    Read,
    /// Adds something.
    Add,
    /// Changes or ends something that is there.
    Change,
}

/// What a call changes: one line of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// What was done: the name of the tool.
    pub effect: &'static str,
    /// The record as it is afterwards.
    pub record: Object,
}

/// What comes of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What it changes, if anything.
    pub effect: Option<Effect>,
    /// What the client is told.
    pub answer: Answer,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It was done, or this is what was asked for.
    Done(String),
    /// It was refused, with the reason (`isError: true`).
    Refused(String),
    /// There is no such tool.
    NoSuchTool,
}

impl Outcome {
    /// Refused, nothing changed.
    pub fn refused(reason: impl Into<String>) -> Outcome {
        Outcome { effect: None, answer: Answer::Refused(reason.into()) }
    }

    /// Answered with a JSON value, nothing changed.
    pub fn answered(value: &Value) -> Outcome {
        Outcome { effect: None, answer: Answer::Done(value.to_string()) }
    }

    /// Done: the record is what is written and what is answered.
    pub fn done(effect: &'static str, record: Object) -> Outcome {
        let answer = Answer::Done(Value::Object(record.clone()).to_string());
        Outcome { effect: Some(Effect { effect, record }), answer }
    }
}

/// The pure part of a built-in upstream. Deciding and committing are apart, so that an effect
/// can be on disk before it counts, and so that another process can have written it.
pub trait Desk: Send {
    /// The tools, in the order in which they are listed.
    fn tools(&self) -> Vec<ToolDef>;

    /// What a call would do in the present state. Changes nothing.
    fn decide(&self, tool: &str, arguments: &Object) -> Outcome;

    /// Takes over an effect, of this process or of an earlier one.
    fn commit(&mut self, effect: &str, record: &Object, arguments: &Object);
}
