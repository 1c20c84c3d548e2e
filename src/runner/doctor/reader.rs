//! The second reader of a suite: which key and endpoint it needs, and whether they are there.

use super::ask;
use super::diagnosis::{Advice, Answered, Diagnosis, is_there, without_secrets};
use crate::harness::provider::{self, Provider};
use crate::suite::SecondReader;
use serde::Serialize;

/// A second reader, and what of it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reader {
    /// The model, as the suite names it.
    pub model: String,
    /// Its base URL, without user and password; absent where nobody is asked over a network.
    pub url: Option<String>,
    /// The variable that holds its key; the first of several that can.
    pub key: Option<String>,
    /// Whether one of them is set. Never a value.
    pub key_is_set: bool,
    /// Why it cannot be asked at all.
    pub problem: Option<String>,
    /// What its endpoint answered; absent where it was not asked.
    pub answered: Option<Answered>,
}

/// Looks at a second reader. The endpoint is asked for its models, without a key.
pub async fn look(reader: &SecondReader) -> Reader {
    let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let problem = crate::runner::reader::openable(reader).err().map(|error| error.to_string());
    let mut seen = Reader {
        model: reader.model.clone(),
        url: None,
        key: None,
        key_is_set: false,
        problem,
        answered: None,
    };
    let Ok((Provider { place: Some(place), .. }, _)) = provider::named(None, Some(&reader.model)) else {
        return seen;
    };
    let keys: Vec<&str> = match (&reader.key, &reader.base_url) {
        (Some(key), _) => vec![key],
        (None, Some(_)) => Vec::new(),
        (None, None) => place.keys.iter().chain(place.tokens).copied().collect(),
    };
    seen.key_is_set = keys.iter().any(|name| environment(name).is_some());
    let set = keys.iter().find(|name| environment(name).is_some());
    seen.key = set.or_else(|| keys.first()).map(|name| (*name).to_owned());
    let given = reader.base_url.clone().or_else(|| place.urls.iter().find_map(|name| environment(name)));
    let url = given.unwrap_or_else(|| place.default_url.to_owned());
    let url = if url.contains("://") { url } else { format!("http://{url}") };
    if seen.problem.is_none() {
        seen.answered = Some(ask::models(&url).await);
    }
    seen.url = Some(without_secrets(&url));
    seen
}

/// What is missing for a second reader. A run does without it, but nobody writes one down to have it
/// unread.
pub(super) fn diagnose(reader: &Reader, diagnosis: &mut Diagnosis) {
    let Reader { model, url, key, problem, answered, .. } = reader;
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
        Some(Answered::WantsKey) if !reader.key_is_set => diagnosis.missing.push(Advice {
            what: format!("second reader {model}: {url} asks for a key"),
            mend: Some(match key {
                Some(key) => format!("export {key}=…"),
                None => "give `key:` the name of the variable that holds it".to_owned(),
            }),
        }),
        Some(Answered::Models(_) | Answered::WantsKey | Answered::Connected) | None => {}
    }
}

/// One line for people.
pub(super) fn line(reader: &Reader) -> String {
    let Reader { model, url, key, key_is_set, .. } = reader;
    let mut line = format!("second reader {model}");
    if let Some(url) = url {
        line.push_str(&format!(" at {url}"));
    }
    match key {
        Some(key) if *key_is_set => line.push_str(&format!(", key {key} is set")),
        Some(key) => line.push_str(&format!(", key {key} is not set")),
        None if url.is_some() => line.push_str(", no key"),
        None => {}
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answered: Answered, key_is_set: bool) -> (Vec<String>, Vec<String>) {
        let reader = Reader {
            model: "ollama:qwen3:14b".into(),
            url: Some("http://127.0.0.1:11434/v1".into()),
            key: Some("OLLAMA_API_KEY".into()),
            key_is_set,
            problem: None,
            answered: Some(answered),
        };
        let mut diagnosis = Diagnosis::default();
        diagnose(&reader, &mut diagnosis);
        let words = |advice: Vec<Advice>| advice.into_iter().map(|one| one.what).collect();
        (words(diagnosis.missing), words(diagnosis.doubts))
    }

    #[test]
    fn an_endpoint_must_answer_take_the_key_and_have_the_model() {
        let none = || (Vec::<String>::new(), Vec::<String>::new());
        assert_eq!(told(Answered::Models(vec!["qwen3:14b".into()]), false), none());
        assert_eq!(told(Answered::WantsKey, true), none());
        assert_eq!(told(Answered::Connected, false), none());
        assert!(told(Answered::WantsKey, false).0[0].ends_with("asks for a key"));
        assert!(told(Answered::Not("refused".into()), true).0[0].ends_with("does not answer: refused"));
        assert!(told(Answered::Models(vec!["gemma4".into()]), false).1[0].contains("does not list"));
    }
}
