//! What is there and what is missing before a suite can run: agent programs, keys, model endpoints,
//! upstream programs. Looks only; nothing is started but the agents' version commands.
//!
//! | module | what it holds |
//! |---|---|
//! | [`diagnosis`] | what was seen → what is missing and what mends it (pure) |
//! | [`told`] | the same for people and for programs (pure) |
//! | [`reader`] | the second reader of a suite |
//! | `ask` | asking an endpoint for its models |

mod ask;
pub mod diagnosis;
pub mod reader;
pub mod told;

use super::load::{self, Loaded};
use super::reports::installed;
use crate::process::Supervisor;
use crate::suite::{AgentProfile, Server};
use diagnosis::{Answered, Endpoint, Facts, Need, Profile, Use};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Model servers that people run on their own machine, and where they listen by default.
const LOCAL: &[(&str, &str)] = &[
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
];

/// Looks at what the suites need; without suites, at every profile that is found from `folder`.
///
/// # Errors
/// Where the programs that tell their versions could not be watched.
pub async fn examine(suites: &[Loaded], folder: &Path, program: &Path) -> std::io::Result<Facts> {
    let supervisor = Supervisor::start(Some(program))?;
    let mut profiles: BTreeMap<String, (AgentProfile, Option<PathBuf>)> = BTreeMap::new();
    let mut needs: Vec<Need> = Vec::new();
    let mut upstreams: BTreeMap<String, bool> = BTreeMap::new();
    let mut broken = Vec::new();
    let mut readers = Vec::new();
    for loaded in suites {
        for cell in &loaded.suite.cells {
            let need = Need { agent: cell.key.agent.clone(), model: cell.key.model.clone() };
            if !needs.contains(&need) {
                needs.push(need);
            }
            if let Some(upstream) = loaded.suite.upstreams.get(&cell.key.upstream)
                && let Server::Command { command, .. } = &upstream.server
            {
                upstreams.entry(command.clone()).or_insert_with(|| on_path(command));
            }
        }
        if let Some(wanted) = &loaded.suite.reader {
            let seen = reader::look(wanted).await;
            if !readers.contains(&seen) {
                readers.push(seen);
            }
        }
        for (name, profile) in &loaded.suite.agents {
            let dir = loaded.profile_dirs.get(name).cloned();
            profiles.entry(name.clone()).or_insert_with(|| (profile.clone(), dir));
        }
    }
    if suites.is_empty() {
        let (texts, dirs) = load::profiles(folder);
        for (name, text) in texts {
            match AgentProfile::parse(&text.text, &text.file) {
                Ok(profile) => {
                    let dir = dirs.get(&name).cloned();
                    profiles.insert(name, (profile, dir));
                }
                Err(mistakes) => broken.push(mistakes.to_string()),
            }
        }
    }
    let mut seen = Vec::new();
    for (name, (profile, dir)) in &profiles {
        let used = if suites.is_empty() { Use::Unknown } else { Use::Needed };
        let version = installed(program, &supervisor, dir.as_deref(), profile).await;
        seen.push(Profile::of(name, profile, version, used, |name| std::env::var_os(name).is_some()));
    }
    let endpoints = endpoints(profiles.values().map(|(profile, _)| profile)).await;
    Ok(Facts { profiles: seen, needs, upstreams, endpoints, readers, broken })
}

/// Asks every endpoint that a variable names, and the usual places on this machine.
async fn endpoints(profiles: impl Iterator<Item = &AgentProfile>) -> Vec<Endpoint> {
    let mut variables: BTreeSet<String> =
        ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"].map(str::to_owned).into();
    variables
        .extend(profiles.flat_map(|profile| profile.env_pass.clone()).filter(|name| diagnosis::is_url(name)));
    let mut endpoints: Vec<Endpoint> = Vec::new();
    let mut asked: Vec<(String, Option<String>, tokio::task::JoinHandle<Answered>)> = Vec::new();
    for variable in variables {
        let Some(url) = std::env::var(&variable).ok().filter(|url| !url.is_empty()) else { continue };
        let of = url.clone();
        asked.push((url, Some(variable), tokio::spawn(async move { ask::models(&of).await })));
    }
    for (_, url) in LOCAL {
        let known = |other: &str| diagnosis::same_place(other, url);
        if !asked.iter().any(|(other, ..)| known(other)) {
            asked.push(((*url).to_owned(), None, tokio::spawn(async move { ask::models(url).await })));
        }
    }
    for (url, variable, task) in asked {
        let answered = task.await.unwrap_or(Answered::Not("it was not asked".to_owned()));
        // Nobody has to have a server on this machine.
        if variable.is_none() && !matches!(answered, Answered::Models(_)) {
            continue;
        }
        let local = LOCAL.iter().find(|(_, usual)| diagnosis::same_place(&url, usual));
        endpoints.push(Endpoint {
            url: diagnosis::without_secrets(&url),
            variable,
            server: local.map(|(name, _)| *name),
            answered,
        });
    }
    endpoints
}

fn on_path(program: &str) -> bool {
    if program.contains('/') || program.contains("{{") {
        // A path, or a template: told when it is started.
        return program.contains("{{") || Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
