//! Asking a server for its tools before any agent comes: a short process of its own (C5).

use super::{Launch, LaunchError, Running, launch};
use crate::domain::RawJson;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

/// The version that is asked for: the newest that has a handshake.
const PROTOCOL: &str = "2025-11-25";

/// More pages than any server has; a cursor that never ends is a server's fault.
const MOST_PAGES: u32 = 1_000;

/// Why a server's tools could not be learned.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It ended before it had answered.
    #[error("the upstream ended before it listed its tools: {how}{}", stderr_part(.stderr))]
    Ended {
        /// Exit code or signal.
        how: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// It did not answer in time.
    #[error("the upstream did not answer `{method}` within {} s", .limit.as_secs())]
    Silent {
        /// What it was asked.
        method: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// It refused.
    #[error("the upstream answered `{method}` with an error: {error}")]
    Refused {
        /// What it was asked.
        method: &'static str,
        /// What it said.
        error: RawJson,
    },
    /// It answered something else.
    #[error("the upstream does not speak MCP: its answer to `{method}` cannot be read: {reason}")]
    NotMcp {
        /// What it was asked.
        method: &'static str,
        /// Why.
        reason: String,
    },
}

fn stderr_part(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; its stderr ends with: {stderr}") }
}

/// Starts a server, asks for its tools, and ends it. Each tool is as the server wrote it.
///
/// # Errors
/// Where it cannot be started, ends, stays silent beyond `limit` for one answer, or speaks no MCP.
pub async fn list_tools(command: &Launch, limit: Duration) -> Result<Vec<RawJson>, ProbeError> {
    let mut running = launch(command)?;
    let (Some(stdin), Some(stdout)) = (running.take_stdin(), running.take_stdout()) else {
        return Ok(Vec::new());
    };
    let mut talk = Talk { stdin, stdout: BufReader::new(stdout), next: 0, limit };
    let listed = talk.list().await;
    drop(talk);
    match listed {
        Ok(tools) => {
            running.end().await;
            Ok(tools)
        }
        Err(Trouble::Gone) => Err(gone(running).await),
        Err(Trouble::Error(error)) => {
            running.end().await;
            Err(error)
        }
    }
}

async fn gone(running: Running) -> ProbeError {
    let ended = running.end().await;
    ProbeError::Ended { how: ended.how, stderr: ended.stderr }
}

enum Trouble {
    /// Its stdin or stdout was closed.
    Gone,
    Error(ProbeError),
}

struct Talk {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u32,
    limit: Duration,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    next_cursor: Option<&'a RawValue>,
}

impl Talk {
    async fn list(&mut self) -> Result<Vec<RawJson>, Trouble> {
        let introduction = format!(
            r#"{{"protocolVersion":"{PROTOCOL}","capabilities":{{}},"clientInfo":{{"name":"mcp-client","version":"1.0.0"}}}}"#
        );
        self.ask("initialize", &introduction).await?;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
        let mut tools = Vec::new();
        let mut params = "{}".to_owned();
        for _ in 0..MOST_PAGES {
            let result = self.ask("tools/list", &params).await?;
            let page: Page<'_> = serde_json::from_str(result.get()).map_err(|error| {
                Trouble::Error(ProbeError::NotMcp { method: "tools/list", reason: error.to_string() })
            })?;
            tools.extend(page.tools.into_iter().map(RawJson::from_raw));
            match page.next_cursor {
                Some(cursor) => params = format!(r#"{{"cursor":{}}}"#, cursor.get()),
                None => break,
            }
        }
        Ok(tools)
    }

    async fn send(&mut self, message: &str) -> Result<(), Trouble> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(|_| Trouble::Gone)?;
        self.stdin.flush().await.map_err(|_| Trouble::Gone)
    }

    async fn ask(&mut self, method: &'static str, params: &str) -> Result<RawJson, Trouble> {
        self.next += 1;
        let id = self.next.to_string();
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)).await?;
        let limit = self.limit;
        match tokio::time::timeout(limit, self.answer(&id, method)).await {
            Ok(answer) => answer,
            Err(_) => Err(Trouble::Error(ProbeError::Silent { method, limit })),
        }
    }

    /// Reads on until the answer comes; what else the server says is not for us.
    async fn answer(&mut self, id: &str, method: &'static str) -> Result<RawJson, Trouble> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.stdout.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return Err(Trouble::Gone),
                Ok(_) => {}
            }
            let Ok(reply) = serde_json::from_slice::<Reply<'_>>(&line) else { continue };
            if reply.method.is_some() || reply.id.map(RawValue::get) != Some(id) {
                continue;
            }
            return match (reply.result, reply.error) {
                (Some(result), _) => Ok(RawJson::from_raw(result)),
                (None, Some(error)) => {
                    Err(Trouble::Error(ProbeError::Refused { method, error: RawJson::from_raw(error) }))
                }
                (None, None) => {
                    let reason = "it has neither a result nor an error".to_owned();
                    Err(Trouble::Error(ProbeError::NotMcp { method, reason }))
                }
            };
        }
    }
}
