//! What can be known of a server's code before its process starts: the digests of what will run.
//!
//! A path is no identity, and neither is a command line: `node server.js` runs another program once the
//! file, a dependency or a wrapper has changed. What is looked at: the program, the script that it runs,
//! what a wrapper script names, and the lock file beside them.

use crate::domain::{digest_all, hex};
use crate::process::{CommandLine, Stdin, Supervisor};
use crate::trace::{Execution, FileDigest};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Lock files, of whatever language.
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "deno.lock",
    "go.sum",
    // What npm really installed, which may differ from what the project says.
    "node_modules/.package-lock.json",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
];

/// Programs that may be asked for their version; nobody knows what others would do.
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "perl", "php", "python", "python3", "ruby"];

/// How far above the entry a lock file is looked for, in folders.
const FOLDERS_UP: usize = 4;

/// How deep wrappers may lie in one another.
const WRAPPERS: usize = 3;

/// A wrapper is a short text.
const LONGEST_WRAPPER: u64 = 256 * 1024;

/// How long an interpreter may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// Makes the record of a start that is about to happen.
pub(super) async fn record(command: &CommandLine, label: &str, supervisor: &Supervisor) -> Execution {
    let found = {
        let command = command.clone();
        let looked = tokio::task::spawn_blocking(move || Found::look(&command)).await;
        looked.unwrap_or_default()
    };
    let runtime = match &found.program {
        Some(program) => runtime(program, command, supervisor).await,
        None => None,
    };
    let lock_digests: Vec<&str> = found.locks.iter().map(|file| file.digest.as_str()).collect();
    let lockfile_digest = match lock_digests.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(digest_all(several.iter().copied())),
    };
    let working_directory = command.folder.to_string_lossy().into_owned();
    let files: Vec<FileDigest> = found.code.into_iter().chain(found.locks).collect();
    let parts = command
        .argv
        .iter()
        .map(String::as_str)
        .chain([working_directory.as_str(), runtime.as_deref().unwrap_or_default()])
        .chain(files.iter().flat_map(|file| [file.path.as_str(), file.digest.as_str()]));
    let identity = digest_all(parts);
    #[expect(clippy::disallowed_methods, reason = "a start has a time")]
    let started_at = jiff::Timestamp::now().to_string();
    #[expect(clippy::disallowed_methods, reason = "an epoch names one start and no other")]
    let epoch = ulid::Ulid::new().to_string();
    Execution {
        epoch,
        replaces: None,
        server_label: label.to_owned(),
        entry_digest: found.entry,
        lockfile_digest,
        runtime,
        working_directory,
        started_at,
        files,
        identity,
    }
}

#[derive(Default)]
struct Found {
    program: Option<PathBuf>,
    /// Digest of the script, or of the program where there is none.
    entry: Option<String>,
    code: Vec<FileDigest>,
    locks: Vec<FileDigest>,
}

impl Found {
    fn look(command: &CommandLine) -> Found {
        let mut found = Found::default();
        let Some(program) = command.argv.first().and_then(|program| command.path_of(program)) else {
            return found;
        };
        found.add(&program);
        found.entry = found.code.first().map(|file| file.digest.clone());
        let mut entry = program.clone();
        if let Some(script) = script(command) {
            found.add(&script);
            found.entry = digest_of(&script).or(found.entry);
            entry = script;
        }
        found.wrapped(&program, command, WRAPPERS);
        if entry != program {
            found.wrapped(&entry, command, WRAPPERS);
        }
        for folder in folders(&entry, &command.folder) {
            let before = found.locks.len();
            for name in LOCK_FILES {
                let path = folder.join(name);
                if let Some(digest) = digest_of(&path) {
                    found.locks.push(FileDigest { path: path.to_string_lossy().into_owned(), digest });
                }
            }
            if found.locks.len() > before {
                break;
            }
        }
        found.program = Some(program);
        found
    }

    fn add(&mut self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        if self.code.iter().any(|file| file.path == name) {
            return false;
        }
        let Some(digest) = digest_of(path) else { return false };
        self.code.push(FileDigest { path: name.into_owned(), digest });
        true
    }

    /// The files that a wrapper script names, and what those name where they are wrappers, too.
    fn wrapped(&mut self, script: &Path, command: &CommandLine, depth: usize) {
        if depth == 0 {
            return;
        }
        let Some(text) = wrapper(script) else { return };
        let beside = script.parent().map(Path::to_owned).unwrap_or_default();
        for word in text.split(|c: char| c.is_whitespace() || "\"'`();|&<>=".contains(c)) {
            let word = word.trim_start_matches("$(dirname").trim_start_matches("#!");
            // `$DIR/server`: the folder is nearly always that of the wrapper.
            let word = match word.strip_prefix('$') {
                Some(variable) => variable.split_once('/').map_or("", |(_, rest)| rest),
                None => word,
            };
            if word.len() < 2 || word.starts_with('-') {
                continue;
            }
            let places = [command.folder.join(word), beside.join(word)];
            let named = places.into_iter().find(|path| path.is_file());
            let named = named.or_else(|| (!word.contains('/')).then(|| command.path_of(word)).flatten());
            if let Some(path) = named
                && self.add(&path)
            {
                self.wrapped(&path, command, depth - 1);
            }
        }
    }
}

/// The script that an interpreter is given: the first argument that is a file.
fn script(command: &CommandLine) -> Option<PathBuf> {
    let arguments = command.argv.iter().skip(1).filter(|argument| !argument.starts_with('-'));
    let mut files = arguments.map(|argument| command.folder.join(argument));
    files.find(|path| path.is_file())
}

/// The text of a script for a shell.
fn wrapper(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > LONGEST_WRAPPER {
        return None;
    }
    let mut reader = BufReader::new(file);
    let is_script = reader.fill_buf().ok()?.starts_with(b"#!");
    let is_shell = path.extension().is_some_and(|extension| extension == "sh");
    if !is_script && !is_shell {
        return None;
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).ok()?;
    let first = text.lines().next().unwrap_or_default();
    // What other interpreters run is no list of commands; their first line is.
    Some(if is_shell || first.ends_with("sh") { text } else { first.to_owned() })
}

/// Folders in which a lock file may lie: that of the entry, those above it, and the working folder.
fn folders(entry: &Path, working: &Path) -> Vec<PathBuf> {
    // A program that is installed for everybody has no lock file of its own above it.
    let beside = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
    let above = beside.ancestors().skip(1).take(FOLDERS_UP).map(Path::to_owned);
    let mut folders: Vec<PathBuf> = above.filter(|folder| folder.parent().is_some()).collect();
    folders.push(working.to_owned());
    folders
}

/// SHA-256 of a file, hexadecimal.
fn digest_of(path: &Path) -> Option<String> {
    /// Programs are large and seldom change; a digest is kept while the system says that the file has
    /// not. It is of no run, so that runs may share it.
    static KNOWN: LazyLock<Mutex<HashMap<Version, String>>> = LazyLock::new(Mutex::default);
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let version = Version::of(path, &metadata);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().get(&version) {
        return Some(digest.clone());
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            read => hash.update(buffer.get(..read)?),
        }
    }
    let digest = hex(&hash.finalize());
    // A file that is still being written may keep its times for a moment.
    if version.is_settled() {
        known().insert(version, digest.clone());
    }
    Some(digest)
}

/// What changes with every change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Version {
    path: PathBuf,
    size: u64,
    modified: Option<std::time::SystemTime>,
    inode: (u64, u64),
    changed: (i64, i64),
}

impl Version {
    fn of(path: &Path, metadata: &Metadata) -> Version {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        #[cfg(unix)]
        let (inode, changed) = ((metadata.dev(), metadata.ino()), (metadata.ctime(), metadata.ctime_nsec()));
        #[cfg(not(unix))]
        let (inode, changed) = ((0, 0), (0, 0));
        Version {
            path: path.to_owned(),
            size: metadata.len(),
            modified: metadata.modified().ok(),
            inode,
            changed,
        }
    }

    /// It is old enough that a later change would change its times.
    fn is_settled(&self) -> bool {
        const COARSE_CLOCK: Duration = Duration::from_secs(2);
        self.modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > COARSE_CLOCK)
    }
}

/// Name and version of the interpreter, where the program is a known one.
async fn runtime(program: &Path, command: &CommandLine, supervisor: &Supervisor) -> Option<String> {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
    let name = program.file_name()?.to_str()?.to_owned();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.iter().any(|known| *known == name || *known == plain) {
        return None;
    }
    let digest = digest_of(program)?;
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
        return Some(known.clone());
    }
    let asked = CommandLine {
        argv: vec![program.to_string_lossy().into_owned(), "--version".to_owned()],
        env: command.env.clone(),
        folder: command.folder.clone(),
    };
    let mut tree = supervisor.tree(&[]);
    let mut process = tree.start(&asked, Stdin::Null).ok()?;
    let mut said = String::new();
    if let Some(mut stdout) = process.take_stdout() {
        let _ = tokio::time::timeout(VERSION_LIMIT, stdout.read_to_string(&mut said)).await;
    }
    tree.end(&mut [&mut process], Duration::ZERO).await;
    let version = said.lines().next()?.trim().trim_start_matches('v');
    let text = if version.to_lowercase().starts_with(plain) {
        version.to_lowercase()
    } else {
        format!("{name} {version}")
    };
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, text.clone());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(folder: &Path, argv: &[&str]) -> CommandLine {
        CommandLine {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            env: std::env::vars_os().filter(|(name, _)| name == "PATH").collect(),
            folder: folder.to_owned(),
        }
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }

    async fn of(folder: &Path, argv: &[&str]) -> Execution {
        record(&command(folder, argv), "desk", &Supervisor::default()).await
    }

    #[tokio::test]
    async fn a_script_and_its_lock_file_are_the_identity_and_not_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        write(folder, "dist/server.sh", "echo 1");
        write(folder, "package-lock.json", "{}");
        let argv = ["sh", "dist/server.sh"];
        let first = of(folder, &argv).await;
        assert_eq!(first.entry_digest, Some(crate::domain::digest("echo 1")));
        assert_eq!(first.lockfile_digest, Some(crate::domain::digest("{}")));
        let again = of(folder, &argv).await;
        assert_eq!(again.identity, first.identity);
        assert_ne!(again.epoch, first.epoch);

        write(folder, "package-lock.json", "{\"a\":1}");
        let other_tree = of(folder, &argv).await;
        assert_eq!(other_tree.entry_digest, first.entry_digest);
        assert_ne!(other_tree.lockfile_digest, first.lockfile_digest);
        assert_ne!(other_tree.identity, first.identity);

        write(folder, "dist/server.sh", "echo 2");
        assert_ne!(of(folder, &argv).await.entry_digest, first.entry_digest);
    }

    #[tokio::test]
    async fn a_wrapper_counts_with_what_it_starts() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        write(folder, "run.sh", "#!/bin/sh\nDIR=$(dirname \"$0\")\nexec \"$DIR/bin/server\" --port 1\n");
        write(folder, "bin/server", "one");
        let first = of(folder, &["sh", "run.sh"]).await;
        assert!(first.files.iter().any(|file| file.path.ends_with("bin/server")), "{:?}", first.files);
        write(folder, "bin/server", "two");
        let second = of(folder, &["sh", "run.sh"]).await;
        assert_eq!(second.entry_digest, first.entry_digest);
        assert_ne!(second.identity, first.identity);
    }

    #[tokio::test]
    async fn an_interpreter_says_its_version_and_a_missing_program_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "server.py", "");
        let python = of(dir.path(), &["python3", "server.py"]).await;
        assert!(
            python.runtime.as_ref().is_some_and(|runtime| runtime.starts_with("python 3.")),
            "{python:?}"
        );
        let nothing = of(dir.path(), &["no-such-program"]).await;
        assert_eq!((nothing.entry_digest, nothing.runtime, nothing.files), (None, None, Vec::new()));
    }
}
