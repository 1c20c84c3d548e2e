//! `patches.svg`: the fail rate before and after every patch, one panel a patch.

use super::super::text::{points, points_interval};
use super::super::words::{capital, comparison_methods, patch_outcome, patch_overall};
use super::super::{Comparison, Decision, Format, Options, PatchSummary, ReportError, View};
use super::{
    Canvas, FAIL, INK, LINE, MARGIN, MUTED, NORMAL, PASS, PLAIN, QUIET, RULE, Style, WIDTH, named, source,
};
use crate::domain::Axis;

pub(in super::super) const FORMAT: Format = Format {
    name: "patches-svg",
    file_name: "patches.svg",
    about: "a picture for release notes: the fail rate before and after every patch",
    render,
};

/// The height of 0 to 100 %.
const HIGH: f64 = 220.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 290.0;
const LABEL: f64 = 16.0;
/// Labels beside one panel of comparisons with and without an effect; more of them are counted.
const MOST_LABELS: usize = 14;
const MOST_OTHERS: usize = 6;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    Ok(picture(view).into_bytes())
}

/// The picture, which says so where there is nothing to compare.
pub(in super::super) fn picture(view: &View<'_>) -> String {
    let mut canvas = Canvas::new();
    let room = WIDTH - 2.0 * MARGIN;
    let mut y = MARGIN;
    for patch in &view.patches {
        y = panel(&mut canvas, y, view, patch);
    }
    if view.patches.is_empty() {
        y += 14.0;
        canvas.text(MARGIN, y, "There is no patch to compare.", PLAIN, room);
    } else {
        y = canvas.paragraph(MARGIN, y + 15.0, &capital(&comparison_methods(view)), QUIET, room);
    }
    y = canvas.paragraph(MARGIN, y + 16.0, &capital(&source(view)), QUIET, room);
    let title = "Fail rate before and after each patch";
    let outcomes: Vec<String> =
        view.patches.iter().map(|patch| format!("{}: {}.", patch.patch, patch_outcome(patch))).collect();
    let about = format!("{} The table of comparisons has the same numbers.", outcomes.join(" "));
    canvas.finish("patches", [WIDTH, y + MARGIN - 4.0], title, about.trim())
}

/// Comparisons with the same rates before and after: one line.
struct Bundle<'a> {
    before: f64,
    after: f64,
    decision: Decision,
    pairs: Vec<&'a Comparison>,
}

fn panel(canvas: &mut Canvas, top: f64, view: &View<'_>, patch: &PatchSummary) -> f64 {
    let room = WIDTH - 2.0 * MARGIN;
    let pairs: Vec<&Comparison> =
        view.comparisons.iter().filter(|pair| pair.key.patch == patch.patch).collect();
    let bundles = bundles(&pairs);
    let mut y = top + 12.0;
    let title = format!("{}: {}", patch.patch, patch_outcome(patch));
    canvas.text(MARGIN, y, &title, Style::new("ink", INK, 15.0).bold(), room);
    if let Some(overall) = patch_overall(patch, &view.level.percent()) {
        y += 17.0;
        canvas.text(MARGIN, y, &capital(&overall), QUIET, room);
    }
    y += 24.0;
    canvas.text(LEFT, y, "patch off", PLAIN.middle(), 120.0);
    canvas.text(RIGHT, y, &format!("with {}", patch.patch), PLAIN.middle(), 220.0);
    y += 14.0;

    let labels = labels(&bundles, view);
    let high = HIGH.max(labels.len() as f64 * LABEL - 8.0);
    let at = |share: f64| y + high * (1.0 - share);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        canvas.line("rule", RULE, 1.0, [LEFT, at(share), RIGHT, at(share)]);
        let words = super::super::text::percent(share);
        canvas.text(LEFT - 12.0, at(share) + 4.0, &words, QUIET.end(), 60.0);
    }
    for bundle in &bundles {
        let (class, colour) = colours(bundle.decision);
        let many = bundles.len() > MOST_LABELS && !bundle.decision.is_shown();
        let wide = if many { 1.0 } else { (1.5 + (bundle.pairs.len() as f64).sqrt() * 0.7).min(6.0) };
        canvas.line(class, colour, wide, [LEFT, at(bundle.before), RIGHT, at(bundle.after)]);
        for (x, share) in [(LEFT, bundle.before), (RIGHT, bundle.after)] {
            canvas.dot(class, colour, x, at(share), 3.0 + wide / 3.0);
        }
    }
    let places = spread(labels.iter().map(|label| at(label.after)).collect(), y, y + high);
    for (label, place) in labels.iter().zip(places) {
        let (class, colour) = colours(label.decision);
        let away = [RIGHT + 8.0, at(label.after), RIGHT + 22.0, place];
        canvas.line("rule", LINE, 0.7, away);
        let shown = label.decision.is_shown();
        let fill = if shown { colour } else { MUTED };
        let style = Style::new(if shown { class } else { "muted" }, fill, NORMAL);
        let style = if shown { style.bold() } else { style };
        canvas.text(RIGHT + 26.0, place + 4.0, &label.text, style, WIDTH - MARGIN - RIGHT - 26.0);
    }
    y + high + 22.0
}

fn colours(decision: Decision) -> (&'static str, &'static str) {
    match decision {
        Decision::FewerFails => ("fewer", PASS),
        Decision::MoreFails => ("more", FAIL),
        Decision::NoneShown(_) | Decision::NoData => ("none", LINE),
    }
}

/// Lines that show an effect come last, so that they lie over the others.
fn bundles<'a>(pairs: &[&'a Comparison]) -> Vec<Bundle<'a>> {
    let mut found: Vec<Bundle<'a>> = Vec::new();
    for pair in pairs {
        let Some((before, after)) = pair.before.zip(pair.after) else { continue };
        let (before, after) = (before.value(), after.value());
        let alike = |bundle: &&mut Bundle<'a>| {
            bundle.before == before && bundle.after == after && bundle.decision.name() == pair.decision.name()
        };
        match found.iter_mut().find(alike) {
            Some(bundle) => bundle.pairs.push(pair),
            None => found.push(Bundle { before, after, decision: pair.decision, pairs: vec![pair] }),
        }
    }
    found.sort_by_key(|bundle| bundle.decision.is_shown());
    found
}

struct Label {
    after: f64,
    decision: Decision,
    text: String,
}

/// What stands at the right: every comparison that shows an effect by name, the others by number.
fn labels(bundles: &[Bundle<'_>], view: &View<'_>) -> Vec<Label> {
    let axes: Vec<Axis> = view.varied.iter().copied().filter(|axis| *axis != Axis::Patch).collect();
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for Bundle { after, decision, pairs, .. } in bundles {
        let label = |text: String| Label { after: *after, decision: *decision, text };
        if decision.is_shown() || pairs.len() == 1 {
            let list = if decision.is_shown() { &mut shown } else { &mut others };
            list.extend(pairs.iter().map(|pair| label(change(pair, &axes))));
        } else {
            others.push(label(format!("{} comparisons, no effect shown", pairs.len())));
        }
    }
    if shown.len() > MOST_LABELS {
        let more = shown.len() - MOST_LABELS;
        shown.truncate(MOST_LABELS);
        let text = format!("and {more} more with an effect, in the table");
        shown.push(Label { after: 0.0, decision: Decision::NoData, text });
    }
    if others.len() > MOST_OTHERS {
        let grey = bundles.iter().filter(|bundle| !bundle.decision.is_shown());
        let text =
            format!("{} comparisons (grey), no effect shown", grey.map(|one| one.pairs.len()).sum::<usize>());
        others = vec![Label { after: 1.0, decision: Decision::NoData, text }];
    }
    shown.extend(others);
    shown.sort_by(|a, b| b.after.total_cmp(&a.after));
    shown
}

fn change(pair: &Comparison, axes: &[Axis]) -> String {
    let change = pair.difference.map_or(String::new(), |seen| {
        format!("{} ({})", points(seen.estimate), points_interval(seen.interval))
    });
    match named(&pair.key, axes) {
        name if name.is_empty() => change,
        name => format!("{change}: {name}"),
    }
}

/// Places for labels, in order, none on top of another, each as near to its wish as that allows.
fn spread(wishes: Vec<f64>, top: f64, bottom: f64) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let free = places.last().map_or(top, |last: &f64| last + LABEL);
        places.push(wish.max(free));
    }
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LABEL;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_lie_on_one_another() {
        let places = spread(vec![10.0, 10.0, 10.0, 200.0, 200.0], 0.0, 200.0);
        assert_eq!(places, [10.0, 26.0, 42.0, 184.0, 200.0]);
    }
}
