//! `command`: a program that prints a JSON list of records, or their number.

use super::{OracleError, reading, shortened};
use crate::process::{Capture, CommandLine, Keep, Stdin, Supervisor};
use crate::truth::Reading;
use std::time::Duration;

/// The most that is read of it, in bytes.
const MOST: usize = 64 << 20;
const STDERR_KEPT: usize = 2 * 1024;
const GRACE: Duration = Duration::from_millis(500);

pub(super) async fn ask(
    command: &CommandLine,
    supervisor: &Supervisor,
    limit: Duration,
) -> Result<Reading, OracleError> {
    let mut tree = supervisor.tree(&[]);
    let mut process = tree.start(command, Stdin::Null)?;
    // All of it or nothing: half a list would be another list.
    let keep = Keep { head: MOST, tail: 0 };
    let mut stdout = process.take_stdout().map(|stream| Capture::start(stream, keep));
    let mut stderr = process.take_stderr().map(|stream| Capture::start(stream, Keep::tail(STDERR_KEPT)));
    let exit = tokio::time::timeout(limit, process.wait()).await.ok();
    let mut texts = [&mut stdout, &mut stderr].map(|stream| stream.as_mut());
    let mut said = Vec::new();
    let mut whole = true;
    for stream in texts.iter_mut().flatten() {
        whole &= stream.drain(GRACE).await;
        whole &= stream.dropped() == 0 || !said.is_empty();
        said.push(stream.so_far().text());
    }
    tree.end(&mut [&mut process], GRACE).await;
    let name = command.argv.join(" ");
    let (out, err) = (said.first().cloned().unwrap_or_default(), said.get(1).cloned().unwrap_or_default());
    match exit {
        None => Err(OracleError::Silent { what: name, limit }),
        Some(exit) if exit.code != Some(0) => {
            let said = match err.trim() {
                "" => String::new(),
                text => format!("; its stderr ends with: {}", last_lines(text)),
            };
            Err(OracleError::Failed { command: name, exit, said })
        }
        Some(_) if !whole => Err(OracleError::Form {
            what: format!("`{name}`"),
            found: format!("more than {} MiB, or an output that another process holds open", MOST >> 20),
        }),
        Some(_) => match serde_json::from_str(out.trim()) {
            Ok(value) => reading(&format!("`{name}`"), value),
            Err(_) => Err(OracleError::Form { what: format!("`{name}`"), found: shortened(out.trim()) }),
        },
    }
}

/// The cause comes last, after a stack trace for example.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(2)..].join(" / ")
}
