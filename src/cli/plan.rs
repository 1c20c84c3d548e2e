//! `nochmal plan`: what a suite would run, what its repeats can tell apart, and what it would take.

use super::out::print;
use super::run::level;
use super::{Failure, exit};
use crate::report::planning::{self, Planned};
use crate::runner::load::load;
use crate::runner::stored;
use crate::stats::Level;
use crate::suite::{Filter, MAX_REPEATS, plan};
use std::path::PathBuf;

/// Arguments of `nochmal plan`.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The suite
    suite: PathBuf,
    /// Only cells with these values, as for `run`
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,
    /// Runs of every cell, in place of what the suite says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEATS)))]
    repeats: Option<u32>,
    /// Results folder that time, tokens and cost are estimated from
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Confidence level of the intervals; effects are shown at 1 − LEVEL
    #[arg(long, value_name = "LEVEL", default_value = "0.95", value_parser = level)]
    level: Level,
}

/// Prints the plan.
pub fn run(args: &PlanArgs) -> Result<u8, Failure> {
    let loaded = load(&args.suite).map_err(Failure::input)?;
    let suite = &loaded.suite;
    let filter = Filter::parse_all(&args.filter, suite).map_err(Failure::input)?;
    let trials = suite.trials(&filter, args.repeats);
    let cells: Vec<_> = suite.cells.iter().filter(|cell| filter.keeps(&cell.key)).cloned().collect();
    let earlier = match &args.from {
        Some(folder) => Some(stored::read(folder).map_err(Failure::input)?),
        None => None,
    };
    let limit = |cell: &std::sync::Arc<crate::suite::Cell>| {
        let provider = suite.limited_provider(&cell.key)?;
        Some((provider, *suite.limits.per_provider.get(provider)?))
    };
    let providers: Vec<_> = cells.iter().map(limit).collect();
    let planned = Planned {
        cells: &cells,
        repeats: args.repeats.unwrap_or(suite.repeats),
        stopping: if args.repeats.is_some() { None } else { suite.stopping },
        gates: &suite.gates,
        parallel: suite.limits.parallel,
        per_model: suite.limits.per_model,
        providers: &providers,
        level: args.level,
    };
    print(&plan::render(suite, &trials))?;
    print(&format!("\n{}", planning::text(&planned)))?;
    if let Some(earlier) = earlier {
        print(&format!("\n{}", planning::estimate(&planned, &earlier.name, &earlier.runs)))?;
    }
    Ok(exit::OK)
}
