//! `secrets:` of a suite: environment variables whose values nobody may see.

use super::decode::{At, Decoder};
use super::diagnostics::shown;
use super::profile::{self, AgentProfile};
use super::template;
use super::tree::Node;
use super::upstream::{Server, Upstream};
use crate::domain::secrets::SHORTEST;
use std::collections::BTreeMap;

/// Reads `secrets:`. A command that would show one of them to everybody on the machine is a mistake.
pub(super) fn read(
    decoder: &mut Decoder,
    node: &Node,
    upstreams: &BTreeMap<String, Upstream>,
    agents: &BTreeMap<String, AgentProfile>,
) -> Option<Vec<String>> {
    let names = decoder.texts(node, "a list of environment variables")?;
    for (at, name) in names.iter().enumerate() {
        profile::variable_name(decoder, name);
        if let Some(first) = names[..at].iter().find(|first| first.value == name.value) {
            decoder
                .error(name.span.clone(), format!("{} is there twice", shown(&name.value)))
                .related(first.span.clone(), "first here");
        }
        for (agent, profile) in agents {
            if in_agent(profile, &name.value) {
                on_command_line(decoder, name, &format!("agent {}", shown(agent)));
            }
        }
        for (upstream, described) in upstreams {
            if in_upstream(&described.server, &name.value) {
                on_command_line(decoder, name, &format!("upstream {}", shown(upstream)));
            }
        }
    }
    Some(names.into_iter().map(|name| name.value).collect())
}

fn on_command_line(decoder: &mut Decoder, name: &At<String>, whose: &str) {
    decoder
        .error(
            name.span.clone(),
            format!(
                "the command of the {whose} would show {} to everybody on the machine",
                shown(&name.value)
            ),
        )
        .help("a secret is passed in `env`, or in a file");
}

fn in_agent(profile: &AgentProfile, name: &str) -> bool {
    let steps = [Some(&profile.first), profile.next.as_ref()].into_iter().flatten();
    let words = steps.flat_map(|step| &step.command).chain(profile.probe.iter().flatten());
    let set = profile.env_set.get(name);
    words.into_iter().any(|word| {
        template::environment_names(word).contains(name) || set.is_some_and(|value| holds(word, value))
    })
}

fn in_upstream(server: &Server, name: &str) -> bool {
    let Server::Command { command, args, env, .. } = server else { return false };
    let Some(value) = env.get(name) else { return false };
    std::iter::once(command).chain(args).any(|word| holds(word, value))
}

/// A template that stands in both has one value in both.
fn holds(word: &str, value: &str) -> bool {
    value.chars().count() >= SHORTEST && word.contains(value)
}
