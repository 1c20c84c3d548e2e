//! Syntax errors of YAML in the words of someone who writes it, not of someone who parses it.

use super::diagnostics::{Diagnostic, Source};
use serde_saphyr::granit_parser::{ErrorKind, ScanError};
use std::ops::Range;
use std::sync::Arc;

/// The mistake; `bracket` is where the innermost open list or map in brackets begins.
pub(super) fn mistake(source: &Arc<Source>, error: &ScanError, bracket: Option<usize>) -> Diagnostic {
    let say = |span: Range<usize>, message: String, help: Option<&str>| {
        let mut mistake = Diagnostic::new(source, span, message);
        if let Some(help) = help {
            mistake.help(help);
        }
        mistake
    };
    let text = &source.text;
    let mut at = error.marker().byte_offset().unwrap_or(0).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    // At the end of the file there is nothing to see: mark the last thing that was written.
    let trimmed = text.trim_end().len();
    if at >= trimmed && trimmed > 0 {
        at = text[..trimmed].char_indices().next_back().map_or(0, |(index, _)| index);
    }
    let line_start = text[..at].rfind('\n').map_or(0, |index| index + 1);
    let line_end = text[at..].find('\n').map_or(text.len(), |index| at + index);
    let line = &text[line_start..line_end];
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let here = at..at + text[at..].chars().next().map_or(0, char::len_utf8);

    if let Some(tab) = line[..indent].find('\t') {
        let tabs = line_start + tab..line_start + indent;
        return say(tabs, "a tab cannot indent in YAML".to_owned(), Some("indent with spaces"));
    }
    if let Some(start) = bracket.filter(|start| *start < line_start)
        && may_come_of_an_open_bracket(error.kind())
    {
        let open = text.get(start..).and_then(|rest| rest.chars().next()).unwrap_or('[');
        let mut mistake = say(start..start + 1, format!("this `{open}` is not closed"), Some("close it"));
        mistake.related(here, "cannot go on like this inside of it");
        return mistake;
    }
    if *error.kind() == ErrorKind::ExpectedBlockMappingKey && at == line_start + indent && indent > 0 {
        let message = "this line does not line up with those around it".to_owned();
        return say(here, message, Some("keys of one map begin in the same column"));
    }
    let (message, help) = describe(error.kind(), line);
    say(here, message, help)
}

/// Errors that are noticed far below a forgotten bracket.
fn may_come_of_an_open_bracket(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidColonPlacement
            | ErrorKind::MappingValueNotAllowed
            | ErrorKind::ExpectedFlowSequenceSeparator
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::InvalidFlowScalarIndent
            | ErrorKind::UnclosedFlowCollection { .. }
            | ErrorKind::BlockEntryInFlowCollection
            | ErrorKind::UnexpectedEofFlowSequence
            | ErrorKind::UnexpectedEofFlowMapping
    )
}

/// The reason, and what can be done.
fn describe(kind: &ErrorKind, line: &str) -> (String, Option<&'static str>) {
    let said = match kind {
        ErrorKind::UnclosedFlowCollection { open } => {
            return (format!("`{open}` is never closed"), Some("close it before the next key"));
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{open}` is closed by `{close}`"), None);
        }
        ErrorKind::MisplacedFlowCollectionEnd => ("this bracket closes nothing", None),
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => (
            "the text in quotes ended just before this",
            Some(
                "a quote inside of a text needs the other kind around it; or a quote further up is not closed",
            ),
        ),
        ErrorKind::UnclosedQuotedScalar => ("this quote is never closed", None),
        ErrorKind::UnknownAnchor => ("no anchor of that name comes before", None),
        ErrorKind::RecursionLimitExceeded => ("nested too deep", None),
        ErrorKind::UnexpectedCharacter { character: '@' | '`' | '%' } => {
            ("a plain text cannot begin with this character", Some("put the text in quotes"))
        }
        ErrorKind::ExpectedFlowSequenceSeparator => {
            ("expected `,` or `]`", Some("a text with special characters needs quotes"))
        }
        ErrorKind::ExpectedFlowMappingSeparator => {
            ("expected `,` or `}`", Some("a text with special characters needs quotes"))
        }
        ErrorKind::ExpectedBlockMappingKey => {
            ("expected a key here", Some("check the indentation: keys of one map begin in the same column"))
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "expected `:` after this key",
            Some("write `key: value`; a text of several lines needs `|` or quotes"),
        ),
        ErrorKind::MappingValueNotAllowed if line.contains(": ") => {
            ("a second `: ` on this line", Some("put a text that contains `: ` in quotes"))
        }
        ErrorKind::UnknownQuotedScalarEscape => (
            "unknown escape in a text with double quotes",
            Some("use single quotes, or write `\\\\` for a backslash"),
        ),
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockSequenceEntry => (
            "the indentation fits nothing above",
            Some("keys of one map, and items of one list, begin in the same column"),
        ),
        other => return (format!("not valid YAML: {other}"), None),
    };
    (said.0.to_owned(), said.1)
}
