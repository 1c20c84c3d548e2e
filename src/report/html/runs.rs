//! From a number to the runs behind it.

use super::super::svg::escaped;
use super::super::text::{counted, k_of_n, shortened};
use super::super::{CellView, Reason, View, ViolationKind};
use super::{Values, anchor, cell_name, foreign, run};
use crate::domain::{RunResult, Verdict};

/// Runs on one page: beyond that a browser gets slow, and `runs.csv` has them all.
const MOST_RUNS: usize = 4_000;
/// Little squares beside a cell's name.
const MOST_SQUARES: usize = 50;
const LONGEST_REASON: usize = 300;

/// What was violated, and why runs were not tested.
pub(super) fn reasons(view: &View<'_>) -> String {
    let mut rows = String::new();
    let example = |run: &RunResult| {
        format!("<a href=\"#{}\">{}</a>", anchor('r', &run.run_id.0), escaped(&run.run_id.0))
    };
    for ViolationKind { kind, runs, operations, example: one } in &view.violations {
        let operations = counted(*operations, "operation", "operations");
        rows.push_str(&format!(
            "<tr><td><span class=\"verdict v-fail\">FAIL</span></td><td><code>{}</code></td><td class=\"n\">{runs}</td>\
             <td>{operations}; {}</td><td>{}</td></tr>\n",
            escaped(kind),
            foreign(&shortened(&one.reason, LONGEST_REASON)),
            example(one)
        ));
    }
    for (verdict, reasons) in [(Verdict::NotTested, &view.not_tested), (Verdict::Error, &view.errors)] {
        for Reason { code, runs, cells, example: one } in reasons {
            rows.push_str(&format!(
                "<tr><td>{}</td><td><code>{code}</code></td><td class=\"n\">{runs}</td><td>{}; {}</td><td>{}</td></tr>\n",
                run::badge(verdict),
                counted(*cells, "cell", "cells"),
                foreign(&shortened(&one.reason, LONGEST_REASON)),
                example(one)
            ));
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<section id=\"reasons\">\n<h2>Why</h2>\n<div class=\"wide\"><table class=\"data\">\n<caption>What failed, \
         what was not tested, and why: with the number of runs and one of them</caption>\n<thead><tr><th \
         scope=\"col\">verdict</th><th scope=\"col\">kind</th><th scope=\"col\" class=\"n\">runs</th><th \
         scope=\"col\">where; what one says</th><th scope=\"col\">one run</th></tr></thead>\n<tbody>\n{rows}</tbody>\
         </table></div>\n</section>\n"
    )
}

pub(super) fn section(view: &View<'_>, values: &Values<'_>) -> String {
    if view.cells.is_empty() {
        return String::new();
    }
    let all: usize = view.cells.iter().map(|cell| cell.runs.len()).sum();
    let most = if all > MOST_RUNS { (MOST_RUNS / view.cells.len()).max(1) } else { usize::MAX };
    let cells: String = view.cells.iter().map(|cell| cell_runs(view, values, cell, most)).collect();
    let timelines = view.results.timelines.len();
    let told = match timelines {
        0 if all == 0 => String::new(),
        0 => "No run has its timeline in this page: the matrix was still running, or its traces were not there."
            .to_owned(),
        some if some >= all => "Every run has its timeline.".to_owned(),
        some => format!(
            "{some} of {all} runs have their timeline in this page, failed ones first; the others are in their traces."
        ),
    };
    format!(
        "<section id=\"runs\">\n<h2>Runs</h2>\n<p class=\"muted\">{told} <button type=\"button\" id=\"open\" \
         hidden>Open all cells</button></p>\n{cells}</section>\n"
    )
}

fn cell_runs(view: &View<'_>, values: &Values<'_>, cell: &CellView<'_>, most: usize) -> String {
    let mut shown: Vec<&RunResult> = cell.runs.clone();
    if shown.len() > most {
        shown.sort_by_key(|run| run.verdict != Verdict::Fail);
        shown.truncate(most);
        shown.sort_by_key(|run| run.repeat);
    }
    let left_out = cell.runs.len() - shown.len();
    let rows: String =
        shown.iter().map(|one| run::details(one, view.results.timelines.get(&one.run_id))).collect();
    let rate = match cell.rate {
        Some(rate) => format!("{} failed", k_of_n(rate.failed)),
        None => "no data".to_owned(),
    };
    let square = |run: &&RunResult| format!("<i class=\"s s-{}\"></i>", run::class(run.verdict));
    let squares: String = cell.runs.iter().take(MOST_SQUARES).map(square).collect();
    let mut notes = Vec::new();
    if cell.planned == 0 {
        notes.push("The suite does not plan this cell.".to_owned());
    }
    if cell.missing > 0 {
        notes.push(format!("{} of {} planned runs are missing.", cell.missing, cell.planned));
    }
    if left_out > 0 {
        let more = counted(left_out as u64, "more run is", "more runs are");
        notes.push(format!("{more} in runs.csv."));
    }
    let notes = match notes.join(" ") {
        notes if notes.is_empty() => notes,
        notes => format!("<p class=\"muted\">{notes}</p>\n"),
    };
    format!(
        "<details class=\"cell row\" id=\"{}\"{}>\n<summary><span class=\"name\">{}</span> <span \
         class=\"squares\" aria-hidden=\"true\">{squares}</span> <span class=\"n\">{rate}</span></summary>\n{rows}{notes}\
         </details>\n",
        anchor('c', &cell.id.0),
        values.attribute(cell.key),
        cell_name(view, cell),
    )
}
