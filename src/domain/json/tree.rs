//! A JSON value as flat lists: nothing recurses, neither to read, to write nor to drop it.

use super::number;
use std::cmp::Ordering;
use std::ops::Range;

/// Escapes and written-out exponents make a text at most about six times longer; that must
/// still be counted by a `u32`.
const MAX_BYTES: usize = 512 << 20;

/// A piece of [`Tree::text`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Text {
    start: u32,
    end: u32,
}

/// One entry of an object or an array; the key is empty in an array.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Text,
    node: u32,
}

/// One value. The text of a number is its canonical spelling, that of a string its canonical
/// escapes without the quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    String(&'t str),
    Array,
    Object,
}

#[derive(Debug, Clone, Copy)]
enum Stored {
    Null,
    Bool(bool),
    Number(Text),
    String(Text),
    Array { start: u32, end: u32 },
    Object { start: u32, end: u32 },
}

/// A parsed JSON text. Nodes are numbered from 0, every node after the ones inside it; the
/// last is the whole value. Objects are sorted by key, and of equal keys only the last is kept.
#[derive(Debug)]
pub(crate) struct Tree {
    text: String,
    nodes: Vec<Stored>,
    entries: Vec<Entry>,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    More,
    Nothing,
}

/// An array or object whose end has not been read yet.
#[derive(Debug)]
struct Open {
    object: bool,
    /// Where its entries begin in the list of waiting ones.
    waiting: usize,
    /// The key of the entry that is being read.
    key: Text,
}

impl Tree {
    /// None where the text is not exactly one JSON value, or is too long to be one.
    pub(crate) fn parse(source: &str) -> Option<Tree> {
        if source.len() > MAX_BYTES {
            return None;
        }
        let mut reader = Reader {
            source,
            bytes: source.as_bytes(),
            at: 0,
            tree: Tree { text: String::with_capacity(source.len()), nodes: Vec::new(), entries: Vec::new() },
            open: Vec::new(),
            waiting: Vec::new(),
        };
        reader.read()?;
        Some(reader.tree)
    }

    /// How many nodes there are; at least one.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The whole value.
    pub(crate) fn root(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    /// The node of that number.
    pub(crate) fn node(&self, node: usize) -> Node<'_> {
        match self.nodes.get(node) {
            None | Some(Stored::Null) => Node::Null,
            Some(Stored::Bool(value)) => Node::Bool(*value),
            Some(Stored::Number(text)) => Node::Number(self.piece(*text)),
            Some(Stored::String(text)) => Node::String(self.piece(*text)),
            Some(Stored::Array { .. }) => Node::Array,
            Some(Stored::Object { .. }) => Node::Object,
        }
    }

    /// How many entries an array or object has; 0 for everything else.
    pub(crate) fn count(&self, node: usize) -> usize {
        self.entries_of(node).len()
    }

    /// Key (canonical escapes, empty in arrays) and node of each entry.
    pub(crate) fn children(&self, node: usize) -> impl ExactSizeIterator<Item = (&str, usize)> {
        self.entries_of(node).iter().map(|entry| (self.piece(entry.key), entry.node as usize))
    }

    /// The value of an object's field, its name in canonical escapes.
    pub(crate) fn field(&self, node: usize, name: &str) -> Option<usize> {
        if !matches!(self.node(node), Node::Object) {
            return None;
        }
        let entries = self.entries_of(node);
        let found = entries.binary_search_by(|entry| self.piece(entry.key).cmp(name)).ok()?;
        entries.get(found).map(|entry| entry.node as usize)
    }

    /// The canonical form (J1).
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 2 * self.nodes.len());
        let mut inside: Vec<(bool, Range<u32>, u32)> = Vec::new();
        let mut next = Some(self.root());
        loop {
            if let Some(node) = next.take() {
                match self.nodes.get(node) {
                    None | Some(Stored::Null) => out.push_str("null"),
                    Some(Stored::Bool(value)) => out.push_str(if *value { "true" } else { "false" }),
                    Some(Stored::Number(text)) => out.push_str(self.piece(*text)),
                    Some(Stored::String(text)) => push_quoted(&mut out, self.piece(*text)),
                    Some(Stored::Array { start, end }) => {
                        out.push('[');
                        inside.push((false, *start..*end, *start));
                    }
                    Some(Stored::Object { start, end }) => {
                        out.push('{');
                        inside.push((true, *start..*end, *start));
                    }
                }
            }
            let Some((object, entries, at)) = inside.last_mut() else {
                return out;
            };
            match self.entries.get(*at as usize).filter(|_| *at < entries.end) {
                Some(entry) => {
                    if *at > entries.start {
                        out.push(',');
                    }
                    if *object {
                        push_quoted(&mut out, self.piece(entry.key));
                        out.push(':');
                    }
                    *at += 1;
                    next = Some(entry.node as usize);
                }
                None => {
                    out.push(if *object { '}' } else { ']' });
                    inside.pop();
                }
            }
        }
    }

    fn piece(&self, text: Text) -> &str {
        self.text.get(text.start as usize..text.end as usize).unwrap_or_default()
    }

    fn entries_of(&self, node: usize) -> &[Entry] {
        match self.nodes.get(node) {
            Some(Stored::Array { start, end } | Stored::Object { start, end }) => {
                self.entries.get(*start as usize..*end as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

fn push_quoted(out: &mut String, escaped: &str) {
    out.push('"');
    out.push_str(escaped);
    out.push('"');
}

/// The characters behind canonical escapes. A lone surrogate, which is no character, stands as
/// the private character U+100000 above it, so that it stays itself.
pub(crate) fn unescape(escaped: &str) -> String {
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let hex = after.strip_prefix('u').and_then(|hex| hex.get(..4));
        match hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
            Some(unit) => {
                out.extend(char::from_u32(unit).or_else(|| char::from_u32(0x10_0000 + unit)));
                rest = after.get(5..).unwrap_or_default();
            }
            None => {
                // `\"` and `\\` are the only other escapes of the canonical form.
                out.extend(after.chars().next());
                rest = after.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

struct Reader<'s> {
    source: &'s str,
    bytes: &'s [u8],
    at: usize,
    tree: Tree,
    open: Vec<Open>,
    waiting: Vec<Entry>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            let Some(byte) = self.bytes.get(self.at).copied() else {
                return (expect == Expect::Nothing).then_some(());
            };
            expect = match (expect, byte) {
                (Expect::ValueOrEnd, b']') | (Expect::KeyOrEnd, b'}') => self.close()?,
                (Expect::More, b']' | b'}') => {
                    if self.open.last()?.object != (byte == b'}') {
                        return None;
                    }
                    self.close()?
                }
                (Expect::More, b',') => {
                    self.at += 1;
                    if self.open.last()?.object { Expect::Key } else { Expect::Value }
                }
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    let key = self.string()?;
                    self.open.last_mut()?.key = key;
                    self.skip_space();
                    self.word(":")?;
                    Expect::Value
                }
                (Expect::Value | Expect::ValueOrEnd, _) => self.value(byte)?,
                _ => return None,
            };
        }
    }

    fn value(&mut self, byte: u8) -> Option<Expect> {
        let stored = match byte {
            b'{' | b'[' => {
                let object = byte == b'{';
                self.at += 1;
                self.open.push(Open { object, waiting: self.waiting.len(), key: Text::default() });
                return Some(if object { Expect::KeyOrEnd } else { Expect::ValueOrEnd });
            }
            b'"' => Stored::String(self.string()?),
            b'-' | b'0'..=b'9' => Stored::Number(self.number()?),
            b't' => self.word("true").map(|()| Stored::Bool(true))?,
            b'f' => self.word("false").map(|()| Stored::Bool(false))?,
            b'n' => self.word("null").map(|()| Stored::Null)?,
            _ => return None,
        };
        self.place(stored)
    }

    /// Ends the innermost array or object; its entries move from the waiting list to the tree.
    fn close(&mut self) -> Option<Expect> {
        self.at += 1;
        let Open { object, waiting, .. } = self.open.pop()?;
        let start = u32::try_from(self.tree.entries.len()).ok()?;
        if object {
            let tree = &mut self.tree;
            let entries = self.waiting.get_mut(waiting..)?;
            let by_key = |a: &Entry, b: &Entry| tree.piece(a.key).cmp(tree.piece(b.key));
            entries.sort_by(by_key);
            let last_of_its_key = |index: usize| {
                entries.get(index + 1).is_none_or(|next| {
                    entries.get(index).is_some_and(|entry| by_key(entry, next) != Ordering::Equal)
                })
            };
            let kept: Vec<usize> = (0..entries.len()).filter(|index| last_of_its_key(*index)).collect();
            tree.entries.extend(kept.into_iter().filter_map(|index| entries.get(index).copied()));
        } else {
            self.tree.entries.extend_from_slice(self.waiting.get(waiting..)?);
        }
        self.waiting.truncate(waiting);
        let end = u32::try_from(self.tree.entries.len()).ok()?;
        self.place(if object { Stored::Object { start, end } } else { Stored::Array { start, end } })
    }

    fn place(&mut self, stored: Stored) -> Option<Expect> {
        let node = u32::try_from(self.tree.nodes.len()).ok()?;
        self.tree.nodes.push(stored);
        match self.open.last() {
            None => Some(Expect::Nothing),
            Some(open) => {
                self.waiting.push(Entry { key: open.key, node });
                Some(Expect::More)
            }
        }
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let end = self.at + word.len();
        (self.bytes.get(self.at..end)? == word.as_bytes()).then(|| self.at = end)
    }

    fn number(&mut self) -> Option<Text> {
        let end = number::scan(self.bytes, self.at)?;
        let start = self.tree.text.len();
        number::push_value(&mut self.tree.text, self.source.get(self.at..end)?);
        self.at = end;
        self.since(start)
    }

    fn since(&self, start: usize) -> Option<Text> {
        Some(Text { start: u32::try_from(start).ok()?, end: u32::try_from(self.tree.text.len()).ok()? })
    }

    fn string(&mut self) -> Option<Text> {
        let start = self.tree.text.len();
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..)?;
            let run = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))?;
            self.tree.text.push_str(self.source.get(self.at..self.at + run)?);
            self.at += run + 1;
            match rest.get(run) {
                Some(b'"') => return self.since(start),
                Some(b'\\') => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        let unit = match byte {
            b'"' | b'\\' | b'/' => u32::from(byte),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => self.hex()?,
            _ => return None,
        };
        let unit = self.with_low_half(unit);
        self.push(unit);
        Some(())
    }

    /// Joins a high surrogate with the low one that follows it at once.
    fn with_low_half(&mut self, unit: u32) -> u32 {
        if !(0xd800..0xdc00).contains(&unit) || self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return unit;
        }
        let before = self.at;
        self.at += 2;
        match self.hex() {
            Some(low) if (0xdc00..0xe000).contains(&low) => {
                0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => {
                self.at = before;
                unit
            }
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.source.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn push(&mut self, unit: u32) {
        match char::from_u32(unit) {
            Some(character @ ('"' | '\\')) => {
                self.tree.text.push('\\');
                self.tree.text.push(character);
            }
            Some(character) if character >= ' ' => self.tree.text.push(character),
            _ => self.tree.text.push_str(&format!("\\u{unit:04x}")),
        }
    }
}
