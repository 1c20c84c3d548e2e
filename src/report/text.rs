//! Words, numbers and foreign characters, the same in every format that people read.

use crate::domain::words;
use crate::stats::{Interval, Proportion};
use unicode_general_category::{GeneralCategory, get_general_category};

/// The text with every character that would break a line, a terminal, an XML file or the order of the
/// letters written as `⟨U+000A⟩`. Joiners and emoji stay as they are.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if breaks(character) {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character)));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn breaks(character: char) -> bool {
    let code = u32::from(character);
    // Marks that turn the direction of what follows; no letter of any script is among them.
    let turns = matches!(code, 0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069);
    let no_character = code & 0xFFFE == 0xFFFE || (0xFDD0..=0xFDEF).contains(&code);
    let category = get_general_category(character);
    turns
        || no_character
        || matches!(
            category,
            GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator
        )
        || code == 0xFEFF
}

/// At most `most` characters, the last of them `…` where some are left out.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `7 of 10`
pub(super) fn k_of_n(seen: Proportion) -> String {
    format!("{} of {}", seen.k(), seen.n())
}

/// A share as `39.7 %`, with a digit behind the point only where it says something.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", tenths(share * 100.0))
}

/// `39.7 – 89.2 %`
pub(super) fn percent_interval(interval: Interval) -> String {
    format!("{} – {} %", tenths(interval.lo * 100.0), tenths(interval.hi * 100.0))
}

/// A difference of shares in percentage points, with its sign: `−80 points`.
pub(super) fn points(difference: f64) -> String {
    format!("{} points", signed(difference * 100.0))
}

/// `−94.3 … −38.4`
pub(super) fn points_interval(interval: Interval) -> String {
    format!("{} … {}", signed(interval.lo * 100.0), signed(interval.hi * 100.0))
}

/// A p-value with two digits that count: `0.00021`, `1.9e-6`, `1`.
pub(super) fn p_value(p: f64) -> String {
    if p == 0.0 {
        return "< 1e-300".to_owned();
    }
    if p < 1e-4 {
        return format!("{p:.1e}");
    }
    let digits = if p < 0.001 {
        5
    } else if p < 0.01 {
        4
    } else {
        3
    };
    let text = format!("{p:.digits$}");
    // 0.0498 must not be read as 0.05.
    if text == "0.050" { format!("{p:.4}") } else { trimmed(&text) }
}

fn tenths(number: f64) -> String {
    trimmed(&format!("{number:.1}"))
}

/// The decimal without idle zeros behind the point.
pub(super) fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// `−80`, `+30`, `0`
pub(super) fn signed(number: f64) -> String {
    let text = tenths(number.abs());
    match () {
        () if text == "0" => text,
        () if number < 0.0 => format!("−{text}"),
        () => format!("+{text}"),
    }
}

/// `1 run`, `2 runs`
pub(crate) fn counted(number: impl Into<u64>, one: &str, many: &str) -> String {
    words::count(number.into(), one, many)
}

/// The start of a digest, long enough to be told apart.
pub(super) fn short_digest(digest: &str) -> String {
    visible(&digest.chars().take(12).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_line_is_made_visible() {
        assert_eq!(visible("a\nb\u{1}\u{FFFE}\u{202E}"), "a⟨U+000A⟩b⟨U+0001⟩⟨U+FFFE⟩⟨U+202E⟩");
        for kept in ["👩‍🔬", "שלום", "C:\\a\\b", "|", "ä", "\u{200B}"] {
            assert_eq!(visible(kept), kept);
        }
    }

    #[test]
    fn a_p_value_keeps_the_digits_that_decide() {
        let shown = [0.0, 1.907e-6, 2.117e-4, 0.115776, 0.0498, 0.0004, 1.0].map(p_value);
        assert_eq!(shown, ["< 1e-300", "1.9e-6", "0.00021", "0.116", "0.0498", "0.0004", "1"]);
    }

    #[test]
    fn a_difference_always_has_its_sign() {
        assert_eq!(
            [-0.8, 0.3, 0.0, -0.0001].map(points),
            ["−80 points", "+30 points", "0 points", "0 points"]
        );
    }
}
