//! Changes for people: a table for the terminal, and Markdown.

use super::changes::{Changes, ChangesFormat};
use super::markdown::{self, code, prose};
use super::terminal::{self, effect as short_effect};
use super::text::{counted, shortened, trimmed, visible};
use super::words::{self, effect, patch_outcome, patch_overall};
use super::{CellView, Decision, IntervalMethod, Options, ReportError};
use crate::domain::Axis;
use comfy_table::{Cell, CellAlignment};

pub(super) const TERMINAL: ChangesFormat =
    ChangesFormat { name: "terminal", file_name: None, about: "a table for the terminal", render: text };
pub(super) const MARKDOWN: ChangesFormat = ChangesFormat {
    name: "markdown",
    file_name: Some("comparison.md"),
    about: "for release notes and comments",
    render: document,
};

/// What came out, without a full stop.
fn outcome(changes: &Changes<'_, '_>) -> String {
    let mut outcome = match changes.pairs.len() {
        0 => "no cell is on both sides, so there is nothing to compare".to_owned(),
        _ => patch_outcome(&changes.together),
    };
    if let Some(overall) = patch_overall(&changes.together, &changes.after.view.level.percent()) {
        outcome.push_str(&format!("; {overall}"));
    }
    outcome
}

fn methods(changes: &Changes<'_, '_>) -> String {
    let view = changes.after.view;
    let level = view.level.percent();
    let tested = changes.pairs.iter().filter(|pair| pair.difference.is_some()).count() as u64;
    let over = counted(tested, "comparison", "comparisons");
    let alpha = trimmed(&format!("{:.6}", view.level.alpha()));
    match (view.method, &changes.axis) {
        (IntervalMethod::Wilson, _) => format!(
            "change in the fail rate (failed of tested), Newcombe's {level} interval; p by Boschloo's exact test, \
             adjusted after Holm over {over}; effect where p < {alpha}"
        ),
        (IntervalMethod::ConfidenceSequence, Some((axis, ..))) if *axis != Axis::Model => format!(
            "change in the fail rate (failed of tested), {level} interval from two confidence sequences; p from the \
             discordant pairs of runs made in turn, adjusted after Holm over {over}; effect where p < {alpha}"
        ),
        (IntervalMethod::ConfidenceSequence, _) => format!(
            "change in the fail rate (failed of tested), {level} interval and p from two confidence sequences, which \
             hold although repeats ended early, adjusted after Holm over {over}; effect where p < {alpha}"
        ),
    }
}

fn text(changes: &Changes<'_, '_>, options: &Options) -> Result<Vec<u8>, ReportError> {
    let title = format!("{}: {}", visible(&changes.title()), outcome(changes));
    let mut head = vec![terminal::wrapped(&title, options)];
    head.extend(changes.notes().iter().map(|note| terminal::wrapped(&visible(note), options)));
    let mut parts = vec![head.join("\n")];
    if !changes.pairs.is_empty() {
        let mut header: Vec<String> = changes.varied.iter().map(|axis| axis.name().to_owned()).collect();
        let first = header.len();
        let interval = changes.after.view.level.percent();
        header.extend(["before", "after", "change", &interval, "p", "effect"].map(str::to_owned));
        let numbers: Vec<usize> = (first..first + 6).collect();
        let mut table = terminal::table(options, header, &numbers);
        if let Some(column) = table.column_mut(first + 5) {
            column.set_cell_alignment(CellAlignment::Left);
        }
        for pair in &changes.pairs {
            let mut row: Vec<Cell> =
                changes.varied.iter().map(|axis| terminal::value(pair.key.get(*axis))).collect();
            row.extend(terminal::numbers_of(pair).map(Cell::new));
            row.push(Cell::new(short_effect(pair.decision)));
            table.add_row(row);
        }
        parts.push(format!(
            "{}\n{}",
            terminal::finish(&table),
            terminal::wrapped(&methods(changes), options)
        ));
    }
    for (name, cells) in alone(changes) {
        let lines = cells.iter().map(|cell| format!("  {}", shortened(&visible(&words(changes, cell)), 160)));
        let number = counted(cells.len() as u64, "cell", "cells");
        let lines: Vec<String> = std::iter::once(format!("{name}: {number}")).chain(lines).collect();
        parts.push(lines.join("\n"));
    }
    if !changes.gates.is_empty() {
        parts.push(terminal::gates(&changes.gates, options));
    }
    Ok((parts.join("\n\n") + "\n").into_bytes())
}

fn alone<'c, 'a>(changes: &'c Changes<'_, 'a>) -> Vec<(String, &'c [&'c CellView<'a>])> {
    let sides = [(&changes.before, &changes.only_before), (&changes.after, &changes.only_after)];
    let sides = sides.into_iter().filter(|(_, cells)| !cells.is_empty());
    sides.map(|(side, cells)| (format!("Only in {}", visible(&side.name)), &cells[..])).collect()
}

/// The cell by what differs between cells, and what came out in it.
fn words(changes: &Changes<'_, '_>, cell: &CellView<'_>) -> String {
    let values: Vec<String> =
        changes.varied.iter().map(|axis| format!("{axis} {}", cell.key.get(*axis))).collect();
    let rate =
        cell.rate.map_or("no data".to_owned(), |rate| format!("{} failed", super::text::k_of_n(rate.failed)));
    if values.is_empty() { rate } else { format!("{}: {rate}", values.join(", ")) }
}

fn document(changes: &Changes<'_, '_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut parts = vec![
        format!("## {}", prose(&changes.title())),
        format!("**{}.**", words::capital(&outcome(changes))),
    ];
    let notes: Vec<String> = changes.notes().iter().map(|note| format!("- {}", prose(note))).collect();
    if !notes.is_empty() {
        parts.push(notes.join("\n"));
    }
    if !changes.gates.is_empty() {
        parts.push(markdown::gates(&changes.gates));
    }
    let view = changes.after.view;
    if !changes.pairs.is_empty() {
        let mut table = markdown::Table::new();
        for axis in &changes.varied {
            table.left(axis.name());
        }
        table.right("failed before").right("failed after").right("change");
        table.right(&format!("{} interval", view.level.percent()));
        let exact = changes.pairs.iter().filter_map(|pair| pair.difference).any(|seen| seen.fisher.is_some());
        if exact {
            table.right("p Boschloo").right("p Fisher");
        }
        table.right("p Holm").left("effect");
        for pair in &changes.pairs {
            let mut row: Vec<String> = changes.varied.iter().map(|axis| code(pair.key.get(*axis))).collect();
            row.extend(markdown::comparison_cells(pair, exact));
            let effect = effect(pair, view);
            row.push(if pair.decision.is_shown() { format!("**{effect}**") } else { effect });
            table.row(row);
        }
        let unsure = changes.pairs.iter().any(|pair| matches!(pair.decision, Decision::NoneShown(Some(_))));
        let note = match unsure {
            true => {
                "; “k or fewer would be”: the result after that would have shown fewer fails, all else equal"
            }
            false => "",
        };
        let method = words::capital(&methods(changes));
        let caption = format!("<sub>{method}{note}. {}.</sub>", sources(changes));
        parts.push(format!("### Cell by cell\n\n{}\n\n{caption}", table.render(usize::MAX)));
    }
    for (name, cells) in alone(changes) {
        let lines: Vec<String> =
            cells.iter().map(|cell| format!("- {}", code(&words(changes, cell)))).collect();
        parts.push(format!("### {}\n\n{}", prose(&name), lines.join("\n")));
    }
    Ok((parts.join("\n\n") + "\n").into_bytes())
}

/// Where the figures come from.
fn sources(changes: &Changes<'_, '_>) -> String {
    if changes.axis.is_some() {
        return markdown::source(changes.after.view);
    }
    let of = |side: &super::Side<'_, '_>| format!("{}: {}", code(&side.name), markdown::source(side.view));
    format!("{}; {}", of(&changes.before), of(&changes.after))
}
