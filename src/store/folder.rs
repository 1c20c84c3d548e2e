//! The folder itself.

use super::file::{StoreError, cut_to_whole_lines, io, to_json, write_file};
use super::{MatrixRecord, PLAN_VERSION, PlanRecord, RECORD_VERSION, RunRecord, tries};
use crate::domain::{RunId, RunResult, SpoiledTry};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

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
        cut_to_whole_lines(&folder.runs, &folder.path.join(RUNS))?;
        tries::mend(&folder.path)?;
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

    /// Keeps what is to be said of a try that was put aside: whoever resumes goes on counting from there.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn keep_try(results: &Path, run: &RunId, spoiled: &SpoiledTry) -> Result<(), StoreError> {
        tries::append(results, run, spoiled)
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
mod tests;
