//! Takes secrets out of what programs left in a folder: out of files, out of their names, and out of what
//! links point to.

use crate::domain::secrets::Secrets;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Larger files are gone through in pieces and keep their length, in bytes.
const LARGEST: u64 = 16 << 20;
/// Pieces of a large file lie so far over one another, in bytes.
const SHARED: u64 = 64 << 10;

/// Takes secrets out of everything below a folder. What cannot be changed is told of in the log.
pub(super) fn folder(secrets: &Secrets, path: &Path) {
    if secrets.is_empty() {
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = renamed(secrets, entry.path());
        if kind.is_dir() {
            folder(secrets, &path);
        } else if kind.is_symlink() {
            link(secrets, &path);
        } else if kind.is_file() {
            file(secrets, &path);
        }
    }
}

/// Takes secrets out of a file.
pub(super) fn file(secrets: &Secrets, path: &Path) {
    if secrets.is_empty() {
        return;
    }
    let swept = match std::fs::metadata(path) {
        Ok(found) if found.len() > LARGEST => large(secrets, path, LARGEST),
        Ok(_) => small(secrets, path),
        Err(error) => Err(error),
    };
    if let Err(error) = swept
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(file = %path.display(), %error, "a file could not be searched for secrets");
    }
}

fn small(secrets: &Secrets, path: &Path) -> io::Result<()> {
    let bytes = std::fs::read(path)?;
    let hidden = match String::from_utf8(bytes) {
        Ok(text) => match secrets.hide_json(&text) {
            Cow::Borrowed(_) => return Ok(()),
            Cow::Owned(hidden) => hidden.into_bytes(),
        },
        Err(error) => {
            let mut bytes = error.into_bytes();
            if secrets.hide_in_bytes(&mut bytes).is_empty() {
                return Ok(());
            }
            bytes
        }
    };
    // A new file: the old one can be another name of a file elsewhere, and need not be writable.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&hidden)?;
    std::fs::set_permissions(new.path(), std::fs::metadata(path)?.permissions())?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn large(secrets: &Secrets, path: &Path, at_once: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut from = 0_u64;
    loop {
        file.seek(SeekFrom::Start(from))?;
        let mut piece = Vec::new();
        Read::by_ref(&mut file).take(at_once).read_to_end(&mut piece)?;
        if !secrets.hide_in_bytes(&mut piece).is_empty() {
            file.seek(SeekFrom::Start(from))?;
            file.write_all(&piece)?;
        }
        if (piece.len() as u64) < at_once {
            return File::sync_data(&file);
        }
        from += at_once - SHARED;
    }
}

/// The path of an entry under a name without secrets.
fn renamed(secrets: &Secrets, path: PathBuf) -> PathBuf {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return path };
    let Cow::Owned(hidden) = secrets.hide(&name) else { return path };
    let free = (1_u32..).map(|number| match number {
        1 => path.with_file_name(&hidden),
        _ => path.with_file_name(format!("{hidden}-{number}")),
    });
    let Some(new) = free.into_iter().find(|new| new.symlink_metadata().is_err()) else { return path };
    match std::fs::rename(&path, &new) {
        Ok(()) => new,
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "a file whose name holds a secret could not be renamed");
            path
        }
    }
}

fn link(secrets: &Secrets, path: &Path) {
    let Ok(target) = std::fs::read_link(path) else { return };
    if !secrets.found_in(&target.to_string_lossy()).is_empty()
        && let Err(error) = std::fs::remove_file(path)
    {
        tracing::warn!(file = %path.display(), %error, "a link that holds a secret could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "svc-9f31c07e5ab2";

    fn secrets() -> Secrets {
        Secrets::new([("TOKEN", VALUE)])
    }

    #[test]
    fn names_contents_and_links_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join(format!("of-{VALUE}"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join(format!("{VALUE}.log")), format!("with {VALUE}\n")).unwrap();
        std::fs::write(inner.join("‹secret:TOKEN›.log"), "was there").unwrap();
        std::fs::write(inner.join("data.json"), format!("{{\"t\":\"{VALUE}\"}}")).unwrap();
        std::fs::write(inner.join("data.db"), [b"\xff\0".as_slice(), VALUE.as_bytes()].concat()).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(format!("/tmp/{VALUE}"), inner.join("link")).unwrap();
        folder(&secrets(), dir.path());
        let inner = dir.path().join("of-‹secret:TOKEN›");
        let read = |name: &str| std::fs::read(inner.join(name)).unwrap();
        assert_eq!(read("‹secret:TOKEN›.log-2"), "with ‹secret:TOKEN›\n".as_bytes());
        assert_eq!(read("‹secret:TOKEN›.log"), b"was there");
        assert_eq!(read("data.json"), "{\"t\":\"‹secret:TOKEN›\"}".as_bytes());
        assert_eq!(read("data.db"), b"\xff\0****************");
        assert!(inner.join("link").symlink_metadata().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn another_name_of_a_swept_file_keeps_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let [outside, inside] = ["outside", "inside"].map(|name| dir.path().join(name));
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(&outside, VALUE).unwrap();
        std::fs::hard_link(&outside, inside.join("same")).unwrap();
        folder(&secrets(), &inside);
        assert_eq!(std::fs::read_to_string(inside.join("same")).unwrap(), "‹secret:TOKEN›");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), VALUE);
    }

    #[test]
    fn a_large_file_is_swept_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large.log");
        let at_once = 2 * SHARED;
        let mut text = vec![b'.'; usize::try_from(at_once).unwrap() - 7];
        text.extend_from_slice(VALUE.as_bytes());
        std::fs::write(&path, &text).unwrap();
        large(&secrets(), &path, at_once).unwrap();
        let swept = std::fs::read(&path).unwrap();
        assert!(swept.len() == text.len() && swept.ends_with(b".****************"));
    }
}
