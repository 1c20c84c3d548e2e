//! What both CSV files share: RFC 4180, UTF-8, and text that no spreadsheet runs.

use super::{Options, ReportError};

/// A text cell. What a spreadsheet would take for a formula gets a leading `'`; numbers are not
/// written through here.
pub(super) fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\0']) { format!("'{text}") } else { text.to_owned() }
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
        for formula in ["=cmd()", "+1", "-1", "@SUM(A1)", "\t=1", "\0"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        for text in ["a=b", "C:\\a\\b", "", "'x", "1"] {
            assert_eq!(cell(text), text);
        }
    }
}
