//! Files that a build writes: seen to have changed, once they have come to rest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often they are looked at. Their system need not tell of changes, as network folders do not.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// The most files below one folder that are looked at.
const MOST_FILES: usize = 20_000;

/// What tells one state of a file from another.
type Stamp = (u64, Option<SystemTime>, Option<u64>);

/// Watches files and folders.
pub(super) struct Watch {
    paths: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Stamp>,
}

impl Watch {
    /// Begins with what is there now.
    pub fn new(paths: Vec<PathBuf>) -> Watch {
        let known = look(&paths);
        Watch { paths, known }
    }

    /// Waits for a change, and until nothing changes any more between two looks: a build writes many
    /// files. The files that changed, appeared or went away.
    pub async fn changed(&mut self) -> Vec<String> {
        let mut before = self.known.clone();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let paths = self.paths.clone();
            let Ok(now) = tokio::task::spawn_blocking(move || look(&paths)).await else { continue };
            let rests = now == before;
            let changed = differing(&self.known, &now);
            if rests && !changed.is_empty() {
                self.known = now;
                return changed;
            }
            before = now;
        }
    }
}

fn differing(old: &BTreeMap<PathBuf, Stamp>, new: &BTreeMap<PathBuf, Stamp>) -> Vec<String> {
    let mut paths: Vec<&PathBuf> =
        old.keys().chain(new.keys()).filter(|path| old.get(*path) != new.get(*path)).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn look(paths: &[PathBuf]) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    for path in paths {
        see(path, &mut found, MOST_FILES);
    }
    found
}

fn see(path: &Path, found: &mut BTreeMap<PathBuf, Stamp>, most: usize) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if found.len() >= most {
                return;
            }
            // A link may lead back to where it stands.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                see(&entry.path(), found, most);
            }
        }
        return;
    }
    #[cfg(unix)]
    let inode = Some(std::os::unix::fs::MetadataExt::ino(&metadata));
    #[cfg(not(unix))]
    let inode = None;
    found.insert(path.to_owned(), (metadata.len(), metadata.modified().ok(), inode));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_changes_appears_and_goes_away_is_told_once_it_rests() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("dist")).unwrap();
        std::fs::write(dir.path().join("dist/a.js"), "1").unwrap();
        std::fs::write(dir.path().join("b.lock"), "1").unwrap();
        let mut watch = Watch::new(vec![dir.path().join("dist"), dir.path().join("b.lock")]);
        std::fs::write(dir.path().join("dist/a.js"), "22").unwrap();
        std::fs::write(dir.path().join("dist/c.js"), "1").unwrap();
        std::fs::remove_file(dir.path().join("b.lock")).unwrap();
        let names: Vec<String> =
            watch.changed().await.iter().map(|path| path.rsplit('/').next().unwrap().to_owned()).collect();
        assert_eq!(names, ["b.lock", "a.js", "c.js"]);
    }
}
