//! `report.html`: one file that needs no network and no script to be read; the script sorts, filters
//! and opens. All text of suites, agents and servers goes through [`escaped`] or [`lines`], and a
//! content security policy allows no other script and no connection.

mod agents;
mod answer;
mod cells;
mod comparisons;
mod grid;
mod heat;
mod run;
mod runs;

use super::grid::Grid;
use super::rebuilds;
use super::svg::{escaped, source};
use super::tables;
use super::text::visible;
use super::words::{capital, limits, outcome};
use super::{CellView, Format, Options, ReportError, View};
use crate::domain::{Axis, CellId, CellKey};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

pub(super) const FORMAT: Format = Format {
    name: "html",
    file_name: "report.html",
    about: "one page that works offline: pictures, tables that sort and filter, every run with its timeline",
    render,
};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let values = Values::of(view);
    let title = format!("{}: {}", visible(&view.results.suite.name), outcome(view));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT))
    );
    let drawn =
        |grids: &[Grid<'_>]| -> String { grids.iter().map(|one| grid::section(one, &values)).collect() };
    let parts = [
        answer::section(view, &values),
        filter(view, &values),
        cells::section(view, &values),
        comparisons::section(view, &values),
        drawn(&tables::of_words(view)),
        drawn(&tables::of_truth(view)),
        rebuilt(view),
        runs::reasons(view),
        agents::section(view),
        runs::section(view, &values),
        about(view),
    ];
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#cells\">Skip to the cells</a>\n{}\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(&title),
        parts.concat()
    );
    Ok(page.into_bytes())
}

/// The values of every axis on which cells differ, numbered in the order in which they appear: the
/// script compares numbers, so that no foreign text has to be compared or found again.
struct Values<'a> {
    axes: Vec<(Axis, Vec<&'a str>)>,
    numbers: HashMap<(Axis, &'a str), usize>,
}

impl<'a> Values<'a> {
    fn of(view: &View<'a>) -> Values<'a> {
        let mut values = Values { axes: Vec::new(), numbers: HashMap::new() };
        for axis in &view.varied {
            let mut list = Vec::new();
            for cell in &view.cells {
                let value = cell.key.get(*axis);
                values.numbers.entry((*axis, value)).or_insert_with(|| {
                    list.push(value);
                    list.len() - 1
                });
            }
            values.axes.push((*axis, list));
        }
        values
    }

    fn list(&self, axis: Axis) -> &[&'a str] {
        self.axes.iter().find(|(one, _)| *one == axis).map_or(&[], |(_, list)| list)
    }

    /// The attribute by which the script filters.
    fn attribute(&self, key: &CellKey) -> String {
        let numbers: Vec<String> = self
            .axes
            .iter()
            .map(|(axis, _)| {
                self.numbers.get(&(*axis, key.get(*axis))).map_or(String::new(), usize::to_string)
            })
            .collect();
        format!(" data-v=\"{}\"", numbers.join(","))
    }
}

/// Foreign text in a line, kept from turning the text around it.
fn foreign(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(text))
}

/// Foreign text of many lines.
fn lines(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| escaped(line.strip_suffix('\r').unwrap_or(line))).collect();
    lines.join("\n")
}

/// An id of foreign parts, fit for a link.
fn anchor(kind: char, id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{kind}-{}", id.chars().map(plain).collect::<String>())
}

fn link(cell: &CellId, words: &str) -> String {
    format!("<a href=\"#{}\">{}</a>", anchor('c', &cell.0), escaped(words))
}

/// A name for a cell in running text.
fn cell_name(view: &View<'_>, cell: &CellView<'_>) -> String {
    let axes = super::svg::naming_axes(view);
    axes.iter().map(|axis| foreign(cell.key.get(*axis))).collect::<Vec<_>>().join(" · ")
}

/// A header cell whose button sorts.
fn sortable(title: &str, class: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!(
        "<th scope=\"col\"{class}><button type=\"button\" class=\"sort\">{}</button></th>",
        escaped(title)
    )
}

/// A cell with a number, and the key by which it is sorted.
fn sorted(key: f64, html: &str) -> String {
    format!("<td class=\"n\" data-s=\"{key}\">{html}</td>")
}

/// The cell with an axis' value: on one line unless it is long.
fn value(text: &str) -> String {
    const LONG: usize = 28;
    let class = if text.chars().count() > LONG { "v long" } else { "v" };
    format!("<td class=\"{class}\">{}</td>", foreign(text))
}

/// What cannot be sorted comes last.
const NO_DATA: f64 = -1e9;

fn filter(view: &View<'_>, values: &Values<'_>) -> String {
    if view.cells.len() < 2 {
        return String::new();
    }
    let mut selects = String::new();
    for (axis, list) in &values.axes {
        let options: String = list
            .iter()
            .enumerate()
            .map(|(number, value)| format!("<option value=\"{number}\">{}</option>", escaped(value)))
            .collect();
        selects.push_str(&format!(
            "<label>{axis} <select class=\"axis\" name=\"{axis}\" autocomplete=\"off\"><option value=\"\">all</option>{options}\
             </select></label>\n"
        ));
    }
    let verdicts: String = ["FAIL", "PASS", "NOT_TESTED", "ERROR"]
        .map(|name| format!("<option value=\"{name}\">{name}</option>"))
        .concat();
    format!(
        "<form id=\"filter\" class=\"bar\" aria-label=\"Filter\" hidden>\n{selects}<label>runs <select \
         id=\"verdict\" autocomplete=\"off\"><option value=\"\">all</option>{verdicts}</select></label>\n<button \
         type=\"reset\">Show all</button>\n<output id=\"shown\">All {} cells</output>\n</form>\n",
        view.cells.len()
    )
}

fn rebuilt(view: &View<'_>) -> String {
    if view.rebuilt.is_empty() {
        return String::new();
    }
    let (header, rows) = rebuilds::table(view);
    let head: String = header
        .iter()
        .enumerate()
        .map(|(place, title)| sortable(title, if place < 3 { "" } else { "n" }))
        .collect();
    let body: String = rows
        .iter()
        .zip(&view.rebuilt)
        .map(|(row, rebuilt)| {
            let names: String = row.iter().take(3).map(|name| value(name)).collect();
            let counts = row.iter().skip(3).zip(rebuilt.seen);
            let counts: String = counts.map(|(text, seen)| sorted(f64::from(seen), text)).collect();
            format!("<tr>{names}{counts}</tr>\n")
        })
        .collect();
    format!(
        "<section id=\"rebuilt\">\n<h2>When the server was rebuilt</h2>\n<div class=\"wide\"><table \
         class=\"data\">\n<caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n\
         </table></div>\n</section>\n",
        escaped(&rebuilds::about(view))
    )
}

fn about(view: &View<'_>) -> String {
    let limits: String = limits(view).iter().map(|limit| format!("<li>{}</li>\n", escaped(limit))).collect();
    let mut facts = String::new();
    for fact in &view.results.environment {
        facts.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
            foreign(&fact.name),
            foreign(&fact.value)
        ));
    }
    let environment = match facts.as_str() {
        "" => String::new(),
        facts => format!(
            "<h2>Environment</h2>\n<div class=\"wide\"><table class=\"facts\"><caption>Versions and \
             models</caption><tbody>\n{facts}</tbody></table></div>\n"
        ),
    };
    format!(
        "<section id=\"limits\">\n<h2>What the numbers do not say</h2>\n<ul class=\"prose\">\n{limits}</ul>\n\
         {environment}</section>\n</main>\n<footer><p>{}. Full digest <code>{}</code>.</p>\n<p>Beside this page: \
         report.md, summary.md, forest.svg, patches.svg, cells.csv, runs.csv, summary.json, junit.xml.</p></footer>\n",
        escaped(&capital(&source(view))),
        escaped(&view.results.suite.digest)
    )
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in known {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn text_of_many_lines_keeps_its_lines_and_nothing_else() {
        assert_eq!(lines("a\r\n<b>\u{1b}"), "a\n&lt;b&gt;⟨U+001B⟩");
    }

    #[test]
    fn an_anchor_is_fit_for_a_link() {
        assert_eq!(anchor('c', "a b\"#<"), "c-a_b___");
    }
}
