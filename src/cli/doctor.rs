//! `nochmal doctor`: what is there, and what is missing before a suite can run.

use super::out::print;
use super::run::width;
use super::{Failure, exit};
use crate::runner::doctor::{diagnosis, examine, told};
use crate::runner::load::load;
use std::path::{Path, PathBuf};

/// Arguments of `nochmal doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Suite files; without them every agent of `agents/` is looked at, and nothing is needed
    suites: Vec<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Looks around; 1 where something that the suites need is missing.
pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let mut suites = Vec::new();
    let mut mistakes = Vec::new();
    for suite in &args.suites {
        match load(suite) {
            Ok(suite) => suites.push(suite),
            Err(error) => mistakes.push(super::chain(&error)),
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::said(exit::BAD_INPUT, mistakes.join("\n")));
    }
    let program = std::env::current_exe().map_err(Failure::internal)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::internal)?;
    let facts = runtime.block_on(examine(&suites, Path::new("."), &program)).map_err(Failure::internal)?;
    runtime.shutdown_background();
    let diagnosis = diagnosis::diagnose(&facts);
    if args.json {
        print(&told::json(&facts, &diagnosis))?;
    } else {
        print(&told::text(&facts, &diagnosis, width()))?;
    }
    Ok(if diagnosis.missing.is_empty() { exit::OK } else { exit::FAILED })
}
