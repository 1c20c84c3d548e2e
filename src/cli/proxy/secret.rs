//! Values that nobody may see, in the flags of `nochmal proxy`: `--secret`, and pairs of a name and a value,
//! which variables and headers are given as.

use super::ProxyArgs;
use crate::domain::secrets::{Secrets, strong_enough};
use crate::upstream::Target;
use crate::upstream::canary::{self, CANARY};
use std::ffi::OsStr;

/// Names and values of what a flag was given. What is wrong is told by its number: whoever forgot the
/// name has given a value that nobody may see.
pub(super) fn pairs<'t>(
    flag: &str,
    given: impl IntoIterator<Item = &'t str>,
    between: char,
    wanted: &str,
) -> Result<Vec<(String, String)>, String> {
    let pair = |(at, text): (usize, &str)| match text.split_once(between) {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{flag}: {wanted} is wanted, and number {} is none", at + 1)),
    };
    given.into_iter().enumerate().map(pair).collect()
}

impl ProxyArgs {
    /// The values of `--secret`, and a credential that the upstream alone gets. Nothing without the flag.
    pub(super) fn secrets(&self, upstream: &mut Target) -> Result<Secrets, String> {
        let mut secrets = Secrets::default();
        for name in &self.secret {
            let set = match upstream {
                Target::Command(launch) => launch.command.env.get(OsStr::new(name)).cloned(),
                Target::Url(_) => std::env::var_os(name),
            };
            let value = set.filter(|value| !value.is_empty());
            let value =
                value.ok_or_else(|| format!("--secret {name}: the environment has no value for it"))?;
            let value = value.to_string_lossy();
            strong_enough(&value)
                .map_err(|reason| format!("--secret {name}: the value cannot be kept secret: {reason}"))?;
            secrets.add(name, &value);
        }
        if self.secret.is_empty() {
            return Ok(secrets);
        }
        if let Target::Command(launch) = &upstream
            && let Some(name) = secrets.first_in(&launch.command.argv)
        {
            return Err(format!(
                "--secret {name}: the upstream's command would show the value to everybody on this machine; pass it in \
                 the environment"
            ));
        }
        if let Some(canary) = canary::new() {
            upstream.plant(&canary);
            secrets.add(CANARY, &canary);
        }
        Ok(secrets)
    }
}
