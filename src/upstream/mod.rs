//! Reaching an upstream: launching a server's process and ending it whatever happens, speaking to
//! one over HTTP, and the servers that are built in.

pub mod builtin;
mod launch;
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
