//! What agents get instead of the user's endpoints and keys. Pure.

use std::ffi::OsString;

/// Which base URL a variable takes: with OpenAI's version in it, or without any.
#[derive(Clone, Copy)]
enum Kind {
    Versioned,
    Bare,
    Key,
}

/// What every agent gets.
const ALWAYS: &[(&str, Kind)] = &[
    ("OPENAI_BASE_URL", Kind::Versioned),
    ("OPENAI_API_BASE", Kind::Versioned),
    ("OPENAI_API_KEY", Kind::Key),
    ("ANTHROPIC_BASE_URL", Kind::Bare),
    ("ANTHROPIC_API_KEY", Kind::Key),
    ("GOOGLE_GEMINI_BASE_URL", Kind::Bare),
    ("GEMINI_BASE_URL", Kind::Bare),
    ("GEMINI_API_KEY", Kind::Key),
];

/// A key that is worth nothing; some programs look at its first letters.
const KEY: &str = "sk-rehearsal-000000000000";

/// The names of the variables that every agent gets.
pub fn always() -> impl Iterator<Item = &'static str> {
    ALWAYS.iter().map(|(name, _)| *name)
}

/// The value of a variable in a run whose endpoint is at `base`.
pub fn of_run(name: &str, base: &str, own: Option<OsString>) -> Option<OsString> {
    let known = ALWAYS.iter().find(|(other, _)| *other == name).map(|(_, kind)| *kind);
    let upper = name.to_ascii_uppercase();
    let guessed = || {
        if upper.ends_with("_BASE_URL") || upper.ends_with("_API_BASE") {
            Some(Kind::Versioned)
        } else if upper.ends_with("_API_KEY") {
            Some(Kind::Key)
        } else {
            None
        }
    };
    match known.or_else(guessed) {
        Some(Kind::Versioned) => Some(format!("{base}/v1").into()),
        Some(Kind::Bare) => Some(base.into()),
        Some(Kind::Key) => Some(KEY.into()),
        None if upper == "NO_PROXY" => Some("127.0.0.1,localhost".into()),
        None if is_withheld(&upper) => None,
        None => own,
    }
}

/// Other secrets, and proxies: they lead away from here.
fn is_withheld(upper: &str) -> bool {
    ["_TOKEN", "_SECRET", "_KEY", "_PROXY", "_PASSWORD"].iter().any(|end| upper.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_endpoint_key_or_proxy_of_the_user_reaches_a_rehearsal() {
        let value = |name: &str| {
            of_run(name, "http://127.0.0.1:1/run/7", Some("the user's".into()))
                .map(|value| value.into_string().unwrap())
        };
        for (name, expected) in [
            ("OPENAI_BASE_URL", Some("http://127.0.0.1:1/run/7/v1")),
            ("OPENROUTER_BASE_URL", Some("http://127.0.0.1:1/run/7/v1")),
            ("ANTHROPIC_BASE_URL", Some("http://127.0.0.1:1/run/7")),
            ("GOOGLE_GEMINI_BASE_URL", Some("http://127.0.0.1:1/run/7")),
            ("MISTRAL_API_KEY", Some(KEY)),
            ("CLAUDE_CODE_OAUTH_TOKEN", None),
            ("AWS_SECRET_ACCESS_KEY", None),
            ("https_proxy", None),
            ("NO_PROXY", Some("127.0.0.1,localhost")),
            ("LC_ALL", Some("the user's")),
        ] {
            assert_eq!(value(name).as_deref(), expected, "{name}");
        }
        assert!(always().all(|name| value(name).as_deref() != Some("the user's")));
    }
}
