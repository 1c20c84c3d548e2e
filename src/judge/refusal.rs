//! J27: an operation that was refused for good is sent again.

use super::respelling::Arguments;
use crate::domain::RawJson;
use crate::domain::json::canonical;
use crate::domain::names::words;
use std::collections::BTreeMap;

/// How a refused operation came again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// As it was.
    Same,
    /// In other words (J25).
    Reworded,
    /// With other credentials.
    OtherCredentials,
    /// Both.
    OtherCredentialsReworded,
}

/// A call that came after the refusal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    /// The call, counted from 0.
    pub call: usize,
    pub how: How,
}

/// What is kept of a refused operation.
#[derive(Debug)]
pub(super) struct Refused {
    /// Its arguments without credentials.
    pub arguments: Arguments,
    /// The credentials.
    pub credentials: Vec<String>,
    pub again: Vec<Again>,
}

/// What a call asks for, and who asks.
pub(super) struct Parted {
    /// The arguments without credentials, canonical.
    pub bare: String,
    /// The credentials, canonical, with their places.
    pub credentials: Vec<String>,
}

/// How deep credentials are looked for: nobody who asks for something hides who asks below this.
const DEEPEST: usize = 32;

/// Names, without what joins their words, that say who asks and not what is asked for.
const CREDENTIALS: &[&str] = &[
    "token",
    "jwt",
    "bearer",
    "auth",
    "authorization",
    "authentication",
    "proxyauthorization",
    "cookie",
    "cookies",
    "setcookie",
    "credential",
    "credentials",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "secretaccesskey",
    "privatekey",
    "authkey",
    "idtoken",
];

/// Last words that make a name one of a credential, after any of [`WHOSE`].
const KINDS: &[&str] =
    &["token", "key", "secret", "password", "passphrase", "credential", "credentials", "cookie"];

/// First words of such names.
const WHOSE: &[&str] = &[
    "access", "admin", "api", "app", "auth", "bearer", "client", "oauth", "personal", "refresh", "secret",
    "security", "service", "session", "shared", "user",
];

/// Names of headers that are credentials, as a text `Name: value` begins.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"];

fn is_credential(name: &str) -> bool {
    let mut words = words(name);
    // As in `X-Api-Key`.
    if words.len() > 1 && words.first().is_some_and(|first| first == "x") {
        words.remove(0);
    }
    CREDENTIALS.contains(&words.concat().as_str())
        || matches!(words.as_slice(), [first, .., last]
            if WHOSE.contains(&first.as_str()) && KINDS.contains(&last.as_str()))
}

/// Whether a text is a credential by its own form, or is a header of one.
fn is_header(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    lower.strip_prefix("bearer ").is_some_and(|token| !token.trim().contains(char::is_whitespace))
        || lower.split_once(':').is_some_and(|(name, _)| HEADERS.contains(&name.trim()))
}

/// Whether an object is a pair of a name and a value, and the name is one of a credential.
fn is_pair(fields: &BTreeMap<String, RawJson>) -> bool {
    let named = |key: &str| {
        let name = fields.get(key).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        name.is_some_and(|name| is_credential(&name))
    };
    fields.contains_key("value") && ["name", "key", "header"].into_iter().any(named)
}

/// Finds the credentials of a value.
#[derive(Default)]
struct Finder {
    credentials: Vec<String>,
}

impl Finder {
    fn found(&mut self, place: &str, value: &RawJson) {
        self.credentials.push(format!("{place}={}", canonical(value.get())));
    }

    /// What is left of a value without its credentials; none where it held nothing else.
    fn strip(&mut self, value: &RawJson, place: &str, depth: usize) -> Option<RawJson> {
        let text = value.get();
        if depth > DEEPEST {
            return Some(value.clone());
        }
        match text.trim_start().chars().next() {
            Some('{') => self.strip_object(value, place, depth),
            Some('[') => {
                let Ok(items) = serde_json::from_str::<Vec<RawJson>>(text) else {
                    return Some(value.clone());
                };
                let left: Vec<RawJson> =
                    items.iter().filter_map(|item| self.strip(item, place, depth + 1)).collect();
                if left.is_empty() && !items.is_empty() {
                    return None;
                }
                Some(RawJson::of(&left).unwrap_or_else(|_| value.clone()))
            }
            Some('"') if serde_json::from_str::<String>(text).is_ok_and(|text| is_header(&text)) => {
                self.found(place, value);
                None
            }
            _ => Some(value.clone()),
        }
    }

    fn strip_object(&mut self, value: &RawJson, place: &str, depth: usize) -> Option<RawJson> {
        let Ok(fields) = serde_json::from_str::<BTreeMap<String, RawJson>>(value.get()) else {
            return Some(value.clone());
        };
        if is_pair(&fields) {
            self.found(place, value);
            return None;
        }
        let mut left: BTreeMap<&str, RawJson> = BTreeMap::new();
        for (name, member) in &fields {
            let inside = format!("{place}.{name}");
            if is_credential(name) {
                self.found(&inside, member);
            } else if let Some(member) = self.strip(member, &inside, depth + 1) {
                left.insert(name, member);
            }
        }
        if left.is_empty() && !fields.is_empty() {
            return None;
        }
        Some(RawJson::of(&left).unwrap_or_else(|_| value.clone()))
    }
}

/// Parts credentials from what is asked for. A part that held nothing else goes with them.
pub(super) fn part(operation: &str) -> Parted {
    let whole = || Parted { bare: operation.to_owned(), credentials: Vec::new() };
    let Ok(arguments) = RawJson::parse(operation) else { return whole() };
    let mut finder = Finder::default();
    let left = finder.strip(&arguments, "", 0);
    let mut credentials = finder.credentials;
    if credentials.is_empty() {
        return whole();
    }
    credentials.sort();
    Parted { bare: left.map_or_else(|| "{}".to_owned(), |left| canonical(left.get())), credentials }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j27_credentials_are_parted_wherever_they_stand() {
        for (operation, bare) in [
            (r#"{"x":1,"token":"a"}"#, r#"{"x":1}"#),
            (r#"{"x":1,"X-Api-Key":"a"}"#, r#"{"x":1}"#),
            (r#"{"x":1,"clientSecret":"a","access_key":"b","accessToken":"c"}"#, r#"{"x":1}"#),
            (r#"{"headers":{"Authorization":"Bearer a"},"x":1}"#, r#"{"x":1}"#),
            (
                r#"{"headers":{"authorization":"a","accept":"x"},"x":1}"#,
                r#"{"headers":{"accept":"x"},"x":1}"#,
            ),
            (r#"{"request":{"token":"a","x":1}}"#, r#"{"request":{"x":1}}"#),
            (r#"{"headers":[{"name":"Cookie","value":"a"}],"x":1}"#, r#"{"x":1}"#),
            (r#"{"headers":["Authorization: Bearer a"],"x":1}"#, r#"{"x":1}"#),
            (r#"{"auth":[{"token":"a"}],"x":1}"#, r#"{"x":1}"#),
        ] {
            let parted = part(operation);
            assert_eq!(parted.bare, canonical(bare), "{operation}");
            assert!(!parted.credentials.is_empty(), "{operation}");
        }
    }

    #[test]
    fn j27_arguments_of_any_depth_are_parted() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let inside = format!("{}{}{}", open.repeat(100_000), r#"{"token":"b"}"#, close.repeat(100_000));
            let operation = format!(r#"{{"deep":{inside},"token":"a"}}"#);
            let parted = part(&operation);
            assert_eq!(parted.credentials, [r#".token="a""#]);
            assert_eq!(parted.bare.len(), operation.len() - r#","token":"a""#.len());
        }
    }

    #[test]
    fn j27_what_is_asked_for_stays() {
        for operation in [
            r#"{"page_token":"a"}"#,
            r#"{"key":"colour"}"#,
            r#"{"tokens":5}"#,
            r#"{"secret_santa":"a"}"#,
            r#"{"note":"see: the manual"}"#,
            r#"{"empty":{},"list":[]}"#,
            r#"{"n":12345678901234567890123.10}"#,
        ] {
            assert_eq!(part(operation).bare, operation);
        }
    }
}
