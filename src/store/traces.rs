//! Whether the traces of a results folder are those that were written: `runs.jsonl` holds the end of
//! each chain.

use crate::domain::{RunId, RunResult};
use crate::trace::{TraceError, verify};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A trace of a results folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceCheck {
    /// The run, where a finished one has it.
    pub run: Option<RunId>,
    /// The file, below the folder.
    pub name: String,
    /// How it is.
    pub state: TraceState,
}

/// How a trace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceState {
    /// Whole, with the end that was kept.
    Whole {
        /// The end of its chain.
        digest: String,
    },
    /// Whole, but its end was kept nowhere: older programs, or a run that is not finished.
    NotKept {
        /// The end of its chain.
        digest: String,
    },
    /// The file is not there.
    Missing,
    /// The file cannot be read.
    Unreadable(String),
    /// It is of no finished run and has no end: that run was ended in its middle.
    LeftBehind(TraceError),
    /// It is not what was written.
    Wrong(TraceError),
}

impl TraceState {
    /// What is to be said of it in a sentence; none of one that is whole.
    pub fn problem(&self) -> Option<String> {
        match self {
            TraceState::Whole { .. } => None,
            TraceState::NotKept { .. } => {
                Some("its end was kept nowhere, so it may have been written anew".to_owned())
            }
            TraceState::Missing => Some("it is not there".to_owned()),
            TraceState::Unreadable(reason) => Some(format!("it cannot be read: {reason}")),
            TraceState::LeftBehind(error) => {
                Some(format!("its run was not finished and counts nowhere; {error}"))
            }
            TraceState::Wrong(error) if error.is_unfinished() => {
                Some(format!("its run was finished, so its end was cut off: {error}"))
            }
            TraceState::Wrong(error) => Some(error.to_string()),
        }
    }

    /// Something was changed after the run: neither the file nor what it says can be relied on.
    pub fn is_changed(&self) -> bool {
        matches!(self, TraceState::Wrong(_) | TraceState::Unreadable(_))
    }
}

/// The trace of a run, checked; none where the run has none. `folder` is the one that `run.trace` is
/// named in.
pub fn check_trace(folder: &Path, run: &RunResult) -> Option<TraceCheck> {
    let name = run.trace.clone()?;
    let state = state(&folder.join(&name), Some(run.trace_digest.as_deref()));
    Some(TraceCheck { run: Some(run.run_id.clone()), name, state })
}

/// The traces that lie in a results folder and belong to no finished run, checked.
pub fn stray_traces(folder: &Path, runs: &[RunResult]) -> Vec<TraceCheck> {
    let known: HashSet<&str> = runs.iter().filter_map(|run| run.trace.as_deref()).collect();
    let entries = std::fs::read_dir(folder.join(super::folder::TRACES)).into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    names.sort();
    let named = names.into_iter().filter_map(|path| {
        let name = format!("{}/{}", super::folder::TRACES, path.file_name()?.to_string_lossy());
        (!known.contains(name.as_str())).then(|| TraceCheck { run: None, name, state: state(&path, None) })
    });
    named.collect()
}

/// `kept` is what a finished run kept of the end; none of a trace that belongs to no finished run.
fn state(path: &Path, kept: Option<Option<&str>>) -> TraceState {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return TraceState::Missing,
        Err(error) => return TraceState::Unreadable(error.to_string()),
    };
    match (verify(&bytes, kept.flatten()), kept) {
        (Ok(digest), Some(Some(_))) => TraceState::Whole { digest },
        (Ok(digest), _) => TraceState::NotKept { digest },
        (Err(error), None) if error.is_unfinished() => TraceState::LeftBehind(error),
        (Err(error), _) => TraceState::Wrong(error),
    }
}
