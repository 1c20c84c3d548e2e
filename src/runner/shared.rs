//! What the runs of a matrix share, and why a run cannot be begun.

use super::load::Loaded;
use super::recordings::Recordings;
use super::rehearsal::Rehearsal;
use super::secrets::SecretError;
use crate::domain::{ReasonCode, RunId, SpoiledTry, ToolInfo};
use crate::process::Supervisor;
use crate::store::StoreError;
use crate::suite::{self, Trial};
use crate::upstream::RemoteError;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;

/// The file of a built-in upstream's effects, in the run's folder.
pub(super) const LEDGER: &str = "ledger.jsonl";

/// What the runs of a matrix share; none of it changes.
pub struct Shared {
    /// The suite and its files.
    pub loaded: Loaded,
    /// The path of this program.
    pub program: PathBuf,
    /// Starts and ends processes.
    pub supervisor: Supervisor,
    /// The results folder.
    pub results: PathBuf,
    /// The tools that upstreams listed before any agent came, by the upstream's name.
    pub tools: BTreeMap<String, Vec<ToolInfo>>,
    /// The tries that were spoiled in earlier sessions, by their run.
    pub spoiled: HashMap<RunId, Vec<SpoiledTry>>,
    /// Where models are scripts.
    pub rehearsal: Option<Rehearsal>,
    /// Where models' answers are kept, or come from.
    pub recordings: Option<Recordings>,
}

impl Shared {
    /// A variable of this program's environment, as agents get it.
    pub(super) fn variable(&self, trial: &Trial, name: &str) -> Option<OsString> {
        let own = std::env::var_os(name);
        match &self.rehearsal {
            Some(rehearsal) => rehearsal.variable(&trial.run_id, name, own),
            None => own,
        }
    }
}

/// Why a run could not even be begun: a fault of the runner or of the suite, not of the agent.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A template.
    #[error("{what} cannot be rendered: {source}")]
    Template {
        /// Which text.
        what: &'static str,
        /// Why.
        source: suite::template::TemplateError,
    },
    /// A file.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The suite names something that is not there; checking it should have found that.
    #[error("the suite has no {0}")]
    Missing(String),
    /// A variable that the upstream's address or a header needs.
    #[error("the upstream `{upstream}` needs the environment variable `{name}`, which is not set")]
    Variable {
        /// The upstream.
        upstream: String,
        /// The variable.
        name: String,
    },
    /// The upstream's address or a header.
    #[error(transparent)]
    Remote(RemoteError),
    /// A try that was spoiled could not be kept.
    #[error("a spoiled try could not be put aside")]
    Aside(#[source] StoreError),
    /// A secret that cannot be kept.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The system has no randomness.
    #[error("no random number could be had: {0}")]
    Random(getrandom::Error),
}

impl TrialError {
    /// Whether the next run would meet the same: a full disk says nothing about an agent, and a run
    /// that it spoiled must not count as finished.
    pub(super) fn is_of_the_machine(&self) -> bool {
        matches!(self, TrialError::Write { .. } | TrialError::Random(_) | TrialError::Aside(_))
    }

    pub(super) fn code(&self) -> ReasonCode {
        match self {
            TrialError::Variable { .. } | TrialError::Remote(_) => ReasonCode::UpstreamNotStarted,
            _ => ReasonCode::Internal,
        }
    }
}

pub(super) fn missing(what: &str, name: &str) -> TrialError {
    TrialError::Missing(format!("{what} `{name}`"))
}
