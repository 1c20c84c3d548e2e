//! The cells: a table of which one column is the forest plot, so that it sorts and filters with it.

use super::super::svg::{escaped, source};
use super::super::text::{k_of_n, percent, percent_interval};
use super::super::words::{capital, shows_unstruck};
use super::super::{Rate, View};
use super::{NO_DATA, Values, link, sortable, sorted, value};
use crate::domain::Axis;

/// The plot's inner width.
const PLOT: f64 = 200.0;
const EDGE: f64 = 6.0;

pub(super) fn section(view: &View<'_>, values: &Values<'_>) -> String {
    if view.cells.is_empty() {
        return "<section id=\"cells\"><h2>Cells</h2><p>There is no cell.</p></section>\n".to_owned();
    }
    let axes = super::super::svg::naming_axes(view);
    let level = view.level.percent();
    let mut head: String = axes.iter().map(|axis| sortable(axis.name(), "")).collect();
    head.push_str(&format!(
        "<th scope=\"col\" class=\"forest\">{}<span class=\"sr\">plot</span></th>",
        scale()
    ));
    head.push_str(&sortable("failed", "n"));
    head.push_str(&sortable("rate", "n"));
    head.push_str(&sortable(&format!("{level} interval"), "n"));
    head.push_str(&sortable("not tested", "n"));
    head.push_str(&sortable("errors", "n"));
    if view.missing > 0 {
        head.push_str(&sortable("missing", "n"));
    }
    let unstruck = shows_unstruck(view);
    if unstruck {
        head.push_str(&sortable("passes without a fault", "n"));
    }
    head.push_str(&sortable("violations", ""));
    let patched = view.varied.contains(&Axis::Patch);
    let mut rows = String::new();
    for cell in &view.cells {
        rows.push_str(&format!(
            "<tr class=\"row\"{}{}>",
            values.attribute(cell.key),
            cell.rate.map_or(String::new(), |rate| {
                format!(" data-k=\"{}\" data-n=\"{}\"", rate.failed.k(), rate.failed.n())
            })
        ));
        for axis in &axes {
            rows.push_str(&value(cell.key.get(*axis)));
        }
        match cell.rate {
            Some(rate) => {
                let with_patch = patched && cell.key.patch != "off";
                let failed = rate.failed;
                rows.push_str(&format!("<td class=\"forest\">{}</td>", plot(rate, with_patch)));
                rows.push_str(&sorted(f64::from(failed.k()), &link(cell.id, &k_of_n(failed))));
                rows.push_str(&sorted(failed.value(), &percent(failed.value())));
                rows.push_str(&sorted(rate.interval.hi, &percent_interval(rate.interval)));
            }
            None => {
                rows.push_str("<td class=\"forest\"></td>");
                rows.push_str(&sorted(NO_DATA, &link(cell.id, "no data")));
                rows.push_str(&sorted(NO_DATA, ""));
                rows.push_str(&sorted(NO_DATA, ""));
            }
        }
        let mut numbers = vec![cell.counts.not_tested, cell.counts.error];
        if view.missing > 0 {
            numbers.push(cell.missing);
        }
        if unstruck {
            numbers.push(cell.unstruck);
        }
        for number in numbers {
            let quiet =
                if number == 0 { "<span class=\"zero\">0</span>".to_owned() } else { number.to_string() };
            rows.push_str(&sorted(f64::from(number), &quiet));
        }
        let kinds: Vec<String> = cell
            .violations
            .iter()
            .map(|(kind, runs)| format!("<code>{}</code> in {runs}", escaped(kind)))
            .collect();
        rows.push_str(&format!("<td class=\"kinds\">{}</td></tr>\n", kinds.join(", ")));
    }
    let key = if patched {
        " <i class=\"dot\"></i> patch off <i class=\"dot dot-patched\"></i> with a patch."
    } else {
        ""
    };
    format!(
        "<section id=\"cells\">\n<h2>Cells</h2>\n<div class=\"wide\"><table class=\"data\">\n<caption>Fail rate of \
         each cell: failed of tested (PASS + FAIL), {} {}.{key} A number leads to its runs.</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n<p class=\"source\">{}</p>\n</section>\n",
        escaped(&level),
        view.method.title(),
        escaped(&capital(&source(view))),
    )
}

/// The numbers beside it say the same, so a screen reader passes over it.
fn plot(rate: Rate, patched: bool) -> String {
    let at = |share: f64| EDGE + share * PLOT;
    let class = if patched { " class=\"patched\"" } else { "" };
    format!(
        "<svg{class} viewBox=\"0 0 {} 14\" aria-hidden=\"true\"><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/>\
         <circle cx=\"{:.1}\" cy=\"7\" r=\"4\"/></svg>",
        PLOT + 2.0 * EDGE,
        at(rate.interval.lo),
        at(rate.interval.hi),
        at(rate.failed.value())
    )
}

fn scale() -> String {
    format!(
        "<svg viewBox=\"0 0 {} 14\" aria-hidden=\"true\"><text x=\"0\" y=\"11\">0</text><text x=\"{}\" y=\"11\" \
         text-anchor=\"middle\">50</text><text x=\"{}\" y=\"11\" text-anchor=\"end\">100 %</text></svg>",
        PLOT + 2.0 * EDGE,
        EDGE + PLOT / 2.0,
        PLOT + 2.0 * EDGE
    )
}
