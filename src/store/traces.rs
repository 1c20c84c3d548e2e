//! Whether the traces of a results folder are those that were written: `runs.jsonl` holds the end of
//! each chain. What a trace proves is held against the verdict of its run, which has no chain.

use super::folder::Folder;
use crate::domain::{ApprovalRequest, CellId, MOST_STRUCK, Present, ReasonCode, RunId, RunResult, Verdict};
use crate::judge::{Judgement, judge};
use crate::scenario::{CHAOS, NONE};
use crate::trace::{Event, Record, TraceError, read_verified, struck_calls};
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
    /// Whole, but `runs.jsonl` does not hold its end, although its run has a verdict that only a trace gives.
    NotSealed(Verdict),
    /// Something else that is said of the run is not what its trace gives: a sentence.
    Differs(String),
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
            TraceState::NotSealed(told) => Some(format!(
                "its run is {told} in runs.jsonl, which does not hold the trace's end, so it may have been written anew"
            )),
            TraceState::Differs(sentence) => Some(sentence.clone()),
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
                | TraceState::NotSealed(_)
                | TraceState::Differs(_)
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
    let state = state(&folder.join(&name), Some(&Told::of(run)));
    Some(TraceCheck { run: Some(run.run_id.clone()), name, state })
}

/// The traces of the tries of a run that its model's endpoint spoiled, checked.
pub fn check_tries(folder: &Path, run: &RunResult) -> Vec<TraceCheck> {
    let tries = run.agent.spoiled.iter().filter_map(|spoiled| Some((spoiled, spoiled.trace.clone()?)));
    let checked = tries.map(|(spoiled, name)| {
        let told = Told {
            run,
            verdict: Verdict::Error,
            digest: spoiled.trace_digest.as_deref(),
            executions: spoiled.executions,
            started_at: &spoiled.started_at,
            is_try: true,
        };
        TraceCheck { run: Some(run.run_id.clone()), state: state(&folder.join(&name), Some(&told)), name }
    });
    checked.collect()
}

/// The traces that lie in a results folder and belong to no finished run, checked.
pub fn stray_traces(folder: &Path, runs: &[RunResult]) -> Vec<TraceCheck> {
    let tries = runs.iter().flat_map(|run| &run.agent.spoiled).filter_map(|spoiled| spoiled.trace.as_deref());
    let known: HashSet<&str> = runs.iter().filter_map(|run| run.trace.as_deref()).chain(tries).collect();
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
fn run_of(records: &[Record]) -> Option<RunId> {
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

/// What `runs.jsonl` says of a trace.
struct Told<'a> {
    /// The finished run that names it.
    run: &'a RunResult,
    verdict: Verdict,
    digest: Option<&'a str>,
    executions: u64,
    started_at: &'a str,
    /// It is not the run's own, but that of a try before it.
    is_try: bool,
}

impl Told<'_> {
    fn of(run: &RunResult) -> Told<'_> {
        Told {
            run,
            verdict: run.verdict,
            digest: run.trace_digest.as_deref(),
            executions: run.executions,
            started_at: &run.started_at,
            is_try: false,
        }
    }

    /// The first thing that is not as the trace has it, as a sentence.
    fn differs(&self, records: &[Record], proven: &Judgement) -> Option<String> {
        let number = |told: u64, proven: u64, what: &str| {
            (told != proven)
                .then(|| format!("its run has {told} {what} in runs.jsonl, but the trace proves {proven}"))
        };
        let run = self.run;
        if run.reason_code == ReasonCode::Unjudgeable {
            // Nothing was taken from it.
            return None;
        }
        number(self.executions, proven.executions, "executions")
            .or_else(|| self.another_start(records))
            .or_else(|| {
                if self.is_try {
                    return None;
                }
                let kinds: Vec<&str> = proven.violations.iter().map(|violation| violation.kind).collect();
                if run.violations != kinds {
                    let list =
                        |kinds: &[&str]| if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
                    let told: Vec<&str> = run.violations.iter().map(String::as_str).collect();
                    return Some(format!(
                        "the violations of its run are {} in runs.jsonl, but the trace proves {}",
                        list(&told),
                        list(&kinds)
                    ));
                }
                let asked =
                    |requests: &[ApprovalRequest]| requests.iter().map(|request| request.asked).sum::<u64>();
                number(run.calls, proven.calls, "calls")
                    .or_else(|| number(run.writes, proven.writes, "writes"))
                    .or_else(|| {
                        number(asked(&run.approvals), asked(&proven.approvals), "requests for approval")
                    })
                    .or_else(|| self.another_strike(records))
            })
    }

    /// Whether a fault showed something else.
    fn another_strike(&self, records: &[Record]) -> Option<String> {
        let mut proven = struck_calls(records);
        proven.truncate(MOST_STRUCK);
        (self.run.struck != proven).then(|| {
            "what its faults showed (`struck`) is in runs.jsonl not as the trace proves it".to_owned()
        })
    }

    /// Whether the trace begins otherwise than its run: in another cell, or at another time.
    fn another_start(&self, records: &[Record]) -> Option<String> {
        let Some(Event::Started(started)) = records.first().map(|record| &record.event) else { return None };
        let key = &self.run.key;
        let own = match (&started.scenario, started.error_rate) {
            (Some(scenario), _) => scenario.as_str(),
            (None, Some(_)) => CHAOS,
            (None, None) => NONE,
        };
        // A fault of a suite's own has a form of its own where the axis asks for none.
        let plain = Present::Plain.name();
        let form = if key.present == plain { plain } else { started.present.name() };
        let texts = [
            ("scenario", key.scenario.as_str(), own),
            ("present", key.present.as_str(), form),
            ("start", self.started_at, started.started_at.as_str()),
        ];
        let other = texts.into_iter().find(|(_, told, own)| told != own);
        let other = other.map(|(what, told, own)| {
            format!("the {what} of its run is `{told}` in runs.jsonl, but `{own}` in the trace")
        });
        other.or_else(|| {
            (CellId::of(key) != self.run.cell_id).then(|| {
                format!(
                    "its cell has the id {} in runs.jsonl, which is not that of its values",
                    self.run.cell_id
                )
            })
        })
    }
}

/// `told` is what the finished run says that names the trace.
fn state(path: &Path, told: Option<&Told<'_>>) -> TraceState {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return TraceState::Missing,
        Err(error) => return TraceState::Unreadable(error.to_string()),
    };
    let kept = told.map(|told| told.digest);
    let (records, verified) = read_verified(&bytes, kept.flatten());
    if let (Ok(_), Some(told)) = (&verified, told) {
        if !is_of(&records, told.run) {
            return TraceState::OfAnother(run_of(&records));
        }
        let proven = judge(&records);
        if !agree(told.verdict, proven.verdict) {
            return TraceState::Contradicts { told: told.verdict, proven: proven.verdict };
        }
        if told.digest.is_none() && told.verdict.is_tested() {
            return TraceState::NotSealed(told.verdict);
        }
        if let Some(sentence) = told.differs(&records, &proven) {
            return TraceState::Differs(sentence);
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
