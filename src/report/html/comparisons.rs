//! Every patch against `off`, all else equal.

use super::super::svg::escaped;
use super::super::text::{k_of_n, p_value, points_interval, signed};
use super::super::words::{capital, comparison_axes, comparison_methods, effect};
use super::super::{Comparison, Decision, Difference, View};
use super::{NO_DATA, Values, link, sortable, sorted, value};
use crate::domain::CellId;
use crate::stats::Proportion;

pub(super) fn section(view: &View<'_>, values: &Values<'_>) -> String {
    if view.comparisons.is_empty() {
        return String::new();
    }
    let axes = comparison_axes(view);
    let exact = view.comparisons.iter().filter_map(|pair| pair.difference).any(|seen| seen.fisher.is_some());
    let mut head: String = axes.iter().map(|axis| sortable(axis.name(), "")).collect();
    head.push_str(&sortable("before", "n"));
    head.push_str(&sortable("after", "n"));
    head.push_str("<th scope=\"col\" class=\"change\"><span class=\"sr\">plot</span>");
    head.push_str("<svg viewBox=\"0 0 112 14\" aria-hidden=\"true\"><text x=\"0\" y=\"11\">fewer</text>");
    head.push_str("<text x=\"112\" y=\"11\" text-anchor=\"end\">more fails</text></svg></th>");
    head.push_str(&sortable("points", "n"));
    head.push_str(&sortable(&format!("{} interval", view.level.percent()), "n"));
    if exact {
        head.push_str(&sortable("p Boschloo", "n"));
        head.push_str(&sortable("p Fisher", "n"));
    }
    head.push_str(&sortable("p Holm", "n"));
    head.push_str(&sortable("effect", ""));
    let mut rows = String::new();
    for pair in &view.comparisons {
        rows.push_str(&format!("<tr class=\"row {}\"{}>", class(pair), values.attribute(&pair.key)));
        for axis in &axes {
            rows.push_str(&value(pair.key.get(*axis)));
        }
        rows.push_str(&arm(&pair.before_id, pair.before));
        rows.push_str(&arm(&pair.after_id, pair.after));
        rows.push_str(&format!(
            "<td class=\"change\">{}</td>",
            pair.difference.map(plot).unwrap_or_default()
        ));
        rows.push_str(&difference(pair, exact));
        rows.push_str(&format!("<td class=\"effect\">{}</td></tr>\n", escaped(&effect(pair, view))));
    }
    format!(
        "<section id=\"comparisons\">\n<h2>Patches, pair by pair</h2>\n<div class=\"wide\"><table class=\"data\">\n\
         <caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n</section>\n",
        escaped(&capital(&comparison_methods(view)))
    )
}

fn class(pair: &Comparison) -> &'static str {
    match pair.decision {
        Decision::FewerFails => "fewer",
        Decision::MoreFails => "more",
        Decision::NoneShown(_) | Decision::NoData => "none",
    }
}

fn arm(cell: &CellId, seen: Option<Proportion>) -> String {
    match seen {
        Some(seen) => sorted(seen.value(), &link(cell, &k_of_n(seen))),
        None => sorted(NO_DATA, &link(cell, "no data")),
    }
}

fn difference(pair: &Comparison, exact: bool) -> String {
    let shown =
        |key: fn(Difference) -> Option<f64>, words: fn(Difference) -> Option<String>| match pair.difference {
            Some(seen) => sorted(key(seen).unwrap_or(NO_DATA), &escaped(&words(seen).unwrap_or_default())),
            None => sorted(NO_DATA, ""),
        };
    let mut cells = shown(|seen| Some(seen.estimate), |seen| Some(signed(seen.estimate * 100.0)));
    cells.push_str(&shown(|seen| Some(seen.interval.hi), |seen| Some(points_interval(seen.interval))));
    if exact {
        cells.push_str(&shown(|seen| seen.boschloo, |seen| seen.boschloo.map(p_value)));
        cells.push_str(&shown(|seen| seen.fisher, |seen| seen.fisher.map(p_value)));
    }
    cells.push_str(&shown(|seen| Some(seen.adjusted), |seen| Some(p_value(seen.adjusted))));
    cells
}

/// The change with its interval around zero; the numbers beside it say the same.
fn plot(seen: Difference) -> String {
    let at = |points: f64| 56.0 + points.clamp(-1.0, 1.0) * 50.0;
    format!(
        "<svg viewBox=\"0 0 112 14\" aria-hidden=\"true\"><line class=\"zero\" x1=\"56\" x2=\"56\" y1=\"0\" \
         y2=\"14\"/><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"7\" y2=\"7\"/><circle cx=\"{:.1}\" cy=\"7\" r=\"4\"/></svg>",
        at(seen.interval.lo),
        at(seen.interval.hi),
        at(seen.estimate)
    )
}
