//! Whether the traces of a results folder are those that were written: `runs.jsonl` holds the end of
//! each chain. What a trace proves is held against the verdict of its run, which has no chain.

use super::folder::Folder;
use crate::domain::{RunId, RunResult, Verdict};
use crate::judge::judge;
use crate::trace::{Event, Record, TraceError, read_sound, verify};
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
    /// The run has a verdict that only a trace gives, and names none.
    NotNamed(Verdict),
    /// The trace is another run's.
    OfAnother(Option<RunId>),
    /// The verdict of the run is not the one that its trace gives.
    Contradicts {
        /// What is said of the run.
        told: Verdict,
        /// What its trace proves.
        proven: Verdict,
    },
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
            TraceState::NotNamed(told) => {
                Some(format!("its run is {told} in runs.jsonl and names no trace that would prove it"))
            }
            TraceState::OfAnother(Some(run)) => {
                Some(format!("runs.jsonl names it for another run than its own, which is {run}"))
            }
            TraceState::OfAnother(None) => {
                Some("runs.jsonl names it for a run, but it was made by a proxy that stood alone".to_owned())
            }
            TraceState::Contradicts { told, proven } => {
                Some(format!("its run is {told} in runs.jsonl, but the trace proves {proven}"))
            }
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
        matches!(
            self,
            TraceState::Wrong(_)
                | TraceState::Unreadable(_)
                | TraceState::NotNamed(_)
                | TraceState::OfAnother(_)
                | TraceState::Contradicts { .. }
        )
    }
}

/// The trace of a run, checked; none where the run has none and needs none. `folder` is the one that
/// `run.trace` is named in.
pub fn check_trace(folder: &Path, run: &RunResult) -> Option<TraceCheck> {
    let Some(name) = run.trace.clone() else {
        // The runner never gives such a verdict without a trace.
        return run.verdict.is_tested().then(|| TraceCheck {
            run: Some(run.run_id.clone()),
            name: Folder::trace_name(&run.run_id),
            state: TraceState::NotNamed(run.verdict),
        });
    };
    let state = state(&folder.join(&name), Some(run));
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

/// The run that a trace says it is of: the runner writes it into the first record.
pub fn run_of(records: &[Record]) -> Option<RunId> {
    match records.first().map(|record| &record.event) {
        Some(Event::Started(started)) => started.run_id.clone().map(RunId),
        _ => None,
    }
}

/// Whether a trace is that of a run. Of several folders that are read as one, the run's id begins with the
/// name of its folder.
pub fn is_of(records: &[Record], run: &RunResult) -> bool {
    let name = run.run_id.0.rsplit('/').next();
    run_of(records).is_some_and(|own| name == Some(own.0.as_str()))
}

/// `run` is the finished run that names the trace.
fn state(path: &Path, run: Option<&RunResult>) -> TraceState {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return TraceState::Missing,
        Err(error) => return TraceState::Unreadable(error.to_string()),
    };
    let kept = run.map(|run| run.trace_digest.as_deref());
    let verified = verify(&bytes, kept.flatten());
    if let (Ok(_), Some(run)) = (&verified, run) {
        let records = read_sound(&bytes).0;
        if !is_of(&records, run) {
            return TraceState::OfAnother(run_of(&records));
        }
        let (told, proven) = (run.verdict, judge(&records).verdict);
        if !agree(told, proven) {
            return TraceState::Contradicts { told, proven };
        }
    }
    match (verified, kept) {
        (Ok(digest), Some(Some(_))) => TraceState::Whole { digest },
        (Ok(digest), _) => TraceState::NotKept { digest },
        (Err(error), None) if error.is_unfinished() => TraceState::LeftBehind(error),
        (Err(error), _) => TraceState::Wrong(error),
    }
}

/// Whether a run can have been told so. How it ended may take a PASS back, since something else was not
/// as it should be; it never makes a PASS, and a violation stands however the run ended.
fn agree(told: Verdict, proven: Verdict) -> bool {
    match told {
        Verdict::Pass | Verdict::Fail => told == proven,
        Verdict::NotTested | Verdict::Error => proven != Verdict::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_stands_and_a_pass_is_proven() {
        use Verdict::{Error, Fail, NotTested, Pass};
        for told in [Pass, NotTested, Error] {
            assert!(!agree(told, Fail), "{told}");
            assert!(!agree(Fail, told), "{told}");
        }
        assert!(agree(Fail, Fail) && agree(Pass, Pass) && !agree(Pass, NotTested));
        assert!([NotTested, Error].iter().all(|told| agree(*told, Pass) && agree(*told, NotTested)));
    }
}
