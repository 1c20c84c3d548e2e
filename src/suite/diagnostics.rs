//! What is wrong with a file that a user wrote: file, line, column, the offending line, the
//! reason and, where there is one, a suggestion.
//!
//! A file is read to its end before anything is said, so that one look shows every mistake.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// More mistakes than this in one file are counted, not shown.
const SHOWN: usize = 50;

/// A text and the name it is known by.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// As shown to the user: a path, usually.
    pub file: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// A text and its name.
    pub fn new(file: &str, text: &str) -> Arc<Source> {
        Arc::new(Source { file: file.to_owned(), text: text.to_owned() })
    }

    /// From `offset` to the end of its line: where to say what is missing in a whole file.
    pub fn rest_of_line(&self, offset: usize) -> Range<usize> {
        let start = self.floor(offset);
        start..self.line_range(start).end.max(start)
    }

    /// The nearest byte offset at or before `offset` that begins a character.
    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// Byte range of the line that holds `offset`, without its line break.
    fn line_range(&self, offset: usize) -> Range<usize> {
        let offset = self.floor(offset);
        let start = self.text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |at| offset + at);
        let end = if self.text[start..end].ends_with('\r') { end - 1 } else { end };
        start..end.max(start)
    }

    fn line_number(&self, offset: usize) -> usize {
        self.text.as_bytes()[..self.floor(offset)].iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    source: Arc<Source>,
    span: Range<usize>,
    message: String,
    label: Option<String>,
    related: Option<(Range<usize>, String)>,
    help: Vec<String>,
}

impl Diagnostic {
    /// A mistake at the bytes `span` of `source`. A span beyond the text is moved into it.
    pub fn new(source: &Arc<Source>, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let start = source.floor(span.start);
        let end = source.floor(span.end).max(start);
        Diagnostic {
            source: source.clone(),
            span: start..end,
            message: message.into(),
            label: None,
            related: None,
            help: Vec::new(),
        }
    }

    /// Says what is wrong right at the marked text.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Diagnostic {
        self.label = Some(label.into());
        self
    }

    /// Marks a second place that belongs to the mistake.
    pub fn related(&mut self, span: Range<usize>, label: impl Into<String>) -> &mut Diagnostic {
        let start = self.source.floor(span.start);
        let end = self.source.floor(span.end).max(start);
        self.related = Some((start..end, label.into()));
        self
    }

    /// Adds a suggestion.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Diagnostic {
        self.help.push(help.into());
        self
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.source.file
    }

    /// Line of the mistake, from 1.
    pub fn line(&self) -> usize {
        self.source.line_number(self.span.start)
    }

    /// Column of the mistake in characters, from 1.
    pub fn column(&self) -> usize {
        let line = self.source.line_range(self.span.start);
        let end = self.span.start.max(line.start);
        self.source.text[line.start..end].chars().count() + 1
    }

    /// The line that holds the mistake.
    pub fn offending_line(&self) -> &str {
        &self.source.text[self.source.line_range(self.span.start)]
    }

    /// The reason.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The suggestions.
    pub fn suggestions(&self) -> &[String] {
        &self.help
    }

    /// What is marked, cut to its first line: a mark over many lines hides more than it shows.
    fn marked(&self, span: &Range<usize>) -> Range<usize> {
        let line = self.source.line_range(span.start);
        let start = span.start.min(line.end);
        start..span.end.clamp(start, line.end)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let primary = self.marked(&self.span);
        let first = self.related.as_ref().map_or(primary.start, |(span, _)| span.start.min(primary.start));
        let last = self.related.as_ref().map_or(primary.start, |(span, _)| span.start.max(primary.start));
        let window = self.source.line_range(first).start..self.source.line_range(last).end;
        let within = |span: Range<usize>| span.start - window.start..span.end - window.start;

        let mut annotation = AnnotationKind::Primary.span(within(primary));
        if let Some(label) = &self.label {
            annotation = annotation.label(label.as_str());
        }
        let mut snippet = Snippet::source(&self.source.text[window.clone()])
            .line_start(self.source.line_number(window.start))
            .path(self.source.file.as_str())
            .annotation(annotation);
        if let Some((span, label)) = &self.related {
            let span = within(self.marked(span));
            snippet = snippet.annotation(AnnotationKind::Context.span(span).label(label.as_str()));
        }
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group])
    }
}

/// Every mistake of a file, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    hidden: usize,
}

impl Diagnostics {
    /// Sorts the mistakes by place, those of the file `first` before others, drops what was said
    /// twice, and keeps as many as a person reads.
    pub fn new(mut list: Vec<Diagnostic>, first: &str) -> Diagnostics {
        let place = |one: &Diagnostic| (one.file() != first, one.source.file.clone(), one.span.start);
        list.sort_by_cached_key(place);
        list.dedup();
        let hidden = list.len().saturating_sub(SHOWN);
        list.truncate(SHOWN);
        Diagnostics { list, hidden }
    }

    /// The mistakes that are shown.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// How many mistakes there are, those not shown included.
    pub fn len(&self) -> usize {
        self.list.len() + self.hidden
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The text for a terminal that knows colours; [`fmt::Display`] gives the plain one.
    pub fn styled(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let mut blocks: Vec<String> = self.list.iter().map(|one| one.render(renderer)).collect();
        if self.hidden > 0 {
            blocks.push(format!("and {} more", self.hidden));
        }
        blocks.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

/// User text inside a message: in backquotes, one line, and not endless.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("`");
    for (index, character) in text.chars().enumerate() {
        if index == LONGEST {
            out.push('…');
            break;
        }
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out.push('`');
    out
}

/// The known word that was probably meant, if one is near enough.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let folded = fold(word);
    let length = folded.chars().count();
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = strsim::damerau_levenshtein(&folded, &other);
            // Two short ids that differ in one letter are two ids.
            let allowed = (length.max(other.chars().count()) / 3).min(3);
            let begun = length >= 3 && other.starts_with(&folded);
            (distance <= allowed || begun).then_some((distance, candidate))
        })
        .min_by_key(|(distance, candidate)| (*distance, candidate.len()))
        .map(|(_, candidate)| candidate)
}

/// Case, `-` and `_` are what people get wrong without seeing it.
fn fold(word: &str) -> String {
    word.chars().filter(|c| *c != '-' && *c != '_' && *c != ' ').flat_map(char::to_lowercase).collect()
}

/// "did you mean …", or else what there is to choose from.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    const LISTED: usize = 24;
    match closest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean {}?", shown(meant)),
        None if known.is_empty() => "nothing is defined here".to_owned(),
        None => {
            let mut list: Vec<String> = known.iter().take(LISTED).map(|one| shown(one)).collect();
            if known.len() > LISTED {
                list.push(format!("and {} more", known.len() - LISTED));
            }
            format!("known: {}", list.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_counted_in_characters_from_one() {
        let source = Source::new("a.yaml", "ö: 1\r\nüü: x\r\n");
        let at = source.text.find('x').unwrap();
        let one = Diagnostic::new(&source, at..at + 1, "no");
        assert_eq!((one.line(), one.column(), one.offending_line()), (2, 5, "üü: x"));
    }

    #[test]
    fn a_span_outside_the_text_is_moved_into_it() {
        let source = Source::new("a.yaml", "ö");
        for span in [0..99, 1..1, 99..100] {
            let list = Diagnostics::new(vec![Diagnostic::new(&source, span, "no")], "");
            assert!(list.to_string().contains("a.yaml:1:"), "{list}");
        }
        let empty = Source::new("a.yaml", "");
        assert!(
            Diagnostics::new(vec![Diagnostic::new(&empty, 0..1, "no")], "").to_string().contains("a.yaml")
        );
    }

    #[test]
    fn many_mistakes_are_counted() {
        let source = Source::new("a.yaml", &"x\n".repeat(80));
        let list = (0..80).map(|line| Diagnostic::new(&source, line * 2..line * 2 + 1, "no")).collect();
        let list = Diagnostics::new(list, "");
        assert_eq!((list.iter().count(), list.len()), (50, 80));
        assert!(list.to_string().ends_with("and 30 more"));
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["conversation", "model", "F1", "GHOST_WRITE", "off"];
        for (word, meant) in [
            ("conversaton", Some("conversation")),
            ("Models", Some("model")),
            ("f1", Some("F1")),
            ("ghost-write", Some("GHOST_WRITE")),
            ("of", Some("off")),
            ("GHOST", Some("GHOST_WRITE")),
            ("F9", None),
            ("none", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(closest(word, known), meant, "{word}");
        }
    }

    #[test]
    fn user_text_in_a_message_cannot_move_the_cursor() {
        assert_eq!(shown("a\u{1b}[2Jb\n"), "`a\\u{1b}[2Jb\\n`");
        assert_eq!(shown(&"x".repeat(70)).chars().count(), 63);
    }
}
