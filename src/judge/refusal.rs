//! J27: an operation that was refused for good is sent again.

use super::refresh::prepare;
use super::respelling::{Arguments, Relation};
use super::state::Judge;
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
    bare: String,
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

fn without_credentials(operation: &str) -> String {
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

impl Judge {
    /// The agent was told that the operation is refused.
    pub(super) fn refused(&mut self, number: usize) {
        let Some(operation) = self.operations.get_mut(number) else { return };
        if operation.refused.is_some() {
            return;
        }
        let (arguments, coarse) = prepare(&operation.canonical);
        let bare = without_credentials(&operation.canonical);
        if let Some(tool) = self.tools.get_mut(operation.tool) {
            tool.refused.insert(number, coarse);
            tool.refused_bare.entry(bare.clone()).or_insert(number);
        }
        operation.refused = Some(Refused { arguments, bare, again: Vec::new() });
    }

    /// An attempt arrived: is it one of an operation that was refused before?
    pub(super) fn compare_with_refused(&mut self, tool: usize, number: usize, call: usize) {
        let Some(found) = self.tools.get_mut(tool) else { return };
        if found.refused_bare.is_empty() {
            return;
        }
        let Some(canonical) = self.operations.get(number).map(|operation| operation.canonical.clone()) else {
            return;
        };
        let (arguments, coarse) = prepare(&canonical);
        let bare = without_credentials(&canonical);
        let mut candidates = found.refused.candidates(&coarse);
        candidates.extend(found.refused_bare.get(&bare));
        candidates.push(number);
        candidates.sort_unstable();
        candidates.dedup();
        for candidate in candidates {
            let Some(refused) = self.operations.get_mut(candidate).and_then(|found| found.refused.as_mut())
            else {
                continue;
            };
            let how = if candidate == number {
                How::Same
            } else if refused.bare == bare {
                How::OtherCredentials
            } else if refused.arguments.relation(&arguments) == Relation::Respelled {
                How::Reworded
            } else {
                continue;
            };
            refused.again.push(Again { call, how });
            self.touch(candidate);
        }
    }
}
