//! The built-in agent: a model, a history, tools, and a loop over them.
//!
//! Each part can be exchanged for another. [`message`] are the vendor-neutral words, [`history`] is
//! the rule that they follow and a [`conversation`] grows by, [`context`] what of them is sent; a [`model::Model`] answers them,
//! [`provider`] opens one by name; [`tools::Tools`] carries out what a model asks for, [`mcp`] does
//! so over MCP; [`turn`] is the loop, [`watch`] what it tells while it goes on, [`journal`] what is
//! kept of it so that it survives a crash. [`script`] are models that need no network, [`endpoint`]
//! offers them to other agents over HTTP.
//!
//! Invariant: nothing here sends a tool call again. A call that failed or timed out goes back
//! to the model as a result, and only the model can ask for another.

mod calls;
mod compact;
pub mod context;
pub mod conversation;
pub mod endpoint;
pub mod history;
pub mod journal;
pub mod mcp;
pub mod message;
pub mod model;
pub mod new_file;
pub mod provider;
pub mod recording;
pub mod remote;
pub mod reply;
pub mod script;
pub mod session;
pub mod spans;
pub mod state;
pub mod tools;
pub mod turn;
pub mod watch;

#[cfg(test)]
mod tests;
