//! Reaching an upstream: launching a server's process and ending it whatever happens, and the
//! servers that are built in.

mod launch;

pub use launch::{Ended, Launch, LaunchError, Running, launch};
