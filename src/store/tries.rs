//! `tries.jsonl`: the tries of runs that their model's endpoint spoiled, each written when it is put aside. A
//! matrix that is resumed goes on counting where it was, whatever ended it. What a finished run says of its
//! tries stands in its own line of `runs.jsonl`.

use super::agent::SpoiledRecord;
use super::file::{StoreError, cut_to_whole_lines, io, to_json};
use crate::domain::{RunId, SpoiledTry};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

const TRIES: &str = "tries.jsonl";

/// Version of the line format.
const TRY_VERSION: u32 = 1;

/// One line, version 1.
#[derive(Debug, Serialize, Deserialize)]
struct TryRecord {
    version: u32,
    run_id: RunId,
    #[serde(flatten)]
    spoiled: SpoiledRecord,
}

/// Keeps a try that was put aside.
///
/// # Errors
/// Where the line cannot be written.
pub(super) fn append(folder: &Path, run: &RunId, spoiled: &SpoiledTry) -> Result<(), StoreError> {
    let path = folder.join(TRIES);
    let record = TryRecord { version: TRY_VERSION, run_id: run.clone(), spoiled: spoiled.clone().into() };
    let mut line = to_json(&path, &record)?;
    line.push(b'\n');
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // Runs go on side by side: one write a line.
    let written = file.and_then(|mut file| file.write_all(&line).and_then(|()| file.sync_data()));
    written.map_err(io("cannot write", &path))
}

/// Takes away a last line that a kill cut in two.
///
/// # Errors
/// Where that cannot be done.
pub(super) fn mend(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(TRIES);
    match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => cut_to_whole_lines(&file, &path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io("cannot mend", &path)(error)),
    }
}

/// The spoiled tries of a results folder by their run, in the order in which they were put aside.
///
/// # Errors
/// Where the file is there and cannot be read, or has a version that this program does not know.
pub fn read_tries(folder: &Path) -> Result<HashMap<RunId, Vec<SpoiledTry>>, StoreError> {
    let path = folder.join(TRIES);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(io("cannot read", &path)(error)),
    };
    let mut tries: HashMap<RunId, Vec<SpoiledTry>> = HashMap::new();
    // A last line without its end is being written, or a kill cut it.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    for (line, number) in lines.zip(1..) {
        let malformed = |reason: String| StoreError::Malformed { path: path.clone(), line: number, reason };
        let record: TryRecord = serde_json::from_str(line).map_err(|error| malformed(error.to_string()))?;
        if record.version != TRY_VERSION {
            return Err(malformed(format!("version {} of the format is not known here", record.version)));
        }
        tries.entry(record.run_id).or_default().push(record.spoiled.into());
    }
    Ok(tries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Usage;

    #[test]
    fn tries_are_read_by_their_run_and_a_cut_line_is_mended() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_tries(folder.path()).unwrap().is_empty());
        let spoiled = |executions| SpoiledTry {
            reason: "529".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            duration_ms: 1,
            waited_ms: 2,
            executions,
            usage: Usage { input_tokens: Some(7), ..Usage::default() },
            trace: Some("traces/a.try1.jsonl".to_owned()),
            trace_digest: None,
        };
        let (a, b) = (RunId("a".to_owned()), RunId("b".to_owned()));
        append(folder.path(), &a, &spoiled(1)).unwrap();
        let path = folder.path().join(TRIES);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{}", &text[..text.len() / 2])).unwrap();
        assert_eq!(read_tries(folder.path()).unwrap()[&a], [spoiled(1)]);
        mend(folder.path()).unwrap();
        append(folder.path(), &b, &spoiled(2)).unwrap();
        append(folder.path(), &a, &spoiled(3)).unwrap();
        let tries = read_tries(folder.path()).unwrap();
        assert_eq!((&tries[&a], &tries[&b]), (&vec![spoiled(1), spoiled(3)], &vec![spoiled(2)]));
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
        assert!(read_tries(folder.path()).unwrap_err().to_string().contains("version 2 of the format"));
    }
}
