//! `nochmal report`: the reports again, from stored results.

use super::out::{print, print_bytes};
use super::run::{level, width};
use super::{Failure, exit};
use crate::domain::Axis;
use crate::report::{GateResult, Options, Results, View, formats, render_template, terminal_text, written};
use crate::runner::stored::{self, Stored};
use crate::stats::Level;
use crate::store::write_file;
use crate::suite::{Gate, Scope};
use std::path::{Path, PathBuf};

/// Arguments of `nochmal report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Results folders; several are merged as if they were one matrix with more repeats
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The format that is printed, or written with --out; default: terminal, with --out all files
    #[arg(long, value_name = "NAME", value_parser = format_name)]
    format: Option<String>,
    /// A minijinja template over the summary, in place of a format
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    template: Option<PathBuf>,
    /// Write files into this folder and print the table for the terminal
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A condition on the results beside those that are stored with them
    #[arg(long, value_name = "GATE")]
    gate: Vec<String>,
    /// Confidence level of the intervals; default: that of the first folder
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<Level>,
    /// CSV with a byte order mark, for Excel
    #[arg(long)]
    excel: bool,
}

const TERMINAL: &str = "terminal";

fn format_name(text: &str) -> Result<String, String> {
    let mut names: Vec<&str> = formats().iter().map(|format| format.name).collect();
    names.push(TERMINAL);
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(crate::suite::diagnostics::suggestion(text, &names)),
    }
}

#[expect(clippy::disallowed_methods, reason = "a report says when it was made")]
pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a results folder.
pub(super) fn read(folder: &Path) -> Result<Stored, Failure> {
    stored::read(folder).map_err(Failure::input)
}

/// The results of a measurement; a rehearsal with scripted models is none, and is compared with nothing.
pub(super) fn measured(stored: Stored) -> Result<Stored, Failure> {
    if stored.matrix.rehearsal.is_none() {
        return Ok(stored);
    }
    let message = format!(
        "`{}` holds a rehearsal with scripted models: nothing in it can be compared or merged with anything",
        stored.name
    );
    Err(Failure::said(exit::BAD_INPUT, message))
}

/// Of several folders, those that hold a measurement; the others are left out, with a word.
fn measurements(folders: Vec<Stored>) -> Result<Vec<Stored>, Failure> {
    let mut kept = Vec::new();
    for folder in folders {
        let what = match (&folder.matrix.rehearsal, &folder.matrix.replay) {
            (Some(_), _) => "a rehearsal with scripted models",
            (None, Some(_)) => "a replay, whose answers count where they were recorded",
            (None, None) => {
                kept.push(folder);
                continue;
            }
        };
        let name = &folder.name;
        let said =
            format!("`{name}` is left out: it holds {what}; `nochmal report {name}` shows it by itself");
        say_line(&said);
    }
    if kept.is_empty() {
        let message = "none of the folders holds a measurement, and what is none is merged with nothing; give one folder";
        return Err(Failure::said(exit::BAD_INPUT, message));
    }
    if let Some(same) = stored::same_runs(&kept) {
        let [one, two] = same.folders;
        let message = format!(
            "`{one}` and `{two}` hold the same {}, such as {}: they would count twice; give one of the two only",
            match same.runs {
                1 => "run".to_owned(),
                runs => format!("{runs} runs"),
            },
            same.example
        );
        return Err(Failure::said(exit::BAD_INPUT, message));
    }
    Ok(kept)
}

/// Gates of the command line, over the values that the cells of the results have.
pub(super) fn gates(texts: &[String], scope: Scope, results: &[&Results]) -> Result<Vec<Gate>, Failure> {
    let values = |axis: Axis| {
        let keys = results.iter().flat_map(|results| {
            let planned = results.cells.iter().map(|cell| &cell.key);
            planned.chain(results.runs.iter().map(|run| &run.key))
        });
        let mut values: Vec<String> = keys.map(|key| key.get(axis).to_owned()).collect();
        values.sort();
        values.dedup();
        values
    };
    texts.iter().map(|text| Gate::parse(text, scope, &values).map_err(Failure::input)).collect()
}

/// Makes the reports.
pub fn run(args: &ReportArgs) -> Result<u8, Failure> {
    let mut folders = args.folders.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    if folders.len() > 1 {
        folders = measurements(folders)?;
    }
    let stored_level = folders.first().and_then(|folder| Level::new(folder.plan.level).ok());
    let options =
        Options { level: args.level.or(stored_level).unwrap_or_default(), excel: args.excel, width: width() };
    let Some(mut results) = stored::merged(&folders, now()) else {
        return Err(Failure::said(exit::BAD_INPUT, "no results folder is given"));
    };
    let more = gates(&args.gate, Scope::One, &[&results])?;
    results.gates.extend(more);
    let drawn = args.template.is_none()
        && args.format.as_deref().map_or(args.out.is_some(), |format| format == "html");
    // The traces of merged results are named with their folder.
    let folder = match (&args.folders[..], &folders[..]) {
        ([only], _) => only.as_path(),
        (_, [only]) => Path::new(&only.name),
        _ => Path::new(""),
    };
    results.broken_traces = stored::broken_traces(folder, &results.runs);
    if drawn {
        results.timelines = stored::read_timelines(folder, &results.runs);
    }
    let view = View::of(&results, &options);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    if let Some(template) = &args.template {
        let text = std::fs::read_to_string(template).map_err(|error| {
            Failure::said(
                exit::BAD_INPUT,
                format!("cannot read the template `{}`: {error}", template.display()),
            )
        })?;
        let rendered = render_template(&text, &template.to_string_lossy(), &view).map_err(Failure::input)?;
        let name = template.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let made = written(&name).to_owned();
        if args.out.as_deref().is_some_and(|out| same(&out.join(&made), template)) {
            let message = "the template would be overwritten by what it makes; give another --out, or end its name in .j2";
            return Err(Failure::said(exit::BAD_INPUT, message));
        }
        files.push((made, rendered.into_bytes()));
    } else {
        let chosen = |name: &str| args.format.as_deref().map_or(args.out.is_some(), |format| format == name);
        for format in formats().iter().filter(|format| chosen(format.name)) {
            let bytes = (format.render)(&view, &options).map_err(Failure::internal)?;
            files.push((format.file_name.to_owned(), bytes));
        }
        if args.format.as_deref() == Some(TERMINAL) {
            files.push(("report.txt".to_owned(), terminal_text(&view, &options).into_bytes()));
        }
    }
    match &args.out {
        Some(out) => {
            for (name, bytes) in &files {
                write_file(out, name, bytes).map_err(Failure::input)?;
            }
            print(&terminal_text(&view, &options))?;
            print(&format!("\nReports: {}\n", out.display()))?;
        }
        None if files.is_empty() => print(&terminal_text(&view, &options))?,
        None => {
            for (_, bytes) in &files {
                print_bytes(bytes)?;
            }
            tell(&view.gates);
        }
    }
    Ok(exit::of_gates(&view.gates, view.totals.tested() > 0))
}

fn same(one: &Path, two: &Path) -> bool {
    one.canonicalize().ok().zip(two.canonicalize().ok()).is_some_and(|(one, two)| one == two)
}

/// Gates that do not hold, where stdout belongs to a format.
pub(super) fn tell(gates: &[GateResult]) {
    for gate in gates.iter().filter(|gate| gate.state != crate::report::GateState::Held) {
        let line = format!("{}: {}. {}", gate.state.title(), gate.gate, gate.sentence);
        say_line(&line);
    }
}

/// Says on stderr what may hold names that others gave.
fn say_line(text: &str) {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    crate::log::say(&format!("{line}\n"));
}
