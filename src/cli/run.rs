//! `nochmal run`: the main job.

use super::out::print;
use super::suites::{load_all, runtime, this_program};
use super::{Failure, exit};
use crate::progress::{RunEvent, View};
use crate::runner::load::{LoadError, Loaded, load};
use crate::runner::matrix::{self, MatrixError, Target};
use crate::runner::options::Options;
use crate::runner::recordings::{self, Recordings};
use crate::stats::Level;
use crate::store::{Folder, read_matrix};
use crate::suite::{Filter, plan};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Arguments of `nochmal run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Suite files; with --resume the suite is taken from the results folder
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    suites: Vec<PathBuf>,
    /// Go on with an interrupted matrix; no finished run is repeated
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Only cells with these values, e.g. 'model=gemma4' or 'patch!=off,model=a|b'; all given must hold
    #[arg(long, value_name = "FILTER", conflicts_with = "resume")]
    filter: Vec<String>,
    /// Runs of every cell, in place of what the suite says
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=i64::from(crate::suite::MAX_REPEATS)))]
    repeats: Option<u32>,
    /// Results folder; default: reports/<suite>/<time>-<id>
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// A condition on the results beside those of the suite, e.g. 'where patch=GHOST_WRITE fail_rate upper 0.3';
    /// the exit code is 1 where one fails, and 3 where nothing was tested that it is about
    #[arg(long, value_name = "GATE")]
    gate: Vec<String>,
    /// Show cells and runs, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep every model's answers in this folder, a file for each run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "replay"])]
    record: Option<PathBuf>,
    /// Answer from a folder of recordings: no model is asked, it costs nothing, and every difference in
    /// prompts and calls is told; the exit code is 1 where there is one
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    replay: Option<PathBuf>,
    /// Confidence level of the intervals; default: 0.95
    #[arg(long, value_name = "LEVEL", conflicts_with = "resume", value_parser = level)]
    level: Option<Level>,
}

pub(super) fn level(text: &str) -> Result<Level, String> {
    let level = text.parse().ok().and_then(|level| Level::new(level).ok());
    level.ok_or_else(|| "a number between 0 and 1, such as 0.95".to_owned())
}

/// Columns of the terminal that the table goes to.
pub(super) fn width() -> Option<u16> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| size.ws_col);
    #[cfg(not(unix))]
    let columns: Option<u16> = None;
    columns.filter(|columns| *columns > 0)
}

/// Runs every suite, one after the other.
pub fn run(args: RunArgs) -> Result<u8, Failure> {
    let options = Options {
        out: args.out.clone(),
        repeats: args.repeats,
        filters: args.filter.clone(),
        gates: args.gate.clone(),
        level: args.level.unwrap_or_default(),
        width: width(),
        rehearsal: None,
        recordings: recordings(args.record.as_deref(), args.replay.as_deref())?,
    };
    if let Some(folder) = args.record.as_ref().filter(|folder| recordings::any_in(folder)) {
        let what = format!("`{}` holds recordings already; choose another folder", folder.display());
        return Err(Failure::said(exit::BAD_INPUT, what));
    }
    if let Some(folder) = &args.resume {
        let stored = read_matrix(folder).map_err(Failure::input)?;
        let loaded = load(&stored.suite_file).map_err(|error| {
            let folder = folder.display();
            let gone = format!("`{folder}` cannot go on without the suite that it was started from");
            let what = super::chain(&error);
            Failure::said(
                exit::BAD_INPUT,
                match error {
                    LoadError::Read { .. } => format!("{gone}; put it back to where it was: {what}"),
                    LoadError::Suite(_) | LoadError::Script { .. } => what,
                },
            )
        })?;
        let options = Options {
            recordings: recordings(stored.record.as_deref(), stored.replay.as_deref())?,
            repeats: stored.repeats,
            filters: stored.filters,
            gates: [stored.gates, args.gate].concat(),
            level: stored.level.and_then(|level| Level::new(level).ok()).unwrap_or_default(),
            ..options
        };
        if args.dry_run {
            return dry_run(&loaded, &options);
        }
        let resumed = Box::new(Folder::resume(folder).map_err(Failure::input)?);
        return carry_out(vec![(loaded, Target::Resumed(resumed))], &options);
    }
    let loaded = load_all(&args.suites, args.out.as_deref())?;
    if args.dry_run {
        for suite in &loaded {
            dry_run(suite, &options)?;
        }
        return Ok(exit::OK);
    }
    carry_out(loaded.into_iter().map(|suite| (suite, Target::New)).collect(), &options)
}

/// Agents run in folders of their own: what they are told of files must not depend on where they are.
fn recordings(record: Option<&Path>, replay: Option<&Path>) -> Result<Option<Recordings>, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| Failure::said(exit::BAD_INPUT, error.to_string()))
    };
    match (record, replay) {
        (Some(folder), _) => Ok(Some(Recordings::Record(absolute(folder)?))),
        (None, Some(folder)) if !folder.is_dir() => {
            let what = format!(
                "`{}` is no folder of recordings; `nochmal run --record` makes one",
                folder.display()
            );
            Err(Failure::said(exit::BAD_INPUT, what))
        }
        (None, Some(folder)) if !recordings::any_in(folder) => {
            let what =
                format!("`{}` holds no recording; `nochmal run --record` makes them", folder.display());
            Err(Failure::said(exit::BAD_INPUT, what))
        }
        (None, Some(folder)) => Ok(Some(Recordings::Replay(absolute(folder)?))),
        (None, None) => Ok(None),
    }
}

fn dry_run(loaded: &Loaded, options: &Options) -> Result<u8, Failure> {
    let filter = Filter::parse_all(&options.filters, &loaded.suite).map_err(Failure::input)?;
    let trials = loaded.suite.trials(&filter, options.repeats);
    if trials.is_empty() {
        return Err(Failure::input(MatrixError::NothingLeft));
    }
    matrix::all_gates(loaded, options).map_err(Failure::input)?;
    print(&plan::render(&loaded.suite, &trials))?;
    Ok(exit::OK)
}

fn carry_out(suites: Vec<(Loaded, Target)>, options: &Options) -> Result<u8, Failure> {
    let (program, runtime) = (this_program()?, runtime()?);
    let code = runtime.block_on(async {
        let cancel = CancellationToken::new();
        tokio::spawn(interrupts(cancel.clone()));
        let mut code = exit::OK;
        for (loaded, target) in suites {
            code = exit::worse(code, one(loaded, target, &program, options, &cancel).await?);
            if cancel.is_cancelled() {
                break;
            }
        }
        Ok(code)
    });
    // A reader that still waits for a terminal or a pipe must not hold the program.
    runtime.shutdown_background();
    code
}

async fn one(
    loaded: Loaded,
    target: Target,
    program: &Path,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<u8, Failure> {
    let mut view = View::new();
    let mut show = |event: RunEvent| view.show(&event);
    let outcome = matrix::run(loaded, program, options, target, &mut show, cancel).await;
    let outcome = outcome.map_err(|error| match error {
        MatrixError::Filter(_)
        | MatrixError::Gate(_)
        | MatrixError::Secret(_)
        | MatrixError::Reader(_)
        | MatrixError::NothingLeft
        | MatrixError::NotRecordable { .. }
        | MatrixError::Changed { .. }
        | MatrixError::Rehearsed { .. }
        | MatrixError::Store(_) => Failure::input(error),
        MatrixError::Watchdog(_)
        | MatrixError::Report(_)
        | MatrixError::Trial(_)
        | MatrixError::BrokeOff { .. } => Failure::internal(error),
    })?;
    print(&outcome.table)?;
    let folder = outcome.folder.display();
    if outcome.interrupted {
        print(&format!(
            "\nInterrupted. Finished runs are kept; go on with\n  nochmal run --resume '{folder}'\n"
        ))?;
        return Ok(exit::INTERRUPTED);
    }
    let mut code = exit::OK;
    if let Some(from) = options.recordings.as_ref().and_then(Recordings::replayed) {
        let unusable = recordings::unusable(from, outcome.results.iter().map(|run| run.run_id.0.as_str()));
        let runs = outcome.results.iter().map(|run| (run.run_id.0.as_str(), run.agent.drift.as_slice()));
        let (told, failed) = recordings::told(runs, &unusable);
        print(&format!("\n{told}"))?;
        code = if failed { exit::FAILED } else { exit::OK };
    }
    print(&format!("\nResults: {folder}\n"))?;
    Ok(exit::worse(code, exit::of_gates(&outcome.gates, matrix::anything_tested(&outcome.results))))
}

/// The first ctrl-C (or SIGTERM, SIGHUP) ends the matrix cleanly; a second one at once, and the
/// watchdog ends what is left.
pub(super) async fn interrupts(cancel: CancellationToken) {
    loop {
        if !super::signals::signalled().await {
            return;
        }
        if cancel.is_cancelled() {
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        crate::log::say(
            "\nending the runs that are going on; finished runs are kept (again to stop at once)\n",
        );
        cancel.cancel();
    }
}
