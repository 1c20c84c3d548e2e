//! Values that nobody may read: how they are found in a text, and what stands in their place.
//!
//! The only place that knows how a secret can look. Traces, results, transcripts, messages and
//! reports all go through [`Secrets::hide`] or, where the text is JSON that must stay JSON,
//! [`Secrets::hide_json`].
//!
//! A secret is looked for as it is, and wherever up to six encodings, one inside the other, write it:
//! escapes of JSON, programs and shells, percent-encoding, HTML entities, Base64 of both alphabets,
//! hexadecimal, lists of bytes, two bytes a character; broken into lines; and cut into strings that
//! stand under the same key.

mod escapes;
mod in_json;
mod joined;
mod numerals;
mod search;
mod view;

pub use joined::Pieces;

use search::{Hit, Search};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use view::View;

/// The fewest characters of a secret that a user names.
pub const SHORTEST: usize = 8;
/// A value without a digit is taken for a secret because of its variable's name from so many characters.
const LONG_WITHOUT_DIGITS: usize = 20;
/// A value of fewer different characters is found in ordinary texts.
const FEWEST_DIFFERENT: usize = 4;
/// A piece of a secret at the edge of a text is one from so many bytes, and from half of it.
const SHORTEST_PIECE: usize = 8;

/// Parts of the name of a variable whose value nobody else may read.
const SECRET_NAMES: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// Whether a variable of this name holds a secret, as far as the name tells.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    SECRET_NAMES.iter().any(|part| upper.contains(part))
}

/// Whether a variable holds a secret, as far as its name and its value tell. What stands in the place of a
/// key where none is needed (`ollama`, `not-needed`) is none: it stands in other texts too.
pub fn is_secret(name: &str, value: &str) -> bool {
    let random = value.chars().any(|c| c.is_ascii_digit()) || value.chars().count() >= LONG_WITHOUT_DIGITS;
    is_secret_name(name)
        && random
        && strong_enough(value).is_ok()
        && (value.contains('@') || !value.contains("://"))
}

/// Why a value cannot be kept secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakSecret {
    /// Too short.
    #[error("it has {0} characters; a value of fewer than {SHORTEST} stands in ordinary texts too")]
    Short(usize),
    /// Too uniform.
    #[error("it has only {0} different characters; such a value stands in ordinary texts too")]
    Uniform(usize),
}

/// Checks that a value can be told from ordinary text.
///
/// # Errors
/// Where it would be found in what is no secret.
pub fn strong_enough(value: &str) -> Result<(), WeakSecret> {
    let length = value.chars().count();
    if length < SHORTEST {
        return Err(WeakSecret::Short(length));
    }
    let different = value.chars().collect::<BTreeSet<_>>().len();
    if different < FEWEST_DIFFERENT { Err(WeakSecret::Uniform(different)) } else { Ok(()) }
}

/// Values that nobody may read, with the names that stand in their place.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Values and their names, none twice.
    values: Vec<(String, String)>,
    search: Search,
}

impl PartialEq for Secrets {
    fn eq(&self, other: &Secrets) -> bool {
        self.values == other.values
    }
}

impl Eq for Secrets {}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secrets").field(&self.names()).finish()
    }
}

impl Secrets {
    /// Names and values. Empty values are left out.
    pub fn new<N: Into<String>, V: AsRef<str>>(secrets: impl IntoIterator<Item = (N, V)>) -> Secrets {
        let mut all = Secrets::default();
        let values = secrets.into_iter().map(|(name, value)| (value.as_ref().to_owned(), name.into()));
        all.extend(values);
        all
    }

    /// One more. An empty value is left out.
    pub fn add(&mut self, name: impl Into<String>, value: &str) {
        self.extend([(value.to_owned(), name.into())]);
    }

    /// These and those of `other`.
    #[must_use]
    pub fn with(mut self, other: &Secrets) -> Secrets {
        self.extend(other.values.iter().cloned());
        self
    }

    fn extend(&mut self, values: impl IntoIterator<Item = (String, String)>) {
        let before = self.values.len();
        for (value, name) in values {
            let known = self.values.iter().any(|(there, _)| *there == value);
            if !value.is_empty() && !known {
                self.values.push((value, name));
            }
        }
        if self.values.len() > before {
            let values = self.values.iter().enumerate().map(|(at, (value, _))| (value.as_str(), at));
            self.search = Search::new(values);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Their names, each once.
    pub fn names(&self) -> BTreeSet<&str> {
        self.values.iter().map(|(_, name)| name.as_str()).collect()
    }

    /// The length of the longest value, in bytes.
    fn longest(&self) -> usize {
        self.values.iter().map(|(value, _)| value.len()).max().unwrap_or_default()
    }

    fn name(&self, at: usize) -> &str {
        self.values.get(at).map_or("", |(_, name)| name)
    }

    /// The names of the secrets that a text holds, in any of their forms.
    pub fn found_in(&self, text: &str) -> BTreeSet<&str> {
        self.found_in_bytes(text.as_bytes())
    }

    /// The same in bytes that may be no text.
    pub fn found_in_bytes(&self, bytes: &[u8]) -> BTreeSet<&str> {
        if self.is_empty() {
            return BTreeSet::new();
        }
        self.search.hits(bytes).iter().map(|hit| self.name(hit.name)).collect()
    }

    /// The first secret that stands in one of the words, such as those of a command line.
    pub fn first_in<'w>(&self, words: impl IntoIterator<Item = &'w String>) -> Option<&str> {
        words.into_iter().find_map(|word| self.found_in(word).pop_first())
    }

    /// The names of the secrets that lie across a place in bytes.
    fn found_across(&self, bytes: &[u8], at: usize) -> BTreeSet<&str> {
        let hits = self.search.hits(bytes).into_iter();
        let across = hits.filter(|hit| hit.place.start < at && at < hit.place.end);
        across.map(|hit| self.name(hit.name)).collect()
    }

    /// The same in JSON, also where a secret is cut into several strings.
    pub fn found_in_json(&self, json: &str) -> BTreeSet<&str> {
        if self.is_empty() {
            return BTreeSet::new();
        }
        self.hits_in_json(json).iter().map(|hit| self.name(hit.name)).collect()
    }

    fn hits_in_json(&self, json: &str) -> Vec<Hit> {
        let mut hits = self.search.hits(json.as_bytes());
        for joined in in_json::joined(json) {
            let mut here = Vec::new();
            self.search.hits_in(&joined.view, &mut here);
            hits.extend(here.into_iter().flat_map(|hit| {
                let parts = in_json::without(&hit.place, &joined.gaps).into_iter();
                parts.map(move |place| Hit { place, name: hit.name })
            }));
        }
        hits
    }

    /// The text with `‹secret:NAME›` in the place of each secret, and of a large piece of one where a
    /// line was cut.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut hits = self.search.hits(text.as_bytes());
        self.pieces_of_lines(text, &mut hits);
        self.written(text, apart(hits))
    }

    fn pieces_of_lines(&self, text: &str, hits: &mut Vec<Hit>) {
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            let said = line.trim();
            let start = from + (line.len() - line.trim_start().len());
            self.pieces(said.as_bytes(), &|place| place.start + start..place.end + start, hits);
            from += line.len();
        }
    }

    fn written<'t>(&self, text: &'t str, hits: Vec<Hit>) -> Cow<'t, str> {
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for hit in hits {
            let (start, end) = (boundary(text, hit.place.start, false), boundary(text, hit.place.end, true));
            out.push_str(text.get(from..start).unwrap_or_default());
            out.push_str(&marker(self.name(hit.name)));
            from = end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The same for a text that is owned.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// The same for JSON, or lines of it: what was valid JSON stays valid JSON.
    pub fn hide_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        self.hide_json_telling(json).0
    }

    /// The same, and what [`Secrets::found_in_json`] finds in it, for the price of one search.
    pub fn hide_json_telling<'t>(&self, json: &'t str) -> (Cow<'t, str>, BTreeSet<&str>) {
        if self.is_empty() {
            return (Cow::Borrowed(json), BTreeSet::new());
        }
        let hits = self.hits_in_json(json);
        let names = hits.iter().map(|hit| self.name(hit.name)).collect();
        (self.without(json, hits), names)
    }

    /// JSON without these, and without the pieces of secrets at the ends of its strings and lines.
    fn without<'t>(&self, json: &'t str, mut hits: Vec<Hit>) -> Cow<'t, str> {
        let whole = View::of(json.as_bytes());
        for leaf in in_json::leaves(json) {
            if leaf.content.len() >= SHORTEST_PIECE {
                let said = in_json::said(&whole, &leaf.content);
                self.pieces(said.bytes(), &|place| said.place(place), &mut hits);
            }
        }
        let mut of_lines = Vec::new();
        self.pieces_of_lines(json, &mut of_lines);
        if hits.is_empty() && of_lines.is_empty() {
            return Cow::Borrowed(json);
        }
        if !in_json::is_json(json) {
            return self.hide(json);
        }
        if hits.is_empty() {
            return Cow::Borrowed(json);
        }
        Cow::Owned(in_json::write(json, &apart(hits), &|name| marker(self.name(name))))
    }

    /// Puts `*` in the place of each secret, so that nothing moves: for files that are no text. The names of
    /// what was there.
    pub fn hide_in_bytes(&self, bytes: &mut [u8]) -> BTreeSet<&str> {
        let hits = self.search.hits(bytes);
        for hit in &hits {
            bytes.get_mut(hit.place.clone()).unwrap_or_default().fill(b'*');
        }
        hits.iter().map(|hit| self.name(hit.name)).collect()
    }

    /// Where a text was cut in the middle of a secret, the larger half can be left of it.
    fn pieces(&self, bytes: &[u8], place_of: &dyn Fn(Range<usize>) -> Range<usize>, hits: &mut Vec<Hit>) {
        if bytes.len() < SHORTEST_PIECE {
            return;
        }
        for (name, (value, _)) in self.values.iter().enumerate() {
            let value = value.as_bytes();
            let shortest = SHORTEST_PIECE.max(value.len().div_ceil(2));
            let lengths = (shortest..value.len()).rev().filter(|length| *length <= bytes.len());
            let mut lengths = lengths
                .clone()
                .map(|length| (length, value.get(..length), value.get(value.len() - length..)));
            let place = lengths.find_map(|(length, beginning, end)| {
                if beginning.is_some_and(|beginning| bytes.ends_with(beginning)) {
                    return Some(bytes.len() - length..bytes.len());
                }
                end.filter(|end| bytes.starts_with(end)).map(|_| 0..length)
            });
            hits.extend(place.map(|place| Hit { place: place_of(place), name }));
        }
    }
}

/// Hits in order, none touching another: of those that begin together the longest, and of those that
/// lie over one another the first with all of their places.
fn apart(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.retain(|hit| !hit.place.is_empty());
    hits.sort_by(|a, b| a.place.start.cmp(&b.place.start).then(b.place.end.cmp(&a.place.end)));
    let mut apart: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match apart.last_mut().filter(|last| hit.place.start < last.place.end) {
            Some(last) => last.place.end = last.place.end.max(hit.place.end),
            None => apart.push(hit),
        }
    }
    apart
}

/// The next place, forward or back, where a character ends.
fn boundary(text: &str, mut at: usize, forward: bool) -> usize {
    while !text.is_char_boundary(at) && at > 0 && at < text.len() {
        at = if forward { at + 1 } else { at - 1 };
    }
    at.min(text.len())
}

/// What stands in the place of a secret. Nothing that JSON, XML or Markdown would act on.
pub fn marker(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect();
    format!("‹secret:{safe}›")
}

#[cfg(test)]
mod tests;
