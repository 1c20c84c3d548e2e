//! An agent of a suite that is another one with a few things said beside: `extends` under `agents:`.
//!
//! ```yaml
//! agents:
//!   builtin-8k:
//!     extends: builtin                       # a profile: built in, or a file of agents/
//!     args: ["--context-tokens=8192", "--max-turns=40"]   # after the arguments of both commands, before `--`
//!     env: {pass: [MY_PROXY], set: {MY_FLAG: "1"}}
//! ```

use super::Context;
use super::decode::{At, Decoder, Shape};
use super::diagnostics::{shown, suggestion};
use super::profile::{self, AgentProfile};
use super::template::{self, Names, Place};
use super::tree::{Key, Kind, Node};
use crate::domain::digest_all;
use std::collections::BTreeMap;

/// The key that makes an entry of `agents:` one of these.
const EXTENDS: &str = "extends";
const EXTENSION: Shape = Shape::new(
    "an agent that extends another",
    &[EXTENDS, "description", "args", "provider", "env"],
)
.hints(&[
    ("first", "the commands are those of the agent that it extends; more arguments stand under `args:`"),
    ("next", "the commands are those of the agent that it extends; more arguments stand under `args:`"),
]);

/// Whether an entry extends another agent.
pub(super) fn is_extension(node: &Node) -> bool {
    matches!(&node.kind, Kind::Map(entries) if entries.iter().any(|(key, _)| key.text == EXTENDS))
}

/// Reads such an entry, and the profile that it extends, whose text is kept in `files`.
pub(super) fn read(
    decoder: &mut Decoder,
    key: &Key,
    node: &Node,
    context: &Context<'_>,
    files: &mut Vec<String>,
) -> Option<AgentProfile> {
    let fields = decoder.fields(node, key.span.clone(), &EXTENSION)?;
    let (_, base) = decoder.required(&fields, EXTENDS, "extends: builtin")?;
    let base = decoder.filled(base, "the name of an agent")?;
    let Some(text) = context.agents.get(&base.value) else {
        let known: Vec<&str> = context.agents.keys().map(String::as_str).collect();
        decoder
            .error(base.span, format!("{} is no agent with a profile of its own", shown(&base.value)))
            .help(suggestion(&base.value, &known));
        return None;
    };
    let named = At { value: base.value.clone(), span: base.span };
    let mut agent = AgentProfile::named(decoder, named, text, files)?;
    let (pass, set) = match fields.entry("env") {
        Some((key, node)) => profile::environment(decoder, key, node, &agent.env_pass)?,
        None => (Vec::new(), BTreeMap::new()),
    };
    agent.env_pass.extend(pass);
    agent.env_set.extend(set);
    let names =
        Names::new(Place::Agent, &BTreeMap::new()).with_env(agent.env_pass.iter().map(String::as_str));
    let args = match fields.get("args") {
        Some(node) => decoder.texts(node, "a list of arguments")?,
        None => Vec::new(),
    };
    for arg in &args {
        template::check(decoder, arg, &names);
        profile::no_secret(decoder, arg);
    }
    for step in std::iter::once(&mut agent.first).chain(&mut agent.next) {
        // What comes after `--` is the user's words.
        let end = step.command.iter().position(|word| word == "--").unwrap_or(step.command.len());
        step.command.splice(end..end, args.iter().map(|arg| arg.value.clone()));
    }
    for (name, place) in [("description", &mut agent.description), ("provider", &mut agent.provider)] {
        if let Some(node) = fields.get(name) {
            *place = Some(decoder.text(node, "a text")?.value);
        }
    }
    let own = decoder.source().text.get(node.span.clone()).unwrap_or_default();
    agent.digest = digest_all([agent.digest.as_str(), own]);
    agent.name.clone_from(&key.text);
    agent.extends = Some(base.value);
    Some(agent)
}
