//! The command line: clap types, one file per subcommand.

pub mod agent;
pub mod model;
pub mod upstream;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the built-in agent alone
    Agent(agent::AgentArgs),
    /// Offer the scripted models over HTTP, as an OpenAI-compatible endpoint
    Model(model::ModelArgs),
    /// Run a built-in upstream alone, on stdin and stdout
    #[command(subcommand)]
    Upstream(upstream::UpstreamArgs),
}

/// Reads the arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Agent(args) => agent::run(&args).map_err(|error| (error.exit_code(), error.to_string())),
        Command::Model(args) => model::run(&args).map_err(|error| (error.exit_code(), error.to_string())),
        Command::Upstream(args) => upstream::run(&args).map_err(|error| (1, error.to_string())),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err((code, message)) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(code)
        }
    }
}
