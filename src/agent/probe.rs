//! Asking an agent program which version it is.

use crate::process::{Capture, CommandLine, Keep, StartError, Stdin, Supervisor};
use std::time::Duration;

/// Programs on a cold disk need seconds to say their version; more is a program that waits.
const PATIENCE: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_millis(500);
const KEPT: usize = 64 * 1024;

/// Why a version is not known.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It ended with a failure.
    #[error("`{command}` ended with {exit}: {said}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        exit: crate::process::Exit,
        /// Its last words.
        said: String,
    },
    /// It did not end.
    #[error("`{command}` did not end within {} s", PATIENCE.as_secs())]
    Hangs {
        /// The command line.
        command: String,
    },
    /// It ended well and printed nothing.
    #[error("`{command}` printed no version")]
    Silent {
        /// The command line.
        command: String,
    },
}

/// Runs a profile's `probe` and gives the first line that it prints. The command's environment
/// should be as narrow as that of a run: some programs write to their home folder even then.
///
/// # Errors
/// Where it cannot be started, fails, hangs or says nothing.
pub async fn probe(command: &CommandLine, supervisor: &Supervisor) -> Result<String, ProbeError> {
    let mut tree = supervisor.tree(&[]);
    let mut process = tree.start(command, Stdin::Null)?;
    let mut stdout = process.take_stdout().map(|stream| Capture::start(stream, Keep::within(KEPT)));
    let mut stderr = process.take_stderr().map(|stream| Capture::start(stream, Keep::within(KEPT)));
    let exit = tokio::time::timeout(PATIENCE, process.wait()).await.ok();
    let mut text = String::new();
    for stream in stdout.iter_mut().chain(&mut stderr) {
        stream.drain(GRACE).await;
        text.push_str(&stream.so_far().text());
        text.push('\n');
    }
    tree.end(&mut [&mut process], GRACE).await;
    let command = shell_words::join(&command.argv);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
    let line = lines.next();
    let last = lines.next_back().or_else(|| line.clone());
    match exit {
        None => Err(ProbeError::Hangs { command }),
        Some(exit) if exit.code == Some(0) => line.ok_or(ProbeError::Silent { command }),
        Some(exit) => Err(ProbeError::Failed {
            command,
            exit,
            // The cause comes last, after a stack trace for example.
            said: last.unwrap_or_else(|| "it printed nothing".to_owned()),
        }),
    }
}
