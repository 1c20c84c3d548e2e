//! `cells.csv`: one row a cell.

use super::approvals::ApprovalsSummary;
use super::csv_text::{cell, number, table};
use super::{CellView, Format, Options, ReportError, View};
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
    row
}

/// How long the runs of a cell took, and what they consumed together, as far as their agents told.
fn consumption(runs: &[&RunResult]) -> [String; 8] {
    let mut seconds: Vec<f64> = runs.iter().map(|run| run.duration_ms as f64 / 1e3).collect();
    seconds.sort_by(f64::total_cmp);
    let sum = |part: fn(&Usage) -> Option<u64>| {
        number(runs.iter().filter_map(|run| part(&run.usage)).reduce(u64::saturating_add))
    };
    let costs = runs.iter().filter_map(|run| run.usage.cost_usd).filter(|cost| cost.is_finite());
    [
        number(percentile(&seconds, 50)),
        number(percentile(&seconds, 95)),
        sum(|usage| usage.answers),
        sum(|usage| usage.retries),
        sum(|usage| usage.input_tokens),
        sum(|usage| usage.cached_tokens),
        sum(|usage| usage.output_tokens),
        number(costs.reduce(|sum, cost| sum + cost)),
    ]
}
