//! One process of an upstream server that speaks over stdio.

use crate::process::{Capture, CommandLine, Keep, Process, StartError, Stdin, Supervisor, Tree};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use tokio::process::{ChildStdin, ChildStdout};

/// How much of the end of its stderr is kept, in bytes.
const STDERR_KEPT: usize = 4 * 1024;

/// How long a server may take to end after its stdin was closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_millis(1_500);

/// The command of an upstream, and who ends what it starts.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Program, arguments, environment and working folder.
    pub command: CommandLine,
    /// Starts the tree of its processes.
    pub supervisor: Supervisor,
}

/// What every server gets of this program's environment: what it needs to run, and no keys.
pub fn environment() -> BTreeMap<OsString, OsString> {
    ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SystemRoot"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect()
}

/// Why an upstream could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the upstream could not be started: {0}")]
pub struct LaunchError(#[from] StartError);

impl LaunchError {
    /// Of something that has no command.
    pub(crate) fn not_a_process() -> LaunchError {
        LaunchError(StartError::Empty)
    }
}

/// How an upstream process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Exit code or signal, for people.
    pub how: String,
    /// The end of its stderr.
    pub stderr: String,
}

/// `; its stderr ends with: …`, where there is any.
pub(crate) fn stderr_part(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; its stderr ends with: {stderr}") }
}

/// A running upstream. Dropping it kills its process tree.
#[derive(Debug)]
pub struct Running {
    process: Process,
    tree: Tree,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<Capture>,
}

/// Starts a server as a process tree of its own.
///
/// # Errors
/// Where the program is not found or cannot be executed.
pub fn launch(launch: &Launch) -> Result<Running, LaunchError> {
    let mut tree = launch.supervisor.tree(&[]);
    let mut process = tree.start(&launch.command, Stdin::Piped)?;
    let stderr = process.take_stderr().map(|pipe| Capture::start(pipe, Keep::tail(STDERR_KEPT)));
    let (stdin, stdout) = (process.take_stdin(), process.take_stdout());
    Ok(Running { process, tree, stdin, stdout, stderr })
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> Option<u32> {
        u32::try_from(self.process.pid()).ok()
    }

    /// Its stdin, once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Its stdout, once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Waits until it ends by itself. Safe to cancel.
    pub async fn wait(&mut self) {
        self.process.wait().await;
    }

    /// Ends it and all that it started: closes its stdin where that is still here, waits, then
    /// SIGTERM, then SIGKILL (R8). Where it has ended by itself this only says how.
    pub async fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let _ = tokio::time::timeout(GRACE, self.process.wait()).await;
        self.end_within(GRACE).await
    }

    /// Ends it and all that it started at once.
    pub async fn kill(self) -> Ended {
        self.end_within(Duration::ZERO).await
    }

    async fn end_within(mut self, grace: Duration) -> Ended {
        self.tree.end(&mut [&mut self.process], grace).await;
        let exit = self.process.wait().await;
        let stderr = match &mut self.stderr {
            Some(capture) => {
                capture.drain(Duration::from_millis(200)).await;
                capture.so_far().text().trim().to_owned()
            }
            None => String::new(),
        };
        Ended { how: exit.to_string(), stderr }
    }
}
