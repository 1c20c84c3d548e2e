//! What really happened, and in which layers runs failed: tables under the cells.

use super::super::View;
use super::super::svg::escaped;
use super::super::truth::{Entry, Grid, grids};
use super::super::words::capital;
use super::foreign;

pub(super) fn section(view: &View<'_>) -> String {
    grids(view).iter().map(table).collect()
}

fn table(grid: &Grid) -> String {
    let head: String = grid
        .columns
        .iter()
        .map(|(title, number)| {
            format!("<th scope=\"col\"{}>{}</th>", if *number { " class=\"n\"" } else { "" }, escaped(title))
        })
        .collect();
    let mut rows = String::new();
    for row in &grid.rows {
        rows.push_str("<tr>");
        for (entry, (_, number)) in row.iter().zip(&grid.columns) {
            let class = if *number { " class=\"n\"" } else { "" };
            match entry {
                Entry::Own(text) => rows.push_str(&format!("<td{class}>{}</td>", escaped(text))),
                Entry::Foreign(text) => rows.push_str(&format!("<td{class}>{}</td>", foreign(text))),
            }
        }
        rows.push_str("</tr>\n");
    }
    format!(
        "<section>\n<h2>{}</h2>\n<div class=\"wide\"><table class=\"data\">\n<caption>{}.</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n",
        grid.title,
        escaped(&capital(&grid.caption))
    )
}
