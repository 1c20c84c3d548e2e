//! The faults: one file each, and one table, in alphabetical order.
//!
//! A scenario decides when a call arrives and when its answer comes back. It is pure: what it
//! needs is in the call, and what it does is an [`Injection`]. It fires on write calls (M5: on
//! reads), never on a fixed call number, and is used up only by a call on which it really acted
//! (J11). Most are a [`Plan`], which is also what users write in a suite.

mod a1;
mod a2;
mod a3;
mod chaos;
mod e1;
mod erase;
mod f1;
mod f2;
mod f3;
mod f4;
mod f5;
mod i1;
mod i2;
mod l1;
mod m1;
mod m2;
mod m3;
mod m4;
mod m5;
mod mutate;
mod none;
mod plan;
mod r1;
mod r2;
mod r3;
mod r4;
mod r5;
mod raw;
mod rebuild;
mod story;
mod t1;
mod t2;
mod t3;
mod t4;
mod t5;
mod texts;

pub use erase::Becomes;
pub use mutate::{Elements, Mutation};
pub use plan::{Answer, Execute, Plan, Trigger};
pub use rebuild::Strike;
pub use story::{Moment, Story, Who};
pub use texts::{
    approval_question, connection_lost, error_result, structured_result, text_result, timeout, unavailable,
};

use crate::domain::{RawJson, ToolClass};
use crate::trace::{AnswerKind, Fault, Told};
use serde_json::value::RawValue;
use std::time::Duration;

/// The id of the scenario that does nothing.
pub const NONE: &str = "none";

/// The id, on the scenario axis of a suite, of chaos mode (J12), which is no scenario (J14).
pub const CHAOS: &str = "chaos";

/// Shortest and longest announcement of a 429 (F2).
pub const RETRY_AFTER: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(86_400);

/// What the settings of a run say to its scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// What the 429 of F2 announces; within [`RETRY_AFTER`].
    pub retry_after: Duration,
    /// Probability, 0 … 1, with which chaos fails a call.
    pub error_rate: f64,
    /// Seed of chaos.
    pub seed: u64,
    /// How long after the call the agent is told of the timeout (T2).
    pub delay: Duration,
    /// How long an answer is held back from a client that does not give up by itself (T4).
    pub late: Duration,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            retry_after: Duration::from_secs(60),
            error_rate: 0.0,
            seed: 0,
            delay: Duration::from_secs(10),
            late: Duration::from_secs(150),
        }
    }
}

/// What a scenario knows of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The called tool.
    pub tool: &'a str,
    /// Its class; unlisted tools are unclassified (J10).
    pub class: ToolClass,
    /// The arguments, as sent.
    pub arguments: Option<&'a RawJson>,
    /// It continues an earlier call (J9) and is no new attempt.
    pub continuation: bool,
}

impl CallView<'_> {
    /// Whether the call is a new attempt of a write: what F2 to F5 wait for.
    fn is_new_write(&self) -> bool {
        self.class == ToolClass::Write && !self.continuation
    }
}

/// What a scenario knows of the upstream's answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerView<'a> {
    /// How it counts.
    pub kind: AnswerKind,
    /// Its `result` or `error` member.
    pub body: &'a RawValue,
}

/// An answer that the agent gets from the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Injection {
    /// What was done.
    pub fault: Fault,
    /// What the agent is told.
    pub told: Told,
    /// What the agent gets.
    pub reply: Reply,
    /// When it gets it.
    pub when: When,
    /// The field of the answer that was broken, where it was one.
    pub field: Option<String>,
}

impl Injection {
    /// An error at once (J13).
    pub fn error(fault: Fault, told: Told, text: impl Into<String>) -> Injection {
        Injection { fault, told, reply: Reply::error(text), when: When::Now, field: None }
    }

    /// The text that the agent reads, where it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.reply {
            Reply::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// What the agent gets in place of the upstream's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A tool result with that text.
    Text {
        /// The text.
        text: String,
        /// `isError: true`
        is_error: bool,
    },
    /// That `result` member.
    Result(RawJson),
    /// A JSON-RPC error.
    ProtocolError {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// The upstream's own answer.
    Own,
    /// None: the connection breaks.
    Cut {
        /// The upstream is killed, too.
        kill: bool,
    },
}

impl Reply {
    /// A tool result with `isError: true` (J13).
    pub fn error(text: impl Into<String>) -> Reply {
        Reply::Text { text: text.into(), is_error: true }
    }
}

/// When the agent gets its answer. Where it gives up before, it gets it then; it is free to
/// ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// So long after the call arrived.
    After(Duration),
    /// When the upstream has given a sign that it works on the call, or has answered it; at the
    /// latest so long after the call arrived.
    Started(Duration),
    /// Only when the agent has given up; at the latest so long after the call arrived.
    GivenUp(Duration),
    /// When the client has said what becomes of a request for an approval; at the latest so long after
    /// the call arrived.
    Replied(Duration),
}

/// What happens to a call that arrived.
#[derive(Debug, Clone, PartialEq)]
pub enum OnCall {
    /// It goes upstream.
    Forward,
    /// It goes upstream, and the scenario has fired though it injects nothing (F4).
    ForwardFired,
    /// It does not go upstream; the agent gets this (J6).
    Answer(Injection),
    /// It goes upstream, and the agent gets this whatever comes of it.
    ForwardThen(Injection),
    /// It does not go upstream; an approval is asked for, and then the agent gets this, whatever came of
    /// that (J6).
    Ask(Injection),
    /// The upstream is rebuilt at this call.
    Rebuild(Strike),
}

/// What happens to the upstream's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum OnAnswer {
    /// The agent gets it.
    Deliver,
    /// The agent gets this instead.
    Replace(Injection),
    /// The agent gets it, since it cannot be changed so that the agent notices; why, for people.
    Left(&'static str),
}

/// A fault, armed for one run.
pub trait Scenario: Send {
    /// A call arrived.
    fn on_call(&mut self, _call: &CallView<'_>) -> OnCall {
        OnCall::Forward
    }

    /// The upstream answered in time.
    fn on_answer(&mut self, _call: &CallView<'_>, _answer: &AnswerView<'_>) -> OnAnswer {
        OnAnswer::Deliver
    }
}

/// One line of the table.
pub struct Entry {
    /// The id as users write it.
    pub id: &'static str,
    /// One line on what happens.
    pub summary: &'static str,
    /// What can be chosen after a colon (`E1:502`), with what it means; the first is meant where
    /// nothing is chosen.
    pub variants: &'static [(&'static str, &'static str)],
    /// What happens, for people.
    pub story: Story,
    /// The same of variants with which something else happens, by their names.
    pub stories: &'static [(&'static str, Story)],
    /// Arms the variant with that name; it is empty where there are none.
    pub build: fn(&Parameters, &str) -> Box<dyn Scenario>,
}

impl Entry {
    /// What happens with a variant, for people.
    pub fn story_of(&self, variant: &str) -> &Story {
        self.stories.iter().find(|(name, _)| *name == variant).map_or(&self.story, |(_, story)| story)
    }

    /// The spellings by which it can be asked for: its id alone, and with each variant.
    pub fn spellings(&self) -> impl Iterator<Item = String> {
        let id = self.id;
        std::iter::once(id.to_owned())
            .chain(self.variants.iter().map(move |(variant, _)| format!("{id}:{variant}")))
    }
}

/// Every scenario, in alphabetical order.
pub fn table() -> &'static [Entry] {
    &[
        a1::ENTRY,
        a2::ENTRY,
        a3::ENTRY,
        chaos::ENTRY,
        e1::ENTRY,
        f1::ENTRY,
        f2::ENTRY,
        f3::ENTRY,
        f4::ENTRY,
        f5::ENTRY,
        i1::ENTRY,
        i2::ENTRY,
        l1::ENTRY,
        m1::ENTRY,
        m2::ENTRY,
        m3::ENTRY,
        m4::ENTRY,
        m5::ENTRY,
        none::ENTRY,
        r1::ENTRY,
        r2::ENTRY,
        r3::ENTRY,
        r4::ENTRY,
        r5::ENTRY,
        t1::ENTRY,
        t2::ENTRY,
        t3::ENTRY,
        t4::ENTRY,
        t5::ENTRY,
    ]
}

/// Every spelling of every scenario.
pub fn spellings() -> Vec<String> {
    table().iter().flat_map(Entry::spellings).collect()
}

/// The entry that a spelling asks for, and the variant.
pub fn find(spelling: &str) -> Option<(&'static Entry, &'static str)> {
    let (id, variant) = match spelling.split_once(':') {
        Some((id, variant)) => (id, Some(variant)),
        None => (spelling, None),
    };
    let entry = table().iter().find(|entry| entry.id == id)?;
    let chosen = match variant {
        Some(variant) => entry.variants.iter().find(|(name, _)| *name == variant)?.0,
        None => entry.variants.first().map_or("", |(name, _)| name),
    };
    Some((entry, chosen))
}

/// Arms the scenario with that spelling, if there is one.
pub fn build(spelling: &str, parameters: &Parameters) -> Option<Box<dyn Scenario>> {
    find(spelling).map(|(entry, variant)| (entry.build)(parameters, variant))
}

/// What happens to a client whose upstream a scenario with that spelling rebuilds; none where it rebuilds
/// nothing.
pub fn rebuilds(spelling: &str) -> Option<&'static str> {
    find(spelling).filter(|(entry, _)| entry.id.starts_with('R')).map(|(_, variant)| variant)
}

/// Whether a scenario with that spelling gives the agent answers that break their tool's contract (J28).
pub fn breaks_answers(spelling: &str) -> bool {
    find(spelling).is_some_and(|(entry, _)| entry.id.starts_with('M'))
}

/// Whether a run under a scenario can meet a fault: under the baselines, none and F4, none can.
pub fn has_fault(spelling: &str) -> bool {
    ![none::ENTRY.id, f4::ENTRY.id].contains(&spelling)
}

/// Arms a fault that a user describes.
pub fn armed(plan: Plan) -> Box<dyn Scenario> {
    Box::new(plan::Armed::new(plan))
}

#[cfg(test)]
mod tests;
