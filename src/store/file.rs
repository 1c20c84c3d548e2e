//! Files of a results folder: written whole or not at all, cut to whole lines, and why that can fail.

use std::fs::File;
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

/// What was tried on which path, for an error of the system.
pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { what, path, source }
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

/// One line of JSON, without its end, for the file at `path`.
pub(super) fn to_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| io("cannot write", path)(error.into()))
}

/// Takes away the end of a file of lines that a kill cut in two.
pub(super) fn cut_to_whole_lines(file: &File, path: &Path) -> Result<(), StoreError> {
    let text = std::fs::read(path).map_err(io("cannot read", path))?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        file.set_len(whole as u64).map_err(io("cannot mend", path))?;
    }
    Ok(())
}
