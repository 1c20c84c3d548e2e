//! Reaching an upstream: launching a server's process and ending it whatever happens, speaking to
//! one over HTTP, and the servers that are built in.

pub mod builtin;
pub mod canary;
mod launch;
pub mod oracle;
mod probe;
pub mod remote;
mod session;

pub(crate) use launch::stderr_part;
pub use launch::{Ended, Launch, LaunchError, Running, environment, launch};
pub use probe::{ProbeError, list_tools};
pub use remote::{Remote, RemoteError};
pub use session::{Called, Session};

/// Where an upstream is.
#[derive(Debug, Clone)]
pub enum Target {
    /// A process that speaks over stdio.
    Command(Launch),
    /// A server that speaks Streamable HTTP.
    Url(Remote),
}

/// Where the processes of a run come from.
#[derive(Debug, Clone)]
pub struct Source {
    /// What is started first.
    pub target: Target,
    /// What is started once the upstream was rebuilt; the same where absent.
    pub rebuilt: Option<Target>,
    /// What the server is called by whoever configured it.
    pub label: String,
}

impl<T: Into<Target>> From<T> for Source {
    fn from(target: T) -> Source {
        Source { target: target.into(), rebuilt: None, label: "upstream".to_owned() }
    }
}

impl From<Launch> for Target {
    fn from(launch: Launch) -> Target {
        Target::Command(launch)
    }
}

impl From<Remote> for Target {
    fn from(remote: Remote) -> Target {
        Target::Url(remote)
    }
}
