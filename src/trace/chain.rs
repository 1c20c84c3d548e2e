//! The file format: JSON Lines in which every line carries the SHA-256 of the line before it.
//!
//! Pure: an [`Encoder`] turns events into lines, [`read`] turns text into records. Who holds the
//! file is the caller's affair.

use super::{Event, Record};
use crate::domain::{Micros, RawJson, digest};
use serde::{Deserialize, Serialize};

/// What the first line carries as the digest of the line before it.
const NO_LINE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
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
    /// The closing line is missing, not last, or counts wrongly.
    #[error("the trace is not closed: its end is missing or cut, or something follows it")]
    NotClosed,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    at_us: Micros,
    prev: String,
    event: RawJson,
}

/// Turns events into the lines of one trace.
#[derive(Debug)]
pub struct Encoder {
    seq: u64,
    last: Micros,
    digest: String,
    closed: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder { seq: 0, last: Micros(0), digest: NO_LINE.to_owned(), closed: false }
    }
}

impl Encoder {
    /// The record of an event, and its line with the line break. Time never runs backwards: an
    /// event that claims to be older than the one before it gets that one's time.
    ///
    /// # Errors
    /// Where the event has no JSON form, which no event of ours has.
    pub fn encode(&mut self, at: Micros, event: Event) -> Result<(Record, String), serde_json::Error> {
        let at = at.max(self.last);
        let line = Line { seq: self.seq, at_us: at, prev: self.digest.clone(), event: RawJson::of(&event)? };
        let mut text = serde_json::to_string(&line)?;
        self.digest = digest(&text);
        self.last = at;
        self.closed = matches!(event, Event::Closed { .. });
        let record = Record { seq: self.seq, at, event };
        self.seq += 1;
        text.push('\n');
        Ok((record, text))
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
    let mut records = Vec::new();
    let mut previous = NO_LINE.to_owned();
    let mut rest = text;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let Some((line, after)) = rest.split_once('\n') else { return Err(TraceError::NotClosed) };
        rest = after;
        let not_a_record =
            |error: serde_json::Error| TraceError::NotARecord { line: number, reason: error.to_string() };
        let parsed: Line = serde_json::from_str(line).map_err(not_a_record)?;
        if parsed.prev != previous {
            return Err(TraceError::Broken { line: number });
        }
        let wanted = records.len() as u64;
        if parsed.seq != wanted {
            return Err(TraceError::WrongNumber { line: number, found: parsed.seq, wanted });
        }
        previous = digest(line);
        let event: Event = serde_json::from_str(parsed.event.get()).map_err(not_a_record)?;
        records.push(Record { seq: parsed.seq, at: parsed.at_us, event });
    }
    match records.last() {
        Some(Record { seq, event: Event::Closed { records: count }, .. }) if seq == count => {}
        _ => return Err(TraceError::NotClosed),
    }
    let closings = records.iter().filter(|record| matches!(record.event, Event::Closed { .. })).count();
    if closings != 1 {
        return Err(TraceError::NotClosed);
    }
    Ok(Trace { records, digest: previous })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, ConnectionId, ToolClass};
    use proptest::prelude::*;

    fn trace(calls: u64) -> (Vec<Record>, String, String) {
        let mut encoder = Encoder::default();
        let mut records = Vec::new();
        let mut text = String::new();
        for call in 1..=calls {
            let event = Event::CallReceived {
                call: CallId(call),
                connection: ConnectionId(1),
                rpc_id: RawJson::parse("1e400").unwrap(),
                tool: "create_booking".to_owned(),
                class: ToolClass::Write,
                arguments: Some(RawJson::parse("{\"n\": 9007199254740993,\n \"n2\": 1.0}").unwrap()),
                continuation: false,
            };
            let (record, line) = encoder.encode(Micros(call * 10), event).unwrap();
            records.push(record);
            text.push_str(&line);
        }
        let (record, line) = encoder.close(Micros(calls * 10)).unwrap();
        records.push(record);
        text.push_str(&line);
        (records, text, encoder.digest().to_owned())
    }

    #[test]
    fn what_was_written_is_read_to_the_letter() {
        let (records, text, digest) = trace(3);
        assert_eq!(read(&text), Ok(Trace { records, digest }));
        assert!(text.contains("9007199254740993") && text.contains("1e400"));
    }

    #[test]
    fn a_cut_end_is_found() {
        let (_, text, _) = trace(3);
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut encoder = Encoder::default();
        let log = |text: &str| Event::Log { kind: crate::trace::LogKind::Proxy, text: text.to_owned() };
        encoder.encode(Micros(5), log("a")).unwrap();
        assert_eq!(encoder.encode(Micros(3), log("b")).unwrap().0.at, Micros(5));
    }

    proptest! {
        #[test]
        fn every_changed_byte_is_found(at in 0_usize..10_000, with in any::<u8>()) {
            let (_, text, digest) = trace(4);
            let mut bytes = text.into_bytes();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != with);
            bytes[at] = with;
            // The last line has no follower: its digest is kept outside, in `runs.jsonl`.
            let found = String::from_utf8(bytes).map_or(true, |text| {
                read(&text).map_or(true, |trace| trace.digest != digest)
            });
            prop_assert!(found);
        }

        #[test]
        fn swapped_removed_and_doubled_lines_are_found(a in 0_usize..5, b in 0_usize..5, kind in 0_u8..3) {
            let (_, text, _) = trace(4);
            let mut lines: Vec<&str> = text.lines().collect();
            match kind {
                0 => { prop_assume!(a != b); lines.swap(a, b); }
                1 => { lines.remove(a); }
                _ => { let line = lines[a]; lines.insert(b, line); }
            }
            prop_assert!(read(&(lines.join("\n") + "\n")).is_err());
        }

        #[test]
        fn reading_never_panics(text in ".{0,200}") {
            let _ = read(&text);
        }
    }
}
