//! The table at the end of `nochmal run`: cells and verdicts, then the patches, then what was not
//! tested. As wide as the terminal.

use super::grid::{Entry, Grid};
use super::rebuilds;
use super::tables;
use super::text::{counted, k_of_n, p_value, shortened, visible};
use super::words::{
    by_source, comparison_axes, comparison_methods, measured, outcome, patch_outcome, patch_overall,
    shows_unstruck, sources, unstruck,
};
use super::{Comparison, Decision, Difference, GateResult, Options, Reason, View};
use crate::domain::Axis;
use crate::stats::{Interval, Proportion};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

/// Rows of a table that is about no cells.
const MOST_EXAMPLES: usize = 12;
/// The longest value of an axis that is shown whole.
const LONGEST_VALUE: usize = 40;

/// The text, which ends with a line break. Without colour: a caller may add it.
pub fn text(view: &View<'_>, options: &Options) -> String {
    let mut parts = vec![head(view, options)];
    if !view.cells.is_empty() {
        parts.push(cells(view, options));
    }
    if !view.comparisons.is_empty() {
        parts.push(patches(view, options));
    }
    parts.extend(tables::of_words(view).iter().map(|grid| drawn(grid, options)));
    if !view.results.sources.is_empty() {
        parts.push(folders(view, options));
    }
    if !view.rebuilt.is_empty() {
        parts.push(rebuilt(view, options));
    }
    if !view.gates.is_empty() {
        parts.push(gates(&view.gates, options));
    }
    parts.extend(tables::of_truth(view).iter().map(|grid| drawn(grid, options)));
    for (title, reasons) in [("Not tested", &view.not_tested), ("Errors", &view.errors)] {
        if !reasons.is_empty() {
            parts.push(reasons_table(title, reasons, options));
        }
    }
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn head(view: &View<'_>, options: &Options) -> String {
    let suite = &view.results.suite;
    let mut lines: Vec<String> =
        view.results.marks.iter().map(|mark| wrapped(&visible(mark), options)).collect();
    lines.push(wrapped(&format!("{}: {}", visible(&suite.name), outcome(view)), options));
    lines.extend(unstruck(view).map(|sentence| wrapped(&sentence, options)));
    lines.push(wrapped(&measured(view), options));
    let constant: Vec<String> = view
        .constant
        .iter()
        .map(|(axis, value)| format!("{axis} {}", shortened(&visible(value), LONGEST_VALUE)))
        .collect();
    if !constant.is_empty() {
        lines.push(wrapped(&constant.join(", "), options));
    }
    lines.join("\n")
}

pub(crate) fn table(options: &Options, header: Vec<String>, right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.force_no_tty();
    if let Some(width) = options.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(20));
    }
    for index in right {
        if let Some(column) = table.column_mut(*index) {
            // A number is never broken over two lines: names give way.
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

pub(crate) fn finish(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

pub(super) fn value(text: &str) -> Cell {
    Cell::new(shortened(&visible(text), LONGEST_VALUE))
}

fn cells(view: &View<'_>, options: &Options) -> String {
    let mut header: Vec<String> = view.varied.iter().map(|axis| axis.name().to_owned()).collect();
    let axes = header.len();
    let interval = view.level.percent();
    header.extend(["failed", &interval, "pass", "fail", "n/t", "err"].map(str::to_owned));
    let missing = view.missing > 0;
    if missing {
        header.push("missing".to_owned());
    }
    let unstruck = shows_unstruck(view);
    if unstruck {
        header.push("no fault".to_owned());
    }
    let numbers: Vec<usize> = (axes..header.len()).collect();
    let mut table = table(options, header, &numbers);
    for cell in &view.cells {
        let mut row: Vec<Cell> = view.varied.iter().map(|axis| value(cell.key.get(*axis))).collect();
        let shown = match cell.rate {
            Some(rate) => [k_of_n(rate.failed), whole_percents(rate.interval)],
            None => ["no data".to_owned(), String::new()],
        };
        row.extend(shown.map(Cell::new));
        let counts = cell.counts;
        row.extend([counts.pass, counts.fail, counts.not_tested, counts.error].map(Cell::new));
        if missing {
            row.push(Cell::new(cell.missing));
        }
        if unstruck {
            row.push(Cell::new(cell.unstruck));
        }
        table.add_row(row);
    }
    let note = if unstruck { "; no fault: passes that met none" } else { "" };
    let method = format!(
        "failed of tested (PASS + FAIL), {} {}, rounded outwards; n/t: not tested{note}",
        view.level.percent(),
        view.method.title()
    );
    format!("{}\n{}", finish(&table), wrapped(&method, options))
}

fn patches(view: &View<'_>, options: &Options) -> String {
    let mut axes = comparison_axes(view);
    let mut title = "Before and after a patch".to_owned();
    if let [only] = &view.patches[..] {
        // One patch needs no column.
        axes.retain(|axis| *axis != Axis::Patch);
        title = format!("Before and after {}", shortened(&visible(&only.patch), LONGEST_VALUE));
    }
    for patch in &view.patches {
        let overall = patch_overall(patch, &view.level.percent()).map(|all| format!("; {all}"));
        let name = if view.patches.len() > 1 {
            format!("{}: ", shortened(&visible(&patch.patch), LONGEST_VALUE))
        } else {
            String::new()
        };
        let sentence = format!("{name}{}{}", patch_outcome(patch), overall.unwrap_or_default());
        title.push('\n');
        title.push_str(&wrapped(&sentence, options));
    }
    let mut header: Vec<String> = axes.iter().map(|axis| axis.name().to_owned()).collect();
    let first = header.len();
    header.extend(["before", "after", "change", &view.level.percent(), "p"].map(str::to_owned));
    header.push("effect".to_owned());
    let numbers: Vec<usize> = (first..first + 6).collect();
    let mut table = table(options, header, &numbers);
    if let Some(column) = table.column_mut(first + 5) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for pair in &view.comparisons {
        let mut row: Vec<Cell> = axes.iter().map(|axis| value(pair.key.get(*axis))).collect();
        row.extend(numbers_of(pair).map(Cell::new));
        row.push(Cell::new(effect(pair.decision)));
        table.add_row(row);
    }
    format!("{title}\n\n{}\n{}", finish(&table), wrapped(&comparison_methods(view), options))
}

pub(super) fn numbers_of(pair: &Comparison) -> [String; 5] {
    let rate = |seen: Option<Proportion>| seen.map_or("no data".to_owned(), k_of_n);
    let shown = |show: fn(Difference) -> String| pair.difference.map(show).unwrap_or_default();
    [
        rate(pair.before),
        rate(pair.after),
        shown(|difference| whole_points(difference.estimate)),
        shown(|difference| {
            format!("{}…{}", whole_points(difference.interval.lo), whole_points(difference.interval.hi))
        }),
        shown(|difference| p_value(difference.adjusted)),
    ]
}

/// `40–89 %`: rounded outwards, so that the interval is never shown narrower than it is.
fn whole_percents(interval: Interval) -> String {
    format!("{:.0}–{:.0} %", (interval.lo * 100.0 + 1e-9).floor(), (interval.hi * 100.0 - 1e-9).ceil())
}

fn whole_points(difference: f64) -> String {
    let number = (difference * 100.0).round();
    match () {
        () if number < 0.0 => format!("−{:.0}", -number),
        () if number > 0.0 => format!("+{number:.0}"),
        () => "0".to_owned(),
    }
}

/// The sentence broken between words to the width of the terminal.
pub(crate) fn wrapped(sentence: &str, options: &Options) -> String {
    let Some(width) = options.width.map(|width| usize::from(width.max(20))) else {
        return sentence.to_owned();
    };
    let (mut text, mut used) = (String::new(), 0);
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

pub(super) fn effect(decision: Decision) -> &'static str {
    match decision {
        Decision::FewerFails => "fewer fails",
        Decision::MoreFails => "MORE FAILS",
        Decision::NoneShown(_) => "none shown",
        Decision::NoData => "no data",
    }
}

fn folders(view: &View<'_>, options: &Options) -> String {
    let mut header: Vec<String> = view.varied.iter().map(|axis| axis.name().to_owned()).collect();
    let axes = header.len();
    header.extend((1..=view.results.sources.len()).map(|n| format!("#{n}")));
    let numbers: Vec<usize> = (axes..header.len()).collect();
    let mut table = table(options, header, &numbers);
    for (cell, rates) in view.cells.iter().zip(by_source(view)) {
        let mut row: Vec<Cell> = view.varied.iter().map(|axis| value(cell.key.get(*axis))).collect();
        row.extend(rates.into_iter().map(Cell::new));
        table.add_row(row);
    }
    let names: Vec<String> = sources(view).iter().map(|line| wrapped(&visible(line), options)).collect();
    format!("Folder by folder, failed of tested\n{}\n{}", finish(&table), names.join("\n"))
}

fn rebuilt(view: &View<'_>, options: &Options) -> String {
    let (header, rows) = rebuilds::table(view);
    let numbers: Vec<usize> = (3..header.len()).collect();
    let mut table = table(options, header.into_iter().map(str::to_owned).collect(), &numbers);
    for row in rows {
        let cells: Vec<Cell> = row
            .iter()
            .enumerate()
            .map(|(place, text)| if place < 3 { value(text) } else { Cell::new(text) })
            .collect();
        table.add_row(cells);
    }
    format!("When the server was rebuilt\n{}\n{}", finish(&table), wrapped(&rebuilds::about(view), options))
}

pub(super) fn gates(gates: &[GateResult], options: &Options) -> String {
    let mut lines = vec!["Gates".to_owned()];
    for GateResult { gate, state, sentence } in gates {
        lines.push(wrapped(&format!("{}: {}. {}", state.title(), visible(gate), visible(sentence)), options));
    }
    lines.join("\n")
}

fn drawn(grid: &Grid<'_>, options: &Options) -> String {
    // Every cell has its row; of examples a few are enough here.
    let most = if grid.rows.iter().all(|row| row.cell.is_none()) { MOST_EXAMPLES } else { usize::MAX };
    let rows = || grid.rows.iter().take(most);
    let cells = |narrow: bool| -> Vec<Vec<String>> {
        rows().map(|row| row.entries.iter().map(|entry| shown(entry, narrow)).collect()).collect()
    };
    let narrow = options.width.is_some_and(|width| widest(grid, &cells(false)) > usize::from(width));
    // Where names have no room beside them, numbers do without their intervals, and titles take two lines.
    let title = |(title, number): &(String, bool)| match narrow && *number {
        true => title.replace(' ', "\n"),
        false => title.clone(),
    };
    let numbers: Vec<usize> =
        (0..).zip(&grid.columns).filter(|(_, (_, number))| *number).map(|(index, _)| index).collect();
    let mut table = table(options, grid.columns.iter().map(title).collect(), &numbers);
    for row in cells(narrow) {
        table.add_row(row);
    }
    let more = match grid.rows.len().saturating_sub(most) {
        0 => String::new(),
        more => format!("\n{} in report.md", counted(more as u64, "more row", "more rows")),
    };
    let shares = rows().flat_map(|row| &row.entries).any(|entry| matches!(entry, Entry::Share(..)));
    let note = if narrow && shares { "; the intervals stand in report.md" } else { "" };
    let caption = wrapped(&visible(&format!("{}{note}", grid.caption)), options);
    format!("{}\n{}{more}\n{caption}", grid.title, finish(&table))
}

fn shown(entry: &Entry, narrow: bool) -> String {
    match entry {
        Entry::Own(text) | Entry::Number(_, text) | Entry::Run(text) => text.clone(),
        Entry::Share(seen, _) if narrow => seen.k().to_string(),
        Entry::Share(seen, interval) => format!("{} ({})", seen.k(), whole_percents(*interval)),
        Entry::Foreign(text) => shortened(&visible(text), 160),
        Entry::Value(text) => shortened(&visible(text), LONGEST_VALUE),
    }
}

/// The columns that a table takes where nothing is broken over two lines, sentences apart.
fn widest(grid: &Grid<'_>, rows: &[Vec<String>]) -> usize {
    const SENTENCE: usize = 30;
    let column = |(place, (title, _)): (usize, &(String, bool))| {
        let cells = rows.iter().filter_map(|row| row.get(place)).chain([title]);
        cells.map(|text| text.chars().count()).max().unwrap_or(0).min(SENTENCE) + 2
    };
    grid.columns.iter().enumerate().map(column).sum()
}

fn reasons_table(title: &str, reasons: &[Reason<'_>], options: &Options) -> String {
    let header = ["runs", "reason", "example"].map(str::to_owned).to_vec();
    let mut table = table(options, header, &[0]);
    for reason in reasons {
        let example =
            format!("{}: {}", reason.example.run_id, shortened(&visible(&reason.example.reason), 160));
        table.add_row(vec![Cell::new(reason.runs), Cell::new(reason.code.name()), Cell::new(example)]);
    }
    let runs: u64 = reasons.iter().map(|reason| u64::from(reason.runs)).sum();
    format!("{title}: {}\n{}", counted(runs, "run", "runs"), finish(&table))
}
