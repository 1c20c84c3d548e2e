//! `nochmal agent`: the built-in agent alone, for one prompt or as a session.

use crate::harness::mcp::config::{ConfigError, ServerCommand, distinct, from_file, from_flag};
use crate::harness::mcp::{Handshake, McpTools, Options, StartError};
use crate::harness::model::Model;
use crate::harness::provider::{self, ProviderError};
use crate::harness::session::{Output, Session, UsageLine};
use crate::harness::turn::{Limits, TurnError};
use clap::ValueEnum;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The flags.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Where the model comes from (script); may carry the model, as in script:careful
    #[arg(long, value_name = "PROVIDER[:MODEL]")]
    provider: Option<String>,
    /// Which model; without --provider as PROVIDER:MODEL
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// For a model that chooses at random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The system prompt
    #[arg(long, default_value = "", hide_default_value = true)]
    system: String,
    /// Answer this, print the reply, and end
    #[arg(long, required_unless_present = "protocol", conflicts_with = "protocol")]
    prompt: Option<String>,
    /// Print the reply and what it consumed as one JSON object
    #[arg(long, requires = "prompt")]
    json: bool,
    /// Be spoken to on stdin and stdout, one JSON object a line, until stdin ends
    #[arg(long, value_enum)]
    protocol: Option<Protocol>,
    /// An MCP server to start, with its command line; can be repeated
    #[arg(long, value_name = "NAME=COMMAND LINE")]
    mcp: Vec<String>,
    /// A JSON file with {"mcpServers": {NAME: {"command", "args", "env"}}}; can be repeated
    #[arg(long, value_name = "FILE")]
    mcp_config: Vec<PathBuf>,
    /// A variable for the MCP servers, which get only PATH and HOME otherwise; NAME alone takes
    /// the agent's own value
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
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Protocol {
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

fn duration(text: &str) -> Result<Duration, String> {
    let signed: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Duration::try_from(signed).map_err(|_| "a time cannot be negative".to_owned())
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A flag names a server in a form that cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file cannot be read.
    #[error("{file}: {source}")]
    File {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// No model can be opened.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// An MCP server cannot be used.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The prompt got no reply.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// stdin, stdout, a signal handler or the async runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl AgentError {
    /// 2 for arguments that cannot be used, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            AgentError::Config(_) | AgentError::File { .. } | AgentError::Provider(_) => 2,
            AgentError::Start(_) | AgentError::Turn(_) | AgentError::Io(_) => 1,
        }
    }
}

/// Runs the agent. Gives the exit code: 0, or 128 and the number of the signal that ended it.
///
/// # Errors
/// Where the agent cannot start, or its one prompt got no reply.
pub fn run(args: &AgentArgs) -> Result<u8, AgentError> {
    let servers = servers(args)?;
    let model = provider::open(args.provider.as_deref(), args.model.as_deref(), args.seed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(agent(args, model.as_ref(), &servers));
    runtime.shutdown_background();
    if let (Err(error @ AgentError::Start(_)), Some(_)) = (&result, args.protocol) {
        // Whoever waits for a line gets one.
        Output::Error { message: error.to_string(), kind: None }.write(&mut io::stdout())?;
    }
    result
}

fn servers(args: &AgentArgs) -> Result<Vec<ServerCommand>, AgentError> {
    let mut servers = args.mcp.iter().map(|flag| from_flag(flag)).collect::<Result<Vec<_>, _>>()?;
    for path in &args.mcp_config {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| AgentError::File { file: file.clone(), source })?;
        servers.extend(from_file(&text, &file)?);
    }
    distinct(&servers)?;
    for variable in &args.mcp_env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (variable.as_str(), std::env::var(variable).ok()),
        };
        for server in servers.iter_mut().filter(|_| value.is_some()) {
            // What a file says of one server is more than what a flag says of all.
            server.env.entry(name.to_owned()).or_insert_with(|| value.clone().unwrap_or_default());
        }
    }
    Ok(servers)
}

async fn agent(args: &AgentArgs, model: &dyn Model, servers: &[ServerCommand]) -> Result<u8, AgentError> {
    let cancel = CancellationToken::new();
    let ended_by = watch_signals(cancel.clone())?;
    let options =
        Options { handshake: args.mcp_handshake.into(), start: args.start_timeout, call: args.tool_timeout };
    let tools = match McpTools::start(servers, options, &cancel).await {
        Ok(tools) => tools,
        Err(error) => return ended_by.borrow().map_or(Err(error.into()), |signal| Ok(128 + signal)),
    };
    let limits = Limits { turns: args.max_turns, equal_calls: args.max_equal_calls };
    let mut session = Session::new(model, &tools, &args.system, limits, cancel.clone());
    let done = match &args.prompt {
        Some(prompt) => one_shot(args, prompt, &mut session).await,
        None => session.serve(&mut stdin_lines(), &mut io::stdout()).await.map_err(AgentError::Io),
    };
    drop(session);
    tools.close().await;
    match *ended_by.borrow() {
        Some(signal) => Ok(128 + signal),
        None => done.map(|()| 0),
    }
}

async fn one_shot(args: &AgentArgs, prompt: &str, session: &mut Session<'_>) -> Result<(), AgentError> {
    let reply = session.say(prompt).await?;
    let mut out = io::stdout();
    if args.json {
        let usage = UsageLine::from(reply.usage);
        writeln!(out, "{}", serde_json::json!({"reply": reply.text, "usage": usage}))?;
    } else {
        writeln!(out, "{}", reply.text)?;
    }
    out.flush()?;
    Ok(())
}

/// Cancels on SIGINT, SIGTERM and SIGHUP, and tells which it was.
fn watch_signals(cancel: CancellationToken) -> io::Result<tokio::sync::watch::Receiver<Option<u8>>> {
    let (tell, told) = tokio::sync::watch::channel(None);
    let tell = std::sync::Arc::new(tell);
    for (kind, number) in
        [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15), (SignalKind::hangup(), 1)]
    {
        let (mut stream, tell, cancel) = (signal(kind)?, std::sync::Arc::clone(&tell), cancel.clone());
        tokio::spawn(async move {
            if stream.recv().await.is_some() {
                tell.send_replace(Some(number));
                cancel.cancel();
            }
        });
    }
    Ok(told)
}

/// The lines of stdin, read on a thread of its own: a pending read cannot be given up, and
/// must not keep the process from ending.
fn stdin_lines() -> mpsc::Receiver<io::Result<String>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if send.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receive
}
