//! What `nochmal agent` can be told.

use super::AgentError;
use super::spans::SpanFlags;
use crate::cli::model_flags::ModelFlags;
use crate::domain::dollars;
use crate::harness::mcp::config::{Launch, McpServer, distinct, from_file, from_flag};
use crate::harness::mcp::{Handshake, Options};
use crate::harness::model::Prices;
use crate::harness::turn::Limits;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// The flags.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    #[command(flatten)]
    pub(super) model: ModelFlags,
    #[command(flatten)]
    pub(super) spans: SpanFlags,
    /// The system prompt
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(super) system: String,
    /// Answer this, print the reply, and end; without it, a terminal is a conversation, and anything
    /// else on stdin is the prompt
    #[arg(long, conflicts_with = "protocol")]
    pub(super) prompt: Option<String>,
    /// Print the reply and what it consumed as one JSON object
    #[arg(long, conflicts_with = "protocol")]
    pub(super) json: bool,
    /// Be spoken to on stdin and stdout, one JSON object a line, until stdin ends
    #[arg(long, value_enum)]
    pub(super) protocol: Option<Protocol>,
    /// Keep the conversation in this file, step by step, and go on with it: a path, or a name for one
    /// among your sessions
    #[arg(long, value_name = "FILE|NAME")]
    pub(super) session: Option<String>,
    /// Go on with the session's interrupted turn, print the reply, and end
    #[arg(long = "continue", requires = "session", conflicts_with_all = ["prompt", "protocol"])]
    pub(super) go_on: bool,
    /// An MCP server: the command line that starts it, or its URL; can be repeated
    #[arg(long, value_name = "NAME=COMMAND LINE|URL")]
    pub(super) mcp: Vec<String>,
    /// A JSON file with {"mcpServers": {NAME: {"command", "args", "env"}}}, or "url" and "headers"; can be
    /// repeated
    #[arg(long, value_name = "FILE")]
    mcp_config: Vec<PathBuf>,
    /// A variable for the MCP servers that are started, which get only PATH and HOME otherwise; NAME
    /// alone takes the agent's own value
    #[arg(long, value_name = "NAME[=VALUE]")]
    mcp_env: Vec<String>,
    /// How an MCP session is opened
    #[arg(long, value_enum, default_value = "initialize")]
    mcp_handshake: HandshakeArg,
    /// How long an MCP server may take to be ready
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    start_timeout: Duration,
    /// How long a tool may take to answer
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = duration)]
    tool_timeout: Duration,
    /// Requests to the model for one user message
    #[arg(long, value_name = "N", default_value_t = Limits::default().turns)]
    max_turns: u32,
    /// Calls of one tool with equal arguments, one directly after the other
    #[arg(long, value_name = "N", default_value_t = Limits::default().equal_calls)]
    max_equal_calls: u32,
    /// How long a reply may take, all its calls included [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<Duration>,
    /// Tokens, sent and received, for the whole conversation [default: no limit]
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// US dollars for the whole conversation; needs --price [default: no limit]
    #[arg(long, value_name = "USD", requires = "price", value_parser = dollars)]
    budget_usd: Option<f64>,
    /// What a million tokens cost, in US dollars: sent/received, or sent/from the cache/received
    #[arg(long, value_name = "IN/OUT")]
    price: Option<Prices>,
    /// What the model takes at once; before that is full, old results are cut and the older part is
    /// summarised [default: only when the endpoint refuses]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(500..))]
    pub(super) context_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Protocol {
    /// {"type":"user","text":…} in, {"type":"reply","text":…,"usage":…} out
    Jsonl,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HandshakeArg {
    /// The handshake of all versions before 2026-07-28
    Initialize,
    /// MCP 2026-07-28 only
    Discover,
    /// 2026-07-28 where the server knows it
    Auto,
}

impl From<HandshakeArg> for Handshake {
    fn from(arg: HandshakeArg) -> Handshake {
        match arg {
            HandshakeArg::Initialize => Handshake::Initialize,
            HandshakeArg::Discover => Handshake::Discover,
            HandshakeArg::Auto => Handshake::Auto,
        }
    }
}

pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    let signed: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Duration::try_from(signed).map_err(|_| "a time cannot be negative".to_owned())
}

impl AgentArgs {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            turns: self.max_turns,
            equal_calls: self.max_equal_calls,
            time: self.max_time,
            tokens: self.budget_tokens,
            cost_usd: self.budget_usd,
        }
    }

    pub(super) fn prices(&self) -> Option<Prices> {
        self.price
    }

    pub(super) fn options(&self) -> Options {
        Options { handshake: self.mcp_handshake.into(), start: self.start_timeout, call: self.tool_timeout }
    }

    /// The servers of all flags and files.
    pub(super) fn servers(&self) -> Result<Vec<McpServer>, AgentError> {
        let mut servers = self.mcp.iter().map(|flag| from_flag(flag)).collect::<Result<Vec<_>, _>>()?;
        for path in &self.mcp_config {
            let file = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|source| AgentError::File { file: file.clone(), source })?;
            servers.extend(from_file(&text, &file, &|name| std::env::var(name).ok())?);
        }
        distinct(&servers)?;
        for variable in &self.mcp_env {
            let (name, value) = match variable.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (variable.as_str(), std::env::var(variable).ok()),
            };
            let Some(value) = value else { continue };
            for server in &mut servers {
                if let Launch::Command(command) = &mut server.launch {
                    // What a file says of one server is more than what a flag says of all.
                    command.env.entry(name.to_owned()).or_insert_with(|| value.clone());
                }
            }
        }
        Ok(servers)
    }
}
