//! Files that are written anew: what somebody has kept is never written over.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for writing that holds nothing yet. Devices and pipes are taken as they are.
///
/// # Errors
/// Where it cannot be opened, or holds something already; that stays as it is.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let there = file.metadata()?;
    if there.is_file() && there.len() > 0 {
        let what = "the file is there already and is not empty; choose another name, or delete it";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        assert!(open(&path).is_ok());
        assert!(open(&path).is_ok(), "an empty file is as good as none");
        std::fs::write(&path, "kept").unwrap();
        assert_eq!(open(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    }
}
