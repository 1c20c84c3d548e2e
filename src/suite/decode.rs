//! Reading a tree field by field, and going on after a mistake.
//!
//! Each function takes what it can, reports what it cannot, and gives `None` for it. A caller
//! that gets `None` knows that the reason was said and says nothing more.

use super::diagnostics::{Diagnostic, Diagnostics, Source, closest, shown, suggestion};
use super::tree::{Key, Kind, Node};
use super::units;
use regex::Regex;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Bytes of the source.
    pub span: Range<usize>,
}

/// The mistakes found so far in one file.
pub struct Decoder {
    source: Arc<Source>,
    mistakes: Vec<Diagnostic>,
}

/// The keys of one map, all known and none twice.
pub struct Fields<'n> {
    what: &'static str,
    anchor: Range<usize>,
    entries: &'n [(Key, Node)],
    /// Misspelt keys, read as what was probably meant, so that one slip is one mistake.
    meant: Vec<(&'static str, usize)>,
}

impl<'n> Fields<'n> {
    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&'n Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The key as it stands, and its value.
    pub fn entry(&self, name: &str) -> Option<(&'n Key, &'n Node)> {
        let found = self.entries.iter().find(|(key, _)| key.text == name).or_else(|| {
            let (_, index) = self.meant.iter().find(|(meant, _)| *meant == name)?;
            self.entries.get(*index)
        });
        found.map(|(key, node)| (key, node))
    }

    /// Where to say what is missing.
    pub fn anchor(&self) -> Range<usize> {
        self.anchor.clone()
    }
}

/// What a map may hold.
pub struct Shape {
    what: &'static str,
    keys: &'static [&'static str],
    later: &'static [&'static str],
    hints: &'static [(&'static str, &'static str)],
}

impl Shape {
    /// What the map is, with its article ("a suite"), and the keys that it may have.
    pub const fn new(what: &'static str, keys: &'static [&'static str]) -> Shape {
        Shape { what, keys, later: &[], hints: &[] }
    }

    /// The keys that it may have.
    pub const fn keys(&self) -> &'static [&'static str] {
        self.keys
    }

    /// Keys of the format that this version cannot honour, and must not pass over.
    pub const fn later(self, later: &'static [&'static str]) -> Shape {
        Shape { later, ..self }
    }

    /// Keys that are written here by mistake, and where they belong.
    pub const fn hints(self, hints: &'static [(&'static str, &'static str)]) -> Shape {
        Shape { hints, ..self }
    }
}

impl Decoder {
    /// For one file.
    pub fn new(source: &Arc<Source>, mistakes: Vec<Diagnostic>) -> Decoder {
        Decoder { source: source.clone(), mistakes }
    }

    /// The text that is being read.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Whether nothing was wrong so far.
    pub fn is_clean(&self) -> bool {
        self.mistakes.is_empty()
    }

    /// How many mistakes were found so far.
    pub fn count(&self) -> usize {
        self.mistakes.len()
    }

    /// Every mistake, in order.
    pub fn finish(self) -> Diagnostics {
        Diagnostics::new(self.mistakes, &self.source.file)
    }

    /// Adds the mistakes of another file, or of a part that was read apart.
    pub fn adopt(&mut self, mistakes: impl IntoIterator<Item = Diagnostic>) {
        self.mistakes.extend(mistakes);
    }

    /// Reports a mistake.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        let index = self.mistakes.len();
        self.mistakes.push(Diagnostic::new(&self.source, span, message));
        &mut self.mistakes[index]
    }

    fn expected(&mut self, node: &Node, expected: &str) -> &mut Diagnostic {
        let found = match &node.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Scalar { text, plain: true } => shown(text),
            Kind::Scalar { text, plain: false } => format!("the text {}", shown(text)),
            Kind::Seq(_) => "a list".to_owned(),
            Kind::Map(_) => "a map of keys and values".to_owned(),
        };
        self.error(node.span.clone(), format!("expected {expected}, found {found}"))
    }

    /// A map with named fields. Unknown keys are reported; the known ones can be read all the same.
    ///
    /// `anchor` is where to say what is missing: the key that holds the map.
    pub fn fields<'n>(&mut self, node: &'n Node, anchor: Range<usize>, shape: &Shape) -> Option<Fields<'n>> {
        let Kind::Map(entries) = &node.kind else {
            self.expected(node, shape.what).help(format!("its keys are {}", list(shape.keys)));
            return None;
        };
        let mut meant = Vec::new();
        for (index, (key, _)) in entries.iter().enumerate() {
            let name = key.text.as_str();
            if shape.keys.contains(&name) {
                continue;
            }
            if shape.later.contains(&name) {
                self.error(key.span.clone(), format!("{} is not available in this version", shown(name)))
                    .help("remove it; nothing that is written here is passed over in silence");
            } else if name == "<<" {
                self.error(key.span.clone(), "merge keys are not part of YAML 1.2")
                    .help("write the keys out");
            } else {
                let hint =
                    shape.hints.iter().find(|(key, _)| *key == name).map(|(_, hint)| (*hint).to_owned());
                if hint.is_none()
                    && let Some(known) = closest(name, shape.keys.iter().copied())
                {
                    meant.push((known, index));
                }
                let help = hint.unwrap_or_else(|| suggestion(name, shape.keys));
                self.error(key.span.clone(), format!("unknown key {} in {}", shown(name), shape.what))
                    .help(help);
            }
        }
        Some(Fields { what: shape.what, anchor, entries, meant })
    }

    /// A map whose keys are names that the user gives.
    pub fn named<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [(Key, Node)]> {
        let Kind::Map(entries) = &node.kind else {
            self.expected(node, what);
            return None;
        };
        for (key, _) in entries {
            if key.text.trim().is_empty() {
                self.error(key.span.clone(), "a name must not be empty");
            }
        }
        Some(entries)
    }

    /// The value of a key that must be there.
    pub fn required<'n>(
        &mut self,
        fields: &Fields<'n>,
        name: &str,
        example: &str,
    ) -> Option<(&'n Key, &'n Node)> {
        let found = fields.entry(name);
        if found.is_none() {
            let what = fields.what;
            self.error(fields.anchor(), format!("{what} needs the key {}", shown(name)))
                .help(format!("for example `{example}`"));
        }
        found
    }

    /// A text; a number or a boolean is taken as it was written.
    pub fn text(&mut self, node: &Node, what: &str) -> Option<At<String>> {
        match &node.kind {
            Kind::Scalar { text, .. } => Some(At { value: text.clone(), span: node.span.clone() }),
            Kind::Null => {
                self.expected(node, what).help("an empty text is written `\"\"`");
                None
            }
            _ => {
                self.expected(node, what);
                None
            }
        }
    }

    /// A text with something in it.
    pub fn filled(&mut self, node: &Node, what: &str) -> Option<At<String>> {
        let text = self.text(node, what)?;
        if text.value.trim().is_empty() {
            self.error(text.span, format!("expected {what}, found an empty text"));
            return None;
        }
        Some(text)
    }

    /// A list.
    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::Seq(items) => Some(items),
            Kind::Scalar { text, .. } => {
                let help =
                    format!("a list of one is written `[{}]`", text.lines().next().unwrap_or_default());
                self.expected(node, what).help(help);
                None
            }
            _ => {
                self.expected(node, what).help("a list is written `[a, b]`, or with one `- a` a line");
                None
            }
        }
    }

    /// A list of texts. A bad item is reported and left out.
    pub fn texts(&mut self, node: &Node, what: &str) -> Option<Vec<At<String>>> {
        let items = self.list(node, what)?;
        Some(items.iter().filter_map(|item| self.text(item, "a text")).collect())
    }

    /// `true` or `false`, as YAML 1.2 has them.
    pub fn boolean(&mut self, node: &Node) -> Option<bool> {
        match &node.kind {
            Kind::Scalar { text, plain: true } if text == "true" => Some(true),
            Kind::Scalar { text, plain: true } if text == "false" => Some(false),
            Kind::Scalar { text, .. } => {
                let meant = match text.to_lowercase().as_str() {
                    "yes" | "on" | "y" | "true" => Some("true"),
                    "no" | "off" | "n" | "false" => Some("false"),
                    _ => None,
                };
                let mistake = self.expected(node, "`true` or `false`");
                if let Some(meant) = meant {
                    mistake.help(format!("write `{meant}`, without quotes"));
                }
                None
            }
            _ => {
                self.expected(node, "`true` or `false`");
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, node: &Node, what: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let bounds = if *range.end() == u64::MAX {
            format!("a whole number from {}", range.start())
        } else {
            format!("a whole number from {} to {}", range.start(), range.end())
        };
        let Kind::Scalar { text, plain: true } = &node.kind else {
            let quoted = matches!(&node.kind, Kind::Scalar { text, .. } if text.parse::<u64>().is_ok());
            let mistake = self.expected(node, &bounds);
            if quoted {
                mistake.help("remove the quotes");
            }
            return None;
        };
        let digits = text.replace('_', "");
        match digits.parse::<u64>() {
            Ok(number) if range.contains(&number) => Some(number),
            _ => {
                self.error(node.span.clone(), format!("{what} must be {bounds}, not {}", shown(text)));
                None
            }
        }
    }

    /// A probability.
    pub fn probability(&mut self, node: &Node) -> Option<f64> {
        self.number(node, 0.0..=1.0)
    }

    /// A number in a range.
    pub fn number(&mut self, node: &Node, range: RangeInclusive<f64>) -> Option<f64> {
        if let Kind::Scalar { text, plain: true } = &node.kind
            && let Ok(number) = text.parse::<f64>()
            && range.contains(&number)
        {
            return Some(number);
        }
        self.expected(node, &format!("a number from {} to {}", range.start(), range.end()));
        None
    }

    /// A duration such as `90s`, `1m 30s`, `500ms`.
    pub fn duration(&mut self, node: &Node, range: RangeInclusive<Duration>) -> Option<Duration> {
        let Kind::Scalar { text, .. } = &node.kind else {
            self.expected(node, "a duration such as `90s`");
            return None;
        };
        match units::duration(text) {
            Ok(duration) if range.contains(&duration) => Some(duration),
            Ok(_) => {
                let message = format!(
                    "{} is out of range: from {} to {}",
                    shown(text),
                    units::show_duration(*range.start()),
                    units::show_duration(*range.end())
                );
                self.error(node.span.clone(), message);
                None
            }
            Err(error) => {
                self.error(node.span.clone(), format!("{} is no duration: {error}", shown(text)))
                    .help("write a number and a unit: `500ms`, `90s`, `1m 30s`, `2h`");
                None
            }
        }
    }

    /// A size in bytes such as `10MiB`.
    pub fn size(&mut self, node: &Node) -> Option<u64> {
        let Kind::Scalar { text, .. } = &node.kind else {
            self.expected(node, "a size such as `10MiB`");
            return None;
        };
        match units::size(text) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.error(node.span.clone(), format!("{} is no size: {error}", shown(text)))
                    .help("write a number and a unit: `500B`, `200kB`, `64KiB`, `10MiB`");
                None
            }
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, node: &Node, what: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(node, what)?;
        let found = choices.iter().find(|(word, _)| *word == text.value).map(|(_, value)| *value);
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let mistake = self.error(text.span, format!("{} is no {what}", shown(&text.value)));
            match closest(&text.value, words.iter().copied()) {
                Some(meant) => mistake.help(format!("did you mean {}?", shown(meant))),
                None => mistake.help(format!("one of {}", list(&words))),
            };
        }
        found
    }

    /// A regular expression.
    pub fn pattern(&mut self, node: &Node) -> Option<Regex> {
        let text = self.text(node, "a regular expression")?;
        match Regex::new(&text.value) {
            Ok(regex) => Some(regex),
            Err(error) => {
                let said = error.to_string();
                // The crate draws its own picture of the place; its last line is the reason.
                let reason = said.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
                self.error(text.span, format!("this regular expression cannot be read: {reason}"))
                    .help("the syntax is that of the Rust crate `regex`: no look-around, no back-references");
                None
            }
        }
    }
}

/// Words for a message: "`a`, `b`".
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(|word| shown(word.as_ref())).collect::<Vec<_>>().join(", ")
}
