//! Launching agents: real programs, each driven over its own command line, and ended with all
//! that they started.
//!
//! [`converse`] holds one conversation: the prompt, the reply, each further turn in the same
//! session. What an agent program is comes in as a [`Program`], whatever file described it.
//!
//! Invariants: no agent inherits an environment; no key that it is passed stands in what is told; no file is written outside of the run's folder;
//! whatever happens to a conversation, a dropped future included, no process of it stays alive.

mod conversation;
mod launch;
mod outcome;
pub mod output;
mod probe;
mod session;

pub use conversation::converse;
pub use launch::{First, Launch, LaunchError, Limits, Program, Render, Step, Turn, Vars, When};
pub use outcome::{AgentOutcome, Ended, Observed, Observer};
pub use probe::{ProbeError, probe};
