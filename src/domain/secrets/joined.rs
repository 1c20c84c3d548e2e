//! Secrets that come in pieces: in the messages of a stream, or in one turn after the other.

use super::Secrets;
use super::in_json::{leaves, said};
use super::view::View;
use std::collections::{BTreeMap, BTreeSet};

/// So many different keys of a stream are remembered.
const MOST_KEYS: usize = 64;
/// So much of the end of what stood under a key is remembered, for each byte of the longest value.
const REMEMBERED: usize = 6;

/// The ends of what was said so far, by the stream `S` and the key under which it was said.
#[derive(Debug, Clone)]
pub struct Pieces<S> {
    ends: BTreeMap<(S, String), Vec<u8>>,
}

impl<S: Ord> Default for Pieces<S> {
    fn default() -> Pieces<S> {
        Pieces { ends: BTreeMap::new() }
    }
}

impl<S: Ord + Clone> Pieces<S> {
    /// The names of secrets of which this JSON holds the rest, where what came before it in the same
    /// stream held the beginning.
    pub fn found<'s>(&mut self, secrets: &'s Secrets, stream: &S, json: &str) -> BTreeSet<&'s str> {
        let mut found = BTreeSet::new();
        if secrets.is_empty() {
            return found;
        }
        let whole = View::of(json.as_bytes());
        let mut said_now: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for leaf in leaves(json) {
            said_now.entry(leaf.key).or_default().extend_from_slice(said(&whole, &leaf.content).bytes());
        }
        let remembered = secrets.longest() * REMEMBERED;
        for (key, bytes) in said_now {
            let place = (stream.clone(), key.to_owned());
            let before = self.ends.remove(&place).unwrap_or_default();
            // What lies wholly in the new part was looked for where it stands.
            let new = bytes.get(..bytes.len().min(remembered)).unwrap_or_default();
            let together = [&before[..], new].concat();
            if !before.is_empty() {
                found.extend(secrets.found_across(&together, before.len()));
            }
            let mut end = if bytes.len() <= remembered { together } else { bytes };
            end.drain(..end.len().saturating_sub(remembered));
            if !end.is_empty() && self.ends.len() < MOST_KEYS {
                self.ends.insert(place, end);
            }
        }
        found
    }
}
