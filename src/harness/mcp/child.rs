//! A child process that is an MCP server: started with a small environment, ended in steps.

use super::config::Command as ServerCommand;
use crate::process::{Signal, signal_group};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a server may take for ending by itself, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long something may take that has in fact happened already.
const MOMENT: Duration = Duration::from_millis(300);
/// What is kept of a server's stderr.
const TAIL: usize = 4096;

/// A running server, in a process group of its own.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    group: Option<i32>,
    tail: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts it, and gives its stdout and stdin.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(server: &ServerCommand) -> std::io::Result<(ServerProcess, ChildStdout, ChildStdin)> {
        #[expect(clippy::disallowed_methods, reason = "the agent starts its own MCP servers")]
        let mut command = Command::new(&server.program);
        command.args(&server.args).env_clear();
        // Not the agent's API keys: a server gets what it needs to run, and what it was promised.
        for name in ["PATH", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .envs(&server.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not inherited: a server that outlives the agent must not hold the agent's own pipe.
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let pipe = |what| std::io::Error::other(format!("no pipe to its {what}"));
        let stdout = child.stdout.take().ok_or_else(|| pipe("stdout"))?;
        let stdin = child.stdin.take().ok_or_else(|| pipe("stdin"))?;
        let tail = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().map(|mut stderr| {
            let tail = Arc::clone(&tail);
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
                    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                    tail.extend_from_slice(&buffer[..read]);
                    let over = tail.len().saturating_sub(TAIL);
                    tail.drain(..over);
                }
            })
        });
        Ok((ServerProcess { child, group, tail, reader }, stdout, stdin))
    }

    /// How it ended, where it has or just does.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        timeout(MOMENT, self.child.wait()).await.ok()?.ok()
    }

    /// Ends it: its stdin was closed, so it may end by itself; then SIGTERM, then SIGKILL, to
    /// all that it started too. Gives the end of what it wrote to stderr.
    pub async fn end(mut self) -> String {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::Terminate);
            if timeout(GRACE, self.child.wait()).await.is_err() {
                self.signal(Signal::Kill);
                let _ = self.child.wait().await;
            }
        }
        // What it started may be left; the group's number is in use as long as one is.
        self.signal(Signal::Kill);
        if let Some(reader) = self.reader.take() {
            // A process that left the group may hold the pipe for ever.
            let _ = timeout(MOMENT, reader).await;
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim().to_owned()
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(group) = self.group {
            signal_group(group, signal);
        }
        // Where there are no groups, only the server itself can be ended.
        if cfg!(not(unix)) && matches!(signal, Signal::Kill) {
            let _ = self.child.start_kill();
        }
    }
}
