//! One process of an upstream server that speaks over stdio.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// How much of the end of its stderr is kept, in bytes.
const STDERR_KEPT: usize = 4 * 1024;

/// How long a server may take to end after its stdin was closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_millis(1_500);

/// The command of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, looked up on PATH where it has no slash.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are set for it.
    pub env: Vec<(String, String)>,
    /// Whether it inherits the environment of this process as well.
    pub inherit_env: bool,
    /// Its working directory; this process's where absent.
    pub cwd: Option<PathBuf>,
}

impl Launch {
    /// Program and arguments in one list, for people.
    pub fn command_line(&self) -> Vec<String> {
        std::iter::once(self.program.clone()).chain(self.args.iter().cloned()).collect()
    }
}

/// Why an upstream could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the upstream could not be started: `{program}`: {source}")]
pub struct LaunchError {
    /// What was to be started.
    pub program: String,
    /// What the system says.
    #[source]
    pub source: std::io::Error,
}

/// How an upstream process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Exit code or signal, for people.
    pub how: String,
    /// The end of its stderr.
    pub stderr: String,
}

/// A running upstream. Dropping it kills its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    group: Option<rustix::process::Pid>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_done: Option<tokio::task::JoinHandle<()>>,
}

/// Starts a server in a process group of its own.
///
/// # Errors
/// Where the program is not found or cannot be executed.
pub fn launch(launch: &Launch) -> Result<Running, LaunchError> {
    let failed = |source| LaunchError { program: launch.program.clone(), source };
    #[expect(clippy::disallowed_methods, reason = "this room starts upstream processes")]
    let mut command = tokio::process::Command::new(&launch.program);
    command.args(&launch.args);
    if !launch.inherit_env {
        command.env_clear();
    }
    command.envs(launch.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let stderr = Arc::new(Mutex::new(VecDeque::new()));
    let stderr_done = child.stderr.take().map(|pipe| tokio::spawn(keep_tail(pipe, Arc::clone(&stderr))));
    Ok(Running { stdin: child.stdin.take(), stdout: child.stdout.take(), child, group, stderr, stderr_done })
}

async fn keep_tail(mut pipe: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0_u8; 16 * 1024];
    while let Ok(count) = pipe.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&buffer[..count]);
        let surplus = tail.len().saturating_sub(STDERR_KEPT);
        tail.drain(..surplus);
    }
}

impl Running {
    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
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
    pub async fn wait(&mut self) -> Ended {
        let status = self.child.wait().await;
        self.ended(status).await
    }

    /// Ends it: closes its stdin where that is still here, waits, then SIGTERM, then SIGKILL, to
    /// its process group (R8).
    pub async fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let status = match tokio::time::timeout(GRACE, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.signal(rustix::process::Signal::TERM);
                match tokio::time::timeout(GRACE, self.child.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        self.signal(rustix::process::Signal::KILL);
                        self.child.wait().await
                    }
                }
            }
        };
        self.ended(status).await
    }

    async fn ended(&mut self, status: std::io::Result<std::process::ExitStatus>) -> Ended {
        // What the server started may outlive it, and would hold its pipes open.
        self.signal(rustix::process::Signal::KILL);
        // From here on the number may belong to somebody else.
        self.group = None;
        if let Some(done) = self.stderr_done.take() {
            let _ = tokio::time::timeout(Duration::from_millis(200), done).await;
        }
        let how = match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("its end could not be awaited: {error}"),
        };
        Ended { how, stderr: self.stderr_tail() }
    }

    /// The end of its stderr so far.
    pub fn stderr_tail(&self) -> String {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(tail.make_contiguous()).trim().to_owned()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // It may be gone already, which is what is wanted.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}
