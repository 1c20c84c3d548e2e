//! `nochmal trace`: whether traces are as they were written, and one as a timeline.

use super::out::print;
use super::run::width;
use super::{Failure, exit};
use crate::judge::judge;
use crate::report::{approvals_text, counted, timeline_of, timeline_text};
use crate::store::{TraceCheck, TraceState, check_trace, check_tries, read_runs, stray_traces};
use crate::trace::{Event, Started, read_sound, verify};
use std::path::{Path, PathBuf};

/// What `nochmal trace` does.
#[derive(Debug, clap::Subcommand)]
pub enum TraceCommand {
    /// Check traces; exit code 1 where one is not whole or not what was written
    Verify(VerifyArgs),
    /// Print a trace as a timeline: who did what when, and what was seen by whom
    Show(ShowArgs),
}

/// Arguments of `nochmal trace verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Traces, or results folders, whose runs.jsonl holds the end of every chain
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// The end that the chain of the one FILE must have, as it was kept elsewhere
    #[arg(long, value_name = "SHA256")]
    end: Option<String>,
    /// Print what is wrong only
    #[arg(long, short)]
    quiet: bool,
}

/// Arguments of `nochmal trace show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// A trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Checks or shows.
pub fn run(command: &TraceCommand) -> Result<u8, Failure> {
    match command {
        TraceCommand::Verify(args) => verified(args),
        TraceCommand::Show(args) => show(args),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::said(exit::BAD_INPUT, format!("cannot read `{}`: {error}", path.display())))
}

fn verified(args: &VerifyArgs) -> Result<u8, Failure> {
    if args.end.is_some() && (args.paths.len() > 1 || args.paths[0].is_dir()) {
        return Err(Failure::said(exit::BAD_INPUT, "--end is the end of one trace; give one FILE"));
    }
    let mut sound = true;
    for path in &args.paths {
        sound &= if path.is_dir() { folder(path, args.quiet)? } else { file(path, args)? };
    }
    Ok(if sound { exit::OK } else { exit::FAILED })
}

fn file(path: &Path, args: &VerifyArgs) -> Result<bool, Failure> {
    let bytes = read(path)?;
    let end = args.end.as_ref().map(|end| end.to_ascii_lowercase());
    match verify(&bytes, end.as_deref()) {
        Ok(digest) => {
            if !args.quiet {
                let kept = if end.is_some() { "as it was kept" } else { "compare it with one that was kept" };
                print(&format!("whole       {}  end {digest} ({kept})\n", path.display()))?;
            }
            Ok(true)
        }
        Err(error) => {
            let word = if error.is_unfinished() { "UNFINISHED" } else { "CHANGED" };
            print(&format!("{word:<10}  {}: {error}\n", path.display()))?;
            Ok(false)
        }
    }
}

fn folder(path: &Path, quiet: bool) -> Result<bool, Failure> {
    let runs = read_runs(path).map_err(Failure::input)?;
    let mut whole = 0_usize;
    let mut sound = true;
    let of = |run| check_trace(path, run).into_iter().chain(check_tries(path, run));
    let checks = runs.iter().flat_map(of).chain(stray_traces(path, &runs));
    for check in checks {
        match check.state.problem() {
            None => whole += 1,
            Some(problem) => {
                sound = false;
                print(&format!("{:<10}  {}: {problem}\n", word(&check), path.join(&check.name).display()))?;
            }
        }
    }
    if !quiet {
        let untraced = runs.iter().filter(|run| run.trace.is_none()).count();
        let without = if untraced > 0 {
            format!("; {}", counted(untraced as u64, "run has no trace", "runs have no trace"))
        } else {
            String::new()
        };
        print(&format!(
            "{}: {} as runs.jsonl says{without}\n",
            path.display(),
            counted(whole as u64, "trace is whole and ends", "traces are whole and end")
        ))?;
    }
    Ok(sound)
}

fn word(check: &TraceCheck) -> &'static str {
    match &check.state {
        TraceState::Whole { .. } => "whole",
        TraceState::NotKept { .. } | TraceState::NotSealed(_) => "NOT KEPT",
        TraceState::Missing | TraceState::NotNamed(_) => "MISSING",
        TraceState::Unreadable(_) => "UNREADABLE",
        TraceState::LeftBehind(_) => "UNFINISHED",
        TraceState::Wrong(error) if error.is_unfinished() => "CUT",
        TraceState::Wrong(_)
        | TraceState::OfAnother(_)
        | TraceState::Differs(_)
        | TraceState::Contradicts { .. } => "CHANGED",
    }
}

fn show(args: &ShowArgs) -> Result<u8, Failure> {
    let (records, end) = read_sound(&read(&args.file)?);
    if let Some(Event::Started(started)) = records.first().map(|record| &record.event) {
        print(&head(started))?;
    }
    print(&timeline_text(&timeline_of(&records, usize::MAX), width()))?;
    let approvals = approvals_text(&judge(&records).approvals);
    if !approvals.is_empty() {
        print(&format!("\n{approvals}"))?;
    }
    match end {
        Ok(digest) => {
            print(&format!("\nwhole, end {digest}\n"))?;
            Ok(exit::OK)
        }
        Err(error) => Err(Failure::said(
            exit::FAILED,
            format!("`{}` is shown up to what is wrong with it: {error}", args.file.display()),
        )),
    }
}

fn head(started: &Started) -> String {
    let run = started.run_id.as_ref().map(|run| format!("run {run}, ")).unwrap_or_default();
    let scenario = match (&started.scenario, started.error_rate) {
        (Some(scenario), _) => format!("scenario {scenario}"),
        (None, Some(rate)) => format!("chaos at {rate}"),
        (None, None) => "no scenario".to_owned(),
    };
    format!("{run}{scenario}, started {}, nochmal {}\n\n", started.started_at, started.harness_version)
}
