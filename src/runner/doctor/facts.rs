//! What was seen of agents, endpoints, keys and programs. Pure.

use super::access::Access;
use super::ask::Answered;
use crate::suite::AgentProfile;
use serde::Serialize;
use std::collections::BTreeMap;

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
    pub readers: Vec<Access>,
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
    /// The way to it, where the agent is this program.
    pub access: Option<Access>,
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
    /// It is this program, which knows whose models there are, and plays scripts itself.
    #[serde(skip)]
    pub is_this_program: bool,
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
    /// The keys that its program gets, by name, and whether they are set. Never a value.
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
            let passed = profile.env_pass.iter().map(|name| (name.clone(), is_set(name)));
            // What the profile says itself comes last.
            let own = profile.env_set.keys().map(|name| (name.clone(), true));
            passed.chain(own).filter(|(name, _)| fits(name)).collect()
        };
        let (installed, reason) = match version {
            Some(Ok(version)) => (Some(version), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, Some("the profile has no `probe` that could tell".to_owned())),
        };
        let has_probe = profile.probe.is_some();
        Profile {
            agent: name.to_owned(),
            is_this_program: profile.asks_the_model_that_the_axis_names(),
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
