//! Random histories, as an engine could have recorded them, and some that none ever would.

use nochmal::domain::{CallId, ConnectionId, Micros, RawJson, ToolClass, ToolInfo};
use nochmal::trace::{Answer, AnswerKind, Body, Event, Fault, Record, Started, TRACE_VERSION, Told};
use proptest::prelude::*;

/// Something that may happen; where it cannot, it does not.
#[derive(Debug, Clone)]
pub enum Step {
    Call {
        tool: usize,
        arguments: usize,
        continuation: bool,
        fate: Fate,
        same_id: bool,
    },
    /// To one of the calls that are still open, or that may still be answered late.
    Progress {
        which: usize,
        what: Progress,
    },
    Wait(u64),
    Reconnect,
}

#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Sent,
    Watched,
    RateLimited(u64),
    Malformed,
    ServerError,
    Unavailable,
    /// The trace ends, or goes on elsewhere, before anything was done with it.
    Nothing,
}

#[derive(Debug, Clone, Copy)]
pub enum Progress {
    Answer(AnswerKind, u8),
    Ghost(u8),
    TimeOut,
    Lose,
    Cancel,
}

const TOOLS: [(&str, ToolClass); 5] = [
    ("create_booking", ToolClass::Write),
    ("create_booking", ToolClass::Write),
    ("pay_bill", ToolClass::Write),
    ("find_bookings", ToolClass::Read),
    ("sync", ToolClass::Unclassified),
];

const ARGUMENTS: [&str; 9] = [
    r#"{"n":1}"#,
    r#"{"n":1.0}"#,
    r#"{"n":"1"}"#,
    r#"{"n":2}"#,
    r#"{"n":1,"note":"x"}"#,
    r#"{"n":1,"idempotency_key":"a"}"#,
    r#"{"Idempotency-Key":"b","n":1}"#,
    r#"{"n":1,"idempotency_key":null}"#,
    "{}",
];

pub fn scenario() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![Just(None), Just(Some("F1")), Just(Some("F4"))]
}

pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let fate = prop_oneof![
        8 => Just(Fate::Sent),
        1 => Just(Fate::Watched),
        1 => (1_u64..4).prop_map(Fate::RateLimited),
        1 => Just(Fate::Malformed),
        1 => Just(Fate::ServerError),
        1 => Just(Fate::Unavailable),
        1 => Just(Fate::Nothing),
    ];
    let kind = prop_oneof![
        6 => Just(AnswerKind::Result),
        2 => Just(AnswerKind::ErrorResult),
        1 => Just(AnswerKind::ProtocolError),
        2 => Just(AnswerKind::InputRequired),
    ];
    let progress = prop_oneof![
        8 => (kind, 0_u8..2).prop_map(|(kind, body)| Progress::Answer(kind, body)),
        2 => (0_u8..2).prop_map(Progress::Ghost),
        2 => Just(Progress::TimeOut),
        1 => Just(Progress::Lose),
        1 => Just(Progress::Cancel),
    ];
    let step = prop_oneof![
        8 => (0..TOOLS.len(), 0..ARGUMENTS.len(), prop::bool::weighted(0.2), fate, prop::bool::weighted(0.1))
            .prop_map(|(tool, arguments, continuation, fate, same_id)| Step::Call {
                tool, arguments, continuation, fate, same_id
            }),
        9 => (0_usize..4, progress).prop_map(|(which, what)| Step::Progress { which, what }),
        2 => (1_u64..3_000).prop_map(Step::Wait),
        1 => Just(Step::Reconnect),
    ];
    prop::collection::vec(step, 0..most)
}

pub fn started(scenario: Option<&str>) -> Started {
    Started {
        version: TRACE_VERSION,
        harness_version: "test".to_owned(),
        run_id: None,
        kind: "proxy".to_owned(),
        scenario: scenario.map(str::to_owned),
        error_rate: None,
        retry_after_ms: 60_000,
        seed: 0,
        key_fields: vec!["idempotency_key".to_owned()],
        upstream_timeout_ms: 60_000,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        expect: None,
        present: Default::default(),
    }
}

struct Open {
    call: CallId,
    timed_out: bool,
    cancelled: bool,
}

/// The records of a history.
pub fn records(scenario: Option<&str>, steps: &[Step]) -> Vec<Record> {
    let mut events = vec![(0, Event::Started(started(scenario)))];
    let tools = TOOLS[1..].iter().map(|(tool, class)| ToolInfo {
        tool: (*tool).to_owned(),
        class: *class,
        reason: String::new(),
        key_fields: if *tool == "pay_bill" { vec!["idempotency_key".to_owned()] } else { Vec::new() },
    });
    events.push((0, Event::ToolsListed { tools: tools.collect() }));
    let (mut now, mut connection) = (0_u64, 1_u32);
    let mut calls = 0;
    let mut open: Vec<Open> = Vec::new();
    for step in steps {
        match step {
            Step::Wait(ms) => now += ms * 1_000,
            Step::Reconnect => {
                events.push((now, Event::ClientDisconnected { connection: ConnectionId(connection) }));
                connection += 1;
            }
            Step::Call { tool, arguments, continuation, fate, same_id } => {
                calls += 1;
                let call = CallId(calls);
                let (tool, class) = TOOLS[*tool];
                let rpc_id = if *same_id { 1 } else { calls };
                events.push((
                    now,
                    Event::CallReceived {
                        call,
                        connection: ConnectionId(connection),
                        rpc_id: RawJson::parse(&rpc_id.to_string()).unwrap(),
                        tool: tool.to_owned(),
                        class,
                        arguments: Some(RawJson::parse(ARGUMENTS[*arguments]).unwrap()),
                        continuation: *continuation,
                        binding: None,
                    },
                ));
                let injected = match fate {
                    Fate::Sent | Fate::Watched => {
                        if matches!(fate, Fate::Watched) {
                            events.push((
                                now,
                                Event::ScenarioFired { call, fault: Fault::PassThrough, field: None },
                            ));
                        }
                        events.push((now, Event::CallSent { call, correlation: None }));
                        open.push(Open { call, timed_out: false, cancelled: false });
                        continue;
                    }
                    Fate::Nothing => continue,
                    Fate::Unavailable => {
                        let told = Told::Unavailable;
                        events.push((now, Event::CallAnswered { call, told, injected: false, body: None }));
                        continue;
                    }
                    Fate::RateLimited(seconds) => {
                        (Fault::RateLimited, Told::RateLimited { retry_after_ms: seconds * 1_000 })
                    }
                    Fate::Malformed => (Fault::Truncated, Told::Malformed),
                    Fate::ServerError => (Fault::ServerError, Told::ServerError),
                };
                events.push((now, Event::ScenarioFired { call, fault: injected.0, field: None }));
                events
                    .push((now, Event::CallAnswered { call, told: injected.1, injected: true, body: None }));
            }
            Step::Progress { which, what } => {
                if open.is_empty() {
                    continue;
                }
                let at = which % open.len();
                let Open { call, timed_out, cancelled } = open[at];
                let settled = timed_out || cancelled;
                let tell = |told, injected| Event::CallAnswered { call, told, injected, body: None };
                match what {
                    Progress::Answer(kind, body) => {
                        open.remove(at);
                        events.push((now, answered(call, *kind, *body)));
                        let told = match kind {
                            AnswerKind::Result => Told::Result,
                            AnswerKind::ErrorResult => Told::ErrorResult,
                            AnswerKind::ProtocolError => Told::ProtocolError,
                            AnswerKind::InputRequired => Told::InputRequired,
                        };
                        if !settled {
                            events.push((now, tell(told, false)));
                        }
                    }
                    Progress::Ghost(body) if !settled => {
                        open.remove(at);
                        events.push((now, answered(call, AnswerKind::Result, *body)));
                        events.push((
                            now,
                            Event::ScenarioFired { call, fault: Fault::TimeoutAfterExecution, field: None },
                        ));
                        events.push((now, tell(Told::Timeout, true)));
                    }
                    Progress::TimeOut if !settled => {
                        open[at].timed_out = true;
                        events.push((now, Event::UpstreamTimedOut { call }));
                        events.push((now, tell(Told::Timeout, false)));
                    }
                    Progress::Cancel if !settled => {
                        open[at].cancelled = true;
                        events.push((now, Event::CallCancelled { call }));
                    }
                    Progress::Lose => {
                        open.remove(at);
                        events.push((now, Event::UpstreamLost { call }));
                        if !settled {
                            events.push((now, tell(Told::ConnectionLost, false)));
                        }
                    }
                    Progress::Ghost(_) | Progress::TimeOut | Progress::Cancel => {}
                }
            }
        }
    }
    number(events)
}

fn answered(call: CallId, kind: AnswerKind, body: u8) -> Event {
    let body = Body { json: None, bytes: 1, digest: body.to_string() };
    Event::UpstreamAnswered { call, answer: Answer { kind, body } }
}

/// Numbers events as a trace does.
pub fn number(events: Vec<(u64, Event)>) -> Vec<Record> {
    let record =
        |(seq, (at, event)): (usize, (u64, Event))| Record { seq: seq as u64, at: Micros(at), event };
    events.into_iter().enumerate().map(record).collect()
}
