//! YAML text → a tree that knows where each part stands.
//!
//! Built from parser events instead of through serde, which stops at the first mistake and
//! forgets where things stood. A scalar stays the text that was written; what it means is
//! decided by the field that reads it, so `off`, `1.0` and `true` can be names.

use super::diagnostics::{Diagnostic, Source, shown};
use super::syntax;
use serde_saphyr::granit_parser::{
    Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag, options,
};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Longest text that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Deepest nesting, aliases included.
const MAX_DEPTH: usize = 48;
/// Most nodes, after aliases were replaced by what they stand for.
const MAX_NODES: usize = 100_000;

/// A part of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Bytes of the source. An empty value has the span of its key.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: an empty value, `~` or `null`.
    Null,
    /// A text.
    Scalar {
        /// After escapes and folding.
        text: String,
        /// Written without quotes, so that a field may read it as a number or a boolean.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node>),
    /// Keys and values, in the order of the file.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Bytes of the source.
    pub span: Range<usize>,
    /// The key.
    pub text: String,
}

/// Reads one document. Duplicate keys are reported and the rest is read on; a syntax error ends it.
///
/// The tree is absent only when it could not be read to its end.
pub fn parse(source: &Arc<Source>) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder =
        Builder { source, mistakes: Vec::new(), open: Vec::new(), anchors: HashMap::new(), nodes: 0 };
    let root = builder.document();
    (root, builder.mistakes)
}

struct Anchored {
    node: Node,
    depth: usize,
    size: usize,
}

/// A list or map whose end was not read yet.
struct Open {
    anchor: usize,
    start: usize,
    /// Written with brackets.
    flow: bool,
    depth: usize,
    first_node: usize,
    content: Content,
}

enum Content {
    Seq(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, pending: Option<Option<Key>>, seen: HashSet<String> },
}

struct Builder<'a> {
    source: &'a Arc<Source>,
    mistakes: Vec<Diagnostic>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    nodes: usize,
}

/// Reading cannot go on; the reason is among the mistakes.
struct Stop;

impl Builder<'_> {
    fn stop(&mut self, span: Range<usize>, message: impl Into<String>, help: Option<&str>) -> Stop {
        let mut mistake = Diagnostic::new(self.source, span, message);
        if let Some(help) = help {
            mistake.help(help);
        }
        self.mistakes.push(mistake);
        Stop
    }

    fn document(&mut self) -> Option<Node> {
        if self.source.text.len() > MAX_BYTES {
            self.stop(0..0, format!("the file is larger than {MAX_BYTES} bytes"), None);
            return None;
        }
        let limits = options! { flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
        let source = self.source.clone();
        let mut root = None;
        for next in Parser::new_from_str_with_options(&source.text, limits) {
            let step = match next {
                Ok((event, span)) => self.event(event, &span, &mut root),
                Err(error) => Err(self.syntax(&error)),
            };
            if step.is_err() {
                return None;
            }
        }
        if root.is_none() && self.mistakes.is_empty() {
            self.stop(0..0, "the file is empty", None);
        }
        root
    }

    fn event(&mut self, event: Event<'_>, span: &Span, root: &mut Option<Node>) -> Result<(), Stop> {
        let range = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) if root.is_some() => Err(self.stop(
                range,
                "a second document begins here",
                Some("one file holds one document; remove the `---`"),
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let as_text = self.tag(tag.as_deref(), span, &range)?;
                let plain = style == ScalarStyle::Plain && !as_text;
                let kind = if plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                    Kind::Null
                } else {
                    Kind::Scalar { text: text.into_owned(), plain }
                };
                let node = Node { span: range, kind };
                self.keep(anchor, &node, 1, 1);
                self.place(node, 1, root)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), span, &range)?;
                self.begin(anchor, range, style, Content::Seq(Vec::new()))
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tag(tag.as_deref(), span, &range)?;
                let content = Content::Map { entries: Vec::new(), pending: None, seen: HashSet::new() };
                self.begin(anchor, range, style, content)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(range, root),
            Event::Alias(anchor) => {
                let Some(found) = self.anchors.get(&anchor) else {
                    return Err(self.stop(range, "this alias stands inside what it repeats", None));
                };
                let (node, depth, size) = (found.node.clone(), found.depth, found.size);
                if self.open.len() + depth > MAX_DEPTH {
                    return Err(self.too_deep(range));
                }
                self.place(node, size, root)?;
                if let Some(parent) = self.open.last_mut() {
                    parent.depth = parent.depth.max(depth + 1);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        anchor: usize,
        range: Range<usize>,
        style: StructureStyle,
        content: Content,
    ) -> Result<(), Stop> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_deep(range));
        }
        let first_node = self.nodes;
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { anchor, start: range.start, flow, depth: 1, first_node, content });
        Ok(())
    }

    fn end(&mut self, range: Range<usize>, root: &mut Option<Node>) -> Result<(), Stop> {
        let Some(done) = self.open.pop() else { return Ok(()) };
        let (kind, last) = match done.content {
            Content::Seq(items) => {
                let last = items.last().map(|node| node.span.end);
                (Kind::Seq(items), last)
            }
            Content::Map { entries, .. } => {
                let last = entries.last().map(|(key, node)| node.span.end.max(key.span.end));
                (Kind::Map(entries), last)
            }
        };
        // A block ends where the next line begins; a flow ends with its bracket.
        let end = if range.is_empty() { last.unwrap_or(done.start) } else { range.end };
        let node = Node { span: done.start..end.max(done.start), kind };
        let size = self.nodes - done.first_node + 1;
        self.keep(done.anchor, &node, done.depth, size);
        if let Some(parent) = self.open.last_mut() {
            parent.depth = parent.depth.max(done.depth + 1);
        }
        self.place(node, 1, root)
    }

    fn keep(&mut self, anchor: usize, node: &Node, depth: usize, size: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, Anchored { node: node.clone(), depth, size });
        }
    }

    fn too_deep(&mut self, range: Range<usize>) -> Stop {
        self.stop(range, format!("nested more than {MAX_DEPTH} levels deep"), None)
    }

    fn place(&mut self, mut node: Node, size: usize, root: &mut Option<Node>) -> Result<(), Stop> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} values, aliases included");
            return Err(self.stop(node.span, message, None));
        }
        let source = self.source;
        let Some(parent) = self.open.last_mut() else {
            *root = Some(node);
            return Ok(());
        };
        match &mut parent.content {
            Content::Seq(items) => items.push(node),
            Content::Map { entries, pending, seen } => match pending.take() {
                None => {
                    let key = match node.kind {
                        Kind::Scalar { text, .. } => Some(Key { span: node.span.clone(), text }),
                        _ => None,
                    };
                    let Some(key) = key else {
                        // `{{ name }}` without quotes is a map in a map to YAML.
                        if source.text.get(..node.span.start).is_some_and(|before| before.ends_with('{')) {
                            let start = node.span.start - 1;
                            let help = "write `\"{{ name }}\"`: to YAML an open `{` begins a map";
                            return Err(self.stop(
                                start..node.span.end,
                                "a template needs quotes",
                                Some(help),
                            ));
                        }
                        self.mistakes.push(Diagnostic::new(source, node.span, "a key must be a text"));
                        *pending = Some(None);
                        return Ok(());
                    };
                    if seen.insert(key.text.clone()) {
                        *pending = Some(Some(key));
                    } else {
                        let mut mistake = Diagnostic::new(
                            source,
                            key.span.clone(),
                            format!("the key {} is there twice", shown(&key.text)),
                        );
                        if let Some((first, _)) = entries.iter().find(|(first, _)| first.text == key.text) {
                            mistake.related(first.span.clone(), "first here");
                        }
                        mistake.help("keep one of the two; the second does not replace the first");
                        self.mistakes.push(mistake);
                        *pending = Some(None);
                    }
                }
                Some(Some(key)) => {
                    if node.kind == Kind::Null && node.span.is_empty() {
                        node.span = key.span.clone();
                    }
                    entries.push((key, node));
                }
                Some(None) => {}
            },
        }
        Ok(())
    }

    /// Whether the tag makes a text of the scalar; other tags have no meaning here.
    fn tag(&mut self, tag: Option<&Tag>, span: &Span, range: &Range<usize>) -> Result<bool, Stop> {
        let Some(tag) = tag else { return Ok(false) };
        match tag.core_suffix() {
            Some("str") => Ok(true),
            Some("seq" | "map" | "int" | "float" | "bool" | "null") => Ok(false),
            _ => {
                let place = span.tag_span().and_then(|tag| tag.byte_range()).unwrap_or(range.clone());
                let message = format!("the tag {} has no meaning here", shown(&tag.original()));
                let help = "a text that begins with `!` needs quotes";
                Err(self.stop(place, message, Some(help)))
            }
        }
    }

    fn syntax(&mut self, error: &ScanError) -> Stop {
        let bracket = self.open.last().filter(|open| open.flow).map(|open| open.start);
        self.mistakes.push(syntax::mistake(self.source, error, bracket));
        Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let (_, mistakes) = parse(&Source::new("t.yaml", text));
        mistakes.iter().map(|one| one.message().to_owned()).collect::<Vec<_>>().join("; ")
    }

    fn root(text: &str) -> Node {
        let (root, mistakes) = parse(&Source::new("t.yaml", text));
        assert_eq!(mistakes, []);
        root.unwrap()
    }

    #[test]
    fn plain_words_stay_the_text_that_was_written() {
        let Kind::Seq(items) = root("[off, on, no, yes, true, 12, 1.0, 0x1F, 2026-12-03]").kind else {
            panic!()
        };
        let texts: Vec<_> = items
            .iter()
            .map(|item| match &item.kind {
                Kind::Scalar { text, plain: true } => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, ["off", "on", "no", "yes", "true", "12", "1.0", "0x1F", "2026-12-03"]);
    }

    #[test]
    fn spans_cover_what_was_written() {
        let text = "ä: {b: [1, 2]}\nc:\n  d: \"x\"\n  e: 1\n";
        let Kind::Map(entries) = root(text).kind else { panic!() };
        assert_eq!(&text[entries[0].0.span.clone()], "ä");
        assert_eq!(&text[entries[0].1.span.clone()], "{b: [1, 2]}");
        assert_eq!(&text[entries[1].1.span.clone()], "d: \"x\"\n  e: 1");
    }

    #[test]
    fn an_empty_value_stands_at_its_key() {
        let Kind::Map(entries) = root("a:\nb: 1\n").kind else { panic!() };
        assert_eq!((&entries[0].1.kind, entries[0].1.span.clone()), (&Kind::Null, 0..1));
    }

    #[test]
    fn duplicate_keys_are_all_reported_and_reading_goes_on() {
        let (root, mistakes) = parse(&Source::new("t.yaml", "a: 1\na: 2\nb: 3\nb: {c: 4}\nd: 5\n"));
        assert_eq!(mistakes.len(), 2);
        let Kind::Map(entries) = root.unwrap().kind else { panic!() };
        assert_eq!(entries.iter().map(|(key, _)| key.text.as_str()).collect::<Vec<_>>(), ["a", "b", "d"]);
    }

    #[test]
    fn aliases_repeat_and_cannot_explode() {
        assert_eq!(root("a: &x [1]\nb: *x\n"), {
            let Kind::Map(entries) = root("a: &x [1]\nb: *x\n").kind else { panic!() };
            assert_eq!(entries[0].1, entries[1].1);
            root("a: &x [1]\nb: *x\n")
        });
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let list = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs.push_str(&format!("a{level}: &a{level} [{list}]\n"));
        }
        assert_eq!(said(&laughs), "more than 100000 values, aliases included");
        let mut tower = String::from("a0: &a0 [x]\n");
        for level in 1..2000 {
            tower.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
        }
        assert_eq!(said(&tower), "nested more than 48 levels deep");
        assert_eq!(said("a: &x [*x]"), "this alias stands inside what it repeats");
        assert_eq!(said("a: *y"), "no anchor of that name comes before");
    }

    #[test]
    fn depth_ends_in_a_message() {
        for text in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000), "? ".repeat(100_000)]
        {
            assert!(!said(&text).is_empty());
        }
        let stairs: String = (0..700).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(said(&stairs).contains("nested"), "{}", said(&stairs));
    }

    #[test]
    fn odd_documents_are_refused_with_their_reason() {
        for (text, reason) in [
            ("", "the file is empty"),
            ("# only a comment\n", "the file is empty"),
            ("a: 1\n---\nb: 2\n", "a second document begins here"),
            ("? [1]\n: 2\n", "a key must be a text"),
            ("~: 2\n", "a key must be a text"),
            ("a: !secret x\n", "the tag `!secret` has no meaning here"),
            ("a:\n\tb: 1\n", "a tab cannot indent in YAML"),
            ("a: [1, 2\nb: 3\n", "this `[` is not closed"),
            ("a: [1, 2", "`[` is never closed"),
            ("a: b: c\n", "a second `: ` on this line"),
            ("a: \"x\n", "this quote is never closed"),
            ("a: @x\n", "a plain text cannot begin with this character"),
        ] {
            assert_eq!(said(text), reason, "{text:?}");
        }
    }
}
