//! Tables that every format has: they sort, and those about cells filter with the others.

use super::super::grid::{Entry, Grid, Row};
use super::super::svg::escaped;
use super::super::text::percent_interval;
use super::super::words::capital;
use super::{NO_DATA, Values, anchor, foreign, sortable, sorted, value};

pub(super) fn section(grid: &Grid<'_>, values: &Values<'_>) -> String {
    let head: String =
        grid.columns.iter().map(|(title, number)| sortable(title, if *number { "n" } else { "" })).collect();
    let rows: String = grid.rows.iter().map(|row| drawn(row, values)).collect();
    format!(
        "<section>\n<h2>{}</h2>\n<div class=\"wide\"><table class=\"data\">\n<caption>{}.</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n",
        grid.title,
        escaped(&capital(&grid.caption))
    )
}

fn drawn(row: &Row<'_>, values: &Values<'_>) -> String {
    let cells: String = row.entries.iter().map(entry).collect();
    match row.cell {
        Some(key) => format!("<tr class=\"row\"{}>{cells}</tr>\n", values.attribute(key)),
        None => format!("<tr>{cells}</tr>\n"),
    }
}

fn entry(entry: &Entry) -> String {
    match entry {
        Entry::Own(text) => format!("<td>{}</td>", escaped(text)),
        Entry::Number(key, text) if text == "0" => {
            sorted(key.unwrap_or(NO_DATA), "<span class=\"zero\">0</span>")
        }
        Entry::Number(key, text) => sorted(key.unwrap_or(NO_DATA), &escaped(text)),
        Entry::Share(seen, interval) => {
            let class = if seen.k() == 0 { "zero" } else { "some" };
            let interval = percent_interval(*interval);
            sorted(
                seen.value(),
                &format!(
                    "<span class=\"{class}\">{}</span> <span class=\"range\">{interval}</span>",
                    seen.k()
                ),
            )
        }
        Entry::Foreign(text) => format!("<td class=\"words\">{}</td>", foreign(text)),
        Entry::Value(text) => value(text),
        Entry::Run(id) => {
            format!("<td class=\"v\"><a href=\"#{}\">{}</a></td>", anchor('r', id), escaped(id))
        }
    }
}
