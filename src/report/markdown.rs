//! `report.md`: ready for release notes, the answer first.

use super::agents::{Column, columns};
use super::grid::{Entry, Grid};
use super::rebuilds;
use super::tables;
use super::text::{
    counted, k_of_n, p_value, percent, percent_interval, points, points_interval, short_digest, shortened,
    visible,
};
use super::words::{
    by_source, capital, comparison_axes, comparison_methods, effect, limits, measured, outcome,
    patch_outcome, patch_overall, planned_repeats, shows_unstruck, sources, unstruck,
};
use super::{
    AgentView, CellView, Comparison, Decision, Difference, Format, GateResult, GateState, Options, Reason,
    ReportError, View,
};
use crate::domain::{Axis, RunResult};
use crate::stats::Proportion;

pub(super) const FORMAT: Format = Format {
    name: "markdown",
    file_name: "report.md",
    about: "for release notes: the answer, the tables, what the numbers do not say",
    render,
};

/// A reason is somebody else's sentence, and can be a page long.
const LONGEST_REASON: usize = 200;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut parts = vec![format!("## {}", prose(&view.results.suite.name))];
    parts.extend(head(view));
    parts
        .extend(sections(view, usize::MAX).into_iter().map(|(title, body)| format!("### {title}\n\n{body}")));
    Ok((parts.join("\n\n") + "\n").into_bytes())
}

/// What stands before the first table: description, answer, what was run.
pub(super) fn head(view: &View<'_>) -> Vec<String> {
    let mut parts: Vec<String> =
        view.results.marks.iter().map(|mark| format!("> **{}**", prose(mark))).collect();
    if !view.results.suite.description.is_empty() {
        parts.push(prose(&view.results.suite.description));
    }
    parts.push(answer(view));
    parts.push(what_was_run(view));
    if !view.gates.is_empty() {
        parts.push(gates(&view.gates));
    }
    parts
}

/// The sections with their titles; no table has more than `most` rows.
pub(super) fn sections(view: &View<'_>, most: usize) -> Vec<(&'static str, String)> {
    let mut sections = Vec::new();
    if !view.comparisons.is_empty() {
        sections.push(("Before and after", before_and_after(view, most)));
    }
    if !view.cells.is_empty() {
        sections.push(("Cells", cells(view, most)));
    }
    sections.extend(tables::of_words(view).iter().map(|grid| (grid.title, drawn(grid, most))));
    if !view.results.sources.is_empty() {
        sections.push(("Folder by folder", folders(view, most)));
    }
    if !view.rebuilt.is_empty() {
        sections.push(("When the server was rebuilt", rebuilt(view, most)));
    }
    if !view.violations.is_empty() {
        sections.push(("Violations", violations(view, most)));
    }
    sections.extend(tables::of_truth(view).iter().map(|grid| (grid.title, drawn(grid, most))));
    for (title, reasons) in [("Not tested", &view.not_tested), ("Errors", &view.errors)] {
        if !reasons.is_empty() {
            sections.push((title, reasons_table(reasons, most)));
        }
    }
    if view.agents.iter().any(AgentView::is_known) {
        sections.push(("Agents", agents(view, most)));
    }
    let limits: Vec<String> = limits(view).iter().map(|limit| format!("- {limit}")).collect();
    sections.push(("What the numbers do not say", limits.join("\n")));
    if !view.results.environment.is_empty() {
        sections.push(("Environment", environment(view, most)));
    }
    sections
}

fn answer(view: &View<'_>) -> String {
    let mut answer = format!("**{}.**", capital(&outcome(view)));
    if let Some(unstruck) = unstruck(view) {
        answer.push_str(&format!(" {}.", capital(&unstruck)));
    }
    for patch in &view.patches {
        answer.push_str(&format!("\n- {}: **{}**", code(&patch.patch), patch_outcome(patch)));
        if let Some(overall) = patch_overall(patch, &view.level.percent()) {
            answer.push_str(&format!("; {overall}"));
        }
    }
    // A list needs an empty line before it.
    answer.replacen("\n- ", "\n\n- ", 1)
}

fn what_was_run(view: &View<'_>) -> String {
    let mut run = counted(view.cells.len() as u64, "cell", "cells");
    if !view.varied.is_empty() {
        let axes: Vec<String> = view.varied.iter().map(|axis| counted_values(view, *axis)).collect();
        run.push_str(&format!(" of {}", axes.join(", ")));
    }
    let mut lines = vec![format!("Run: {run}, {} planned each.", planned_repeats(view))];
    if !view.constant.is_empty() {
        let values: Vec<String> =
            view.constant.iter().map(|(axis, value)| format!("{axis} {}", code(value))).collect();
        lines.push(format!("Everywhere: {}.", values.join(", ")));
    }
    lines.push(format!("{}.", source(view)));
    lines.join("  \n")
}

pub(super) fn gates(gates: &[GateResult]) -> String {
    let mut table = Table::new();
    table.left("gate").left("state").left("why");
    for GateResult { gate, state, sentence } in gates {
        let state = match state {
            GateState::Held => state.title().to_owned(),
            _ => format!("**{}**", state.title()),
        };
        table.row(vec![code(gate), state, prose(sentence)]);
    }
    format!("### Gates\n\n{}", table.render(usize::MAX))
}

fn counted_values(view: &View<'_>, axis: Axis) -> String {
    let mut values: Vec<&str> = view.cells.iter().map(|cell| cell.key.get(axis)).collect();
    values.sort_unstable();
    values.dedup();
    let number = values.len() as u64;
    match axis {
        Axis::Patch if values.contains(&"off") => {
            format!("off and {}", counted(number - 1, "patch", "patches"))
        }
        Axis::Patch => counted(number, "patch", "patches"),
        Axis::Present => counted(number, "form of failures", "forms of failures"),
        other => format!("{number} {other}s"),
    }
}

/// Where every figure comes from.
pub(super) fn source(view: &View<'_>) -> String {
    let suite = &view.results.suite;
    format!(
        "Suite {}, digest {}, nochmal {}, {}; report of {}",
        code(&suite.name),
        code(&short_digest(&suite.digest)),
        prose(&suite.version),
        measured(view),
        prose(&view.results.generated_at)
    )
}

fn caption(view: &View<'_>, method: &str) -> String {
    let repeats = planned_repeats(view);
    format!("<sub>{}; {repeats} planned a cell. {}.</sub>", capital(method), source(view))
}

fn before_and_after(view: &View<'_>, most: usize) -> String {
    let axes = comparison_axes(view);
    let mut table = Table::new();
    for axis in &axes {
        table.left(axis.name());
    }
    table.right("failed before").right("failed after").right("change");
    table.right(&format!("{} interval", view.level.percent()));
    let exact = view.comparisons.iter().filter_map(|pair| pair.difference).any(|seen| seen.fisher.is_some());
    if exact {
        table.right("p Boschloo").right("p Fisher");
    }
    table.right("p Holm").left("effect");
    for pair in &view.comparisons {
        let mut row: Vec<String> = axes.iter().map(|axis| code(pair.key.get(*axis))).collect();
        row.extend(comparison_cells(pair, exact));
        let effect = effect(pair, view);
        row.push(if pair.decision.is_shown() { format!("**{effect}**") } else { effect });
        table.row(row);
    }
    let unsure = view.comparisons.iter().any(|pair| matches!(pair.decision, Decision::NoneShown(Some(_))));
    let note = if unsure {
        "; “k or fewer would be”: the result after the patch that would have shown fewer fails, all else equal"
    } else {
        ""
    };
    let caption = caption(view, &format!("{}{note}", comparison_methods(view)));
    format!("{}\n\n{caption}", table.render(most))
}

pub(super) fn comparison_cells(pair: &Comparison, exact: bool) -> Vec<String> {
    let arm = |seen: Option<Proportion>| seen.map_or("no data".to_owned(), k_of_n);
    let shown = |show: fn(Difference) -> Option<String>| pair.difference.and_then(show).unwrap_or_default();
    let mut cells = vec![
        arm(pair.before),
        arm(pair.after),
        shown(|seen| Some(points(seen.estimate))),
        shown(|seen| Some(points_interval(seen.interval))),
    ];
    if exact {
        cells.push(shown(|seen| seen.boschloo.map(p_value)));
        cells.push(shown(|seen| seen.fisher.map(p_value)));
    }
    cells.push(shown(|seen| Some(p_value(seen.adjusted))));
    cells
}

fn cells(view: &View<'_>, most: usize) -> String {
    let mut table = Table::new();
    for axis in &view.varied {
        table.left(axis.name());
    }
    table.right("failed").right("rate").right(&format!("{} interval", view.level.percent()));
    table.right("not tested").right("errors");
    if view.missing > 0 {
        table.right("missing");
    }
    let unstruck = shows_unstruck(view);
    if unstruck {
        table.right("passes without a fault");
    }
    table.left("violations");
    for cell in &view.cells {
        let mut row: Vec<String> = view.varied.iter().map(|axis| code(cell.key.get(*axis))).collect();
        match cell.rate {
            Some(rate) => row.extend([
                k_of_n(rate.failed),
                percent(rate.failed.value()),
                percent_interval(rate.interval),
            ]),
            None => row.extend(["no data".to_owned(), String::new(), String::new()]),
        }
        row.extend([cell.counts.not_tested.to_string(), cell.counts.error.to_string()]);
        if view.missing > 0 {
            row.push(cell.missing.to_string());
        }
        if unstruck {
            row.push(k_of_all(cell));
        }
        row.push(kinds(cell));
        table.row(row);
    }
    let method = format!("failed of tested (PASS + FAIL), {}, {}", view.method.title(), view.level.percent());
    format!("{}\n\n{}", table.render(most), caption(view, &method))
}

fn k_of_all(cell: &CellView<'_>) -> String {
    format!("{} of {}", cell.unstruck, cell.counts.pass)
}

fn folders(view: &View<'_>, most: usize) -> String {
    let mut table = Table::new();
    for axis in &view.varied {
        table.left(axis.name());
    }
    for n in 1..=view.results.sources.len() {
        table.right(&format!("#{n}"));
    }
    for (cell, rates) in view.cells.iter().zip(by_source(view)) {
        let mut row: Vec<String> = view.varied.iter().map(|axis| code(cell.key.get(*axis))).collect();
        row.extend(rates);
        table.row(row);
    }
    let names: Vec<String> = sources(view).iter().map(|line| prose(line)).collect();
    let note = "Failed of tested (PASS + FAIL) in the runs of each folder";
    format!("{}\n\n<sub>{note}: {}.</sub>", table.render(most), names.join("; "))
}

fn kinds(cell: &CellView<'_>) -> String {
    let kinds: Vec<String> =
        cell.violations.iter().map(|(kind, runs)| format!("{} in {runs}", code(kind))).collect();
    kinds.join(", ")
}

fn rebuilt(view: &View<'_>, most: usize) -> String {
    let (header, rows) = rebuilds::table(view);
    let mut table = Table::new();
    for (place, title) in header.into_iter().enumerate() {
        if place < 3 {
            table.left(title)
        } else {
            table.right(title)
        };
    }
    for mut row in rows {
        for name in row.iter_mut().take(3) {
            *name = code(name);
        }
        table.row(row);
    }
    format!("{}.\n\n{}", rebuilds::about(view), table.render(most))
}

fn violations(view: &View<'_>, most: usize) -> String {
    let mut table = Table::new();
    table.left("violation").right("runs").right("operations").left("example");
    for violation in &view.violations {
        table.row(vec![
            code(violation.kind),
            violation.runs.to_string(),
            violation.operations.to_string(),
            example(violation.example),
        ]);
    }
    table.render(most)
}

fn reasons_table(reasons: &[Reason<'_>], most: usize) -> String {
    let mut table = Table::new();
    table.left("reason").right("runs").right("cells").left("example").left("what it says");
    for reason in reasons {
        table.row(vec![
            code(reason.code.name()),
            reason.runs.to_string(),
            reason.cells.to_string(),
            example(reason.example),
            code(&shortened(&reason.example.reason, LONGEST_REASON)),
        ]);
    }
    table.render(most)
}

fn drawn(grid: &Grid<'_>, most: usize) -> String {
    let mut table = Table::new();
    for (title, number) in &grid.columns {
        if *number {
            table.right(title)
        } else {
            table.left(title)
        };
    }
    for row in &grid.rows {
        let cell = |entry: &Entry| match entry {
            Entry::Own(text) | Entry::Number(_, text) => text.clone(),
            Entry::Share(seen, interval) => format!("{} ({})", seen.k(), percent_interval(*interval)),
            Entry::Foreign(text) | Entry::Value(text) | Entry::Run(text) => code(text),
        };
        table.row(row.entries.iter().map(cell).collect());
    }
    format!("{}\n\n<sub>{}.</sub>", table.render(most), prose(&capital(&grid.caption)))
}

fn agents(view: &View<'_>, most: usize) -> String {
    let mut table = Table::new();
    table.left("agent");
    let columns = columns(&view.agents);
    for Column { title, number, .. } in &columns {
        if *number {
            table.right(title)
        } else {
            table.left(title)
        };
    }
    for (row, agent) in view.agents.iter().enumerate() {
        let cells = columns.iter().map(|column| match column.cells.get(row) {
            Some(cell) if column.number => cell.clone(),
            cell => code(cell.map_or("", String::as_str)),
        });
        table.row(std::iter::once(code(agent.agent)).chain(cells).collect());
    }
    format!(
        "{}\n\n<sub>As the agents and their MCP clients tell it; none of it enters a rate.</sub>",
        table.render(most)
    )
}

fn example(run: &RunResult) -> String {
    code(run.trace.as_deref().unwrap_or(&run.run_id.0))
}

fn environment(view: &View<'_>, most: usize) -> String {
    let mut table = Table::new();
    table.left("environment").left("");
    for fact in &view.results.environment {
        table.row(vec![code(&fact.name), code(&fact.value)]);
    }
    table.render(most)
}

/// A table whose columns are known before its rows, padded so that it reads well as text too.
pub(crate) struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new() -> Table {
        Table { header: Vec::new(), right: Vec::new(), rows: Vec::new() }
    }

    pub(crate) fn left(&mut self, title: &str) -> &mut Table {
        self.header.push(title.to_owned());
        self.right.push(false);
        self
    }

    pub(crate) fn right(&mut self, title: &str) -> &mut Table {
        self.header.push(title.to_owned());
        self.right.push(true);
        self
    }

    /// Adds a row. A `|` is escaped in code spans too, since a table is split before spans are read.
    pub(crate) fn row(&mut self, row: Vec<String>) {
        self.rows.push(row.into_iter().map(|cell| cell.replace('|', "\\|")).collect());
    }

    pub(crate) fn render(&self, most: usize) -> String {
        let rows = &self.rows[..self.rows.len().min(most)];
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).chain(self.header.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &[String]| {
            let mut line = String::from("|");
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let (cell, width) = (cell.as_str(), *width);
                line.push_str(&if *right {
                    format!(" {cell:>width$} |")
                } else {
                    format!(" {cell:<width$} |")
                });
            }
            line
        };
        let mut rule = String::from("|");
        for (width, right) in widths.iter().zip(&self.right) {
            let dashes = "-".repeat(width - usize::from(*right));
            rule.push_str(&format!(" {dashes}{} |", if *right { ":" } else { "" }));
        }
        let mut lines = vec![line(&self.header), rule];
        lines.extend(rows.iter().map(|row| line(row)));
        if rows.len() < self.rows.len() {
            let more = counted((self.rows.len() - rows.len()) as u64, "more row", "more rows");
            lines.push(format!("\n{more} in the report itself."));
        }
        lines.join("\n")
    }
}

/// Foreign text as a code span: no mark-up, mention or link in it is acted on. Empty text stays empty.
pub(crate) fn code(text: &str) -> String {
    let text = visible(text);
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // One space on both sides is not part of the content; it keeps a backtick or a space at the end.
    let only_spaces = text.chars().all(|c| c == ' ');
    let edge = |c: Option<char>| matches!(c, Some('`' | ' '));
    let pad = if !only_spaces && (edge(text.chars().next()) || edge(text.chars().last())) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Foreign text as prose: its mark-up is shown, not acted on.
pub(crate) fn prose(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '$') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_holds_any_text() {
        assert_eq!(code("a|b"), "`a|b`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(" x "), "`  x  `");
        assert_eq!(code("C:\\a\\b"), "`C:\\a\\b`");
        assert_eq!(code("a\nb"), "`a⟨U+000A⟩b`");
        assert_eq!(code(""), "");
    }

    #[test]
    fn prose_is_not_acted_on() {
        assert_eq!(prose("<b> *x* [a](b) | $1"), "\\<b\\> \\*x\\* \\[a\\](b) \\| \\$1");
    }
}
