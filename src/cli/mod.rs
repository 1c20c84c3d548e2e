//! The command line: clap types, one file per subcommand.

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
    /// Run a built-in upstream alone, on stdin and stdout
    #[command(subcommand)]
    Upstream(upstream::UpstreamArgs),
}

/// Reads the arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Upstream(args) => upstream::run(&args).map_err(|error| error.to_string()),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}
