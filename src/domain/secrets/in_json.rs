//! Secrets in JSON text. Nothing but the tokens that hold a secret is written anew, so that what was
//! valid JSON stays valid JSON.

use super::escapes;
use super::search::Hit;
use super::view::{Builder, View};
use std::collections::BTreeMap;
use std::ops::Range;

/// A piece of JSON text.
enum Token {
    /// A string with its quotes.
    String,
    /// A number, `true`, `false`, `null`.
    Word,
    /// Space and punctuation.
    Other,
}

/// Text that is not JSON comes as some sequence of tokens too; together they are the whole text.
fn tokens(text: &str) -> impl Iterator<Item = (Token, Range<usize>)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.get(from..)?;
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let (length, token) = if first == '"' {
            (string_end(rest), Token::String)
        } else if is_word(first) {
            (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), Token::Word)
        } else {
            (rest.find(|c| c == '"' || is_word(c)).unwrap_or(rest.len()), Token::Other)
        };
        let range = from..from + length;
        from = range.end;
        Some((token, range))
    })
}

/// Behind the closing quote, or the end of the text.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether it is one value of JSON, or one after the other.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>().all(|value| value.is_ok())
}

/// A string that is a value: the key that it stands under, or the last one before a list, and its
/// content's place.
pub(super) struct Leaf<'t> {
    pub(super) key: &'t str,
    pub(super) content: Range<usize>,
}

/// Every string that is a value, in order.
pub(super) fn leaves(text: &str) -> Vec<Leaf<'_>> {
    let mut leaves: Vec<Leaf<'_>> = Vec::new();
    let mut key = "";
    let mut last: Option<Range<usize>> = None;
    for (token, range) in tokens(text) {
        let is_key = matches!(token, Token::Other)
            && text.get(range.clone()).is_some_and(|text| text.trim_start().starts_with(':'));
        match last.take() {
            Some(content) if is_key => key = text.get(content).unwrap_or_default(),
            Some(content) => leaves.push(Leaf { key, content }),
            None => {}
        }
        if matches!(token, Token::String) {
            let closed = range.len() > 1 && text.get(..range.end).is_some_and(|text| text.ends_with('"'));
            last = Some(range.start + 1..range.end - usize::from(closed));
        }
    }
    if let Some(content) = last {
        leaves.push(Leaf { key, content });
    }
    leaves
}

/// What a string says.
pub(super) fn said<'t>(view: &'t View<'t>, content: &Range<usize>) -> View<'t> {
    let part = view.part(content.clone());
    match escapes::backslash(&part) {
        Some(said) => said,
        None => part,
    }
}

/// Strings under one key, one behind the other.
pub(super) struct Joined {
    pub(super) view: View<'static>,
    /// What lies between them, which is no part of them.
    pub(super) gaps: Vec<Range<usize>>,
}

/// What the strings under each key say together: a text can be cut into several.
pub(super) fn joined(text: &str) -> Vec<Joined> {
    let mut by_key: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
    for leaf in leaves(text) {
        by_key.entry(leaf.key).or_default().push(leaf.content);
    }
    let whole = View::of(text.as_bytes());
    let several = by_key.into_values().filter(|contents| contents.len() > 1);
    several
        .map(|contents| {
            let mut out = Builder::new(&whole);
            for content in &contents {
                out.text(&said(&whole, content));
            }
            let gaps = contents.windows(2).map(|pair| pair[0].end..pair[1].start).collect();
            Joined { view: out.finish(), gaps }
        })
        .collect()
}

/// A place without what lies in the gaps.
pub(super) fn without(place: &Range<usize>, gaps: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = place.start;
    let first = gaps.partition_point(|gap| gap.end <= place.start);
    for gap in gaps.iter().skip(first).take_while(|gap| gap.start < place.end) {
        if from < gap.start {
            parts.push(from..gap.start);
        }
        from = gap.end;
    }
    if from < place.end {
        parts.push(from..place.end);
    }
    parts
}

/// Writes JSON anew with a marker in the place of each hit. Hits are in order and lie apart.
pub(super) fn write(text: &str, hits: &[Hit], marker: &dyn Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    // One marker for each hit, in the first token that it touches.
    let mut marked = 0;
    for (token, range) in tokens(text) {
        let written = text.get(range.clone()).unwrap_or_default();
        let first = hits.partition_point(|hit| hit.place.end <= range.start);
        let here = hits.get(first..).unwrap_or_default();
        let touched = here.first().is_some_and(|hit| hit.place.start < range.end);
        if !touched {
            out.push_str(written);
            continue;
        }
        match token {
            Token::String => string(written, range.start, first, hits, &mut marked, marker, &mut out),
            Token::Word if first >= marked => {
                out.push_str(&format!("\"{}\"", marker(here.first().map_or(0, |hit| hit.name))));
                marked = first + 1;
            }
            Token::Word => out.push('0'),
            Token::Other => out.push_str(written),
        }
    }
    out
}

/// A string whose characters that belong to a hit are left out.
fn string(
    written: &str,
    start: usize,
    mut hit: usize,
    hits: &[Hit],
    marked: &mut usize,
    marker: &dyn Fn(usize) -> String,
    out: &mut String,
) {
    let content = written.strip_prefix('"').unwrap_or(written);
    let closed = content.strip_suffix('"');
    out.push('"');
    let mut at = start + 1;
    for unit in units(closed.unwrap_or(content)) {
        let end = at + unit.len();
        while hits.get(hit).is_some_and(|hit| hit.place.end <= at) {
            hit += 1;
        }
        match hits.get(hit).filter(|hit| hit.place.start < end) {
            Some(found) => {
                if hit >= *marked {
                    out.push_str(&marker(found.name));
                    *marked = hit + 1;
                }
            }
            None => out.push_str(unit),
        }
        at = end;
    }
    if closed.is_some() {
        out.push('"');
    }
}

/// The characters of a string as they are written; of a pair of surrogates each by itself.
fn units(content: &str) -> impl Iterator<Item = &str> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match (first, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', Some(_)) => 2,
            _ => first.len_utf8(),
        };
        // What only looks like an escape is taken character by character.
        let length = if rest.is_char_boundary(length) { length } else { first.len_utf8() };
        let (unit, after) = rest.split_at(length);
        rest = after;
        Some(unit)
    })
}
