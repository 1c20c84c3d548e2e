//! Asking a server for its tools before any agent comes: a short process of its own (C5).

use super::{LaunchError, Session, Target, stderr_part};
use crate::domain::RawJson;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

/// The version that is asked for: the newest that has a handshake.
pub(super) const PROTOCOL: &str = "2025-11-25";

/// More pages than any server has; a cursor that never ends is a server's fault.
pub(super) const MOST_PAGES: u32 = 1_000;

/// How long a server that refused the handshake may take to list its tools without one.
const SECOND_TRY: Duration = Duration::from_secs(5);

/// The longest line that is read at once, in bytes: the rest of a runaway one counts as another.
const LONGEST_LINE: u64 = 64 << 20;

/// So much of what is no message is repeated, in characters.
const NOISE_KEPT: usize = 200;

/// Why a server's tools could not be learned.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It ended before it had answered.
    #[error("the upstream ended before it listed its tools: {how}{}{}", noise_part(.noise), stderr_part(.stderr))]
    Ended {
        /// Exit code or signal.
        how: String,
        /// What it wrote to stdout that is no message.
        noise: String,
        /// The end of its stderr.
        stderr: String,
    },
    /// It did not answer in time.
    #[error("the upstream did not answer `{method}` within {} s{}{}", .limit.as_secs(), noise_part(.noise), stderr_part(.stderr))]
    Silent {
        /// What it wrote to stdout that is no message.
        noise: String,
        /// The end of its stderr.
        stderr: String,
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
    /// It did not answer with success.
    #[error("the upstream answered `{method}` with HTTP {status}")]
    Http {
        /// What it was asked.
        method: &'static str,
        /// The status.
        status: String,
    },
    /// It was not reached, or the connection broke.
    #[error("`{method}` was not answered by the upstream: {reason}")]
    Broken {
        /// What it was asked.
        method: &'static str,
        /// Why.
        reason: String,
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

fn noise_part(noise: &str) -> String {
    if noise.is_empty() {
        return String::new();
    }
    format!("; it wrote to stdout, where only MCP messages may stand: {noise}")
}

/// Starts a server or opens a session at one, asks for its tools, and ends it. Each tool is as the
/// server wrote it.
///
/// # Errors
/// Where it cannot be started, ends, stays silent beyond `limit` for one answer, or speaks no MCP.
pub async fn list_tools(upstream: &Target, limit: Duration) -> Result<Vec<RawJson>, ProbeError> {
    let mut session = Session::open(upstream, limit).await?;
    let tools = session.take_tools();
    session.end().await;
    Ok(tools)
}

pub(super) enum Trouble {
    /// Its stdin or stdout was closed.
    Gone,
    /// It did not answer this.
    Silent(&'static str),
    Error(ProbeError),
}

/// A conversation over the pipes of a process.
pub(super) struct Talk {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u32,
    limit: Duration,
    /// What goes along with every request to a server that knows no handshake.
    meta: Option<String>,
    /// The beginning of what it wrote to stdout that is no message.
    noise: String,
}

#[derive(Deserialize)]
pub(super) struct Reply<'a> {
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page<'a> {
    #[serde(borrow)]
    pub tools: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub next_cursor: Option<&'a RawValue>,
}

/// The parameters of `initialize`.
pub(super) fn introduction() -> String {
    format!(
        r#"{{"protocolVersion":"{PROTOCOL}","capabilities":{{}},"clientInfo":{{"name":"mcp-client","version":"1.0.0"}}}}"#
    )
}

impl Talk {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, limit: Duration) -> Talk {
        Talk { stdin, stdout: BufReader::new(stdout), next: 0, limit, meta: None, noise: String::new() }
    }

    /// What it wrote to stdout that is no message, once.
    pub(super) fn take_noise(&mut self) -> String {
        std::mem::take(&mut self.noise)
    }

    /// Calls a tool.
    pub(super) async fn call(
        &mut self,
        tool: &str,
        arguments: &str,
        limit: Duration,
    ) -> Result<RawJson, Trouble> {
        self.limit = limit;
        let params = call_params(tool, arguments, self.meta.as_deref());
        self.ask("tools/call", &params).await
    }

    pub(super) async fn list(&mut self) -> Result<Vec<RawJson>, Trouble> {
        match self.ask("initialize", &introduction()).await {
            Ok(result) => {
                self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await?;
                self.pages(&result).await
            }
            // A server that knows no handshake any more.
            Err(Trouble::Error(refused @ ProbeError::Refused { .. })) => {
                self.meta = Some(modern_meta());
                self.limit = self.limit.min(SECOND_TRY);
                self.pages(&RawJson::null()).await.map_err(|_| Trouble::Error(refused))
            }
            Err(trouble) => Err(trouble),
        }
    }

    async fn pages(&mut self, introduced: &RawJson) -> Result<Vec<RawJson>, Trouble> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let mut members = Vec::new();
            members.extend(cursor.map(|cursor: RawJson| format!(r#""cursor":{cursor}"#)));
            members.extend(self.meta.clone());
            let result = match self.ask("tools/list", &format!("{{{}}}", members.join(","))).await {
                // Servers without tools are worth relaying too.
                Err(Trouble::Error(ProbeError::Refused { .. })) if !offers_tools(introduced) => break,
                result => result?,
            };
            let page: Page<'_> = serde_json::from_str(result.get()).map_err(|error| {
                Trouble::Error(ProbeError::NotMcp { method: "tools/list", reason: error.to_string() })
            })?;
            tools.extend(page.tools.into_iter().map(RawJson::from_raw));
            match page.next_cursor {
                Some(next) => cursor = Some(RawJson::from_raw(next)),
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
            Err(_) => Err(Trouble::Silent(method)),
        }
    }

    /// Reads on until the answer comes; what else the server says is not for us.
    async fn answer(&mut self, id: &str, method: &'static str) -> Result<RawJson, Trouble> {
        let mut line = Vec::new();
        loop {
            line.clear();
            match next_line(&mut self.stdout, &mut line).await {
                Ok(0) | Err(_) => return Err(Trouble::Gone),
                Ok(_) => {}
            }
            let Ok(reply) = serde_json::from_slice::<Reply<'_>>(&line) else {
                self.heard(&line);
                continue;
            };
            if reply.id.map(RawValue::get) != Some(id) {
                continue;
            }
            match reply.method.map(RawValue::get) {
                None => {}
                Some(echo) if echo.trim_matches('"') == method => {
                    let reason = "it is the request itself".to_owned();
                    return Err(Trouble::Error(ProbeError::NotMcp { method, reason }));
                }
                Some(_) => continue,
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

    /// What a server wrote before it ended often says why.
    pub(super) async fn hear_out(&mut self) {
        let mut line = Vec::new();
        while matches!(next_line(&mut self.stdout, &mut line).await, Ok(read) if read > 0) {
            if serde_json::from_slice::<Reply<'_>>(&line).is_err() {
                self.heard(&line);
            }
            line.clear();
        }
    }

    fn heard(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() || self.noise.len() > NOISE_KEPT {
            return;
        }
        if !self.noise.is_empty() {
            self.noise.push_str(" / ");
        }
        self.noise.extend(line.chars().take(NOISE_KEPT));
    }
}

/// Reads a line. A pipe that is always full must not keep a time limit from being seen.
async fn next_line(stdout: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> std::io::Result<usize> {
    tokio::task::coop::consume_budget().await;
    stdout.take(LONGEST_LINE).read_until(b'\n', line).await
}

/// The parameters of `tools/call`.
pub(super) fn call_params(tool: &str, arguments: &str, meta: Option<&str>) -> String {
    let name = serde_json::Value::from(tool);
    let meta = meta.map(|meta| format!(",{meta}")).unwrap_or_default();
    format!(r#"{{"name":{name},"arguments":{arguments}{meta}}}"#)
}

/// Where an answer to `initialize` promises tools, or cannot be read.
fn offers_tools(introduced: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Introduced<'a> {
        #[serde(borrow)]
        capabilities: HashMap<String, &'a RawValue>,
    }
    serde_json::from_str::<Introduced<'_>>(introduced.get())
        .map_or(true, |introduced| introduced.capabilities.contains_key("tools"))
}

/// What MCP 2026-07-28 sends with every request in place of a handshake.
pub(super) fn modern_meta() -> String {
    concat!(
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"mcp-client","version":"1.0.0"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}"#
    )
    .to_owned()
}
