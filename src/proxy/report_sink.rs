//! The report file (R1–R7): true at every moment, whole at every moment.

use crate::judge::live::LiveReport;
use crate::judge::report_file::ReportFile as Content;
use crate::trace::Record;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn bytes(content: &Content) -> std::io::Result<Vec<u8>> {
    content.to_bytes().map_err(std::io::Error::other)
}

/// Where the report is written to: a regular file, or none yet.
#[derive(Debug, Clone)]
pub struct ReportFile {
    /// Behind every symbolic link.
    path: PathBuf,
    /// What this process wrote last.
    written: Arc<Mutex<Option<Mark>>>,
}

/// By what a file is known again.
type Mark = (u64, Option<SystemTime>, u64);

fn mark(found: &Metadata) -> Mark {
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(found);
    #[cfg(not(unix))]
    let number = 0;
    (number, found.modified().ok(), found.len())
}

impl ReportFile {
    /// Takes the target of the path, which must be a regular file or not exist (R4).
    ///
    /// # Errors
    /// Where it is something else, or its folder does not exist.
    pub fn open(path: &Path) -> std::io::Result<ReportFile> {
        let path = target(path)?;
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(ReportFile { path, written: Arc::default() })
    }

    /// The path behind every symbolic link.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that nothing is known yet (R5).
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn starting(&self) -> std::io::Result<()> {
        self.write(&[&bytes(&Content::starting(VERSION))?])
    }

    /// Says that the start failed (R5).
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn failed(&self, reason: &str) -> std::io::Result<()> {
        self.write(&[&bytes(&Content::failed(VERSION, reason))?])
    }

    /// Replaces the file: written beside it under a random name, then renamed (R4). A file that another process
    /// has written since is left to that one: a client that starts its server anew has a new proxy while the old
    /// one may still wait for work, and what the old one knows must not cover up what the new one saw.
    fn write(&self, pieces: &[&[u8]]) -> std::io::Result<()> {
        let mut last = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match std::fs::symlink_metadata(&self.path) {
            Ok(found) if !found.is_file() => {
                return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no regular file any more"));
            }
            Ok(found) if last.is_some_and(|last| last != mark(&found)) => {
                return Err(std::io::Error::other("another process has written it"));
            }
            _ => {}
        }
        let (temporary, mut file) = self.temporary()?;
        let written = write_pieces(&mut file, pieces)
            .and_then(|()| file.metadata())
            .and_then(|found| replace(&temporary, &self.path).map(|()| found));
        match written {
            Ok(found) => *last = Some(mark(&found)),
            Err(error) => {
                let _ = std::fs::remove_file(&temporary);
                return Err(error);
            }
        }
        Ok(())
    }

    fn temporary(&self) -> std::io::Result<(PathBuf, File)> {
        let name = self.path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let mut bytes = [0_u8; 8];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let mut name = name.to_owned();
        name.push(format!(".{}.{:016x}.tmp", std::process::id(), u64::from_le_bytes(bytes)));
        let path = self.path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }
}

/// Puts a new file in the place of another, in one step for every reader. Some file systems write
/// the new one out to the disk when it is renamed over another, which costs several times what
/// writing it did; exchanging the two says the same without that.
fn replace(new: &Path, path: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE).is_ok() {
            // What was the file a moment ago goes. A target that became something else in the
            // meantime stays under that name, and what was written stands.
            let _ = std::fs::remove_file(new);
            return Ok(());
        }
    }
    std::fs::rename(new, path)
}

/// In as few system calls as it takes.
fn write_pieces(file: &mut File, pieces: &[&[u8]]) -> std::io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = slices.as_mut_slice();
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Follows symbolic links by hand: the last one may point to a file that does not exist yet.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => {
                let folder = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
                let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
                return Ok(folder.join(name));
            }
        }
    }
    Err(std::io::Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

/// Judges while the run goes on, and keeps the file up to date, where one is wanted.
pub(super) struct ReportSink {
    report: LiveReport,
    file: Option<ReportFile>,
    stale: bool,
}

impl ReportSink {
    pub fn new(file: Option<ReportFile>) -> ReportSink {
        ReportSink { report: LiveReport::new(VERSION), file, stale: false }
    }

    pub fn put(&mut self, record: &Record) {
        self.report.observe(record);
        self.stale = true;
    }

    pub fn content(&self) -> Content {
        self.report.file()
    }

    pub fn bring_up_to_date(&mut self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if !std::mem::take(&mut self.stale) {
            return Ok(());
        }
        file.write(&self.report.pieces().map_err(std::io::Error::other)?)
    }

    /// The file of a run that is over is for people too.
    pub fn finish(&mut self) -> std::io::Result<()> {
        match &self.file {
            Some(file) => file.write(&[&bytes(&self.report.file())?]),
            None => Ok(()),
        }
    }
}
