//! What is said of traces that contradict themselves: nothing.

use super::history::{ADA, History};
use crate::domain::{CallId, Micros, ReasonCode, Verdict};
use crate::judge::{Judge, judge};
use crate::trace::{AnswerKind, Event, Fault, Record, TRACE_VERSION, Told};

/// A history that ends in a PASS, unless something is done to it.
fn sound() -> History {
    let mut h = History::new(None);
    let call = h.book(ADA);
    h.succeeds(call);
    assert_eq!(h.judged().verdict, Verdict::Pass);
    h
}

fn is_unjudgeable(records: &[Record]) -> String {
    let judgement = judge(records);
    assert_eq!((judgement.verdict, judgement.reason_code), (Verdict::NotTested, ReasonCode::Unjudgeable));
    assert!(judgement.score.is_none() && judgement.patches.is_empty());
    judgement.reason
}

#[test]
fn nothing_is_known_before_the_beginning() {
    assert_eq!(Judge::new().verdict(), (Verdict::NotTested, ReasonCode::Unjudgeable));
    is_unjudgeable(&[]);
    let mut h = sound();
    h.events.remove(0);
    insta::assert_snapshot!(is_unjudgeable(&h.records()), @"The trace cannot be judged: it does not begin with the settings of the run.");
}

#[test]
fn another_version_is_not_judged() {
    let mut h = sound();
    let Event::Started(started) = &mut h.events[0].1 else { panic!() };
    started.version = TRACE_VERSION + 1;
    assert!(is_unjudgeable(&h.records()).contains("has version 2"));
}

#[test]
fn what_cannot_have_happened_is_not_judged() {
    let deeds: [fn(&mut History); 14] = [
        |h| {
            h.told(CallId(1), Told::Result, false);
        },
        |h| {
            h.told(CallId(9), Told::Result, false);
        },
        |h| {
            h.upstream(CallId(1), AnswerKind::Result, "again");
        },
        |h| {
            h.upstream(CallId(9), AnswerKind::Result, "x");
        },
        |h| {
            h.event(Event::CallSent { call: CallId(1), correlation: None });
        },
        |h| {
            h.event(Event::UpstreamTimedOut { call: CallId(1) });
        },
        |h| {
            h.event(Event::UpstreamLost { call: CallId(0) });
        },
        |h| {
            h.event(Event::CallCancelled { call: CallId(u64::MAX) });
        },
        |h| {
            h.event(Event::ScenarioFired { call: CallId(3), fault: Fault::ServerError, field: None });
        },
        |h| {
            // Told of a success that the upstream never gave.
            let call = h.book(r#"{"other":1}"#);
            h.told(call, Told::Result, false);
        },
        |h| {
            // Told of a timeout that never was.
            let call = h.book(r#"{"other":1}"#);
            h.told(call, Told::Timeout, false);
        },
        |h| {
            // Answered by a scenario that had not fired.
            let call = h.arrives("create_booking", "{}", "2", false);
            h.told(call, Told::ServerError, true);
        },
        |h| {
            // Unavailable, though it was sent.
            let call = h.book(r#"{"other":1}"#);
            h.told(call, Told::Unavailable, false);
        },
        |h| {
            let settings = h.events[0].1.clone();
            h.event(settings);
        },
    ];
    for (number, deed) in deeds.iter().enumerate() {
        let mut h = sound();
        deed(&mut h);
        let reason = is_unjudgeable(&h.records());
        assert!(reason.starts_with("The trace cannot be judged: "), "{number}: {reason}");
    }
}

#[test]
fn a_trace_out_of_order_is_not_judged() {
    let mut records = sound().records();
    records[1].at = Micros(5);
    assert!(is_unjudgeable(&records).contains("older"));
    let mut records = sound().records();
    records.remove(2);
    assert!(is_unjudgeable(&records).contains("record 2 is missing"));
    let mut h = sound();
    h.event(Event::Closed { records: 99 });
    is_unjudgeable(&h.records());
    let mut h = sound();
    h.event(Event::Closed { records: h.events.len() as u64 });
    assert_eq!(h.judged().verdict, Verdict::Pass);
    h.looks();
    is_unjudgeable(&h.records());
}

#[test]
fn a_contradiction_outweighs_a_violation() {
    let mut h = sound();
    let again = h.book(ADA);
    h.succeeds(again);
    assert_eq!(h.judged().verdict, Verdict::Fail);
    h.told(again, Told::Result, false);
    is_unjudgeable(&h.records());
}

#[test]
fn cancelling_what_was_answered_settles_nothing() {
    let mut h = sound();
    h.event(Event::CallCancelled { call: CallId(1) });
    let judgement = h.judged();
    assert_eq!((judgement.verdict, judgement.operations[0].failed_attempts), (Verdict::Pass, 0));
}
