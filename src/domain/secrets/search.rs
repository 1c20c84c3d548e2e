//! Finds values in a text: as they are, and as any of the encodings writes them, also one inside
//! another. In time that grows with the text alone.

use super::escapes;
use super::numerals::{self, Plausible};
use super::view::View;
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;

/// So many encodings one inside the other are undone.
const DEEPEST: usize = 6;
/// Longer texts are looked at in pieces, in bytes.
const WINDOW: usize = 256 << 10;
/// Pieces share so much for each byte of the longest value: more than any encodings make of it.
const SHARED: usize = 64;
/// What is decoded of a text is at most so often as long.
const MOST_DECODED: usize = 64;
/// A shorter value stands in decoded bytes by chance.
const SHORTEST_DECODED: usize = 6;

/// A value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// Its place.
    pub(super) place: Range<usize>,
    /// The number of its name.
    pub(super) name: usize,
}

/// The values that are looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    needles: Vec<(String, usize)>,
    automaton: Option<AhoCorasick>,
    plausible: Option<Plausible>,
    longest: usize,
    /// Whether a value has spaces.
    spaced: bool,
}

impl Search {
    /// Values with the numbers of their names.
    pub(super) fn new<'v>(values: impl IntoIterator<Item = (&'v str, usize)>) -> Search {
        let mut needles: Vec<(String, usize)> = values
            .into_iter()
            .flat_map(|(value, name)| spellings(value).into_iter().map(move |spelling| (spelling, name)))
            .collect();
        needles.sort();
        needles.dedup();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(needles.iter().map(|(needle, _)| needle))
            .ok();
        let lengths = || needles.iter().map(|(needle, _)| needle.len());
        let plausible = lengths().min().map(|shortest| Plausible {
            shortest: shortest.max(SHORTEST_DECODED),
            beyond_ascii: needles.iter().any(|(needle, _)| !needle.is_ascii()),
        });
        let longest = lengths().max().unwrap_or_default();
        let spaced = needles.iter().any(|(needle, _)| needle.contains(' '));
        Search { needles, automaton, plausible, longest, spaced }
    }

    /// Every value in a text, by its place. They can lie one over the other.
    pub(super) fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let shared = self.longest * SHARED;
        let mut from = 0;
        while !self.needles.is_empty() {
            let end = text.len().min(from + WINDOW + shared);
            let window = text.get(from..end).unwrap_or_default();
            let before = hits.len();
            self.hits_in(&View::of(window), &mut hits);
            for hit in hits.iter_mut().skip(before) {
                hit.place = hit.place.start + from..hit.place.end + from;
            }
            if end == text.len() {
                break;
            }
            from += WINDOW;
        }
        hits
    }

    /// The same in a view; places are those in its text.
    pub(super) fn hits_in(&self, view: &View<'_>, hits: &mut Vec<Hit>) {
        let mut left = view.bytes().len() * MOST_DECODED + 4096;
        self.found(view, 1, hits);
        self.undo(view, 1, &mut left, hits);
    }

    fn undo(&self, view: &View<'_>, depth: usize, left: &mut usize, hits: &mut Vec<Hit>) {
        let Some(plausible) = self.plausible else { return };
        // Nothing that is so short holds a value, however it is written.
        if view.bytes().len() < plausible.shortest {
            return;
        }
        if depth > DEEPEST {
            return;
        }
        if self.spaced
            && let Some(unwrapped) = escapes::wrapped(view)
        {
            self.found(&unwrapped, SHORTEST_DECODED, hits);
        }
        let escaped =
            [escapes::backslash, escapes::percent, escapes::entities, escapes::wide, escapes::line_breaks]
                .into_iter()
                .filter_map(|undo| undo(view));
        let numerals =
            [numerals::base64, numerals::hexadecimal].into_iter().flat_map(|undo| undo(view, plausible));
        for decoded in escaped.chain(numerals).chain(numerals::decimal(view, plausible)) {
            let Some(rest) = left.checked_sub(decoded.bytes().len()) else { return };
            *left = rest;
            self.found(&decoded, SHORTEST_DECODED, hits);
            self.undo(&decoded, depth + 1, left, hits);
        }
    }

    fn found(&self, view: &View<'_>, shortest: usize, hits: &mut Vec<Hit>) {
        let mut seen = |needle: usize, place: Range<usize>| {
            if let Some((_, name)) = self.needles.get(needle).filter(|(needle, _)| needle.len() >= shortest) {
                hits.push(Hit { place: view.place(place), name: *name });
            }
        };
        match &self.automaton {
            Some(automaton) => {
                for found in automaton.find_overlapping_iter(view.bytes()) {
                    seen(found.pattern().as_usize(), found.range());
                }
            }
            // More values than an automaton can hold: slower, and as sure.
            None => {
                for (at, (needle, _)) in self.needles.iter().enumerate() {
                    let places = view.bytes().windows(needle.len().max(1)).enumerate();
                    for (from, _) in places.filter(|(_, bytes)| *bytes == needle.as_bytes()) {
                        seen(at, from..from + needle.len());
                    }
                }
            }
        }
    }
}

/// How a value can be written where no encoding is undone.
fn spellings(value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    let trimmed = value.trim();
    let lines: String = value.split(['\n', '\r']).map(str::trim).collect();
    let doubled = |quote: char, by: &str| value.replace(quote, by);
    let others = [
        trimmed.to_owned(),
        // A key of several lines, without its line breaks.
        lines,
        // A form of a web page.
        value.replace(' ', "+"),
        // SQL, CSV, and shells.
        doubled('\'', "''"),
        doubled('\'', "'''"),
        doubled('"', "\"\""),
    ];
    all.extend(others.into_iter().filter(|other| other.len() >= SHORTEST_DECODED));
    all
}
