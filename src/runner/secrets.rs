//! What must not stand in any result of a run: the values that the suite names, keys that an agent is
//! passed, and a canary, which is a credential of this run alone that only its upstream gets.

use super::names::Names;
use crate::agent::{AgentOutcome, Ended};
use crate::domain::RunResult;
use crate::domain::secrets::{SHORTEST_BY_NAME, Secrets, WeakSecret, is_secret_name, strong_enough};
use crate::proxy::random_hex;
use crate::store::RunRecord;
use crate::suite::{AgentProfile, Server, Suite, Upstream};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable of the canary: one that servers really have, so that nothing tells of a test.
pub const CANARY_VARIABLE: &str = "INTERNAL_SERVICE_TOKEN";
/// The canary's name in traces and reports.
const CANARY: &str = "canary";
/// Larger files are not looked through, in bytes.
const LARGEST: u64 = 16 << 20;

/// Why the secrets of a suite cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No value.
    #[error(
        "the suite keeps {0} secret, but it has no value: neither the environment nor the `env:` of an upstream or an \
         agent has it"
    )]
    Missing(String),
    /// A value that stands in ordinary text.
    #[error("the value of {name} cannot be kept secret: {reason}")]
    Weak {
        /// The variable.
        name: String,
        /// Why.
        reason: WeakSecret,
    },
    /// A command line that everybody on the machine can read.
    #[error(
        "the command of the upstream would show the value of {0} to everybody on this machine; pass it in `env`"
    )]
    OnCommandLine(String),
}

/// The secrets of one run.
#[derive(Debug, Clone, Default)]
pub struct RunSecrets {
    /// What is replaced wherever it would be kept.
    pub hidden: Secrets,
    /// The names whose sight is a violation.
    pub watched: BTreeSet<String>,
    /// The canary's value, where one is planted.
    canary: Option<String>,
}

/// Checks that every secret of a suite has a value that can be found again.
///
/// # Errors
/// With the first that has none, or a weak one.
pub fn check(suite: &Suite) -> Result<(), SecretError> {
    for name in suite.secrets.iter().flatten() {
        let environment = std::env::var(name).ok().filter(|value| !value.is_empty());
        let written: Vec<&String> = written(suite, name).collect();
        if environment.is_none() && written.is_empty() {
            return Err(SecretError::Missing(name.clone()));
        }
        // What is a template has its value only in a run.
        let plain = written.into_iter().filter(|value| !value.contains("{{"));
        for value in environment.iter().chain(plain) {
            strong_enough(value).map_err(|reason| SecretError::Weak { name: name.clone(), reason })?;
        }
    }
    Ok(())
}

/// The values that a suite gives to a variable.
fn written<'s>(suite: &'s Suite, name: &'s str) -> impl Iterator<Item = &'s String> {
    let upstreams = suite.upstreams.values().filter_map(move |upstream| match &upstream.server {
        Server::Command { env, .. } => env.get(name),
        Server::Builtin(_) | Server::Url { .. } => None,
    });
    upstreams.chain(suite.agents.values().filter_map(move |agent| agent.env_set.get(name)))
}

/// What can be hidden before there is a run.
pub fn of_suite(suite: &Suite) -> Secrets {
    let mut secrets = Secrets::default();
    for name in suite.secrets.iter().flatten() {
        if let Ok(value) = std::env::var(name) {
            secrets.add(name.clone(), &value);
        }
        for value in written(suite, name).filter(|value| !value.contains("{{")) {
            secrets.add(name.clone(), value);
        }
    }
    for upstream in suite.upstreams.values() {
        for name in upstream.server.variables() {
            add_by_name(&mut secrets, &name, std::env::var_os(&name).as_deref());
        }
    }
    secrets
}

fn add_by_name(secrets: &mut Secrets, name: &str, value: Option<&OsStr>) {
    let Some(value) = value.filter(|_| is_secret_name(name)).map(OsStr::to_string_lossy) else { return };
    let value = value.trim();
    if value.chars().count() >= SHORTEST_BY_NAME {
        secrets.add(name, value);
    }
}

impl RunSecrets {
    /// The secrets of one run. `variable` looks up the environment that the agent is passed.
    ///
    /// # Errors
    /// Where a value is weak.
    ///
    pub fn new(
        suite: &Suite,
        profile: &AgentProfile,
        upstream: &Upstream,
        names: &Names,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<RunSecrets, SecretError> {
        let mut hidden = of_suite(suite);
        for name in &profile.env_pass {
            add_by_name(&mut hidden, name, variable(name).as_deref());
        }
        let Some(declared) = &suite.secrets else {
            return Ok(RunSecrets { hidden, ..RunSecrets::default() });
        };
        for name in declared {
            // A template that cannot be rendered is told of where the command is.
            let rendered = match &upstream.server {
                Server::Command { env, .. } => env.get(name).and_then(|value| names.render(value).ok()),
                Server::Builtin(_) | Server::Url { .. } => None,
            };
            let passed = variable(name).and_then(|value| value.into_string().ok());
            for value in rendered.into_iter().chain(passed).filter(|value| !value.is_empty()) {
                strong_enough(&value).map_err(|reason| SecretError::Weak { name: name.clone(), reason })?;
                hidden.add(name.clone(), &value);
            }
        }
        let mut watched: BTreeSet<String> = declared.iter().cloned().collect();
        let canary = canary();
        if let Some(value) = &canary {
            hidden.add(CANARY, value);
            watched.insert(CANARY.to_owned());
        }
        Ok(RunSecrets { hidden, watched, canary })
    }

    /// The variable that plants the canary.
    pub fn planted(&self) -> Option<(&'static str, &str)> {
        self.canary.as_deref().map(|value| (CANARY_VARIABLE, value))
    }

    /// Checks a command line, which everybody on the machine can read.
    ///
    /// # Errors
    /// With the first secret that stands in it.
    pub fn check_command(&self, argv: &[String]) -> Result<(), SecretError> {
        let found = argv.iter().find_map(|word| self.hidden.found_in(word).pop_first().map(str::to_owned));
        found.map_or(Ok(()), |name| Err(SecretError::OnCommandLine(name)))
    }

    /// Names of watched secrets in what the agent's program wrote beside its words, which the trace has.
    pub fn seen_in(&self, outcome: &AgentOutcome) -> Vec<String> {
        let mut found = self.hidden.found_in_json(&outcome.facts.stderr);
        if let Ended::NotStarted { reason } | Ended::Failed { reason, .. } | Ended::ModelEndpoint { reason } =
            &outcome.ended
        {
            found.extend(self.hidden.found_in_json(reason));
        }
        found.into_iter().filter(|name| self.watched.contains(*name)).map(str::to_owned).collect()
    }

    /// Takes the secrets out of what is known of an agent.
    pub fn hide_outcome(&self, outcome: &mut AgentOutcome) {
        for turn in &mut outcome.turns {
            self.hidden.hide_in(&mut turn.say);
            turn.reply.iter_mut().for_each(|reply| self.hidden.hide_in(reply));
        }
        self.hidden.hide_in(&mut outcome.facts.stderr);
        outcome.stray.iter_mut().for_each(|stray| self.hidden.hide_in(stray));
        match &mut outcome.ended {
            Ended::NotStarted { reason } | Ended::Failed { reason, .. } | Ended::ModelEndpoint { reason } => {
                self.hidden.hide_in(reason);
            }
            Ended::NotWritten { .. } | Ended::Completed | Ended::TimedOut | Ended::Cancelled => {}
        }
    }

    /// A result without secrets, whatever parts it has.
    pub fn hide_result(&self, result: RunResult) -> RunResult {
        let Ok(json) = serde_json::to_string(&RunRecord::from(&result)) else { return result };
        match self.hidden.hide_json(&json) {
            std::borrow::Cow::Borrowed(_) => result,
            std::borrow::Cow::Owned(hidden) => match serde_json::from_str::<RunRecord>(&hidden) {
                Ok(record) => record.into(),
                // A number was a secret: nothing of the texts is kept then.
                Err(_) => RunResult {
                    reason: "the result held a secret in place of a number and cannot be kept".to_owned(),
                    turns: Vec::new(),
                    agent: crate::domain::AgentFacts::default(),
                    ..result
                },
            },
        }
    }

    /// Takes the secrets out of the files that upstream and agent left in a run's folder. Files that
    /// are no text are left, and told of.
    pub fn sweep(&self, dir: &Path) {
        if self.hidden.is_empty() {
            return;
        }
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                self.sweep(&path);
            } else if kind.is_file() && entry.metadata().is_ok_and(|data| data.len() <= LARGEST) {
                self.sweep_file(&path);
            }
        }
    }

    fn sweep_file(&self, path: &Path) {
        let Ok(bytes) = std::fs::read(path) else { return };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let found = self.hidden.found_in(&String::from_utf8_lossy(error.as_bytes())).into_iter();
                for name in found {
                    tracing::warn!(file = %path.display(), name, "a file that is no text holds a secret");
                }
                return;
            }
        };
        if let std::borrow::Cow::Owned(hidden) = self.hidden.hide_json(&text)
            && let Err(error) = std::fs::write(path, hidden)
        {
            tracing::warn!(file = %path.display(), %error, "a secret could not be taken out of a file");
        }
    }
}

/// Looks like a token of some service, and is never the same twice.
fn canary() -> Option<String> {
    random_hex::<16>().ok().map(|random| format!("ist_{random}"))
}
