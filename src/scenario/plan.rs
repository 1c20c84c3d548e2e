//! A fault as data: where it strikes, whether the work is done, what the agent gets, and when.
//! Most of the built-in faults are a plan, and so are those that users write in a suite.

use super::erase::Changed;
use super::mutate::{self, Mutation};
use super::{AnswerView, CallView, Injection, OnAnswer, OnCall, Reply, Scenario, When, texts};
use crate::domain::classify::glob;
use crate::domain::json::canonical;
use crate::domain::{RawJson, ToolClass};
use crate::trace::{AnswerKind, Fault, Told};
use std::time::Duration;

/// A fault as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Which calls it waits for.
    pub on: Trigger,
    /// Whether the upstream gets the call.
    pub execute: Execute,
    /// When the agent gets its answer.
    pub when: When,
    /// What the agent gets.
    pub answer: Answer,
    /// How often it strikes; none for always.
    pub times: Option<u32>,
    /// What it is called in the trace.
    pub fault: Fault,
}

/// Which calls a fault waits for. Continuations (J9) are no calls of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trigger {
    /// Their tool's class.
    pub class: Option<ToolClass>,
    /// Their tool's name, with `*`.
    pub tool: Option<String>,
    /// Arguments that they have, by name, as canonical JSON.
    pub arguments: Vec<(String, String)>,
    /// Those before the n-th, from 1, are let through.
    pub nth: u32,
}

impl Trigger {
    /// Every write from the first on.
    pub const WRITES: Trigger =
        Trigger { class: Some(ToolClass::Write), tool: None, arguments: Vec::new(), nth: 1 };

    fn matches(&self, call: &CallView<'_>) -> bool {
        self.class.is_none_or(|class| class == call.class)
            && self.tool.as_ref().is_none_or(|pattern| glob(pattern, call.tool))
            && self.arguments.iter().all(|(name, wanted)| {
                let field = call.arguments.and_then(|arguments| argument(arguments, name));
                field.is_some_and(|field| field == *wanted)
            })
    }
}

/// The canonical form of an argument at the top level.
pub(super) fn argument(arguments: &RawJson, name: &str) -> Option<String> {
    let all: std::collections::HashMap<String, RawJson> = serde_json::from_str(arguments.get()).ok()?;
    all.get(name).map(|value| canonical(value.get()))
}

/// Whether the upstream gets the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execute {
    /// No.
    No,
    /// Yes, and the fault strikes once it has carried the call out.
    Before,
    /// Yes, and the fault strikes at once, while the work goes on.
    After,
}

/// What the agent gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// That it timed out.
    Timeout,
    /// An HTTP status; with a 429 how long to wait, where that is said.
    Status(u16, Option<Duration>),
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Whether it is an error.
        is_error: bool,
        /// What it tells the agent.
        told: Told,
    },
    /// Half of the upstream's answer.
    Half,
    /// The upstream's answer with a change.
    Mutate(Mutation),
    /// A broken connection.
    Cut {
        /// The upstream is killed, too.
        kill: bool,
    },
    /// The upstream's answer, too late.
    Late,
    /// A JSON-RPC error.
    ProtocolError {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
}

impl Answer {
    /// Whether it is made from the upstream's answer.
    pub fn needs_answer(&self) -> bool {
        matches!(self, Answer::Half | Answer::Mutate(_) | Answer::Late)
    }
}

/// A plan, armed for one run.
pub(super) struct Armed {
    plan: Plan,
    seen: u32,
    struck: u32,
}

impl Armed {
    pub fn new(plan: Plan) -> Armed {
        Armed { plan, seen: 0, struck: 0 }
    }

    fn is_spent(&self) -> bool {
        self.plan.times.is_some_and(|times| self.struck >= times)
    }

    /// Counts a call that it waits for; whether it is struck.
    fn is_hit(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        let hit = self.seen >= self.plan.on.nth;
        self.struck += u32::from(hit);
        hit
    }

    /// What is given to the agent; why there is nothing to give, where there could have been.
    fn injection(&self, answer: Option<&AnswerView<'_>>) -> Result<Injection, Option<&'static str>> {
        let mut field = None;
        let text = |told: Told, text: &str| (told, Reply::error(text));
        let (told, reply) = match &self.plan.answer {
            Answer::Timeout => text(Told::Timeout, texts::timeout()),
            Answer::Status(code, wait) => match (code, wait) {
                (429, Some(wait)) => text(
                    Told::RateLimited { retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) },
                    &texts::rate_limited(wait.as_secs()),
                ),
                _ => text(told_by(*code), &texts::status(*code)),
            },
            Answer::Text { text, is_error, told } => {
                (*told, Reply::Text { text: text.clone(), is_error: *is_error })
            }
            Answer::Half => text(Told::Malformed, &mutate::half(answer.ok_or(None)?.body)),
            Answer::Mutate(mutation) => match mutate::apply(answer.ok_or(None)?.body, mutation) {
                Changed::Yes(result, name) => {
                    field = name;
                    (Told::Altered, Reply::Result(result))
                }
                Changed::Nothing => return Err(None),
                Changed::StillReadable(why) => return Err(Some(why)),
            },
            Answer::Cut { kill } => (Told::ConnectionLost, Reply::Cut { kill: *kill }),
            Answer::Late => (Told::Late, Reply::Own),
            Answer::ProtocolError { code, message } => {
                // A tool can fail so after it has written (J7).
                (Told::ServerError, Reply::ProtocolError { code: *code, message: message.clone() })
            }
        };
        Ok(Injection { fault: self.plan.fault, told, reply, when: self.plan.when, field })
    }
}

/// What a status tells the agent.
fn told_by(code: u16) -> Told {
    match code {
        401 => Told::Unauthorized,
        403 => Told::Forbidden,
        408 | 504 => Told::Timeout,
        // It does not say how long to wait.
        429 => Told::RateLimited { retry_after_ms: 0 },
        500.. => Told::ServerError,
        _ => Told::Failed,
    }
}

impl Scenario for Armed {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        let waits = self.plan.execute != Execute::Before && !call.continuation;
        if !waits || self.is_spent() || !self.plan.on.matches(call) {
            return OnCall::Forward;
        }
        match self.injection(None) {
            Ok(injection) if self.is_hit() => match self.plan.execute {
                Execute::After => OnCall::ForwardThen(injection),
                Execute::No | Execute::Before => OnCall::Answer(injection),
            },
            _ => OnCall::Forward,
        }
    }

    fn on_answer(&mut self, call: &CallView<'_>, answer: &AnswerView<'_>) -> OnAnswer {
        let waits = self.plan.execute == Execute::Before && answer.kind == AnswerKind::Result;
        if !waits || self.is_spent() || !self.plan.on.matches(call) {
            return OnAnswer::Deliver;
        }
        match self.injection(Some(answer)) {
            Ok(injection) if self.is_hit() => OnAnswer::Replace(injection),
            Err(Some(why)) => OnAnswer::Left(why),
            _ => OnAnswer::Deliver,
        }
    }
}
