//! `cells.csv`: one row a cell.

use super::approvals::ApprovalsSummary;
use super::csv_text::{cell, number, table};
use super::{CellView, ConditionalTurns, Format, Options, ReportError, View};
use crate::domain::{Axis, Honesty, RunResult, Usage};
use crate::stats::percentile;

pub(super) const FORMAT: Format = Format {
    name: "cells-csv",
    file_name: "cells.csv",
    about: "one row a cell with its rate and interval",
    render,
};

fn render(view: &View<'_>, options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut header = vec!["cell_id"];
    header.extend(Axis::ALL.map(Axis::name));
    header.extend(["k", "n_tested", "n_not_tested", "n_error", "rate", "lo", "hi", "level", "method"]);
    header.extend(["lost", "right", "double", "unasked", "effects_unknown", "completed", "n_completion"]);
    header.extend(Honesty::ALL.map(Honesty::name));
    header.extend([
        "p50_s",
        "p95_s",
        "answers",
        "requests_retried",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
    ]);
    header.push("cost_usd");
    header.extend(["approvals_asked", "approvals_again", "approvals_reworded"]);
    header.extend(["turns_said", "turns_not_said", "turns_not_said_unclear"]);
    header.extend(READER);
    header.push("n_pass_no_fault");
    let rows = view.cells.iter().map(|cell| row(cell, view));
    table(header.into_iter().map(str::to_owned).collect(), rows, options)
}

fn row(seen: &CellView<'_>, view: &View<'_>) -> Vec<String> {
    let counts = seen.counts;
    let mut row = vec![cell(&seen.id.0)];
    row.extend(Axis::ALL.map(|axis| cell(seen.key.get(axis))));
    row.extend([
        number(seen.rate.map(|rate| rate.failed.k())),
        counts.tested().to_string(),
        counts.not_tested.to_string(),
        counts.error.to_string(),
        number(seen.rate.map(|rate| rate.failed.value())),
        number(seen.rate.map(|rate| rate.interval.lo)),
        number(seen.rate.map(|rate| rate.interval.hi)),
        view.level.value().to_string(),
        view.method.name().to_owned(),
    ]);
    let truth = &seen.truth;
    let counts = (truth.known > 0).then_some(truth.counts);
    row.extend([
        number(counts.map(|counts| counts.lost)),
        number(counts.map(|counts| counts.right)),
        number(counts.map(|counts| counts.double)),
        number(counts.map(|counts| counts.unasked)),
        truth.unknown.to_string(),
        number(truth.completed.map(|seen| seen.runs.k())),
        number(truth.completed.map(|seen| seen.runs.n())),
    ]);
    // Where nobody was told anything there is no number, and not the number 0.
    let told = (seen.told.runs() > 0).then_some(seen.told);
    row.extend(Honesty::ALL.map(|class| number(told.map(|told| told.count(class)))));
    row.extend(consumption(&seen.runs));
    let asked = ApprovalsSummary::of(seen);
    row.extend([
        number(asked.map(|asked| asked.asked)),
        number(asked.map(|asked| asked.again)),
        number(asked.map(|asked| asked.reworded)),
    ]);
    row.extend(conditions(seen));
    row.extend(reader(seen));
    row.push(seen.unstruck.to_string());
    row
}

/// How long the runs of a cell took, and what they consumed together, as far as their agents told.
fn consumption(runs: &[&RunResult]) -> [String; 8] {
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.duration_ms as f64 / 1e3).collect();
    seconds.sort_by(f64::total_cmp);
    let mut usage = Usage::default();
    runs.iter().for_each(|run| usage += run.usage);
    [
        number(percentile(&seconds, 50)),
        number(percentile(&seconds, 95)),
        number(usage.answers),
        number(usage.retries),
        number(usage.input_tokens),
        number(usage.cached_tokens),
        number(usage.output_tokens),
        number(usage.cost_usd),
    ]
}

/// The columns of the second reader: its classes as `reader_…`, and what it consumed, which is in no
/// other column.
const READER: [&str; 12] = [
    "reader_honest",
    "reader_false_failure",
    "reader_false_success",
    "reader_silent_double",
    "reader_unclear",
    "reader_no_answer",
    "reader_not_read",
    "reader_replies",
    "reader_differing",
    "reader_input_tokens",
    "reader_output_tokens",
    "reader_cost_usd",
];

fn reader(seen: &CellView<'_>) -> Vec<String> {
    let reader = (seen.reader.runs() > 0).then_some(&seen.reader);
    let usage = reader.map(|reader| reader.usage).unwrap_or_default();
    let mut row: Vec<String> =
        Honesty::ALL.map(|class| number(reader.map(|reader| reader.told.count(class)))).to_vec();
    row.extend([
        number(reader.map(|reader| reader.no_answer)),
        number(reader.map(|reader| reader.not_read)),
        number(reader.map(|reader| reader.replies)),
        number(reader.map(|reader| reader.differing)),
        number(usage.input_tokens),
        number(usage.output_tokens),
        number(usage.cost_usd),
    ]);
    row
}

/// How often turns with a condition were said and not said, and how often of these after an unclear reply.
fn conditions(seen: &CellView<'_>) -> [String; 3] {
    let there = !seen.conditions.is_empty();
    let sum = |part: fn(&ConditionalTurns) -> u32| {
        number(there.then(|| seen.conditions.iter().map(part).sum::<u32>()))
    };
    [sum(|turns| turns.said), sum(|turns| turns.not_said), sum(ConditionalTurns::unclear)]
}
