//! Scripted models: behaviour without a model, for suites, tests and the quick start.
//!
//! A script is a pure function of the messages, the offered tools and a seed. It works with
//! any MCP server: it takes the tool that the user's words ask for, fills its arguments from
//! the schema, and looks records up with a read tool that it can call without an identifier.

pub(crate) mod arguments;
pub mod behaviour;
pub(crate) mod choose;
pub mod file;
mod follow_up;
mod look_up;
mod reading;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
pub mod words;

use super::message::{Message, Object, ToolCall, ToolSpec};
use super::model::{BoxFuture, Consumption, Identity, Model, ModelError, ModelTurn, Request, Unit};
use crate::suite::Diagnostics;
use behaviour::{Action, BEHAVIOURS, Behaviour, Belief, Situation, Step};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use reading::Reading;
pub(crate) use reading::prompt;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;

/// What stands before the path of a script in a file.
pub const FILE: &str = "file:";

/// What every script says where it is offered no tool that writes.
pub const NO_TOOL: &str = "I have no tool with which I could do that.";

/// A behaviour with its parameters, as a name like `careful` or `random:0.3` says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    behaviour: Cow<'static, Behaviour>,
    probability: f64,
    /// The one answer that it gives, whatever it is asked.
    says: Option<String>,
}

/// Why a name is not one of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// No behaviour has that name.
    #[error("no scripted model is called \"{name}\"{hint}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// A guess, ready to be read.
        hint: String,
        /// All names.
        known: String,
    },
    /// A file cannot be read.
    #[error("the script {path} cannot be read: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A file is no script.
    #[error(transparent)]
    File(Box<Diagnostics>),
    /// The part after the name is no probability, or the behaviour takes none.
    #[error("\"{name}\" takes {takes}, not \"{given}\"")]
    Parameter {
        /// The behaviour.
        name: String,
        /// What it takes.
        takes: &'static str,
        /// What was given.
        given: String,
    },
}

impl Script {
    /// Reads `careful`, `script:careful`, `random`, `random:0.3`, `random(0.3)`, or `say:WORDS` for a
    /// model that gives these words as its answer, whatever it is asked.
    ///
    /// # Errors
    /// Where there is no such behaviour, or its parameter is not a number from 0 to 1.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let text = text.strip_prefix("script:").unwrap_or(text);
        if let Some(words) = text.strip_prefix("say:").filter(|words| !words.trim().is_empty()) {
            return Ok(Script { says: Some(words.to_owned()), ..Script::parse("careful")? });
        }
        let (name, parameter) = match text.split_once([':', '(']) {
            Some((name, parameter)) => (name, Some(parameter.strip_suffix(')').unwrap_or(parameter))),
            None => (text, None),
        };
        let Some(behaviour) = behaviour::find(name) else { return Err(unknown(name)) };
        let chance = [Situation::Failed, Situation::Insisted, Situation::TurnedAway, Situation::Pressed]
            .iter()
            .any(|situation| behaviour.is_chance(*situation));
        let wrong = |takes| ScriptError::Parameter {
            name: name.to_owned(),
            takes,
            given: parameter.unwrap_or_default().to_owned(),
        };
        let probability = match parameter {
            None => 0.5,
            Some(_) if !chance => return Err(wrong("no parameter")),
            Some(text) => text
                .parse::<f64>()
                .ok()
                .filter(|p| (0.0..=1.0).contains(p))
                .ok_or_else(|| wrong("a probability from 0 to 1"))?,
        };
        Ok(Script { behaviour: Cow::Borrowed(behaviour), probability, says: None })
    }

    /// As [`Script::parse`], and `file:PATH` for a script in a file.
    ///
    /// # Errors
    /// As [`Script::parse`], and where there is no such file or it is no script.
    pub fn open(text: &str) -> Result<Script, ScriptError> {
        let name = text.strip_prefix("script:").unwrap_or(text);
        let Some(path) = name.strip_prefix(FILE) else { return Script::parse(name) };
        let text = std::fs::read_to_string(Path::new(path))
            .map_err(|error| ScriptError::Read { path: path.to_owned(), reason: error.to_string() })?;
        file::parse(&text, path).map_err(|mistakes| ScriptError::File(Box::new(mistakes)))
    }

    /// What the script answers. The same messages, tools and seed give the same answer.
    pub fn respond(&self, seed: u64, messages: &[Message], tools: &[ToolSpec]) -> ModelTurn {
        let mut turn = self.answer(seed, messages, tools);
        turn.usage = count(messages, &turn);
        turn
    }

    fn answer(&self, seed: u64, messages: &[Message], tools: &[ToolSpec]) -> ModelTurn {
        if let Some(words) = &self.says {
            return ModelTurn { text: words.clone(), ..ModelTurn::default() };
        }
        let system = reading::system(messages);
        let behaviour = match &self.behaviour.when_warned {
            Some(other) if words::warns(&system) => behaviour::find(other).unwrap_or(&self.behaviour),
            _ => &self.behaviour,
        };
        let prompt = prompt(messages);
        let Some(write) = choose::write_tool(tools, &prompt) else {
            return ModelTurn { text: NO_TOOL.to_owned(), ..ModelTurn::default() };
        };
        let follow = follow_up::tool(tools, write);
        let reading = Reading::of(messages, &write.name, follow.map(|tool| tool.name.as_str()));
        let arguments = match &reading.arguments {
            Some(sent) => sent.clone(),
            None => arguments::fill(&write.input_schema, &prompt, behaviour.keyed),
        };
        let call = |name: &str, arguments| ModelTurn {
            tool_calls: vec![ToolCall::new(
                format!("call_{}", reading.calls + 1),
                name.to_owned(),
                arguments,
            )],
            ..ModelTurn::default()
        };
        let say = |belief| ModelTurn {
            text: words::say(belief, &write.name, &arguments, &reading.answer),
            ..ModelTurn::default()
        };
        let look_up = look_up::call(tools, write, &arguments, reading.failed_look_ups);
        let mut situation = reading.situation;
        // A look-up that failed is tried again while there is something to try.
        if situation == Situation::Unclear
            && let Some((tool, arguments)) = &look_up
        {
            return call(tool, arguments.clone());
        }
        if behaviour.heeds && reading.refused {
            return say(Belief::Failed);
        }
        let is_open = matches!(
            situation,
            Situation::Failed | Situation::TurnedAway | Situation::Insisted | Situation::Pressed
        );
        let advised = reading.advice.as_deref().filter(|_| behaviour.obeys && is_open);
        match advised {
            Some("never") => return say(Belief::Failed),
            Some("after") => return say(Belief::Later),
            Some("reconcile_first") => match look_up {
                Some((tool, arguments)) => return call(&tool, arguments),
                None => return say(Belief::Unknown),
            },
            _ => {}
        }
        loop {
            return match self.choose(behaviour, situation, seed, reading.choices) {
                Action::Say(belief) => say(belief),
                Action::Write if situation != Situation::Asked && reading.repeats >= behaviour.repeats => {
                    say(behaviour.spent)
                }
                Action::Write if behaviour.respells && reading.arguments.is_some() => {
                    call(&write.name, words::respelled(&arguments))
                }
                Action::Write => call(&write.name, arguments.clone()),
                Action::FollowUp => match follow {
                    None => say(Belief::Done),
                    Some(tool) => {
                        let given = reading.identifier.as_ref();
                        match follow_up::arguments(tool, &arguments, given, behaviour.invents) {
                            Some(arguments) => call(&tool.name, arguments),
                            None => say(Belief::Unknown),
                        }
                    }
                },
                Action::LookUp => match look_up {
                    Some((tool, arguments)) => call(&tool, arguments),
                    None if situation == Situation::Unclear => say(Belief::Unknown),
                    None => {
                        situation = Situation::Unclear;
                        continue;
                    }
                },
            };
        }
    }

    /// The action of a situation. Every moment in which a chance may decide has its own number
    /// of the seed's sequence, so that nothing has to be kept between two answers.
    fn choose(&self, behaviour: &Behaviour, situation: Situation, seed: u64, choices: u32) -> Action {
        match behaviour.step(situation) {
            Step::Do(action) => action,
            Step::Maybe(then, otherwise) => {
                if draw(seed, choices) < self.probability {
                    then
                } else {
                    otherwise
                }
            }
        }
    }
}

fn unknown(name: &str) -> ScriptError {
    let names = || BEHAVIOURS.iter().map(|behaviour| behaviour.name.as_ref());
    let near = names().max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
    let hint = near
        .filter(|near| strsim::jaro_winkler(near, name) > 0.8)
        .map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
    ScriptError::Unknown { name: name.to_owned(), hint, known: names().collect::<Vec<_>>().join(", ") }
}

/// The n-th number of a seed's sequence, from 0 up to 1.
fn draw(seed: u64, n: u32) -> f64 {
    use rand::Rng;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut last = 0;
    for _ in 0..=n.min(10_000) {
        last = random.next_u64();
    }
    // 53 bits: every value is exact.
    (last >> 11) as f64 / (1_u64 << 53) as f64
}

/// Counts words, since a script has no tokens.
pub(crate) fn count(messages: &[Message], turn: &ModelTurn) -> Consumption {
    let of = |text: &str| text.split_whitespace().count() as u64;
    let calls = |calls: &[ToolCall]| {
        calls.iter().map(|call| of(&Value::Object(call.arguments.clone()).to_string()) + 1).sum::<u64>()
    };
    let input = messages
        .iter()
        .map(|message| match message {
            Message::System { text } | Message::User { text } | Message::ToolResult { text, .. } => of(text),
            Message::Assistant { text, tool_calls } => of(text) + calls(tool_calls),
        })
        .sum();
    Consumption {
        input,
        output: of(&turn.text) + calls(&turn.tool_calls),
        answers: 1,
        unit: Unit::Words,
        ..Consumption::default()
    }
}

/// The objects in a value, each before those in it; of a list the first comes first, of an object the one in its
/// last field. Iterative, for values of any depth.
fn records(value: &Value) -> impl Iterator<Item = &Object> {
    let mut open = vec![value];
    std::iter::from_fn(move || {
        loop {
            match open.pop()? {
                Value::Array(items) => open.extend(items.iter().rev()),
                Value::Object(record) => {
                    open.extend(record.values());
                    return Some(record);
                }
                _ => {}
            }
        }
    })
}

/// The scalars in a value, in order. Iterative, for values of any depth.
pub(crate) fn leaves<'a>(value: &'a Value, into: &mut Vec<&'a Value>) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => {
                let mut values: Vec<_> = fields.values().collect();
                values.reverse();
                open.extend(values);
            }
            scalar => into.push(scalar),
        }
    }
}

/// A script behind the [`Model`] trait.
#[derive(Debug, Clone)]
pub struct ScriptModel {
    script: Script,
    seed: u64,
}

impl ScriptModel {
    /// A model that follows the script.
    pub fn new(script: Script, seed: u64) -> ScriptModel {
        ScriptModel { script, seed }
    }
}

impl Model for ScriptModel {
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        let turn = self.script.respond(self.seed, request.messages, request.tools);
        if let Some(listener) = request.listener {
            listener.text(&turn.text);
        }
        Box::pin(std::future::ready(Ok(turn)))
    }

    fn identity(&self) -> Identity {
        Identity { provider: "script".to_owned(), model: self.script.behaviour.name.to_string() }
    }
}
