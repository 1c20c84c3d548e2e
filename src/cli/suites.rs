//! What every command needs that runs suites.

use super::{Failure, exit};
use crate::runner::load::{Loaded, load};
use std::path::{Path, PathBuf};

/// Loads every suite; the mistakes of all of them are told before anything is launched.
pub(super) fn load_all(suites: &[PathBuf], out: Option<&Path>) -> Result<Vec<Loaded>, Failure> {
    if suites.len() > 1 && out.is_some() {
        return Err(Failure::said(
            exit::BAD_INPUT,
            "--out takes the results of one suite; give one suite, or no --out",
        ));
    }
    let mut loaded = Vec::new();
    let mut mistakes = Vec::new();
    for suite in suites {
        match load(suite) {
            Ok(suite) => loaded.push(suite),
            Err(error) => mistakes.push(super::chain(&error)),
        }
    }
    if mistakes.is_empty() { Ok(loaded) } else { Err(Failure::said(exit::BAD_INPUT, mistakes.join("\n"))) }
}

/// The path of this program, which agents start as their MCP server.
pub(super) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::said(
            exit::FAILED,
            format!("the path of this program cannot be found, which agents need: {error}"),
        )
    })
}

/// The runtime that runs are carried out on.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::said(exit::FAILED, format!("the runtime could not be started: {error}")))
}
