//! `forest.svg`: the fail rate of every cell with its interval.

use super::super::text::{k_of_n, percent};
use super::super::words::{capital, outcome};
use super::super::{CellView, Format, Options, ReportError, View};
use super::{
    Canvas, FAIL, INK, LINE, MARGIN, NORMAL, PATCHED, PLAIN, QUIET, RULE, Style, WIDTH, interval_words,
    naming_axes, shared, source, width,
};
use crate::domain::Axis;

pub(in super::super) const FORMAT: Format = Format {
    name: "forest-svg",
    file_name: "forest.svg",
    about: "a picture for release notes: the fail rate of every cell with its interval",
    render,
};

const ROW: f64 = 20.0;
const GAP: f64 = 14.0;
/// Room for `10 of 10` and for `56.6 – 100 %`.
const COUNT: f64 = 66.0;
const BOUNDS: f64 = 96.0;
const PLOT: f64 = 230.0;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    Ok(picture(view).into_bytes())
}

fn picture(view: &View<'_>) -> String {
    let axes = naming_axes(view);
    let columns = columns(view, &axes);
    // The first mark stands on the plot's edge, and must not touch the last label.
    let labels: f64 = columns.iter().map(|column| column + GAP).sum::<f64>() + GAP;
    let wide = (MARGIN + labels + PLOT + GAP + COUNT + BOUNDS + MARGIN).max(WIDTH);
    let left = MARGIN + labels;
    let right = wide - MARGIN - BOUNDS - COUNT - GAP;
    let at = |share: f64| left + (right - left) * share;
    let room = wide - 2.0 * MARGIN;

    let mut canvas = Canvas::new();
    let title = capital(&outcome(view));
    let mut y = MARGIN + 12.0;
    canvas.text(MARGIN, y, &title, Style::new("ink", INK, 15.0).bold(), room);
    let method = format!(
        "Fail rate of each cell (failed of tested): the dot is what was seen, the line its {} {}.",
        view.level.percent(),
        view.method.title()
    );
    for line in [method, shared(view)] {
        if !line.is_empty() {
            y += 17.0;
            canvas.text(MARGIN, y, &line, QUIET, room);
        }
    }
    let patched = view.varied.contains(&Axis::Patch);
    if patched {
        y += 19.0;
        canvas.dot("mark", INK, MARGIN + 4.0, y - 4.0, 4.0);
        canvas.text(MARGIN + 14.0, y, "patch off", QUIET, 80.0);
        canvas.dot("mark-patched", PATCHED, MARGIN + 84.0, y - 4.0, 4.0);
        canvas.text(MARGIN + 94.0, y, "with a patch", QUIET, 120.0);
    }
    y += 28.0;

    let mut x = MARGIN;
    for (axis, column) in axes.iter().zip(&columns) {
        canvas.text(x, y, axis.name(), QUIET, *column);
        x += column + GAP;
    }
    canvas.text(wide - MARGIN - BOUNDS, y, "failed", QUIET.end(), COUNT);
    canvas.text(wide - MARGIN, y, &format!("{} interval", view.level.percent()), QUIET.end(), BOUNDS);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        canvas.text(at(share), y, &percent(share), QUIET.middle(), 60.0);
    }
    y += 8.0;
    let top = y;
    let bottom = top + ROW * view.cells.len() as f64 + 4.0;
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        canvas.line("rule", RULE, 1.0, [at(share), top, at(share), bottom]);
    }
    let mut before: Option<&CellView<'_>> = None;
    for cell in &view.cells {
        let middle = y + ROW / 2.0 + 2.0;
        let base = middle + 4.0;
        let mut same = before.is_some();
        let mut x = MARGIN;
        for (place, (axis, column)) in axes.iter().zip(&columns).enumerate() {
            let value = cell.key.get(*axis);
            same = same && before.is_some_and(|before| before.key.get(*axis) == value);
            // A value that goes on from the row above is not said again.
            if !same {
                canvas.text(x, base, value, PLAIN, *column);
                if place == 0 && axes.len() > 1 {
                    canvas.line("rule", RULE, 1.0, [MARGIN, y + 2.0, wide - MARGIN, y + 2.0]);
                }
            } else if place + 1 == axes.len() {
                canvas.text(x, base, value, PLAIN, *column);
            }
            x += column + GAP;
        }
        match cell.rate {
            Some(rate) => {
                let with_patch = patched && cell.key.patch != "off";
                let (line, mark) = if with_patch { (PATCHED, PATCHED) } else { (LINE, INK) };
                let (line_class, class) =
                    if with_patch { ("line-patched", "mark-patched") } else { ("line", "mark") };
                let bounds = [at(rate.interval.lo), middle, at(rate.interval.hi), middle];
                canvas.line(line_class, line, 2.0, bounds);
                canvas.dot(class, mark, at(rate.failed.value()), middle, 4.0);
                let count = if rate.failed.k() > 0 { Style::new("fail", FAIL, NORMAL) } else { PLAIN };
                canvas.text(wide - MARGIN - BOUNDS, base, &k_of_n(rate.failed), count.end(), COUNT);
                canvas.text(wide - MARGIN, base, &interval_words(rate), QUIET.end(), BOUNDS);
            }
            None => {
                canvas.text(at(0.5), base, "no data", QUIET.middle(), PLOT);
                let untested = cell.counts.not_tested.saturating_add(cell.counts.error);
                let words = format!("{untested} not tested");
                canvas.text(wide - MARGIN, base, &words, QUIET.end(), BOUNDS + COUNT);
            }
        }
        before = Some(cell);
        y += ROW;
    }
    y = bottom + 20.0;
    y = canvas.paragraph(MARGIN, y, &capital(&source(view)), QUIET, room);
    let about = format!("{}. A row a cell; the same numbers are in cells.csv. {}", title, source(view));
    canvas.finish("forest", [wide, y + MARGIN - 4.0], &title, &about)
}

/// The width of each axis' column: as wide as its values, within limits.
fn columns(view: &View<'_>, axes: &[Axis]) -> Vec<f64> {
    let most = (330.0 / axes.len() as f64).clamp(70.0, 220.0);
    let widest = |axis: &Axis| {
        let values = view.cells.iter().map(|cell| width(&super::visible(cell.key.get(*axis)), NORMAL));
        values.fold(width(axis.name(), NORMAL), f64::max)
    };
    let wanted: Vec<f64> = axes.iter().map(widest).collect();
    // What narrow columns leave is there for the wide ones.
    let spare: f64 = wanted.iter().map(|wide| (most - wide).max(0.0)).sum();
    let greedy = wanted.iter().filter(|wide| **wide > most).count().max(1) as f64;
    wanted.into_iter().map(|wide| wide.min(most + spare / greedy)).collect()
}
