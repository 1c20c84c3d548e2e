//! Pictures for release notes: SVG that stands alone, on white, with text as text. A page may put its
//! own colours over them: every shape has a class beside its colour.

pub(super) mod forest;
pub(super) mod patches;

use super::View;
use super::text::{percent_interval, short_digest, shortened, visible};
use super::words::{measured, planned_repeats};
use crate::domain::{Axis, CellKey};

/// The width for which fonts are chosen; a picture may be wider where it has many columns.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 16.0;
const SMALL: f64 = 11.0;
const NORMAL: f64 = 12.0;

const INK: &str = "#1c2126";
const MUTED: &str = "#5f6973";
const RULE: &str = "#dfe3e7";
const LINE: &str = "#8a949e";
const FAIL: &str = "#c2410c";
const PASS: &str = "#0f766e";
const PATCHED: &str = "#1d5fbf";

/// Foreign text between tags or in an attribute in double quotes, for XML and HTML alike.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Roughly how wide a text is in a sans-serif font: there is no font to measure it with.
fn width(text: &str, size: f64) -> f64 {
    let em = |character: char| match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.3,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' | ' ' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '<' | '>' | '=' | '+' | '−' => 0.9,
        'A'..='Z' | '_' => 0.7,
        other if u32::from(other) >= 0x1100 && !matches!(u32::from(other), 0x2000..=0x2BFF) => 1.05,
        _ => 0.6,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// As much of a text as fits, its start and its end: names of models differ in either. True where some
/// is left out.
fn fitting(text: &str, size: f64, room: f64) -> (String, bool) {
    let text = visible(text);
    if width(&text, size) <= room {
        return (text, false);
    }
    let characters: Vec<char> = text.chars().collect();
    let (mut head, mut tail, mut used) = (String::new(), Vec::new(), size);
    for (from_start, from_end) in characters.iter().zip(characters.iter().rev()) {
        used += width(from_start.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        head.push(*from_start);
        used += width(from_end.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        tail.push(*from_end);
    }
    tail.reverse();
    (format!("{head}…{}", tail.iter().collect::<String>()), true)
}

/// A picture that is being drawn.
struct Canvas {
    shapes: String,
}

/// How a text stands at its place.
#[derive(Clone, Copy)]
struct Style {
    class: &'static str,
    fill: &'static str,
    size: f64,
    anchor: &'static str,
    bold: bool,
}

impl Style {
    const fn new(class: &'static str, fill: &'static str, size: f64) -> Style {
        Style { class, fill, size, anchor: "start", bold: false }
    }

    const fn end(self) -> Style {
        Style { anchor: "end", ..self }
    }

    const fn middle(self) -> Style {
        Style { anchor: "middle", ..self }
    }

    const fn bold(self) -> Style {
        Style { bold: true, ..self }
    }
}

const PLAIN: Style = Style::new("ink", INK, NORMAL);
const QUIET: Style = Style::new("muted", MUTED, SMALL);

impl Canvas {
    fn new() -> Canvas {
        Canvas { shapes: String::new() }
    }

    /// Foreign text, cut where it is wider than `room`.
    fn text(&mut self, x: f64, y: f64, text: &str, style: Style, room: f64) {
        let (shown, cut) = fitting(text, style.size, room);
        let title = if cut { format!("<title>{}</title>", escaped(text)) } else { String::new() };
        let Style { class, fill, size, anchor, bold } = style;
        let weight = if bold { " font-weight=\"600\"" } else { "" };
        let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
        self.shapes.push_str(&format!(
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" fill=\"{fill}\" font-size=\"{size}\"{anchor}{weight} \
             unicode-bidi=\"isolate\">{title}{}</text>\n",
            number(x),
            number(y),
            escaped(&shown)
        ));
    }

    /// A sentence in as many lines as it needs; where the last one stands.
    fn paragraph(&mut self, x: f64, mut y: f64, text: &str, style: Style, room: f64) -> f64 {
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && width(&line, style.size) + width(word, style.size) > room {
                self.text(x, y, line.trim_end(), style, room);
                line.clear();
                y += style.size + 5.0;
            }
            line.push_str(word);
            line.push(' ');
        }
        self.text(x, y, line.trim_end(), style, room);
        y
    }

    fn line(&mut self, class: &str, colour: &str, wide: f64, [x1, y1, x2, y2]: [f64; 4]) {
        self.shapes.push_str(&format!(
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\" \
             stroke-width=\"{}\"/>\n",
            number(x1),
            number(y1),
            number(x2),
            number(y2),
            number(wide)
        ));
    }

    fn dot(&mut self, class: &str, colour: &str, x: f64, y: f64, radius: f64) {
        self.shapes.push_str(&format!(
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\"/>\n",
            number(x),
            number(y),
            number(radius)
        ));
    }

    /// The file; `title` and `about` are what a screen reader says.
    fn finish(self, id: &str, [wide, high]: [f64; 2], title: &str, about: &str) -> String {
        let (wide, high) = (number(wide), number(high));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" \
             height=\"{high}\" role=\"img\" aria-labelledby=\"{id}-title {id}-about\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-about\">{}</desc>\n\
             <rect class=\"paper\" width=\"{wide}\" height=\"{high}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escaped(title),
            escaped(about),
            self.shapes
        )
    }
}

fn number(number: f64) -> String {
    super::text::trimmed(&format!("{number:.1}"))
}

/// The axes that name a cell in a picture: those on which cells differ, else the model.
pub(super) fn naming_axes(view: &View<'_>) -> Vec<Axis> {
    if view.varied.is_empty() { vec![Axis::Model] } else { view.varied.clone() }
}

/// The values of a cell on these axes.
fn named(key: &CellKey, axes: &[Axis]) -> String {
    axes.iter().map(|axis| visible(key.get(*axis))).collect::<Vec<_>>().join(" · ")
}

/// Where every figure comes from.
pub(super) fn source(view: &View<'_>) -> String {
    let suite = &view.results.suite;
    format!(
        "suite {}, digest {}, {} planned a cell, nochmal {}, {}; report of {}",
        shortened(&visible(&suite.name), 60),
        short_digest(&suite.digest),
        planned_repeats(view),
        visible(&suite.version),
        measured(view),
        visible(&view.results.generated_at)
    )
}

/// The values that all cells share.
fn shared(view: &View<'_>) -> String {
    let shared: Vec<String> =
        view.constant.iter().map(|(axis, value)| format!("{axis} {}", visible(value))).collect();
    shared.join(", ")
}

fn interval_words(rate: super::Rate) -> String {
    percent_interval(rate.interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends_and_fits() {
        let long = "provider/family-with-a-long-name:7b-instruct-q4";
        let (short, cut) = fitting(long, NORMAL, 120.0);
        assert_eq!((short.as_str(), cut), ("provider/…struct-q4", true));
        assert!(width(&short, NORMAL) <= 120.0);
        assert_eq!(fitting("short", NORMAL, 120.0), ("short".to_owned(), false));
        assert_eq!(fitting(long, NORMAL, 1.0).0, "…");
    }

    #[test]
    fn what_xml_cannot_carry_is_written_out() {
        assert_eq!(
            escaped("<a b='\"&\0\u{FFFE}\u{2028}"),
            "&lt;a b=&#39;&quot;&amp;⟨U+0000⟩⟨U+FFFE⟩⟨U+2028⟩"
        );
    }
}
