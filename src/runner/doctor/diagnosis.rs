//! What is missing, and what mends it. Pure.

use super::access::Access;
use super::ask::Answered;
use super::facts::{Endpoint, Facts, Need, Profile, Use, Version};
use crate::harness::provider;
use crate::harness::script::Script;
use serde::Serialize;
use std::collections::BTreeMap;

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
        let needs: Vec<&Need> = facts.needs.iter().filter(|need| need.agent == profile.agent).collect();
        if profile.is_this_program {
            for access in needs.iter().filter_map(|need| need.access.as_ref()) {
                own_model(access, profile, &mut diagnosis);
            }
        } else if !needs.is_empty() {
            let models: Vec<&str> = needs.iter().map(|need| need.model.as_str()).collect();
            models_of(facts, profile, &models, &mut diagnosis);
        }
    }
    for access in &facts.readers {
        second_reader(access, &mut diagnosis);
    }
    for (program, there) in &facts.upstreams {
        if !there {
            let what = format!("upstream program `{program}` was not found");
            diagnosis.missing.push(missing(what, installer(program).map(str::to_owned)));
        }
    }
    diagnosis
}

/// Whether an agent whose program this is none of can reach its models: as far as its profile tells.
fn models_of(facts: &Facts, profile: &Profile, models: &[&str], diagnosis: &mut Diagnosis) {
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
        let is_ollama = endpoint.server == Some("Ollama");
        match &endpoint.answered {
            Answered::Not(reason) => {
                let what = format!(
                    "agent {}: the endpoint {} ({variable}) does not answer: {reason}",
                    profile.agent, endpoint.url
                );
                let mend = match is_ollama {
                    true => "ollama serve".to_owned(),
                    false => format!("start the server, or set {variable} to where it is"),
                };
                diagnosis.missing.push(Advice { what, mend: Some(mend) });
            }
            Answered::Models(there) => {
                for model in models.iter().filter(|model| !is_there(model, there)) {
                    no_model(&profile.agent, &endpoint.url, model, is_ollama, diagnosis);
                }
            }
            Answered::WantsKey | Answered::Connected => {}
        }
    }
}

/// An endpoint that answers has no such model. Ollama knows all that it has; others have more than they list.
fn no_model(agent: &str, url: &str, model: &str, is_ollama: bool, diagnosis: &mut Diagnosis) {
    let what = format!("agent {agent}: {url} has no model {model}");
    match is_ollama {
        true => diagnosis.missing.push(Advice { what, mend: Some(format!("ollama pull {}", bare(model))) }),
        false => diagnosis.doubts.push(Advice { what, mend: None }),
    }
}

/// Whether the built-in agent can reach a model: whose it is and what that takes is known.
fn own_model(access: &Access, profile: &Profile, diagnosis: &mut Diagnosis) {
    let Access { model, url, key, key_is_set, problem, answered } = access;
    let agent = &profile.agent;
    let url = url.as_deref().unwrap_or_default();
    let mut missing = |what: String, mend: Option<String>| diagnosis.missing.push(Advice { what, mend });
    let export = || {
        key.as_ref().map(|key| match profile.keys.contains_key(key) {
            true => format!("export {key}=…"),
            false => {
                format!("export {key}=… and have it passed on: `env: {{pass: [{key}]}}` under the agent")
            }
        })
    };
    if let Some(problem) = problem {
        return missing(format!("agent {agent}: the model {model} cannot be asked: {problem}"), export());
    }
    let is_ollama = provider::named(None, Some(model)).is_ok_and(|(provider, _)| provider.name == "ollama");
    match answered {
        Some(Answered::Not(reason)) => {
            let what = format!("agent {agent}: the endpoint {url} of {model} does not answer: {reason}");
            let mend = if is_ollama { "ollama serve" } else { "start the server" };
            missing(what, Some(mend.to_owned()));
        }
        Some(Answered::WantsKey) if !key_is_set => {
            missing(format!("agent {agent}: {url} asks for a key for {model}"), export());
        }
        Some(Answered::Models(there)) if !is_there(model, there) => {
            no_model(agent, url, model, is_ollama, diagnosis);
        }
        Some(Answered::Models(_) | Answered::WantsKey | Answered::Connected) | None => {}
    }
}

/// What is missing for a second reader. A run does without it, but nobody writes one down to have it
/// unread.
fn second_reader(access: &Access, diagnosis: &mut Diagnosis) {
    let Access { model, url, key, key_is_set, problem, answered } = access;
    let url = url.as_deref().unwrap_or_default();
    if let Some(problem) = problem {
        let mend = key.as_ref().map(|key| format!("export {key}=…"));
        let what = format!("second reader {model}: {problem}");
        diagnosis.missing.push(Advice { what, mend });
        return;
    }
    match answered {
        Some(Answered::Not(reason)) => diagnosis.missing.push(Advice {
            what: format!("second reader {model}: the endpoint {url} does not answer: {reason}"),
            mend: Some(
                "start the server; without it runs go on, and their replies count as not read".to_owned(),
            ),
        }),
        Some(Answered::Models(there)) if !is_there(model, there) => diagnosis.doubts.push(Advice {
            what: format!("second reader {model}: {url} does not list that model"),
            mend: None,
        }),
        Some(Answered::WantsKey) if !key_is_set => diagnosis.missing.push(Advice {
            what: format!("second reader {model}: {url} asks for a key"),
            mend: Some(match key {
                Some(key) => format!("export {key}=…"),
                None => "give `key:` the name of the variable that holds it".to_owned(),
            }),
        }),
        Some(Answered::Models(_) | Answered::WantsKey | Answered::Connected) | None => {}
    }
}

/// A model's name without what some programs put before it: `openai/gpt-5`, `openai:gpt-5`.
fn bare(model: &str) -> &str {
    provider::apart(model).rsplit('/').next().unwrap_or(model)
}

fn is_there(model: &str, there: &[String]) -> bool {
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
            is_this_program: false,
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
        let need = Need { agent: "some-agent".into(), model: model.into(), access: None };
        Facts { profiles: vec![profile], needs: vec![need], ..Facts::default() }
    }

    fn told(facts: &Facts) -> Vec<(String, Option<String>)> {
        let Diagnosis { missing, doubts } = diagnose(facts);
        missing.into_iter().chain(doubts).map(|advice| (advice.what, advice.mend)).collect()
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
        without.is_this_program = true;
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
        assert!(is_there("gemma4", &["gemma4:latest".to_owned()]));
    }

    #[test]
    fn the_built_in_agent_needs_the_key_of_the_provider_that_it_asks_and_no_other() {
        let mut facts = facts(profile(Version::Tested), "gpt-4");
        facts.profiles[0].is_this_program = true;
        let access = Access {
            model: "gpt-4".into(),
            url: Some("https://vendor.example/v1".into()),
            key: Some("OTHER_API_KEY".into()),
            key_is_set: false,
            problem: Some("OTHER_API_KEY is not set".into()),
            answered: None,
        };
        facts.needs[0].access = Some(access.clone());
        let what = "agent some-agent: the model gpt-4 cannot be asked: OTHER_API_KEY is not set";
        let mend =
            "export OTHER_API_KEY=… and have it passed on: `env: {pass: [OTHER_API_KEY]}` under the agent";
        assert_eq!(told(&facts), [(what.to_owned(), Some(mend.to_owned()))]);
        facts.profiles[0].keys.insert("OTHER_API_KEY".into(), false);
        assert_eq!(told(&facts)[0].1.as_deref(), Some("export OTHER_API_KEY=…"));
        let mut answers = |answered: Answered| {
            facts.needs[0].access =
                Some(Access { problem: None, answered: Some(answered), ..access.clone() });
            let Diagnosis { missing, doubts } = diagnose(&facts);
            (missing.len(), doubts.len())
        };
        assert_eq!(answers(Answered::Models(vec!["gpt-4".into()])), (0, 0));
        assert_eq!(answers(Answered::Models(vec!["gemma4".into()])), (0, 1));
        assert_eq!(answers(Answered::WantsKey), (1, 0));
        assert_eq!(answers(Answered::Not("refused".into())), (1, 0));
        facts.needs[0].model = "script:naive".into();
        facts.needs[0].access = None;
        assert_eq!(diagnose(&facts), Diagnosis::default());
    }

    #[test]
    fn programs_of_upstreams_must_be_there() {
        let facts = Facts { upstreams: BTreeMap::from([("npx".into(), false)]), ..Facts::default() };
        assert!(told(&facts)[0].1.as_ref().unwrap().contains("nodejs.org"));
    }

    fn told_of_reader(answered: Answered, key_is_set: bool) -> (Vec<String>, Vec<String>) {
        let reader = Access {
            model: "ollama:qwen3:14b".into(),
            url: Some("http://127.0.0.1:11434/v1".into()),
            key: Some("OLLAMA_API_KEY".into()),
            key_is_set,
            problem: None,
            answered: Some(answered),
        };
        let mut diagnosis = Diagnosis::default();
        second_reader(&reader, &mut diagnosis);
        let words = |advice: Vec<Advice>| advice.into_iter().map(|one| one.what).collect();
        (words(diagnosis.missing), words(diagnosis.doubts))
    }

    #[test]
    fn a_second_readers_endpoint_must_answer_take_the_key_and_have_the_model() {
        let none = || (Vec::<String>::new(), Vec::<String>::new());
        assert_eq!(told_of_reader(Answered::Models(vec!["qwen3:14b".into()]), false), none());
        assert_eq!(told_of_reader(Answered::WantsKey, true), none());
        assert_eq!(told_of_reader(Answered::Connected, false), none());
        assert!(told_of_reader(Answered::WantsKey, false).0[0].ends_with("asks for a key"));
        assert!(
            told_of_reader(Answered::Not("refused".into()), true).0[0].ends_with("does not answer: refused")
        );
        assert!(
            told_of_reader(Answered::Models(vec!["gemma4".into()]), false).1[0].contains("does not list")
        );
    }
}
