//! The matrix over two axes, the runs of the other axes taken together.

use super::super::View;
use super::super::svg::escaped;
use super::{Values, foreign};
use crate::domain::Axis;
use std::collections::BTreeMap;

/// Empty where cells differ on fewer than two axes: the table of cells says it all.
pub(super) fn section(view: &View<'_>, values: &Values<'_>) -> String {
    let Some((down, across)) = axes(view, values) else { return String::new() };
    let choice = |id: &str, name: &str, chosen: Axis| {
        let options: String = values
            .axes
            .iter()
            .enumerate()
            .map(|(number, (axis, _))| {
                let selected = if *axis == chosen { " selected" } else { "" };
                format!("<option value=\"{number}\"{selected}>{axis}</option>")
            })
            .collect();
        format!("<label>{name} <select id=\"{id}\" autocomplete=\"off\">{options}</select></label>")
    };
    let (down_values, across_values) = (values.list(down), values.list(across));
    let mut sums: BTreeMap<(&str, &str), [u32; 3]> = BTreeMap::new();
    for cell in &view.cells {
        let sum = sums.entry((cell.key.get(down), cell.key.get(across))).or_default();
        let (k, n) = cell.rate.map_or((0, 0), |rate| (rate.failed.k(), rate.failed.n()));
        for (one, more) in sum.iter_mut().zip([k, n, 1]) {
            *one = one.saturating_add(more);
        }
    }
    let head: String =
        across_values.iter().map(|value| format!("<th scope=\"col\">{}</th>", foreign(value))).collect();
    let mut rows = String::new();
    for down_value in down_values {
        rows.push_str(&format!("<tr><th scope=\"row\">{}</th>", foreign(down_value)));
        for across_value in across_values {
            rows.push_str(&match sums.get(&(*down_value, *across_value)) {
                None => "<td class=\"none\">–</td>".to_owned(),
                Some([_, 0, _]) => "<td class=\"none\">no data</td>".to_owned(),
                Some([k, n, _]) => {
                    let tenth = (f64::from(*k) / f64::from(*n) * 10.0).round();
                    format!("<td class=\"h{tenth}\">{k} of {n}</td>")
                }
            });
        }
        rows.push_str("</tr>\n");
    }
    format!(
        "<section class=\"plot\" id=\"matrix\">\n<h2>Matrix</h2>\n<form class=\"choice\" hidden>{} {}</form>\n<div \
         class=\"wide\"><table class=\"heat\" id=\"heat\">\n<caption>Failed of tested by <span>{}</span> (rows) and \
         <span>{}</span> (columns); the runs of all other axes are taken together</caption>\n<thead><tr><td></td>{head}\
         </tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n<ol class=\"scale\" aria-hidden=\"true\"><li \
         class=\"h0\">0 %</li><li class=\"h2\"></li><li class=\"h4\"></li><li class=\"h6\"></li><li class=\"h8\"></li>\
         <li class=\"h10\">100 %</li></ol>\n</section>\n",
        choice("down", "Rows", down),
        choice("across", "Columns", across),
        escaped(down.name()),
        escaped(across.name()),
    )
}

/// The two axes that explain most of the differences between cells: with the largest sum of squares
/// between groups. The patch goes across, and else the axis with fewer values.
fn axes(view: &View<'_>, values: &Values<'_>) -> Option<(Axis, Axis)> {
    let mut best: Option<(f64, (Axis, Axis))> = None;
    for (place, one) in view.varied.iter().enumerate() {
        for two in &view.varied[place + 1..] {
            let mut groups: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
            for rate in view.cells.iter().filter_map(|cell| cell.rate.map(|rate| (cell, rate))) {
                let (cell, rate) = rate;
                let group = groups.entry((cell.key.get(*one), cell.key.get(*two))).or_default();
                group.0 += f64::from(rate.failed.k());
                group.1 += f64::from(rate.failed.n());
            }
            let between: f64 = groups.values().map(|(k, n)| k * k / n).sum();
            // Of equals the later: patches stand last.
            if best.is_none_or(|(most, _)| between >= most - 1e-9) {
                let across_second = *two == Axis::Patch || values.list(*two).len() <= values.list(*one).len();
                best = Some((between, if across_second { (*one, *two) } else { (*two, *one) }));
            }
        }
    }
    best.map(|(_, axes)| axes)
}
