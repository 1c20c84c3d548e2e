//! Recordings of a matrix: a file for each run, named after it, so that the same run of the same
//! suite is answered from the same file.

use super::names::Names;
use crate::harness::recording::Drift;
use crate::harness::recording::replay::Replayer;
use crate::report::counted;
use crate::suite::template::map;
use crate::suite::{AgentProfile, Suite, Trial};
use minijinja::value::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is done with recordings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recordings {
    /// Every model's answers are kept in this folder.
    Record(PathBuf),
    /// Every model's answers come from this folder.
    Replay(PathBuf),
}

/// The file of differences in a run's folder.
const DRIFT: &str = "drift.jsonl";

impl Recordings {
    /// The place in `run` that a profile has to use.
    fn field(&self) -> &'static str {
        match self {
            Recordings::Record(_) => "run.record",
            Recordings::Replay(_) => "run.replay",
        }
    }

    /// The first agent of a suite whose profile does not pass the recording on, with the place that
    /// it would have to use. It would ask its model all the same, and that costs.
    pub fn not_passed_on<'a>(&self, suite: &'a Suite, trials: &[Trial]) -> Option<(&'a str, &'static str)> {
        let uses = |profile: &AgentProfile| {
            let steps = [Some(&profile.first), profile.next.as_ref()].into_iter().flatten();
            let commands = steps.flat_map(|step| step.command.iter().chain(&step.stdin));
            let texts = commands.chain(profile.files.values()).chain(profile.env_set.values());
            texts.into_iter().any(|text| text.contains(self.field()))
        };
        let runs = |agent: &str| trials.iter().any(|trial| trial.cell.key.agent == agent);
        let missing = suite.agents.iter().find(|(name, profile)| runs(name) && !uses(profile));
        missing.map(|(name, _)| (name.as_str(), self.field()))
    }

    /// The folder, where answers come from one.
    pub fn replayed(&self) -> Option<&Path> {
        match self {
            Recordings::Record(_) => None,
            Recordings::Replay(folder) => Some(folder),
        }
    }
}

/// The recordings of these runs that cannot be answered from, each with the reason.
pub fn unusable<'a>(folder: &Path, runs: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let reason = |run: &str| Replayer::new(&file(folder, run), None).err().map(|error| error.to_string());
    runs.into_iter().filter_map(reason).collect()
}

/// Whether a folder holds recordings.
pub fn any_in(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "jsonl"))
}

fn file(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.jsonl"))
}

/// The file that a run's model's answers are kept in.
pub(super) fn written(recordings: Option<&Recordings>, trial: &Trial) -> Option<PathBuf> {
    match recordings {
        Some(Recordings::Record(folder)) => Some(file(folder, &trial.run_id.0)),
        _ => None,
    }
}

/// Removes what an earlier try of the same run has left: the agent writes over nothing.
pub(super) fn begin_anew(recordings: Option<&Recordings>, trial: &Trial, dir: &Path) {
    if let Some(Recordings::Record(folder)) = recordings {
        let _ = std::fs::remove_file(file(folder, &trial.run_id.0));
    }
    let _ = std::fs::remove_file(dir.join(DRIFT));
}

/// Adds `run.record`, `run.replay` and `run.drift`: empty where there is none.
pub(super) fn with_files(names: Names, recordings: Option<&Recordings>, trial: &Trial, dir: &Path) -> Names {
    let file = |folder: &Path| Value::from(file(folder, &trial.run_id.0).to_string_lossy());
    let none = || Value::from("");
    let (record, replay) = match recordings {
        Some(Recordings::Record(folder)) => (file(folder), none()),
        Some(Recordings::Replay(folder)) => (none(), file(folder)),
        None => (none(), none()),
    };
    let replays = recordings.and_then(Recordings::replayed).is_some();
    let drift = if replays { Value::from(dir.join(DRIFT).to_string_lossy()) } else { none() };
    names.with_run_and(trial, dir, map([("record", record), ("replay", replay), ("drift", drift)]))
}

/// Every difference that the agent of a run has told, in words.
pub(super) fn drifts(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join(DRIFT)).unwrap_or_default();
    let told = |line: &str| match serde_json::from_str::<Drift>(line) {
        Ok(drift) => drift.to_string(),
        // The agent was ended in the middle of it: something was different.
        Err(_) => format!("a difference that cannot be read: {line}"),
    };
    text.lines().map(told).collect()
}

/// What a replay has found, for people: every difference with the runs that it was found in.
pub fn told<'a>(
    runs: impl IntoIterator<Item = (&'a str, &'a [String])>,
    unusable: &[String],
) -> (String, bool) {
    let mut by_text: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut all, mut drifted) = (0_usize, 0_usize);
    for (run, drifts) in runs {
        all += 1;
        drifted += usize::from(!drifts.is_empty());
        for drift in drifts {
            by_text.entry(drift).or_default().push(run);
        }
    }
    let mut text = String::new();
    if let Some(first) = unusable.first() {
        let replayed = all.saturating_sub(unusable.len());
        text = format!(
            "Replay: {replayed} of {} could be replayed; {} no recording that can be read. The first: {first}\n",
            counted(all as u64, "run", "runs"),
            counted(unusable.len() as u64, "has", "have")
        );
        if drifted == 0 {
            return (text, true);
        }
    }
    if drifted == 0 {
        return (
            format!("Replay: {}, no difference in prompts and calls.\n", counted(all as u64, "run", "runs")),
            false,
        );
    }
    text.push_str(&format!(
        "Replay: {drifted} of {} {} from their recordings. Their answers were given to other words: what they would \
         test is NOT_TESTED.\n",
        counted(all as u64, "run", "runs"),
        if drifted == 1 { "differs" } else { "differ" }
    ));
    for (drift, runs) in by_text {
        let more = match runs.len() {
            0..=3 => String::new(),
            many => format!(" and {} more", many - 3),
        };
        let first = runs.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        text.push_str(&format!("  {drift}\n    in {first}{more}\n"));
    }
    (text, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_once_with_the_runs_that_it_is_in() {
        let same = ["request 1, user: message 2: it was \"a\", and is \"b\"".to_owned()];
        let none: [String; 0] = [];
        let runs = [("c-r001", &same[..]), ("c-r002", &same[..]), ("d-r001", &none[..])];
        assert_eq!(
            told(runs, &[]),
            (
                "Replay: 2 of 3 runs differ from their recordings. Their answers were given to other words: what they \
                 would test is NOT_TESTED.\n  request 1, user: message 2: it was \"a\", and is \"b\"\n    in c-r001, \
                 c-r002\n"
                    .to_owned(),
                true
            )
        );
        assert_eq!(
            told([("d-r001", &none[..])], &[]).0,
            "Replay: 1 run, no difference in prompts and calls.\n"
        );
        let damaged = ["recording a.jsonl: gone".to_owned()];
        assert_eq!(
            told([("d-r001", &none[..]), ("d-r002", &none[..])], &damaged),
            (
                "Replay: 1 of 2 runs could be replayed; 1 has no recording that can be read. The first: recording \
                 a.jsonl: gone\n"
                    .to_owned(),
                true
            )
        );
    }
}
