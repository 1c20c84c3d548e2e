//! The binary: calls the library and exits with its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    nochmal::cli::main()
}
