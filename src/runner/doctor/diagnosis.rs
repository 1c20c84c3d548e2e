//! What is missing, and what mends it. Pure.

use super::reader::Reader;
use crate::harness::provider;
use crate::harness::script::Script;
use crate::suite::AgentProfile;
use serde::Serialize;
use std::collections::BTreeMap;

/// The agent that plays scripts itself.
const BUILT_IN: &str = "builtin";

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Agent profiles.
    pub profiles: Vec<Profile>,
    /// What the suites' cells need, each once.
    pub needs: Vec<Need>,
    /// Programs of upstreams, and whether they are on PATH.
    pub upstreams: BTreeMap<String, bool>,
    /// Model endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Second readers of the suites.
    pub readers: Vec<Reader>,
    /// Profiles that cannot be read, with their mistakes.
    pub broken: Vec<String>,
}

/// An agent with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
}

/// Whether a suite needs an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// It does.
    Needed,
    /// No suite was given.
    Unknown,
}

/// An agent profile, and what of it is there.
#[derive(Debug, Clone, Serialize)]
pub struct Profile {
    /// Its name.
    pub agent: String,
    /// The agent that it extends, or itself.
    #[serde(skip)]
    pub base: String,
    /// The program that it starts.
    pub program: String,
    /// Whether a suite needs it.
    pub used: Use,
    /// What the program says of its version; absent where it could not be asked.
    pub installed: Option<String>,
    /// Why it could not be asked.
    pub reason: Option<String>,
    /// The version that the profile was tried with.
    pub tested: Option<String>,
    /// How the two go together.
    pub version: Version,
    /// The command that installs it.
    pub install: Option<String>,
    /// The keys that it passes on, by name, and whether they are set. Never a value.
    pub keys: BTreeMap<String, bool>,
    /// The same of variables for base URLs.
    pub urls: BTreeMap<String, bool>,
}

/// How the installed version goes together with the tested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// They are the same.
    Tested,
    /// They differ.
    Other,
    /// It is there, and one of the two is not known.
    Unknown,
    /// It is not there.
    Missing,
}

impl Version {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Version::Tested => "as tested",
            Version::Other => "another version",
            Version::Unknown => "there",
            Version::Missing => "missing",
        }
    }
}

/// A model endpoint.
#[derive(Debug, Clone, Serialize)]
pub struct Endpoint {
    /// Its base URL, without user and password.
    pub url: String,
    /// The variable that names it; none where it is one of the usual places.
    pub variable: Option<String>,
    /// Which server usually listens there.
    pub server: Option<&'static str>,
    /// What it answered.
    pub answered: Answered,
}

/// What an endpoint answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// Its models.
    Models(Vec<String>),
    /// It asks for a key.
    WantsKey,
    /// It is there, behind TLS, and was not asked.
    Connected,
    /// Why it did not answer.
    Not(String),
}

/// Something that is missing or doubtful.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What.
    pub what: String,
    /// The command that mends it, or what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// What a look around comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Without it a suite cannot run.
    pub missing: Vec<Advice>,
    /// With it a suite runs, and may not measure what is meant.
    pub doubts: Vec<Advice>,
}

impl Profile {
    /// Puts together what is known of a profile; `is_set` tells of a variable whether it is set.
    pub fn of(
        name: &str,
        profile: &AgentProfile,
        version: Option<Result<String, String>>,
        used: Use,
        is_set: impl Fn(&str) -> bool,
    ) -> Profile {
        let sorted = |fits: fn(&str) -> bool| -> BTreeMap<String, bool> {
            let names = profile.env_pass.iter().filter(|name| fits(name));
            names.map(|name| (name.clone(), is_set(name))).collect()
        };
        let (installed, reason) = match version {
            Some(Ok(version)) => (Some(version), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, Some("the profile has no `probe` that could tell".to_owned())),
        };
        let has_probe = profile.probe.is_some();
        Profile {
            agent: name.to_owned(),
            base: profile.base().to_owned(),
            program: profile.first.command.first().cloned().unwrap_or_default(),
            used,
            version: compare(has_probe, installed.as_deref(), profile.tested.as_deref()),
            installed,
            reason,
            tested: profile.tested.clone(),
            install: profile.install.clone(),
            keys: sorted(is_key),
            urls: sorted(is_url),
        }
    }
}

fn compare(has_probe: bool, installed: Option<&str>, tested: Option<&str>) -> Version {
    match (installed, tested) {
        (None, _) if has_probe => Version::Missing,
        (None, _) => Version::Unknown,
        (Some(installed), Some(tested)) => match (number(installed), number(tested)) {
            (Some(one), Some(other)) if one == other => Version::Tested,
            (Some(_), Some(_)) => Version::Other,
            _ => Version::Unknown,
        },
        (Some(_), None) => Version::Unknown,
    }
}

/// The first number with a dot in a text.
fn number(text: &str) -> Option<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))).find_map(|word| {
        let word = word.trim_start_matches('v');
        (word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')).then_some(word)
    })
}

fn is_key(name: &str) -> bool {
    ["_KEY", "_TOKEN", "_SECRET"].iter().any(|end| name.ends_with(end))
}

/// Whether a variable holds the base URL of an endpoint.
pub fn is_url(name: &str) -> bool {
    name.ends_with("_BASE_URL") || name.ends_with("_API_BASE")
}

/// A URL without user, password and query.
pub fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// Whether two URLs lead to the same port of this machine.
pub fn same_place(one: &str, other: &str) -> bool {
    let place = |url: &str| {
        let url = without_secrets(url).replace("//localhost", "//127.0.0.1");
        url.split('/').nth(2).map(str::to_owned)
    };
    place(one) == place(other)
}

/// What is missing for the needs, and what is doubtful.
pub fn diagnose(facts: &Facts) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let missing = |what: String, mend: Option<String>| Advice { what, mend };
    for mistakes in &facts.broken {
        diagnosis.missing.push(missing(mistakes.trim_end().to_owned(), None));
    }
    for profile in facts.profiles.iter().filter(|profile| profile.used == Use::Needed) {
        let reason = profile.reason.as_deref().unwrap_or_default();
        match profile.version {
            Version::Missing => {
                let what = format!("agent {}: {reason}", profile.agent);
                diagnosis.missing.push(missing(what, profile.install.clone()));
            }
            Version::Other => diagnosis.doubts.push(Advice {
                what: format!(
                    "agent {}: {} is installed, and the profile was tried with {}",
                    profile.agent,
                    profile.installed.as_deref().unwrap_or("another version"),
                    profile.tested.as_deref().unwrap_or("none")
                ),
                mend: Some("nochmal rehearse SUITE".to_owned()),
            }),
            Version::Tested | Version::Unknown => {}
        }
        let models: Vec<&str> = facts
            .needs
            .iter()
            .filter(|need| need.agent == profile.agent)
            .filter(|need| profile.base != BUILT_IN || !needs_nothing(&need.model))
            .map(|need| need.model.as_str())
            .collect();
        if !models.is_empty() {
            access(facts, profile, &models, &mut diagnosis);
        }
    }
    for reader in &facts.readers {
        super::reader::diagnose(reader, &mut diagnosis);
    }
    for (program, there) in &facts.upstreams {
        if !there {
            let what = format!("upstream program `{program}` was not found");
            diagnosis.missing.push(missing(what, installer(program).map(str::to_owned)));
        }
    }
    diagnosis
}

/// Whether an agent can reach a model.
fn access(facts: &Facts, profile: &Profile, models: &[&str], diagnosis: &mut Diagnosis) {
    let has = |set: &BTreeMap<String, bool>| set.values().any(|set| *set);
    let scripts = models.iter().filter(|model| Script::parse(model).is_ok()).count();
    let needs_none = profile.keys.is_empty() && profile.urls.is_empty();
    if !(needs_none || has(&profile.keys) || has(&profile.urls)) {
        let keys: Vec<&str> = profile.keys.keys().map(String::as_str).collect();
        let url = profile.urls.keys().next();
        let what = match url {
            Some(url) => format!(
                "agent {}: neither a key ({}) nor an endpoint of its own ({url}) is set",
                profile.agent,
                keys.join(" or ")
            ),
            None => format!("agent {}: no key is set ({})", profile.agent, keys.join(" or ")),
        };
        let mend = match (url, keys.first()) {
            (Some(url), _) if scripts == models.len() => {
                format!("nochmal model --listen 127.0.0.1:8990 & export {url}=http://127.0.0.1:8990/v1")
            }
            (_, Some(key)) => format!("export {key}=…"),
            (Some(url), None) => format!("export {url}=…"),
            (None, None) => return,
        };
        diagnosis.missing.push(Advice { what, mend: Some(mend) });
        return;
    }
    let own = |endpoint: &&Endpoint| {
        endpoint.variable.as_ref().is_some_and(|variable| profile.urls.contains_key(variable))
    };
    for endpoint in facts.endpoints.iter().filter(own) {
        let variable = endpoint.variable.as_deref().unwrap_or_default();
        match &endpoint.answered {
            Answered::Not(reason) => {
                let what = format!(
                    "agent {}: the endpoint {} ({variable}) does not answer: {reason}",
                    profile.agent, endpoint.url
                );
                let mend = if endpoint.server == Some("Ollama") {
                    "ollama serve".to_owned()
                } else {
                    format!("start the server, or set {variable} to where it is")
                };
                diagnosis.missing.push(Advice { what, mend: Some(mend) });
            }
            Answered::Models(there) => {
                for model in models.iter().filter(|model| !is_there(model, there)) {
                    let what = format!("agent {}: {} has no model {model}", profile.agent, endpoint.url);
                    if endpoint.server == Some("Ollama") {
                        let mend = Some(format!("ollama pull {}", bare(model)));
                        diagnosis.missing.push(Advice { what, mend });
                    } else {
                        diagnosis.doubts.push(Advice { what, mend: None });
                    }
                }
            }
            Answered::WantsKey | Answered::Connected => {}
        }
    }
}

/// Whether the built-in agent reaches a model without key and variable.
fn needs_nothing(model: &str) -> bool {
    Script::parse(model).is_ok() || provider::apart(model).1
}

/// A model's name without what some programs put before it: `openai/gpt-5`, `openai:gpt-5`.
fn bare(model: &str) -> &str {
    let (model, _) = provider::apart(model);
    model.rsplit('/').next().unwrap_or(model)
}

pub(super) fn is_there(model: &str, there: &[String]) -> bool {
    let script = model.strip_prefix("script:").unwrap_or(model);
    let script = script.split([':', '(']).next().unwrap_or(script);
    let same = |one: &str, other: &str| one == other || one.strip_suffix(":latest") == Some(other);
    there.iter().any(|name| {
        same(name, model) || same(name, bare(model)) || (Script::parse(model).is_ok() && name == script)
    })
}

/// What installs a program that servers are started with.
fn installer(program: &str) -> Option<&'static str> {
    match program {
        "npx" | "node" | "npm" => Some("install Node.js: https://nodejs.org/en/download"),
        "uvx" | "uv" => Some("python3 -m pip install uv"),
        "python3" | "python" => Some("install Python: https://www.python.org/downloads/"),
        "docker" => Some("install Docker: https://docs.docker.com/engine/install/"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(version: Version) -> Profile {
        Profile {
            agent: "some-agent".into(),
            base: "some-agent".into(),
            program: "some".into(),
            used: Use::Needed,
            installed: Some("some 1.2.4".into()),
            reason: Some("`some` was not found on PATH".into()),
            tested: Some("1.2.3".into()),
            version,
            install: Some("npm install some".into()),
            keys: BTreeMap::from([("SOME_API_KEY".into(), true)]),
            urls: BTreeMap::from([("SOME_BASE_URL".into(), false)]),
        }
    }

    fn facts(profile: Profile, model: &str) -> Facts {
        let need = Need { agent: "some-agent".into(), model: model.into() };
        Facts { profiles: vec![profile], needs: vec![need], ..Facts::default() }
    }

    fn told(facts: &Facts) -> Vec<(String, Option<String>)> {
        let Diagnosis { missing, doubts } = diagnose(facts);
        missing.into_iter().chain(doubts).map(|advice| (advice.what, advice.mend)).collect()
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (installed, tested, expected) in [
            (Some("2.1.332 (Claude Code)"), Some("2.1.332"), Version::Tested),
            (Some("codex-cli 0.171.0"), Some("0.170.0"), Version::Other),
            (Some("openai-agents 0.24.0"), Some("openai-agents 0.24.0"), Version::Tested),
            (Some("v3.1"), Some("3.1"), Version::Tested),
            (Some("unreleased"), Some("1.0"), Version::Unknown),
            (None, Some("1.0"), Version::Missing),
        ] {
            assert_eq!(compare(true, installed, tested), expected, "{installed:?} {tested:?}");
        }
        assert_eq!(compare(false, None, None), Version::Unknown);
    }

    #[test]
    fn what_is_there_is_not_told() {
        assert_eq!(diagnose(&facts(profile(Version::Tested), "m")), Diagnosis::default());
    }

    #[test]
    fn a_missing_program_comes_with_the_command_that_installs_it() {
        let told = told(&facts(profile(Version::Missing), "m"));
        let expected = "agent some-agent: `some` was not found on PATH";
        assert_eq!(told, [(expected.to_owned(), Some("npm install some".to_owned()))]);
    }

    #[test]
    fn another_version_is_a_doubt_and_no_more() {
        let diagnosis = diagnose(&facts(profile(Version::Other), "m"));
        assert!(diagnosis.missing.is_empty());
        assert!(
            diagnosis.doubts[0]
                .what
                .ends_with("some 1.2.4 is installed, and the profile was tried with 1.2.3")
        );
    }

    #[test]
    fn one_key_or_one_endpoint_is_enough() {
        let mut without = profile(Version::Tested);
        without.keys.insert("SOME_API_KEY".into(), false);
        let told = told(&facts(without.clone(), "m"));
        assert_eq!(
            told,
            [(
                "agent some-agent: neither a key (SOME_API_KEY) nor an endpoint of its own (SOME_BASE_URL) is set".to_owned(),
                Some("export SOME_API_KEY=…".to_owned())
            )]
        );
        let script = diagnose(&facts(without.clone(), "script:naive"));
        assert!(script.missing[0].mend.as_ref().unwrap().starts_with("nochmal model "));
        without.urls.insert("SOME_BASE_URL".into(), true);
        assert_eq!(diagnose(&facts(without.clone(), "m")), Diagnosis::default());
        // The built-in agent plays scripts itself.
        without.urls.insert("SOME_BASE_URL".into(), false);
        without.base = BUILT_IN.into();
        let facts = facts(without, "script:naive");
        assert_eq!(diagnose(&facts), Diagnosis::default());
    }

    #[test]
    fn an_endpoint_must_answer_and_have_the_model() {
        let mut facts = facts(profile(Version::Tested), "openai/qwen3:14b");
        let mut endpoint = Endpoint {
            url: "http://127.0.0.1:11434/v1".into(),
            variable: Some("SOME_BASE_URL".into()),
            server: Some("Ollama"),
            answered: Answered::Not("connection refused".into()),
        };
        facts.endpoints = vec![endpoint.clone()];
        assert_eq!(told(&facts)[0].1.as_deref(), Some("ollama serve"));
        endpoint.answered = Answered::Models(vec!["gemma4".into()]);
        facts.endpoints = vec![endpoint.clone()];
        assert_eq!(told(&facts)[0].1.as_deref(), Some("ollama pull qwen3:14b"));
        endpoint.answered = Answered::Models(vec!["qwen3:14b".into()]);
        facts.endpoints = vec![endpoint];
        assert_eq!(diagnose(&facts), Diagnosis::default());
        assert!(is_there("script:random:0.3", &["random".to_owned()]));
        assert!(is_there("openai:qwen3:14b", &["qwen3:14b".to_owned()]));
        assert!(needs_nothing("ollama:qwen3:14b") && needs_nothing("naive") && !needs_nothing("openai:a"));
        assert!(is_there("gemma4", &["gemma4:latest".to_owned()]));
    }

    #[test]
    fn programs_of_upstreams_must_be_there() {
        let facts = Facts { upstreams: BTreeMap::from([("npx".into(), false)]), ..Facts::default() };
        assert!(told(&facts)[0].1.as_ref().unwrap().contains("nodejs.org"));
    }

    #[test]
    fn no_secret_of_a_url_is_told() {
        assert_eq!(without_secrets("https://ada:secret@host:1/v1?key=secret"), "https://host:1/v1");
        assert!(same_place("http://localhost:11434", "http://127.0.0.1:11434/v1"));
    }
}
