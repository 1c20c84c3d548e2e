//! `nochmal rehearse`: a suite with the real agents, and a script in place of every model.

use super::out::print;
use super::run::interrupts;
use super::suites::{load_all, runtime, this_program};
use super::{Failure, exit};
use crate::harness::script::Script;
use crate::progress::{RunEvent, View};
use crate::runner::load::Loaded;
use crate::runner::matrix::{self, MatrixError, Target};
use crate::runner::options::Options;
use crate::runner::rehearsal::{Rehearsal, patience};
use crate::suite::{Filter, units};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Arguments of `nochmal rehearse`.
#[derive(Debug, clap::Args)]
pub struct RehearseArgs {
    /// Suite files
    #[arg(required = true)]
    suites: Vec<PathBuf>,
    /// The script that stands in for every model: careful, naive, obedient and others; a model
    /// of the suite that is itself the name of a script stays
    #[arg(long, value_name = "NAME", default_value = "obedient", value_parser = script)]
    script: Named,
    /// Runs of every cell
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(crate::suite::MAX_REPEATS)))]
    repeats: u32,
    /// Only cells with these values, e.g. 'agent=codex' or 'patch!=off,scenario=F1|F2'; all given must hold
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,
    /// About the programs' MCP clients alone: of every agent one run, in which the answer to its first write is held
    /// back for TIME at most. How long does it wait, and what does it send again by itself?
    #[arg(long, value_name = "TIME", value_parser = units::duration, conflicts_with = "repeats")]
    probe_client: Option<Duration>,
    /// Results folder of one suite; default: reports/<suite>/rehearsal-<time>-<id>
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What was found as JSON, in place of text
    #[arg(long)]
    json: bool,
}

/// A script with the name that it was asked for by.
#[derive(Debug, Clone)]
struct Named(String, Script);

fn script(text: &str) -> Result<Named, String> {
    Ok(Named(text.to_owned(), super::model::script(text)?))
}

/// Rehearses every suite, one after the other; 1 where something has to be mended.
pub fn run(args: RehearseArgs) -> Result<u8, Failure> {
    let loaded = load_all(&args.suites, args.out.as_deref())?;
    let (program, runtime) = (this_program()?, runtime()?);
    let code = runtime.block_on(async {
        let cancel = CancellationToken::new();
        tokio::spawn(interrupts(cancel.clone()));
        let mut code = exit::OK;
        for suite in loaded {
            code = code.max(one(suite, &args, &program, &cancel).await?);
            if cancel.is_cancelled() {
                break;
            }
        }
        Ok(code)
    });
    runtime.shutdown_background();
    code
}

async fn one(
    mut loaded: Loaded,
    args: &RehearseArgs,
    program: &Path,
    cancel: &CancellationToken,
) -> Result<u8, Failure> {
    let mut filters = args.filter.clone();
    if let Some(longest) = args.probe_client {
        let filter = Filter::parse_all(&filters, &loaded.suite).map_err(Failure::input)?;
        let kept = loaded.suite.cells.iter().filter(|cell| filter.keeps(&cell.key)).cloned();
        let cells: Vec<_> = kept.collect();
        filters.clear();
        patience::probe(&mut loaded.suite, &cells, longest);
    }
    let Named(name, script) = &args.script;
    let rehearsal = Rehearsal::start(name, script.clone(), loaded.suite.seed).await.map_err(|error| {
        Failure::said(exit::FAILED, format!("the scripted models cannot be served: {error}"))
    })?;
    let options = Options {
        out: args.out.clone(),
        repeats: Some(args.repeats),
        filters,
        rehearsal: Some(rehearsal.clone()),
        ..Options::default()
    };
    let reader = loaded.suite.reader.as_ref().map(|reader| reader.model.clone());
    let mut view = View::new();
    let mut show = |event: RunEvent| view.show(&event);
    let outcome = matrix::run(loaded, program, &options, Target::New, &mut show, cancel).await;
    rehearsal.end();
    let outcome = outcome.map_err(|error| match error {
        MatrixError::Watchdog(_) | MatrixError::Report(_) => Failure::internal(error),
        error => Failure::input(error),
    })?;
    let told = rehearsal.told();
    if args.json {
        print(&String::from_utf8_lossy(&told.json()))?;
    } else {
        print(&told.text())?;
        if let Some(model) = reader {
            print(&format!(
                "\nThe second reader, {model}, was not asked; `nochmal doctor` tells whether it can be.\n"
            ))?;
        }
        print(&format!("\nTraces and the rest: {}\n", outcome.folder.display()))?;
    }
    if outcome.interrupted {
        return Ok(exit::INTERRUPTED);
    }
    Ok(if told.is_clean() { exit::OK } else { exit::FAILED })
}
