//! One command: what is started, and the process that it becomes.

#[cfg(unix)]
use super::table;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// A command with its whole environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The environment; nothing else is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// Working folder.
    pub folder: PathBuf,
}

/// What a process reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: it sees the end at once.
    Null,
    /// A pipe.
    Piped,
}

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command has no words.
    #[error("the command is empty")]
    Empty,
    /// No such program.
    #[error("`{program}` was not found{}", if program.contains('/') { "" } else { " on PATH" })]
    NotFound {
        /// As it was called.
        program: String,
    },
    /// The program is a script whose first line names a program that does not exist.
    #[error("`{program}` exists, but the interpreter that its first line names was not found")]
    NoInterpreter {
        /// As it was called.
        program: String,
    },
    /// It may not be executed.
    #[error("`{program}` may not be executed: permission denied")]
    Denied {
        /// As it was called.
        program: String,
    },
    /// The working folder does not exist.
    #[error("the folder {} does not exist", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Arguments and environment exceed what the system passes on.
    #[error(
        "the arguments of `{program}` are longer than the system allows; pass long texts in a file of the profile"
    )]
    TooLong {
        /// As it was called.
        program: String,
    },
    /// Anything else.
    #[error("`{program}` could not be started: {source}")]
    Other {
        /// As it was called.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("an unknown status"),
        }
    }
}

impl From<ExitStatus> for Exit {
    #[cfg(unix)]
    fn from(status: ExitStatus) -> Exit {
        Exit { code: status.code(), signal: std::os::unix::process::ExitStatusExt::signal(&status) }
    }

    #[cfg(not(unix))]
    fn from(status: ExitStatus) -> Exit {
        Exit { code: status.code(), signal: None }
    }
}

/// A started process. Dropping it does not end it: the tree does.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: i32,
    start: u64,
    exit: Option<Exit>,
}

impl Process {
    /// Its process id, which is also its process group.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn key(&self) -> (i32, u64) {
        (self.pid, self.start)
    }

    /// Its input, once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Its output, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Its error output, once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = self.child.wait().await.map(Exit::from).unwrap_or_default();
        *self.exit.insert(exit)
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Option<Exit> {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status.into());
        }
        self.exit
    }
}

impl CommandLine {
    #[cfg(unix)]
    pub(super) fn start(&self, stdin: Stdin, marks: &[(&str, &str)]) -> Result<Process, StartError> {
        let Some((program, arguments)) = self.argv.split_first() else { return Err(StartError::Empty) };
        if !self.folder.is_dir() {
            return Err(StartError::NoFolder { folder: self.folder.clone() });
        }
        #[expect(clippy::disallowed_methods, reason = "this room starts the processes")]
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.env)
            .envs(marks.iter().copied())
            .current_dir(&self.folder)
            .stdin(match stdin {
                Stdin::Null => Stdio::null(),
                Stdin::Piped => Stdio::piped(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let child = command.spawn().map_err(|source| self.explain(program, source))?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
        let start = table::entry(pid).map_or(0, |entry| entry.start);
        Ok(Process { child, pid, start, exit: None })
    }

    #[cfg(not(unix))]
    pub(super) fn start(&self, _stdin: Stdin, _marks: &[(&str, &str)]) -> Result<Process, StartError> {
        let Some(program) = self.argv.first() else { return Err(StartError::Empty) };
        let _ = Stdio::null();
        Err(StartError::Other {
            program: program.clone(),
            source: std::io::Error::new(
                ErrorKind::Unsupported,
                "process trees cannot be ended reliably on this system; run it under Linux, macOS or WSL",
            ),
        })
    }

    #[cfg(unix)]
    fn explain(&self, program: &str, source: std::io::Error) -> StartError {
        let program = program.to_owned();
        match source.kind() {
            ErrorKind::NotFound if self.path_of(&program).is_some() => StartError::NoInterpreter { program },
            ErrorKind::NotFound => StartError::NotFound { program },
            ErrorKind::PermissionDenied => StartError::Denied { program },
            ErrorKind::ArgumentListTooLong => StartError::TooLong { program },
            _ => StartError::Other { program, source },
        }
    }

    /// The file that `program` means with this command's PATH and folder.
    pub(crate) fn path_of(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            let path = self.folder.join(program);
            return path.is_file().then_some(path);
        }
        let path = self.env.get(std::ffi::OsStr::new("PATH"))?;
        std::env::split_paths(path)
            .map(|folder: PathBuf| folder.join(Path::new(program)))
            .find(|path| path.is_file())
    }
}
