//! The ledger: a JSON Lines file with one line for every effect that really happened.
//!
//! A line is on disk before the answer leaves. Agents may start a server process anew for
//! every call, and two may live at a time, so every call holds the file's lock and first
//! reads what others have written.

use super::Object;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// One effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Place in the ledger, from 1.
    pub n: u64,
    /// What was done: the name of the tool that did it.
    pub effect: String,
    /// The record as it was afterwards.
    pub record: Object,
    /// The arguments of the call, as they came.
    pub arguments: Object,
    /// The correlation id that the call carried in its `_meta`, where it carried one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}

/// Why a ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file system refused.
    #[error("ledger {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A whole line is not an entry.
    #[error("ledger {path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// Why.
        reason: String,
    },
}

/// Reads a ledger, also while its server is running. A file that is not there is an empty
/// ledger. A last line without a line break was never acknowledged to anyone and is left out.
///
/// # Errors
/// Where the file cannot be read, or a whole line is not an entry.
pub fn read(path: &Path) -> Result<Vec<LedgerEntry>, LedgerError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(LedgerError::Io { path: path.display().to_string(), source }),
    };
    parse(&text, 0, path).map(|(entries, _)| entries)
}

/// The whole lines of `bytes` as entries, and how many bytes they take.
fn parse(bytes: &[u8], lines_before: u64, path: &Path) -> Result<(Vec<LedgerEntry>, usize), LedgerError> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut entries = Vec::new();
    for (line, number) in bytes[..whole].split_inclusive(|byte| *byte == b'\n').zip(lines_before + 1..) {
        let entry = serde_json::from_slice(line).map_err(|error| LedgerError::Line {
            path: path.display().to_string(),
            line: number,
            reason: error.to_string(),
        })?;
        entries.push(entry);
    }
    Ok((entries, whole))
}

/// A ledger that is written.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: String,
    /// How far it was read: the bytes of whole lines, and their number.
    bytes: u64,
    lines: u64,
}

impl Ledger {
    /// Opens or makes the file.
    ///
    /// # Errors
    /// Where that is not possible.
    pub fn open(path: &Path) -> Result<Ledger, LedgerError> {
        let name = path.display().to_string();
        // Not `append`: a torn last line has to be overwritten.
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = opened.map_err(|source| LedgerError::Io { path: name.clone(), source })?;
        Ok(Ledger { file, path: name, bytes: 0, lines: 0 })
    }

    /// Takes the lock and gives it with the entries that were added since the last time.
    ///
    /// # Errors
    /// Where the file cannot be locked or read.
    pub fn lock(&mut self) -> Result<(Locked<'_>, Vec<LedgerEntry>), LedgerError> {
        let news = self.file.lock().and_then(|()| {
            self.file.seek(SeekFrom::Start(self.bytes))?;
            let mut news = Vec::new();
            self.file.read_to_end(&mut news)?;
            Ok(news)
        });
        let locked = Locked { ledger: self };
        let news = news.map_err(|source| locked.ledger.io(source))?;
        let (entries, bytes) = parse(&news, locked.ledger.lines, Path::new(&locked.ledger.path))?;
        locked.ledger.bytes += bytes as u64;
        locked.ledger.lines += entries.len() as u64;
        Ok((locked, entries))
    }

    fn io(&self, source: io::Error) -> LedgerError {
        LedgerError::Io { path: self.path.clone(), source }
    }
}

/// A ledger whose lock is held until this is dropped.
#[derive(Debug)]
pub struct Locked<'a> {
    ledger: &'a mut Ledger,
}

impl Locked<'_> {
    /// Adds a line; on return it is in the file.
    ///
    /// # Errors
    /// Where it cannot be written. The file is then as it was.
    pub fn append(
        &mut self,
        effect: &str,
        record: &Object,
        arguments: &Object,
        correlation: Option<&str>,
    ) -> Result<LedgerEntry, LedgerError> {
        let entry = LedgerEntry {
            n: self.ledger.lines + 1,
            effect: effect.to_owned(),
            record: record.clone(),
            arguments: arguments.clone(),
            correlation: correlation.map(str::to_owned),
        };
        let written = serde_json::to_vec(&entry).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            let ledger = &mut *self.ledger;
            ledger.file.set_len(ledger.bytes)?;
            ledger.file.seek(SeekFrom::Start(ledger.bytes))?;
            ledger.file.write_all(&line)?;
            ledger.file.flush()?;
            Ok(line.len() as u64)
        });
        match written {
            Ok(bytes) => {
                self.ledger.bytes += bytes;
                self.ledger.lines += 1;
                Ok(entry)
            }
            Err(source) => {
                // A half line has no line break, so that it is left out even where this fails.
                let _ = self.ledger.file.set_len(self.ledger.bytes);
                Err(self.ledger.io(source))
            }
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Unlocking cannot fail for a lock that is held; closing the file frees it in any case.
        let _ = self.ledger.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: serde_json::Value) -> Object {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        let (mut locked, news) = ledger.lock().unwrap();
        assert!(news.is_empty());
        let entry = locked
            .append("create_booking", &object(json!({"room": 12})), &object(json!({"a": 1})), None)
            .unwrap();
        drop(locked);
        assert_eq!(read(&path).unwrap(), std::slice::from_ref(&entry));
        assert_eq!(entry.n, 1);
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{\"n\":1,\"effect\":\"create_booking\",\"record\":{\"room\":12},\"arguments\":{\"a\":1}}\n"
        );
    }

    #[test]
    fn two_writers_see_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let (mut one, mut two) = (Ledger::open(&path).unwrap(), Ledger::open(&path).unwrap());
        one.lock().unwrap().0.append("a", &Object::new(), &Object::new(), None).unwrap();
        let (mut locked, news) = two.lock().unwrap();
        assert_eq!(news.len(), 1);
        assert_eq!(locked.append("b", &Object::new(), &Object::new(), None).unwrap().n, 2);
        drop(locked);
        assert_eq!(one.lock().unwrap().1[0].effect, "b");
    }

    #[test]
    fn a_torn_line_is_left_out_and_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let line = r#"{"n":1,"effect":"a","record":{},"arguments":{}}"#;
        std::fs::write(&path, format!("{line}\n{{\"n\":2,\"eff")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        let mut ledger = Ledger::open(&path).unwrap();
        let (mut locked, news) = ledger.lock().unwrap();
        assert_eq!(news.len(), 1);
        locked.append("b", &Object::new(), &Object::new(), None).unwrap();
        drop(locked);
        assert_eq!(read(&path).unwrap()[1].effect, "b");
    }

    #[test]
    fn a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        std::fs::write(&path, "{\"n\":1,\"effect\":\"a\",\"record\":{},\"arguments\":{}}\n12\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("ledger.jsonl, line 2: "), "{error}");
        assert!(read(&folder.path().join("none.jsonl")).unwrap().is_empty());
    }
}
