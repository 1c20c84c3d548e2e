//! `nochmal benchmark`: the self-test.

use super::{Failure, exit};
use crate::proxy::rehearsal::benchmark::{Plan, SCENARIOS, play};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `nochmal benchmark`.
#[derive(Debug, Args)]
pub struct BenchmarkArgs {
    /// Scenarios to play, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',', value_parser = scenario, action = clap::ArgAction::Set, default_value = "F1,F2,F3,F4,F5")]
    scenarios: Vec<String>,
    /// How often each is played
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    /// The simulated backend takes up to so many milliseconds for a call (in virtual time)
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000))]
    jitter: u64,
    /// Where the result goes
    #[arg(long, value_name = "FILE", default_value = ".nochmal/benchmark-report.json")]
    output: PathBuf,
}

fn scenario(text: &str) -> Result<String, String> {
    let known = SCENARIOS.map(|(id, _)| id);
    if known.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("one of {} is wanted", known.join(", ")))
    }
}

/// Plays both reference agents; OK where both were judged as they deserve.
pub fn run(args: BenchmarkArgs) -> Result<u8, Failure> {
    let jitter = Duration::from_millis(args.jitter);
    let outcome = play(&Plan { scenarios: args.scenarios, runs: args.runs, jitter });
    let path = args.output;
    let unwritten = |error: std::io::Error| {
        Failure::said(exit::FAILED, format!("`{}` could not be written: {error}", path.display()))
    };
    let mut bytes = serde_json::to_vec_pretty(&outcome).map_err(Failure::internal)?;
    bytes.push(b'\n');
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(unwritten)?;
    }
    std::fs::write(&path, bytes).map_err(unwritten)?;
    super::out::print(&format!("{}\nThe whole result is in {}.\n", outcome.table(), path.display()))?;
    Ok(if outcome.is_as_expected() { exit::OK } else { exit::FAILED })
}
