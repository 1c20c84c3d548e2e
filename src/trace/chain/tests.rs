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
    let mut encoder = Encoder::default().hiding(secrets);
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
