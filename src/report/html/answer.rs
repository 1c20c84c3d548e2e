//! The first screen: what was measured, and what came out.

use super::super::svg::{escaped, patches};
use super::super::text::{counted, k_of_n, percent};
use super::super::words::{self, capital, patch_outcome, patch_overall, planned_repeats, unstruck};
use super::super::{GateResult, GateState, Reason, View};
use super::{Values, foreign, heat};
use crate::domain::Axis;

pub(super) fn section(view: &View<'_>, values: &Values<'_>) -> String {
    let suite = &view.results.suite;
    let description = match suite.description.as_str() {
        "" => String::new(),
        text => format!("<p class=\"question\">{}</p>\n", foreign(text)),
    };
    let slope = match view.patches.is_empty() {
        true => String::new(),
        false => format!(
            "<section class=\"plot\" id=\"patches-plot\">\n<h2>Before and after</h2>\n<div class=\"wide\">{}</div>\n\
             </section>\n",
            patches::picture(view)
        ),
    };
    // Many panels would push everything else out of sight.
    const MOST_PANELS: usize = 3;
    let many = view.patches.len() > MOST_PANELS;
    let (beside, below) = if many { (String::new(), slope) } else { (slope, String::new()) };
    format!(
        "<header>\n<div>\n<h1>{}</h1>\n{description}</div>\n<button type=\"button\" id=\"theme\" hidden>Theme: \
         system</button>\n</header>\n<main>\n<div class=\"first\">\n<div>\n<section id=\"answer\" aria-label=\"The \
         answer\">\n{}{}{}{}{}{}</section>\n{}</div>\n<div>\n{beside}{}</div>\n</div>\n{below}",
        foreign(&suite.name),
        marks(view),
        unfinished(view),
        headline(view),
        bar(view),
        no_fault(view),
        findings(view),
        heat::section(view, values),
        measured(view, values),
    )
}

fn marks(view: &View<'_>) -> String {
    let mark = |mark: &String| format!("<p class=\"warn\"><b>{}</b></p>\n", foreign(mark));
    view.results.marks.iter().map(mark).collect()
}

fn no_fault(view: &View<'_>) -> String {
    unstruck(view).map_or(String::new(), |sentence| format!("<p>{}.</p>\n", escaped(&capital(&sentence))))
}

fn unfinished(view: &View<'_>) -> String {
    if view.missing == 0 && !view.results.interrupted {
        return String::new();
    }
    format!(
        "<p class=\"warn\">Not complete: {} of {} planned runs are missing.</p>\n",
        view.missing, view.planned
    )
}

fn headline(view: &View<'_>) -> String {
    match view.totals.failed() {
        Some(failed) => format!(
            "<p class=\"headline\"><b>{}</b> tested runs failed <span class=\"muted\">{}</span></p>\n",
            k_of_n(failed),
            percent(failed.value())
        ),
        None => "<p class=\"headline\"><b>No run was tested</b>, so there is no rate</p>\n".to_owned(),
    }
}

/// All planned runs by verdict, as a bar with a legend that says the same in words.
fn bar(view: &View<'_>) -> String {
    let counts = view.totals;
    let parts = [
        ("fail", "failed", counts.fail),
        ("pass", "passed", counts.pass),
        ("nt", "not tested", counts.not_tested),
        ("err", if counts.error == 1 { "error" } else { "errors" }, counts.error),
        ("miss", "missing", view.missing),
    ];
    let all: f64 = parts.iter().map(|(_, _, runs)| f64::from(*runs)).sum();
    let (mut shapes, mut legend, mut x) = (String::new(), String::new(), 0.0);
    for (class, name, runs) in parts {
        if runs > 0 {
            let wide = f64::from(runs) / all * 1000.0;
            shapes.push_str(&format!(
                "<rect class=\"s-{class}\" x=\"{x:.2}\" width=\"{wide:.2}\" height=\"10\"/>"
            ));
            x += wide;
        }
        if runs > 0 || class != "miss" {
            legend.push_str(&format!("<li><i class=\"s s-{class}\"></i>{runs} {name}</li>"));
        }
    }
    format!(
        "<svg class=\"bar-of-runs\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" \
         aria-hidden=\"true\">{shapes}</svg>\n<ul class=\"legend\">{legend}<li class=\"muted\">of {} \
         planned</li></ul>\n",
        view.planned
    )
}

fn findings(view: &View<'_>) -> String {
    let mut items = String::new();
    for patch in &view.patches {
        let class = match (patch.fewer_fails, patch.more_fails) {
            (_, 1..) => "more",
            (1.., 0) => "fewer",
            _ => "none",
        };
        let overall = patch_overall(patch, &view.level.percent())
            .map(|overall| format!("<br><span class=\"muted\">{}</span>", escaped(&capital(&overall))))
            .unwrap_or_default();
        items.push_str(&format!(
            "<li class=\"{class}\"><code>{}</code>: <b>{}</b>{overall}</li>\n",
            foreign(&patch.patch),
            escaped(&patch_outcome(patch))
        ));
    }
    for GateResult { gate, state, sentence } in &view.gates {
        let class = if *state == GateState::Held { "fewer" } else { "more" };
        items.push_str(&format!(
            "<li class=\"{class}\">gate <code>{}</code>: <b>{}</b><br><span class=\"muted\">{}</span></li>\n",
            foreign(gate),
            state.title(),
            foreign(sentence)
        ));
    }
    for violation in &view.violations {
        items.push_str(&format!(
            "<li><code>{}</code> in {}</li>\n",
            foreign(violation.kind),
            counted(violation.runs, "run", "runs")
        ));
    }
    for (title, reasons) in [("Not tested", &view.not_tested), ("Errors", &view.errors)] {
        if !reasons.is_empty() {
            let words = |reason: &Reason<'_>| format!("<code>{}</code> in {}", reason.code, reason.runs);
            let words: Vec<String> = reasons.iter().map(words).collect();
            items.push_str(&format!(
                "<li>{title}: {} (<a href=\"#reasons\">why</a>)</li>\n",
                words.join(", ")
            ));
        }
    }
    if items.is_empty() { items } else { format!("<ul class=\"findings\">\n{items}</ul>\n") }
}

/// What was measured.
fn measured(view: &View<'_>, values: &Values<'_>) -> String {
    let mut rows = String::new();
    let mut row = |name: &str, value: String| rows.push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
    let repeats = planned_repeats(view);
    row("runs", format!("{}, {repeats} each", counted(view.cells.len() as u64, "cell", "cells")));
    for (axis, list) in &values.axes {
        const MOST: usize = 6;
        let shown: Vec<String> = list.iter().take(MOST).map(|value| foreign(value)).collect();
        let more = list.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        row(axis.name(), format!("{}{more}", shown.join(", ")));
    }
    if view.measured.is_some() {
        row("when", escaped(words::measured(view).trim_start_matches("measured ")));
    }
    let constant: Vec<String> = view
        .constant
        .iter()
        // `off` is what a patch is compared with, and is no patch.
        .filter(|(axis, value)| (*axis, *value) != (Axis::Patch, "off"))
        .map(|(axis, value)| format!("{axis} {}", foreign(value)))
        .collect();
    if !constant.is_empty() {
        row("everywhere", constant.join(", "));
    }
    format!(
        "<section aria-label=\"What was measured\">\n<h2>What was measured</h2>\n<dl class=\"measured\">\n{rows}</dl>\n\
         </section>\n"
    )
}
