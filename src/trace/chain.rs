//! The file format: JSON Lines in which every line carries the SHA-256 of the line before it. The
//! closing line, which has no follower, carries a digest of itself.
//!
//! Pure: an [`Encoder`] turns events into lines, [`read`] turns text into records. Who holds the
//! file is the caller's affair. A chain can be forged as a whole: that it is the one that was
//! written is known only to whoever kept its end elsewhere ([`verify`]).

use super::{Event, LogKind, Record};
use crate::domain::secrets::{Secrets, marker};
use crate::domain::{Micros, RawJson, digest, digest_bytes};
use serde::{Deserialize, Serialize};
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
    lines: bool,
}

impl Default for Encoder {
    fn default() -> Encoder {
        let digest = NO_LINE.to_owned();
        Encoder { seq: 0, last: Micros(0), digest, secrets: Secrets::default(), lines: true }
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
        if !self.lines {
            return Ok((self.record(at, event), String::new(), BTreeSet::new()));
        }
        let (event, json, hidden) = self.hidden(event)?;
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

    fn hidden(&self, event: Event) -> Result<(Event, RawJson, BTreeSet<String>), serde_json::Error> {
        let json = RawJson::of(&event)?;
        let names: BTreeSet<String> =
            self.secrets.found_in_json(json.get()).into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            return Ok((event, json, names));
        }
        let hidden = self.secrets.hide_json(json.get());
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

    /// An encoder whose lines hold no secret.
    pub fn hiding(secrets: Secrets) -> Encoder {
        Encoder { secrets, ..Encoder::default() }
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
    let found = check(bytes, drop)?;
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
                binding: None,
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
    fn without_lines_the_records_are_the_same() {
        let mut whole = Encoder::default();
        let mut alone = Encoder::without_lines();
        for at in [5, 3, 9] {
            let event = || Event::Log { kind: LogKind::Proxy, text: "x".to_owned() };
            let (record, line) = alone.encode(Micros(at), event()).unwrap();
            assert_eq!(record, whole.encode(Micros(at), event()).unwrap().0);
            assert_eq!(line, "");
        }
        assert_eq!(alone.close(Micros(9)).unwrap().0, whole.close(Micros(9)).unwrap().0);
    }

    #[test]
    fn what_was_written_is_read_to_the_letter() {
        let (records, text, digest) = trace(3);
        assert_eq!(read(&text), Ok(Trace { records, digest }));
        assert!(text.contains("9007199254740993") && text.contains("1e400"));
    }

    #[test]
    fn a_cut_end_is_found_and_told_apart_from_a_change() {
        let (_, text, _) = trace(3);
        for end in 0..text.len() {
            let error = read(&text[..end]).unwrap_err();
            assert!(error.is_unfinished(), "cut at {end}: {error}");
        }
        let changed = text.replacen("create", "delete", 1);
        let without_an_end = changed.rsplit_once("{\"seq\"").unwrap().0;
        assert!(matches!(read(without_an_end), Err(TraceError::Broken { line: 2 })));
        let error = read(&text.replacen("\"prev\":\"0", "\"prev\":\"1", 1)).unwrap_err();
        assert_eq!(error, TraceError::Broken { line: 1 });
    }

    #[test]
    fn a_line_break_that_became_something_else_is_no_cut() {
        let (_, text, _) = trace(2);
        let error = read(&(text.trim_end().to_owned() + "x")).unwrap_err();
        assert!(matches!(error, TraceError::NotARecord { line: 3, .. }), "{error}");
        let error = read(&(text + "{")).unwrap_err();
        assert_eq!(error, TraceError::AfterTheEnd { line: 4 });
    }

    #[test]
    fn a_trace_of_an_older_program_has_no_seal() {
        let (records, text, _) = trace(1);
        let (first, closing) = text.split_once('\n').unwrap();
        let (closing, _) = closing.split_once(",\"seal\"").unwrap();
        assert_eq!(read(&format!("{first}\n{closing}}}\n")).unwrap().records, records);
    }

    #[test]
    fn a_chain_that_was_written_anew_is_another_one() {
        let ((_, one, kept), (_, other, _)) = (trace(2), trace(3));
        assert_eq!(verify(one.as_bytes(), Some(&kept)), Ok(kept.clone()));
        assert!(matches!(verify(other.as_bytes(), Some(&kept)), Err(TraceError::OtherEnd { .. })));
    }

    #[test]
    fn what_is_sound_is_read_up_to_what_is_not() {
        let (records, text, _) = trace(3);
        let changed = text.replacen("\"seq\":2", "\"seq\":7", 1);
        let (sound, end) = read_sound(changed.as_bytes());
        assert_eq!(
            (sound.as_slice(), end),
            (&records[..2], Err(TraceError::WrongNumber { line: 3, found: 7, wanted: 2 }))
        );
    }

    #[test]
    fn a_secret_is_in_no_line_and_the_chain_is_that_of_what_is_written() {
        let secrets = Secrets::new([("API_TOKEN", "s3cr\"t-value"), ("PIN", "4815162342")]);
        let mut encoder = Encoder::hiding(secrets);
        let arguments = r#"{"a": "x s3cr\"t-value", "b": 4815162342, "c": 9007199254740993}"#;
        let event = Event::CallReceived {
            call: CallId(1),
            connection: ConnectionId(1),
            rpc_id: RawJson::parse("1").unwrap(),
            tool: "t".to_owned(),
            class: ToolClass::Write,
            arguments: Some(RawJson::parse(arguments).unwrap()),
            continuation: false,
            binding: None,
        };
        let (record, mut text, names) = encoder.encode_hiding(Micros(1), event).unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["API_TOKEN", "PIN"]);
        let Event::CallReceived { arguments: Some(hidden), .. } = &record.event else { panic!() };
        let wanted = r#"{"a": "x ‹secret:API_TOKEN›", "b": "‹secret:PIN›", "c": 9007199254740993}"#;
        assert_eq!(hidden.get(), wanted);
        text.push_str(&encoder.close(Micros(2)).unwrap().1);
        let read = read(&text).unwrap();
        assert_eq!((&read.records[0], read.digest.as_str()), (&record, encoder.digest()));
        assert!(!text.contains("s3cr") && !text.contains("4815162342"));
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut encoder = Encoder::default();
        let log = |text: &str| Event::Log { kind: LogKind::Proxy, text: text.to_owned() };
        encoder.encode(Micros(5), log("a")).unwrap();
        assert_eq!(encoder.encode(Micros(3), log("b")).unwrap().0.at, Micros(5));
    }

    /// One change of the bytes of a trace; `other` is a second trace to take lines from.
    #[derive(Debug, Clone)]
    enum Change {
        Byte(usize, u8),
        Insert(usize, Vec<u8>),
        Cut(usize, usize),
        End(usize),
        Remove(usize),
        Double(usize, usize),
        Swap(usize, usize),
        Add(usize, usize),
        Splice(usize, usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        use proptest::collection::vec;
        let at = any::<usize>;
        prop_oneof![
            3 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
            1 => (at(), vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
            1 => (at(), at()).prop_map(|(from, length)| Change::Cut(from, length)),
            1 => at().prop_map(Change::End),
            1 => at().prop_map(Change::Remove),
            1 => (at(), at()).prop_map(|(line, to)| Change::Double(line, to)),
            1 => (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
            1 => (at(), at()).prop_map(|(line, to)| Change::Add(line, to)),
            1 => (at(), at()).prop_map(|(until, from)| Change::Splice(until, from)),
        ]
    }

    fn changed(text: &str, other: &str, change: &Change) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let others: Vec<&str> = other.split_inclusive('\n').collect();
        let count = lines.len();
        let line = |at: usize| at % count;
        match change {
            Change::Byte(at, byte) => {
                let at = at % bytes.len();
                bytes[at] = *byte;
                return bytes;
            }
            Change::Insert(at, more) => {
                let at = at % (bytes.len() + 1);
                bytes.splice(at..at, more.iter().copied());
                return bytes;
            }
            Change::Cut(from, length) => {
                let from = from % bytes.len();
                let to = bytes.len().min(from + 1 + length % 400);
                bytes.drain(from..to);
                return bytes;
            }
            Change::End(at) => {
                bytes.truncate(at % bytes.len());
                return bytes;
            }
            Change::Remove(at) => drop(lines.remove(line(*at))),
            Change::Double(at, to) => {
                let doubled = lines[line(*at)];
                lines.insert(line(*to), doubled);
            }
            Change::Swap(a, b) => lines.swap(line(*a), line(*b)),
            Change::Add(at, to) => lines.insert(line(*to), others[at % others.len()]),
            Change::Splice(until, from) => {
                lines.truncate(until % (lines.len() + 1));
                lines.extend(&others[from % others.len()..]);
            }
        }
        lines.concat().into_bytes()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        #[test]
        fn every_change_is_found_and_no_trace_is_refused(
            calls in 0_u64..12,
            others in 0_u64..12,
            change in change(),
        ) {
            let ((_, text, kept), (_, other, _)) = (trace(calls), trace(others));
            prop_assert_eq!(verify(text.as_bytes(), None), Ok(kept.clone()));
            prop_assert_eq!(verify(text.as_bytes(), Some(&kept)), Ok(kept.clone()));
            let bytes = changed(&text, &other, &change);
            prop_assume!(bytes != text.as_bytes());
            prop_assert!(verify(&bytes, Some(&kept)).is_err());
            // Nothing kept elsewhere is needed, but where one whole trace stands in place of another.
            prop_assert!(bytes == other.as_bytes() || verify(&bytes, None).is_err());
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".{0,200}") {
            let _ = read(&text);
        }
    }
}
