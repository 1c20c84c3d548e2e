//! The file format: JSON Lines in which every line carries the SHA-256 of the line before it. The
//! closing line, which has no follower, carries a digest of itself.
//!
//! Pure: an [`Encoder`] turns events into lines, [`read`] turns text into records. Who holds the
//! file is the caller's affair. A chain can be forged as a whole: that it is the one that was
//! written is known only to whoever kept its end elsewhere ([`verify`]).

use super::{Event, LogKind, Record, SecretPlace};
use crate::domain::secrets::{Pieces, Secrets, marker};
use crate::domain::{Micros, RawJson, digest, digest_bytes};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What the first line carries as the digest of the line before it.
const NO_LINE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What is wrong with a trace.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum TraceError {
    /// A line is not a record.
    #[error("line {line} is not a record of a trace: {reason}")]
    NotARecord {
        /// From 1.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// A line does not follow on the one before it.
    #[error("line {line} does not follow on the line before it: a line was changed, removed, added or moved")]
    Broken {
        /// From 1.
        line: usize,
    },
    /// A line's place and its number differ.
    #[error("line {line} carries the number {found}, wanted {wanted}")]
    WrongNumber {
        /// From 1.
        line: usize,
        /// What it says.
        found: u64,
        /// What it should say.
        wanted: u64,
    },
    /// The closing line counts other lines than there are.
    #[error("the closing line, line {line}, counts {found} records before it, and there are {wanted}")]
    WrongCount {
        /// From 1.
        line: usize,
        /// What it says.
        found: u64,
        /// What it should say.
        wanted: u64,
    },
    /// The closing line is not as it was written.
    #[error("the closing line, line {line}, was changed")]
    ClosingChanged {
        /// From 1.
        line: usize,
    },
    /// Something follows the closing line.
    #[error("line {line} follows the closing line")]
    AfterTheEnd {
        /// From 1.
        line: usize,
    },
    /// Every line follows on the one before it, and then there is no more.
    #[error(
        "it has no closing line: {}; what is there, {lines} lines, is as it was written. Its writer \
         was ended before it could close it, or its end was cut off",
        if *.half { "it ends in the middle of a line" } else { "it ends after a whole line" }
    )]
    Unfinished {
        /// Whole lines.
        lines: usize,
        /// The beginning of one more follows them.
        half: bool,
    },
    /// It is whole, but another one.
    #[error(
        "it ends with {found}, and {wanted} was kept when it was written: it is another trace, or was written anew"
    )]
    OtherEnd {
        /// The end of its chain.
        found: String,
        /// The end that was kept elsewhere.
        wanted: String,
    },
}

impl TraceError {
    /// Nothing that is there was changed; the end is missing.
    pub fn is_unfinished(&self) -> bool {
        matches!(self, TraceError::Unfinished { .. })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    at_us: Micros,
    prev: String,
    event: RawJson,
    /// On the closing line, the digest of its text without this; older traces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

impl Line {
    /// The text of a closing line with its seal.
    fn sealed(mut self) -> Result<String, serde_json::Error> {
        self.seal = None;
        self.seal = Some(digest(&serde_json::to_string(&self)?));
        serde_json::to_string(&self)
    }

    /// Whether a closing line is, to the letter, what an encoder writes.
    fn has_text(&self, text: &[u8]) -> bool {
        let line = Line {
            seq: self.seq,
            at_us: self.at_us,
            prev: self.prev.clone(),
            event: self.event.clone(),
            seal: None,
        };
        let wanted = if self.seal.is_some() { line.sealed() } else { serde_json::to_string(&line) };
        wanted.is_ok_and(|wanted| wanted.as_bytes() == text)
    }
}

/// Turns events into the lines of one trace.
#[derive(Debug)]
pub struct Encoder {
    seq: u64,
    last: Micros,
    digest: String,
    secrets: Secrets,
    /// What can be the beginning of a secret whose rest comes with a later event.
    pieces: Pieces<SecretPlace>,
    lines: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        let digest = NO_LINE.to_owned();
        let (secrets, pieces) = (Secrets::default(), Pieces::default());
        Encoder { seq: 0, last: Micros(0), digest, secrets, pieces, lines: true }
    }
}

impl Encoder {
    /// The record of an event, and its line with the line break. Time never runs backwards: an
    /// event that claims to be older than the one before it gets that one's time.
    ///
    /// # Errors
    /// Where the event has no JSON form, which no event of ours has.
    pub fn encode(&mut self, at: Micros, event: Event) -> Result<(Record, String), serde_json::Error> {
        self.encode_hiding(at, event).map(|(record, line, _)| (record, line))
    }

    /// The same, with the names of the secrets that the event held. Record and line, and so the chain
    /// too, have only their names.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn encode_hiding(
        &mut self,
        at: Micros,
        event: Event,
    ) -> Result<(Record, String, BTreeSet<String>), serde_json::Error> {
        let at = at.max(self.last);
        if !self.lines && self.secrets.is_empty() {
            return Ok((self.record(at, event), String::new(), BTreeSet::new()));
        }
        let (event, json, hidden) = self.hidden(event)?;
        if !self.lines {
            return Ok((self.record(at, event), String::new(), hidden));
        }
        let line = Line { seq: self.seq, at_us: at, prev: self.digest.clone(), event: json, seal: None };
        let closing = matches!(event, Event::Closed { .. });
        let mut text = if closing { line.sealed()? } else { serde_json::to_string(&line)? };
        self.digest = digest(&text);
        text.push('\n');
        Ok((self.record(at, event), text, hidden))
    }

    fn record(&mut self, at: Micros, event: Event) -> Record {
        let record = Record { seq: self.seq, at, event };
        self.last = at;
        self.seq += 1;
        record
    }

    fn hidden(&mut self, event: Event) -> Result<(Event, RawJson, BTreeSet<String>), serde_json::Error> {
        let json = RawJson::of(&event)?;
        if self.secrets.is_empty() {
            return Ok((event, json, BTreeSet::new()));
        }
        // Hidden also where only a piece of one is in it.
        let (hidden, mut found) = self.secrets.hide_json_telling(json.get());
        if let Some((place, _)) = event.secret_place() {
            found.extend(self.pieces.found(&self.secrets, &place, json.get()));
        }
        let names: BTreeSet<String> = found.into_iter().map(str::to_owned).collect();
        let Cow::Owned(hidden) = hidden else { return Ok((event, json, names)) };
        let read = serde_json::from_str::<Event>(&hidden).and_then(|event| Ok((RawJson::of(&event)?, event)));
        if let Ok((json, event)) = read {
            return Ok((event, json, names));
        }
        // Where a secret stood in place of something that is no text, the event has lost its form. A
        // judge that misses it says that the trace contradicts itself, which is no PASS.
        let text = format!(
            "an event that held {} cannot be kept",
            names.iter().map(|name| marker(name)).collect::<Vec<_>>().join(", ")
        );
        let event = Event::Log { kind: LogKind::Proxy, text };
        let json = RawJson::of(&event)?;
        Ok((event, json, names))
    }

    /// The same, with no secret in its lines and records.
    #[must_use]
    pub fn hiding(self, secrets: Secrets) -> Encoder {
        Encoder { secrets, ..self }
    }

    /// An encoder of records alone, for whoever keeps no file: its lines are empty, its chain has no end.
    pub fn without_lines() -> Encoder {
        Encoder { lines: false, ..Encoder::default() }
    }

    /// The record that ends the trace, and its line.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub fn close(&mut self, at: Micros) -> Result<(Record, String), serde_json::Error> {
        self.encode(at, Event::Closed { records: self.seq })
    }

    /// Number of records so far.
    pub fn len(&self) -> u64 {
        self.seq
    }

    /// Whether nothing was encoded yet.
    pub fn is_empty(&self) -> bool {
        self.seq == 0
    }

    /// The end of the chain: SHA-256, hexadecimal, of the last line without its line break.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// A trace that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The records, the closing one included.
    pub records: Vec<Record>,
    /// The end of the chain.
    pub digest: String,
}

/// Reads a whole trace and checks its chain.
///
/// # Errors
/// The first thing that is wrong with it; nothing is said of a trace that is not whole.
pub fn read(text: &str) -> Result<Trace, TraceError> {
    let (records, end) = read_sound(text.as_bytes());
    end.map(|digest| Trace { records, digest })
}

/// The records of a trace up to the first thing that is wrong with it, and the end of its chain or
/// what is wrong.
pub fn read_sound(bytes: &[u8]) -> (Vec<Record>, Result<String, TraceError>) {
    let mut records = Vec::new();
    let end = check(bytes, |record| records.push(record));
    (records, end)
}

/// Checks a trace, and that it ends as `end` says where that was kept elsewhere. The end of its chain.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn verify(bytes: &[u8], end: Option<&str>) -> Result<String, TraceError> {
    as_kept(check(bytes, drop)?, end)
}

/// What [`read_sound`] and [`verify`] say, in one pass.
pub fn read_verified(bytes: &[u8], end: Option<&str>) -> (Vec<Record>, Result<String, TraceError>) {
    let (records, found) = read_sound(bytes);
    (records, found.and_then(|found| as_kept(found, end)))
}

fn as_kept(found: String, end: Option<&str>) -> Result<String, TraceError> {
    match end {
        Some(wanted) if wanted != found => Err(TraceError::OtherEnd { found, wanted: wanted.to_owned() }),
        _ => Ok(found),
    }
}

fn check(bytes: &[u8], mut keep: impl FnMut(Record)) -> Result<String, TraceError> {
    let mut checker = Checker { lines: 0, previous: NO_LINE.to_owned(), closed: false };
    let mut rest = bytes;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end);
        keep(checker.line(line)?);
        rest = after.get(1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        return Err(checker.without_line_break(rest));
    }
    match checker.closed {
        true => Ok(checker.previous),
        false => Err(TraceError::Unfinished { lines: checker.lines, half: false }),
    }
}

struct Checker {
    lines: usize,
    previous: String,
    closed: bool,
}

impl Checker {
    /// Takes the next line, which ended with a line break.
    fn line(&mut self, text: &[u8]) -> Result<Record, TraceError> {
        let line = self.lines + 1;
        if self.closed {
            return Err(TraceError::AfterTheEnd { line });
        }
        let not_a_record =
            |error: serde_json::Error| TraceError::NotARecord { line, reason: error.to_string() };
        let parsed: Line = serde_json::from_slice(text).map_err(not_a_record)?;
        if parsed.prev != self.previous {
            return Err(TraceError::Broken { line });
        }
        let wanted = self.lines as u64;
        if parsed.seq != wanted {
            return Err(TraceError::WrongNumber { line, found: parsed.seq, wanted });
        }
        let event: Event = serde_json::from_str(parsed.event.get()).map_err(not_a_record)?;
        let record = Record { seq: parsed.seq, at: parsed.at_us, event };
        match record.event {
            Event::Closed { records } if records != wanted => {
                return Err(TraceError::WrongCount { line, found: records, wanted });
            }
            Event::Closed { .. } if !parsed.has_text(text) => {
                return Err(TraceError::ClosingChanged { line });
            }
            Event::Closed { .. } => self.closed = true,
            _ => {}
        }
        self.previous = digest_bytes(text);
        self.lines = line;
        Ok(record)
    }

    /// What to say of what follows the last line break: a writer that was ended leaves the beginning
    /// of a line, and nothing else.
    fn without_line_break(mut self, text: &[u8]) -> TraceError {
        let lines = self.lines;
        match self.line(text) {
            Ok(_) => TraceError::Unfinished { lines, half: true },
            Err(TraceError::NotARecord { .. }) if is_beginning(text) => {
                TraceError::Unfinished { lines, half: true }
            }
            Err(error) => error,
        }
    }
}

/// Whether a text stops before its JSON does.
fn is_beginning(text: &[u8]) -> bool {
    // A cut may go through a character.
    let text = match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() => text.get(..error.valid_up_to()).unwrap_or_default(),
        _ => text,
    };
    let stops = |text: &[u8]| {
        serde_json::from_slice::<&serde_json::value::RawValue>(text).is_err_and(|error| error.is_eof())
    };
    // A number may stop where a digit must follow.
    stops(text) || stops(&[text, b"0"].concat())
}

#[cfg(test)]
mod tests;
