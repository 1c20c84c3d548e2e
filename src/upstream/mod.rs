//! Reaching an upstream: launching a server's process and ending it whatever happens, and the
//! servers that are built in.

pub mod builtin;
mod launch;
mod probe;

pub use launch::{Ended, Launch, LaunchError, Running, launch};
pub use probe::{ProbeError, list_tools};
