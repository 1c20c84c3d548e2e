//! What both CSV files share: RFC 4180, UTF-8, and text that no spreadsheet runs.

use super::text::visible;
use super::{Options, ReportError};

/// A text cell. What a spreadsheet would take for a formula gets a leading `'`; what ends a C string or
/// begins a terminal's command is shown in words. All else comes back as it was. Numbers are not written
/// through here.
pub(super) fn cell(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    if text.starts_with(['=', '+', '-', '@', '\t', '\0']) {
        shown.push('\'');
    }
    for character in text.chars() {
        match character {
            '\0' | '\u{1b}' | '\u{9b}' => shown.push_str(&visible(character.encode_utf8(&mut [0; 4]))),
            character => shown.push(character),
        }
    }
    shown
}

/// A number, or an empty cell: no data is never 0.
pub(super) fn number<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The rows, the header first.
pub(super) fn table(
    header: Vec<String>,
    rows: impl Iterator<Item = Vec<String>>,
    options: &Options,
) -> Result<Vec<u8>, ReportError> {
    let mut bytes = if options.excel { "\u{FEFF}".as_bytes().to_vec() } else { Vec::new() };
    {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(&mut bytes);
        writer.write_record(&header)?;
        for row in rows {
            writer.write_record(&row)?;
        }
        writer.flush().map_err(csv::Error::from)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_disarmed_and_other_text_is_not() {
        for formula in ["=cmd()", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        assert_eq!(cell("\0"), "'⟨U+0000⟩");
        assert_eq!(cell("a\u{1b}[31mb\n"), "a⟨U+001B⟩[31mb\n");
        for text in ["a=b", "C:\\a\\b", "", "'x", "1"] {
            assert_eq!(cell(text), text);
        }
    }
}
