//! The command line: clap types, one file per subcommand.

use std::process::ExitCode;

/// Reads the arguments, does what they say, and gives the exit code.
pub fn main() -> ExitCode {
    ExitCode::from(2)
}
