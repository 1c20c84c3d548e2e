//! J27: an operation that was refused for good is sent again.

use super::respelling::Arguments;
use crate::domain::RawJson;
use crate::domain::json::canonical;
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
    pub arguments: Arguments,
    /// Its arguments without credentials, canonical.
    pub bare: String,
    pub again: Vec<Again>,
}

/// Names of arguments that say who asks, not what is asked for.
const CREDENTIALS: &[&str] = &[
    "token",
    "accesstoken",
    "apikey",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "password",
    "secret",
];

pub(super) fn without_credentials(operation: &str) -> String {
    let Ok(mut fields) = serde_json::from_str::<BTreeMap<String, RawJson>>(operation) else {
        return operation.to_owned();
    };
    fields.retain(|name, _| {
        let folded: String =
            name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        !CREDENTIALS.contains(&folded.as_str())
    });
    RawJson::of(&fields).map_or_else(|_| operation.to_owned(), |fields| canonical(fields.get()))
}
