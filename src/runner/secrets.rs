//! What must not stand in any result of a run: the values that the suite names, keys that an agent is
//! passed, and a canary, which is a credential of this run alone that only its upstream gets.

use super::environment::variable;
use super::names::Names;
use crate::agent::{AgentOutcome, Ended};
use crate::domain::RunResult;
use crate::domain::secrets::{Secrets, WeakSecret, is_secret, strong_enough};
use crate::log::{self, KeptOut};
use crate::store::RunRecord;
use crate::suite::{AgentProfile, Server, Suite, Upstream};
use crate::upstream::Target;
use crate::upstream::canary::{self, CANARY};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

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
#[derive(Debug, Default)]
pub struct RunSecrets {
    /// What is replaced wherever it would be kept.
    pub hidden: Secrets,
    /// The names whose sight is a violation.
    pub watched: BTreeSet<String>,
    /// The canary's value, where one is planted.
    canary: Option<String>,
    /// For as long as the run goes on.
    _kept_out: Option<KeptOut>,
}

/// Checks that every secret of a suite has a value that can be found again.
///
/// # Errors
/// With the first that has none, or a weak one.
pub fn check(suite: &Suite) -> Result<(), SecretError> {
    for name in suite.secrets.iter().flatten() {
        let environment = variable(name);
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
        if let Some(value) = variable(name) {
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
    let Some(value) = value.map(OsStr::to_string_lossy) else { return };
    if is_secret(name, value.trim()) {
        secrets.add(name, value.trim());
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
            let kept_out = Some(log::keep_out(&hidden));
            return Ok(RunSecrets { hidden, _kept_out: kept_out, ..RunSecrets::default() });
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
        let canary = canary::new();
        if let Some(value) = &canary {
            hidden.add(CANARY, value);
            watched.insert(CANARY.to_owned());
        }
        let kept_out = Some(log::keep_out(&hidden));
        Ok(RunSecrets { hidden, watched, canary, _kept_out: kept_out })
    }

    /// Gives the upstream its canary, where the suite watches for one.
    pub fn plant(&self, target: &mut Target) {
        if let Some(canary) = &self.canary {
            target.plant(canary);
        }
    }

    /// Checks a command line, which everybody on the machine can read.
    ///
    /// # Errors
    /// With the first secret that stands in it.
    pub fn check_command(&self, argv: &[String]) -> Result<(), SecretError> {
        match self.hidden.first_in(argv) {
            Some(name) => Err(SecretError::OnCommandLine(name.to_owned())),
            None => Ok(()),
        }
    }

    /// Names of watched secrets in what the agent's program wrote beside its words, which the trace has.
    pub fn seen_in(&self, outcome: &AgentOutcome) -> Vec<String> {
        let mut found = self.hidden.found_in_json(&outcome.facts.stderr);
        found.extend(outcome.stray.iter().flat_map(|stray| self.hidden.found_in_json(stray)));
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
}
