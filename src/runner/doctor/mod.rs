//! What is there and what is missing before a suite can run: agent programs, keys, model endpoints,
//! upstream programs. Looks only; nothing is started but the agents' version commands.
//!
//! | module | what it holds |
//! |---|---|
//! | [`diagnosis`] | what was seen → what is missing and what mends it (pure) |
//! | [`told`] | the same for people and for programs (pure) |
//! | [`facts`] | what was seen (pure) |
//! | [`access`] | the way to a model that this program asks itself |
//! | [`ask`] | asking an endpoint for its models |
//! | `address` | addresses as they may be told (pure) |

pub mod access;
mod address;
pub mod ask;
pub mod diagnosis;
pub mod facts;
pub mod told;

use super::environment::variable;
use super::load::{self, Loaded};
use super::reports::installed;
use crate::process::Supervisor;
use crate::suite::{AgentProfile, SecondReader, Server};
use access::{Access, Looked};
use ask::Answered;
use facts::{Endpoint, Facts, Need, Profile, Use};
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    let mut wanted: Vec<&SecondReader> = Vec::new();
    // Who asks for an address that is still to be asked: the place of a need or of a reader.
    let mut of_needs: Vec<(usize, String)> = Vec::new();
    for loaded in suites {
        for cell in &loaded.suite.cells {
            let (agent, model) = (&cell.key.agent, &cell.key.model);
            if !needs.iter().any(|need| need.agent == *agent && need.model == *model) {
                let profile = loaded.suite.agents.get(agent);
                let looked = profile.and_then(|profile| access::of_agent(profile, model));
                let access = looked.map(|(access, url)| {
                    of_needs.extend(url.map(|url| (needs.len(), url)));
                    access
                });
                needs.push(Need { agent: agent.clone(), model: model.clone(), access });
            }
            if let Some(upstream) = loaded.suite.upstreams.get(&cell.key.upstream)
                && let Server::Command { command, .. } = &upstream.server
            {
                upstreams.entry(command.clone()).or_insert_with(|| on_path(command));
            }
        }
        wanted.extend(loaded.suite.reader.as_ref().filter(|reader| !wanted.contains(reader)));
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
    let readers: Vec<Looked> = wanted.into_iter().map(access::of_reader).collect();
    let named = named_endpoints(profiles.values().map(|(profile, _)| profile));
    let urls = named.iter().map(|(url, _)| url).chain(of_needs.iter().map(|(_, url)| url));
    let urls: BTreeSet<String> =
        urls.chain(readers.iter().filter_map(|(_, url)| url.as_ref())).cloned().collect();
    let asking = tokio::spawn(ask::all(urls));
    let mut seen = Vec::new();
    for (name, (profile, dir)) in &profiles {
        let used = if suites.is_empty() { Use::Unknown } else { Use::Needed };
        let version = installed(program, &supervisor, dir.as_deref(), profile).await;
        seen.push(Profile::of(name, profile, version, used, |name| variable(name).is_some()));
    }
    let answers = asking.await.unwrap_or_default();
    for (place, url) in of_needs {
        if let Some(access) = needs.get_mut(place).and_then(|need| need.access.as_mut()) {
            access.answered = answers.get(&url).cloned();
        }
    }
    let mut told: Vec<Access> = Vec::new();
    for (access, url) in readers {
        let access = Access { answered: url.and_then(|url| answers.get(&url).cloned()), ..access };
        // They may differ in what is no matter here.
        if !told.contains(&access) {
            told.push(access);
        }
    }
    let endpoints = endpoints(named, &answers);
    Ok(Facts { profiles: seen, needs, upstreams, endpoints, readers: told, broken })
}

/// Every endpoint that a variable names, with that variable, and the usual places on this machine.
fn named_endpoints<'p>(profiles: impl Iterator<Item = &'p AgentProfile>) -> Vec<(String, Option<String>)> {
    let mut variables: BTreeSet<String> =
        ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"].map(str::to_owned).into();
    variables
        .extend(profiles.flat_map(|profile| profile.env_pass.clone()).filter(|name| facts::is_url(name)));
    let set = variables.into_iter().filter_map(|name| Some((variable(&name)?, Some(name))));
    let mut named: Vec<(String, Option<String>)> = set.collect();
    for (_, url) in LOCAL {
        if !named.iter().any(|(other, _)| address::same_place(other, url)) {
            named.push(((*url).to_owned(), None));
        }
    }
    named
}

/// What these endpoints answered.
fn endpoints(named: Vec<(String, Option<String>)>, answers: &HashMap<String, Answered>) -> Vec<Endpoint> {
    let answered = named.into_iter().filter_map(|(url, variable)| {
        let answered = answers.get(&url)?.clone();
        // Nobody has to have a server on this machine.
        if variable.is_none() && !matches!(answered, Answered::Models(_)) {
            return None;
        }
        let local = LOCAL.iter().find(|(_, usual)| address::same_place(&url, usual));
        Some(Endpoint {
            url: address::without_secrets(&url),
            variable,
            server: local.map(|(name, _)| *name),
            answered,
        })
    });
    answered.collect()
}

fn on_path(program: &str) -> bool {
    if program.contains('/') || program.contains("{{") {
        // A path, or a template: told when it is started.
        return program.contains("{{") || Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
