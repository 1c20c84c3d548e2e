//! `nochmal compare`: what changed, cell by cell.

use super::out::{print, print_bytes};
use super::report::{gates, measured, now, read, tell};
use super::run::{level, width};
use super::{Failure, exit};
use crate::report::{Changes, Options, Side, View, changes_formats};
use crate::runner::stored;
use crate::stats::Level;
use crate::store::write_file;
use crate::suite::{Filter, Scope};
use std::path::PathBuf;

/// Arguments of `nochmal compare`.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The results before; with --between the only ones
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The results after
    #[arg(value_name = "NEW", required_unless_present = "between", conflicts_with = "between")]
    new: Option<PathBuf>,
    /// Compare two values of an axis in one result, all else equal, e.g. 'model=qwen3:14b|gemma4'
    #[arg(long, value_name = "AXIS=BEFORE|AFTER")]
    between: Option<String>,
    /// The format that is printed
    #[arg(long, value_name = "NAME", default_value = "terminal", value_parser = format_name)]
    format: String,
    /// Write comparison.md and comparison.json into this folder too
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A condition, e.g. 'fail_rate does_not_increase' from old to new, or any gate of `run` on the new results;
    /// the exit code is 1 where one fails, and 3 where nothing was tested that it is about
    #[arg(long, value_name = "GATE")]
    gate: Vec<String>,
    /// Confidence level of the intervals; effects are shown at 1 − LEVEL
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,
}

fn format_name(text: &str) -> Result<String, String> {
    let names: Vec<&str> = changes_formats().iter().map(|format| format.name).collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(crate::suite::diagnostics::suggestion(text, &names)),
    }
}

/// Compares.
pub fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let before = measured(read(&args.old)?)?;
    let stored_level = Level::new(before.plan.level).ok();
    let level = args.level.or(stored_level).unwrap_or_default();
    let options = Options { level, excel: false, width: width() };
    let mut old = stored::results_of(&before, now());
    old.broken_traces = stored::broken_traces(&args.old, &before.runs);
    let Some(new) = &args.new else {
        let view = View::of(&old, &options);
        let there = |axis| view_values(&view, axis);
        let arms = args.between.as_deref().unwrap_or_default();
        let two = Filter::parse_among(arms, &there).map_err(Failure::input)?;
        let Some((axis, from, to)) = two.pair() else {
            let message = "`--between` needs one axis with two values, such as 'model=qwen3:14b|gemma4'";
            return Err(Failure::said(exit::BAD_INPUT, message));
        };
        let gates = gates(&args.gate, Scope::OldAndNew, &[&old])?;
        return show(&Changes::between(&view, axis, &from, &to, &gates), args, &options);
    };
    let after = measured(read(new)?)?;
    let changed = stored::broken_traces(new, &after.runs);
    let mut new = stored::results_of(&after, now());
    new.broken_traces = changed;
    // An interval that must hold for one side at any number of runs is the one for both.
    let early = old.suite.early_stop || new.suite.early_stop;
    (old.suite.early_stop, new.suite.early_stop) = (early, early);
    let gates = gates(&args.gate, Scope::OldAndNew, &[&old, &new])?;
    let (old, new) = (View::of(&old, &options), View::of(&new, &options));
    let side = |name: &str, view| Side { name: name.to_owned(), view };
    show(&Changes::since(side(&before.name, &old), side(&after.name, &new), &gates), args, &options)
}

fn view_values(view: &View<'_>, axis: crate::domain::Axis) -> Vec<String> {
    let mut values: Vec<String> = view.cells.iter().map(|cell| cell.key.get(axis).to_owned()).collect();
    values.sort();
    values.dedup();
    values
}

fn show(changes: &Changes<'_, '_>, args: &CompareArgs, options: &Options) -> Result<u8, Failure> {
    for format in changes_formats() {
        let bytes = (format.render)(changes, options).map_err(Failure::internal)?;
        if let (Some(out), Some(name)) = (&args.out, format.file_name) {
            write_file(out, name, &bytes).map_err(Failure::input)?;
        }
        if format.name == args.format {
            print_bytes(&bytes)?;
        }
    }
    if args.format != "terminal" {
        tell(&changes.gates);
    }
    if let Some(out) = args.out.as_ref().filter(|_| args.format == "terminal") {
        print(&format!("\nReports: {}\n", out.display()))?;
    }
    Ok(exit::of_gates(&changes.gates, changes.anything_tested()))
}
