//! A session at a server that is no agent's: its tools are listed, and may be called one by one.

use super::probe::{ProbeError, Talk, Trouble};
use super::{Ended, Running, Target, launch, remote};
use crate::domain::RawJson;
use std::time::Duration;

/// An open session. Dropping it kills a process that was started for it.
pub struct Session {
    way: Way,
    tools: Vec<RawJson>,
}

enum Way {
    Pipes(Box<(Talk, Running)>),
    Http(Box<remote::probe::Talk>),
}

/// What came of a call.
#[derive(Debug, Clone)]
pub enum Called {
    /// The `result`, as it came.
    Result(RawJson),
    /// The `error`, as it came.
    Error(RawJson),
    /// No answer in time.
    Silent,
    /// No answer: the process ended ([`Session::end`] tells how), or the connection broke.
    Gone(Option<String>),
}

impl Session {
    /// Starts a server or opens a session at one, and asks for its tools.
    ///
    /// # Errors
    /// Where it cannot be started, ends, stays silent beyond `limit` for one answer, or speaks no MCP.
    pub async fn open(upstream: &Target, limit: Duration) -> Result<Session, ProbeError> {
        let command = match upstream {
            Target::Command(command) => command,
            Target::Url(remote) => {
                let (talk, tools) = remote::probe::Talk::open(remote, limit).await?;
                return Ok(Session { way: Way::Http(Box::new(talk)), tools });
            }
        };
        let mut running = launch(command)?;
        let (Some(stdin), Some(stdout)) = (running.take_stdin(), running.take_stdout()) else {
            let ended = running.end().await;
            return Err(ProbeError::Ended { how: ended.how, noise: String::new(), stderr: ended.stderr });
        };
        let mut talk = Talk::new(stdin, stdout, limit);
        let trouble = match talk.list().await {
            Ok(tools) => return Ok(Session { way: Way::Pipes(Box::new((talk, running))), tools }),
            Err(trouble) => trouble,
        };
        if matches!(trouble, Trouble::Gone) {
            let _ = tokio::time::timeout(Duration::from_millis(300), talk.hear_out()).await;
        }
        let noise = talk.take_noise();
        drop(talk);
        let ended = running.end().await;
        Err(match trouble {
            Trouble::Gone => ProbeError::Ended { how: ended.how, noise, stderr: ended.stderr },
            Trouble::Silent(method) => ProbeError::Silent { method, limit, noise, stderr: ended.stderr },
            Trouble::Error(error) => error,
        })
    }

    /// Its tools, each as the server wrote it, once.
    pub fn take_tools(&mut self) -> Vec<RawJson> {
        std::mem::take(&mut self.tools)
    }

    /// Calls a tool; `arguments` is a JSON object.
    pub async fn call(&mut self, tool: &str, arguments: &str, limit: Duration) -> Called {
        match &mut self.way {
            Way::Pipes(pipes) => match pipes.0.call(tool, arguments, limit).await {
                Ok(result) => Called::Result(result),
                Err(Trouble::Gone) => Called::Gone(None),
                Err(Trouble::Silent(_)) => Called::Silent,
                Err(Trouble::Error(error)) => not_called(error),
            },
            Way::Http(talk) => match talk.call(tool, arguments, limit).await {
                Ok(result) => Called::Result(result),
                Err(error) => not_called(error),
            },
        }
    }

    /// Ends it, and all that was started for it. How a process ended, where there was one.
    pub async fn end(self) -> Option<Ended> {
        match self.way {
            Way::Pipes(pipes) => {
                let (talk, running) = *pipes;
                // Closes its stdin, at which servers end.
                drop(talk);
                Some(running.end().await)
            }
            Way::Http(talk) => {
                talk.end().await;
                None
            }
        }
    }
}

fn not_called(error: ProbeError) -> Called {
    match error {
        ProbeError::Refused { error, .. } => Called::Error(error),
        ProbeError::Silent { .. } => Called::Silent,
        other => Called::Gone(Some(other.to_string())),
    }
}
