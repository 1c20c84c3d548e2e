//! `nochmal agent`: the built-in agent alone, for one prompt, as a session for a program, or for
//! people.

mod flags;
mod keep;
mod repl;
mod screen;
mod spans;

pub use flags::AgentArgs;
pub(super) use flags::duration;

use super::signals::{Comings, Kind};
use crate::harness::journal::sqlite::SqliteJournal;
use crate::harness::journal::{Journal, JournalError};
use crate::harness::mcp::config::{ConfigError, McpServer};
use crate::harness::mcp::{McpTools, StartError};
use crate::harness::model::{Listener, Model};
use crate::harness::provider::ProviderError;
use crate::harness::reply::{Reply, TurnError};
use crate::harness::session::{Output, Session, UsageLine};
use crate::harness::spans::otlp::ExportError;
use crate::harness::turn::Agent;
use crate::harness::watch::{Unwatched, Watch};
use screen::Screen;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

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
    /// Spans have nowhere to go.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// No model can be opened.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The session cannot be opened, or goes on in another way than the flags say.
    #[error(transparent)]
    Session(#[from] JournalError),
    /// The session is another conversation.
    #[error(
        "the session began with another system prompt; leave --system out to go on with its own, or begin another session"
    )]
    System,
    /// There is no folder for sessions.
    #[error(
        "there is no folder for the session {0:?}: neither XDG_STATE_HOME nor HOME is set; give a path, such as ./{0}.db"
    )]
    NoFolder(String),
    /// There is nothing to say, and no turn to go on with.
    #[error("{0}")]
    Nothing(&'static str),
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
            AgentError::Config(_)
            | AgentError::File { .. }
            | AgentError::Provider(_)
            | AgentError::Export(_)
            | AgentError::Session(_)
            | AgentError::System
            | AgentError::NoFolder(_)
            | AgentError::Nothing(_) => 2,
            AgentError::Start(_) | AgentError::Turn(_) | AgentError::Io(_) => 1,
        }
    }
}

/// Runs the agent. Gives the exit code: 0, or 128 and the number of the signal that ended it.
///
/// # Errors
/// Where the agent cannot start, or its one prompt got no reply.
pub fn run(args: &AgentArgs) -> Result<u8, AgentError> {
    let servers = args.servers()?;
    let model = args.model.open()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(agent(args, model.model.as_ref(), &servers));
    model.finish()?;
    runtime.shutdown_background();
    if let (Err(error), Some(_)) = (&result, args.protocol) {
        // Whoever waits for a line gets one.
        Output::Error { message: error.to_string(), kind: None }.write(&mut io::stdout())?;
    }
    result
}

/// How the agent is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One prompt, from a flag or all of stdin.
    Once,
    /// By a program, in JSON Lines.
    Lines,
    /// By a person at a terminal.
    Repl,
}

async fn agent(args: &AgentArgs, model: &dyn Model, servers: &[McpServer]) -> Result<u8, AgentError> {
    let way = match (&args.protocol, &args.prompt, args.go_on) {
        (Some(_), ..) => Way::Lines,
        (None, None, false) if io::stdin().is_terminal() => Way::Repl,
        _ => Way::Once,
    };
    let cancel = CancellationToken::new();
    let signals = Signals::watch(&cancel, way == Way::Repl)?;
    let screen = Screen::default();
    let repl = way == Way::Repl;
    let seen: &dyn Watch = if repl { &screen } else { &Unwatched };
    let spans = args.spans.recorder(model.identity(), seen)?;
    let opened = match &args.session {
        Some(name) => Some(keep::open(name, &args.system)?),
        None => None,
    };
    let tools = match McpTools::start(servers, args.options(), &cancel).await {
        Ok(tools) => tools,
        Err(error) => return signals.ended_by().map_or(Err(error.into()), |signal| Ok(128 + signal)),
    };
    let agent = Agent {
        model,
        tools: &tools,
        limits: args.limits(),
        window: args.context_tokens,
        prices: args.prices(),
        watch: spans.as_ref().map_or(seen, |spans| spans as &dyn Watch),
        listener: repl.then_some(&screen as &dyn Listener),
    };
    let done = match (opened, way) {
        (Some((journal, state)), Way::Repl) => {
            repl::run(&mut Session { agent, state, journal }, &screen, &signals, &cancel).await
        }
        (None, Way::Repl) => {
            let (journal, state) = keep::in_memory(&args.system)?;
            repl::run(&mut Session { agent, state, journal }, &screen, &signals, &cancel).await
        }
        (Some((journal, state)), _) => converse(args, &mut Session { agent, state, journal }, &cancel).await,
        (None, _) => converse(args, &mut Session::new(agent, &args.system), &cancel).await,
    };
    tools.close().await;
    if let Some(spans) = spans {
        args.spans.tell(spans).await?;
    }
    match signals.ended_by() {
        Some(signal) => Ok(128 + signal),
        None => done.map(|()| 0),
    }
}

/// Speaks with a program, or answers one prompt.
async fn converse<J: Journal>(
    args: &AgentArgs,
    session: &mut Session<'_, J>,
    cancel: &CancellationToken,
) -> Result<(), AgentError> {
    if args.protocol.is_some() {
        return Ok(session.serve(&mut stdin_lines(), &mut io::stdout(), cancel).await?);
    }
    let reply = if args.go_on {
        session.go_on(cancel).await.ok_or(AgentError::Nothing("the session has no turn to go on with"))??
    } else {
        let prompt = match &args.prompt {
            Some(prompt) => prompt.clone(),
            None => {
                let mut all = String::new();
                io::stdin().lock().read_to_string(&mut all)?;
                all.trim().to_owned()
            }
        };
        if prompt.is_empty() {
            return Err(AgentError::Nothing("there is no prompt: give --prompt, or write it to stdin"));
        }
        session.say(&prompt, cancel).await?
    };
    print(args, &reply)
}

fn print(args: &AgentArgs, reply: &Reply) -> Result<(), AgentError> {
    let mut out = io::stdout();
    if args.json {
        let usage = UsageLine::from(reply);
        writeln!(out, "{}", serde_json::json!({"reply": reply.text, "usage": usage}))?;
    } else {
        writeln!(out, "{}", reply.text)?;
    }
    out.flush()?;
    Ok(())
}

/// The signals that end a turn or the session.
struct Signals {
    ended: watch::Receiver<Option<u8>>,
    /// How often SIGINT came, where that does not end the session.
    interrupts: watch::Receiver<u64>,
}

impl Signals {
    /// Cancels on SIGTERM and SIGHUP, and on SIGINT unless a person is there who only wants the
    /// turn to end.
    fn watch(cancel: &CancellationToken, spare_interrupts: bool) -> io::Result<Signals> {
        let (tell, ended) = watch::channel(None);
        let tell = Arc::new(tell);
        let (count, interrupts) = watch::channel(0);
        let mut fatal = vec![(Kind::Terminate, 15), (Kind::Hangup, 1)];
        if spare_interrupts {
            let mut interrupt = Comings::of(Kind::Interrupt)?;
            tokio::spawn(async move {
                while interrupt.next().await {
                    count.send_modify(|count| *count += 1);
                }
            });
        } else {
            fatal.push((Kind::Interrupt, 2));
        }
        for (kind, number) in fatal {
            let (mut signal, tell, cancel) = (Comings::of(kind)?, Arc::clone(&tell), cancel.clone());
            tokio::spawn(async move {
                if signal.next().await {
                    tell.send_replace(Some(number));
                    cancel.cancel();
                }
            });
        }
        Ok(Signals { ended, interrupts })
    }

    /// The signal that ended the session.
    fn ended_by(&self) -> Option<u8> {
        *self.ended.borrow()
    }
}

/// The lines of stdin, read on a thread of its own: a pending read cannot be given up, and
/// must not keep the process from ending.
fn stdin_lines() -> mpsc::Receiver<io::Result<String>> {
    let (send, receive) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        while let Some(line) = next_line(&mut stdin) {
            // A line that is no text is one mistake; a stream that cannot be read is the end.
            let over = line.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::InvalidData);
            if send.blocking_send(line).is_err() || over {
                break;
            }
        }
    });
    receive
}

/// The next line without its end. One that is not valid UTF-8 is read to its end all the same, so that
/// the one after it can be.
fn next_line(input: &mut impl BufRead) -> Option<io::Result<String>> {
    let mut line = Vec::new();
    match input.read_until(b'\n', &mut line) {
        Ok(0) => return None,
        Ok(_) => {}
        Err(error) => return Some(Err(error)),
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    let text = String::from_utf8(line);
    Some(text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the line is not valid UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_text_costs_only_itself() {
        let mut input: &[u8] = b"a\r\n\xff\nb";
        assert_eq!(next_line(&mut input).unwrap().unwrap(), "a");
        assert_eq!(next_line(&mut input).unwrap().unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(next_line(&mut input).unwrap().unwrap(), "b");
        assert!(next_line(&mut input).is_none());
    }
}
