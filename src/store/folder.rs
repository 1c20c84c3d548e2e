//! The folder itself.

use super::{MatrixRecord, PLAN_VERSION, PlanRecord, RECORD_VERSION, RunRecord};
use crate::domain::{RunId, RunResult};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Why results could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder.
    #[error("{what} `{}`", .path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The folder is there already and holds something else.
    #[error(
        "`{}` exists and is not empty; give another folder, or `--resume` it if it is an interrupted matrix",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// The folder holds no matrix.
    #[error("`{}` is not a results folder: it has no `{file}`", .path.display())]
    NotResults {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        file: &'static str,
    },
    /// A line or file has another form.
    #[error("`{}`, line {line}: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Another nochmal is at work in it.
    #[error("another run is at work in `{}`", .0.display())]
    Locked(PathBuf),
}

const RUNS: &str = "runs.jsonl";
const MATRIX: &str = "matrix.json";
const PLAN: &str = "plan.json";
pub(super) const TRACES: &str = "traces";
const LOCK: &str = ".lock";

/// A results folder that is being written. Holds a lock on it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    runs: File,
    _lock: File,
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { what, path, source }
}

impl Folder {
    /// Makes a new folder for a matrix.
    ///
    /// # Errors
    /// Where it is not empty, or cannot be written.
    pub fn create(path: &Path, matrix: &MatrixRecord) -> Result<Folder, StoreError> {
        std::fs::create_dir_all(path).map_err(io("cannot make the folder", path))?;
        let mut entries = std::fs::read_dir(path).map_err(io("cannot read the folder", path))?;
        if entries.next().is_some() {
            return Err(StoreError::NotEmpty(path.to_owned()));
        }
        let folder = Folder::open(path)?;
        let traces = folder.path.join(TRACES);
        std::fs::create_dir_all(&traces).map_err(io("cannot make the folder", &traces))?;
        let mut text = to_json(&folder.path.join(MATRIX), matrix)?;
        text.push(b'\n');
        folder.write(MATRIX, &text)?;
        Ok(folder)
    }

    /// Opens the folder of an interrupted matrix: what it is the result of, and the runs that are
    /// finished. A last line that a kill cut in two is taken away.
    ///
    /// # Errors
    /// Where it is no results folder, or a line of it cannot be read.
    pub fn resume(path: &Path) -> Result<(Folder, MatrixRecord, Vec<RunResult>), StoreError> {
        let matrix = read_matrix(path)?;
        let folder = Folder::open(path)?;
        let runs = folder.path.join(RUNS);
        let text = std::fs::read(&runs).map_err(io("cannot read", &runs))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            folder.runs.set_len(whole as u64).map_err(io("cannot mend", &runs))?;
        }
        let results = read_runs(path)?;
        Ok((folder, matrix, results))
    }

    fn open(path: &Path) -> Result<Folder, StoreError> {
        let path = path.canonicalize().map_err(io("cannot find the folder", path))?;
        let lock = path.join(LOCK);
        let file =
            OpenOptions::new().create(true).append(true).open(&lock).map_err(io("cannot write", &lock))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(StoreError::Locked(path)),
            Err(std::fs::TryLockError::Error(source)) => return Err(io("cannot lock", &lock)(source)),
        }
        let runs = path.join(RUNS);
        let runs =
            OpenOptions::new().create(true).append(true).open(&runs).map_err(io("cannot write", &runs))?;
        Ok(Folder { path, runs, _lock: file })
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that a run may use; made anew, so that nothing of an earlier try is in it.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn fresh_run_dir(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let path = self.path.join("runs").join(&run.0);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io("cannot clear the folder", &path)(error));
            }
            _ => {}
        }
        std::fs::create_dir_all(&path).map_err(io("cannot make the folder", &path))?;
        Ok(path)
    }

    /// Puts a try of a run aside, whose folder and trace are then free for the next one; gives the
    /// path of the trace, relative to the folder `results`, where there is one.
    ///
    /// # Errors
    /// Where it cannot be moved, or the run's folder cannot be made anew.
    pub fn set_aside(results: &Path, run: &RunId, number: usize) -> Result<Option<String>, StoreError> {
        let moved = |from: PathBuf, to: PathBuf| {
            let _ = std::fs::remove_dir_all(&to);
            match std::fs::rename(&from, &to) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(io("cannot move", &from)(error)),
            }
        };
        let dir = results.join("runs").join(&run.0);
        moved(dir.clone(), results.join("runs").join(format!("{run}.try{number}")))?;
        std::fs::create_dir_all(&dir).map_err(io("cannot make the folder", &dir))?;
        let name = format!("{TRACES}/{run}.try{number}.jsonl");
        let there = moved(results.join(Self::trace_name(run)), results.join(&name))?;
        Ok(there.then_some(name))
    }

    /// Path of a run's trace, relative to the folder.
    pub fn trace_name(run: &RunId) -> String {
        format!("{TRACES}/{run}.jsonl")
    }

    /// Keeps a finished run: when this returns, the run counts.
    ///
    /// # Errors
    /// Where the line cannot be written. The run then does not count.
    pub fn append(&mut self, run: &RunResult) -> Result<(), StoreError> {
        let path = self.path.join(RUNS);
        let mut line = to_json(&path, &RunRecord::from(run))?;
        line.push(b'\n');
        let before = self.runs.metadata().map_err(io("cannot write", &path))?.len();
        let written = self.runs.write_all(&line).and_then(|()| self.runs.sync_data());
        written.map_err(|error| {
            // The half that a full disk took would swallow the next line: both would be lost.
            let _ = self.runs.set_len(before);
            io("cannot write", &path)(error)
        })
    }

    /// Keeps what the matrix planned.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_plan(&self, plan: &PlanRecord) -> Result<(), StoreError> {
        let mut text = to_json(&self.path.join(PLAN), plan)?;
        text.push(b'\n');
        self.write(PLAN, &text)
    }

    /// Writes a file of the folder whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        write_file(&self.path, name, bytes)
    }
}

/// Writes a file of a folder, which is made where it is not there, whole or not at all.
///
/// # Errors
/// Where it cannot be written.
pub fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    std::fs::create_dir_all(folder).map_err(io("cannot make the folder", folder))?;
    let path = folder.join(name);
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io("cannot write", &path))?;
    file.write_all(bytes).map_err(io("cannot write", &path))?;
    set_readable(file.as_file());
    file.persist(&path).map_err(|error| io("cannot write", &path)(error.error))?;
    Ok(())
}

/// A temporary file is private; a report is there to be read.
fn set_readable(file: &File) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = file;
}

fn to_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| io("cannot write", path)(error.into()))
}

/// What a results folder is the result of.
///
/// # Errors
/// Where it is no results folder.
pub fn read_matrix(folder: &Path) -> Result<MatrixRecord, StoreError> {
    let path = folder.join(MATRIX);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::NotResults { path: folder.to_owned(), file: MATRIX });
        }
        Err(error) => return Err(io("cannot read", &path)(error)),
    };
    serde_json::from_str(&text).map_err(|error| StoreError::Malformed {
        path,
        line: error.line(),
        reason: error.to_string(),
    })
}

/// What the matrix of a results folder planned; `None` where it does not say, as folders of older
/// programs do not.
///
/// # Errors
/// Where the file cannot be read, or is of a version that this program does not know.
pub fn read_plan(folder: &Path) -> Result<Option<PlanRecord>, StoreError> {
    let path = folder.join(PLAN);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("cannot read", &path)(error)),
    };
    let malformed = |line: usize, reason: String| StoreError::Malformed { path: path.clone(), line, reason };
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let refused = |error: serde_json::Error| malformed(error.line(), error.to_string());
    let Version { version } = serde_json::from_str(&text).map_err(refused)?;
    if version != PLAN_VERSION {
        return Err(malformed(1, format!("version {version} of the format is not known here")));
    }
    serde_json::from_str(&text).map(Some).map_err(refused)
}

/// The finished runs of a results folder, in the order in which they ended.
///
/// # Errors
/// Where a line cannot be read, is of a version that this program does not know, or tells of a run
/// that an earlier line told of: it would count twice.
pub fn read_runs(folder: &Path) -> Result<Vec<RunResult>, StoreError> {
    let path = folder.join(RUNS);
    let text = std::fs::read_to_string(&path).map_err(io("cannot read", &path))?;
    let mut results: Vec<RunResult> = Vec::new();
    let mut lines: HashMap<RunId, usize> = HashMap::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if !line.ends_with('\n') {
            // A line that is being written, or that a kill cut: that run does not count.
            break;
        }
        let malformed =
            |reason: String| StoreError::Malformed { path: path.clone(), line: index + 1, reason };
        let record: RunRecord = serde_json::from_str(line).map_err(|error| {
            malformed(format!("{error}; without this line its run counts as not finished, and is repeated"))
        })?;
        if record.version() != RECORD_VERSION {
            let reason = format!("version {} of the format is not known here", record.version());
            return Err(malformed(reason));
        }
        let result = RunResult::from(record);
        if let Some(first) = lines.insert(result.run_id.clone(), index + 1) {
            let reason =
                format!("the run {} stands in line {first} already; take one of the two away", result.run_id);
            return Err(malformed(reason));
        }
        results.push(result);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Account, AccountSource, AgentFacts, ApprovalRequest, Attribution, CallId, CellId, CellKey,
        CheckResult, CheckState, Claim, Completion, ConditionalTurn, Confidence, Disagreement,
        DisagreementKind, Effects, ExpectedEffect, Honesty, Layer, NextAction, ReadClaim, ReaderFacts,
        Reading, ReadingOutcome, ReasonCode, Reform, StruckCall, TurnResult, UnaskedEffect, Usage, Verdict,
        WorkState,
    };

    fn matrix() -> MatrixRecord {
        MatrixRecord {
            version: 1,
            harness_version: "0".to_owned(),
            suite: "s".to_owned(),
            suite_file: PathBuf::from("/s.yaml"),
            digest: "d".to_owned(),
            repeats: Some(2),
            filters: vec![],
            gates: vec![],
            level: None,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            rehearsal: None,
            record: None,
            replay: None,
        }
    }

    fn run(repeat: u32) -> RunResult {
        let value = |text: &str| text.to_owned();
        let key = CellKey {
            agent: value("a|b\n"),
            model: value("\u{1}"),
            prompt: value("=cmd()"),
            conversation: value("c"),
            upstream: value("u"),
            scenario: value("F1"),
            patch: value("off"),
            present: "plain".to_owned(),
        };
        let cell_id = CellId::of(&key);
        RunResult {
            run_id: RunId::of(&cell_id, repeat),
            cell_id,
            key,
            repeat,
            verdict: Verdict::NotTested,
            reason_code: ReasonCode::NoCall,
            reason: value("…"),
            started_at: value("2026-01-01T00:00:00Z"),
            duration_ms: 12,
            calls: 1,
            writes: 2,
            executions: 3,
            violations: vec![value("DUPLICATE_EXECUTION")],
            observations: vec![],
            patches: vec![],
            score: None,
            scenario_fired: Some(true),
            usage: Usage { input_tokens: Some(u64::MAX), cost_usd: Some(0.1), ..Usage::default() },
            turns: vec![TurnResult {
                say: value("bitte"),
                reply: Some("Booked.".to_owned()),
                claim: Some(ReadClaim { claim: Claim::Success, rule: "en.done".to_owned(), double: true }),
                honesty: Some(Honesty::Honest),
                reader: Some(Reading {
                    outcome: ReadingOutcome::Claim(Claim::Failure),
                    honesty: Some(Honesty::FalseFailure),
                }),
                duration_ms: 4,
            }],
            honesty: Some(Honesty::Honest),
            reader: Some(ReaderFacts { model: value("ollama:a"), usage: Usage::default() }),
            conditions: vec![ConditionalTurn {
                turn: 2,
                when: value("not_confirmed"),
                said: false,
                claim: Some(Claim::Unclear),
            }],
            agent: AgentFacts { signal: Some(9), ..AgentFacts::default() },
            trace: Some(value("traces/x.jsonl")),
            trace_digest: None,
            approvals: vec![ApprovalRequest {
                operation: value("op-2"),
                tool: value("create_booking"),
                digest: value("0f"),
                asked: 2,
                again: Some((value("op-1"), Reform::Reworded)),
                submitted: 1,
                withdrawn: 0,
            }],
            struck: vec![
                StruckCall {
                    call: CallId(2),
                    tool: "charge".into(),
                    answered: true,
                    advice: Some(("rejected".into(), "never".into())),
                    next: NextAction::OtherCall(CallId(3), "find".into()),
                    work: WorkState::NotExecuted,
                    evidence: "it was not sent".into(),
                    sent: false,
                    correlation: None,
                },
                StruckCall {
                    call: CallId(3),
                    tool: "find".into(),
                    answered: false,
                    advice: None,
                    next: NextAction::Nothing,
                    work: WorkState::Read,
                    evidence: String::new(),
                    sent: true,
                    correlation: Some("a-1".into()),
                },
            ],
            effects: Some(Effects {
                source: AccountSource::Ledger,
                account: Account::Known {
                    expected: vec![ExpectedEffect { effect: value("a"), asked: 1, found: 2 }],
                    unasked: vec![UnaskedEffect { effect: value("b"), found: 1 }],
                },
            }),
            disagreements: vec![Disagreement {
                kind: DisagreementKind::IdempotentUpstreamHeld,
                sentence: value("…"),
            }],
            completion: Some(Completion {
                checks: vec![CheckResult {
                    check: value("c"),
                    state: CheckState::Unknown,
                    reason: value("…"),
                }],
            }),
            attribution: Some(Attribution {
                layer: Layer::Tool,
                confidence: Confidence::Medium,
                evidence: value("…"),
            }),
        }
    }

    #[test]
    fn what_was_appended_is_resumed() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let mut folder = Folder::create(&path, &matrix()).unwrap();
        folder.append(&run(1)).unwrap();
        folder.append(&run(2)).unwrap();
        drop(folder);
        let (_, read, runs) = Folder::resume(&path).unwrap();
        assert_eq!((read, runs), (matrix(), vec![run(1), run(2)]));
    }

    #[test]
    fn a_line_of_an_older_program_says_nothing_of_effects() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let mut folder = Folder::create(&path, &matrix()).unwrap();
        folder.append(&run(1)).unwrap();
        drop(folder);
        let mut line: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.join(RUNS)).unwrap()).unwrap();
        let fields = line.as_object_mut().unwrap();
        for name in ["effects", "disagreements", "checks", "attribution"] {
            assert!(fields.remove(name).is_some(), "{name}");
        }
        std::fs::write(path.join(RUNS), format!("{line}\n")).unwrap();
        let read = read_runs(&path).unwrap().remove(0);
        assert_eq!((&read.effects, &read.disagreements, &read.completion), (&None, &vec![], &None));
        let kept =
            RunResult { effects: None, disagreements: vec![], completion: None, attribution: None, ..run(1) };
        assert_eq!(read, kept);
    }

    #[test]
    fn a_line_cut_by_a_kill_does_not_count_and_is_mended() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let mut folder = Folder::create(&path, &matrix()).unwrap();
        folder.append(&run(1)).unwrap();
        folder.append(&run(2)).unwrap();
        drop(folder);
        let whole = std::fs::read(path.join(RUNS)).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            std::fs::write(path.join(RUNS), &whole[..cut]).unwrap();
            let (mut folder, _, runs) = Folder::resume(&path).unwrap();
            assert_eq!(runs, [run(1)], "cut at {cut}");
            folder.append(&run(3)).unwrap();
            assert_eq!(read_runs(&path).unwrap(), [run(1), run(3)]);
        }
    }

    #[test]
    fn a_run_that_is_there_twice_is_refused_with_both_lines() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let mut folder = Folder::create(&path, &matrix()).unwrap();
        for repeat in [1, 2, 1] {
            folder.append(&run(repeat)).unwrap();
        }
        let error = read_runs(&path).unwrap_err().to_string();
        assert!(error.contains("line 3: the run") && error.contains("in line 1 already"), "{error}");
    }

    #[test]
    fn two_at_once_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("out");
        let _first = Folder::create(&path, &matrix()).unwrap();
        assert!(matches!(Folder::resume(&path), Err(StoreError::Locked(_))));
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("x"), "").unwrap();
        assert!(matches!(Folder::create(parent.path(), &matrix()), Err(StoreError::NotEmpty(_))));
        assert!(matches!(Folder::resume(parent.path()), Err(StoreError::NotResults { .. })));
    }
}
