use super::*;
use crate::domain::ConnectionId;
use crate::trace::Body;

fn body(text: &str) -> Body {
    Body { json: Some(RawJson::parse(text).unwrap()), bytes: 1, digest: "d".to_owned() }
}

fn call(number: u64) -> Vec<Event> {
    let call = CallId(number);
    vec![
        Event::CallReceived {
            call,
            connection: ConnectionId(1),
            rpc_id: RawJson::null(),
            tool: "create_booking".to_owned(),
            class: ToolClass::Write,
            arguments: Some(RawJson::parse(r#"{"room":12}"#).unwrap()),
            continuation: false,
            binding: None,
        },
        Event::CallSent { call, correlation: None },
        Event::UpstreamAnswered {
            call,
            answer: Answer { kind: AnswerKind::Result, body: body("{\"ok\":1}") },
        },
        Event::ScenarioFired { call, fault: Fault::TimeoutAfterExecution, field: None },
        Event::CallAnswered { call, told: Told::Timeout, injected: true, body: Some(body("\"late\"")) },
    ]
}

fn records(events: Vec<Event>) -> Vec<Record> {
    events.into_iter().zip(0..).map(|(event, seq)| Record { seq, at: Micros(seq * 10), event }).collect()
}

#[test]
fn a_run_is_told_in_order_and_executions_are_counted() {
    let mut events = vec![Event::TurnStarted { turn: 0, text: "book".to_owned() }];
    events.extend(call(1));
    events.extend(call(2));
    events.push(Event::TurnEnded { turn: 0, reply: None });
    let told = timeline(&records(events));
    let lines: Vec<String> =
        told.entries.iter().map(|entry| format!("{:?} {}", entry.kind, entry.text)).collect();
    let once = |n: u32| {
        vec![
            "Call create_booking (write)".to_owned(),
            format!("Executed executed: write no. {n} of this run"),
            "Fault executed, but the agent is told of a timeout".to_owned(),
            "Told a timeout (made by nochmal)".to_owned(),
        ]
    };
    let wanted: Vec<String> = [
        vec!["User ".to_owned()],
        once(1),
        once(2),
        vec!["Agent ended its turn without a word".to_owned()],
        vec!["Note create_booking: what the fault showed".to_owned(); 2],
    ]
    .concat();
    assert_eq!(lines, wanted);
}

#[test]
fn long_texts_and_long_runs_are_cut_and_say_so() {
    let long = "ä".repeat(LONGEST_TEXT + 7);
    let turns = (0..400).map(|turn| Event::TurnStarted { turn, text: long.clone() }).collect();
    let told = timeline(&records(turns));
    assert_eq!((told.entries.len(), told.left_out), (MOST_ENTRIES, 100));
    let detail = told.entries[0].detail.clone().unwrap();
    assert!(detail.ends_with("ä… (7 more characters in the trace)"), "{detail}");
}

fn ended(cell: &str, repeat: u32, verdict: Verdict) -> RunResult {
    let value = || "x".to_owned();
    let key = crate::domain::CellKey {
        agent: value(),
        model: cell.to_owned(),
        prompt: value(),
        conversation: value(),
        upstream: value(),
        scenario: value(),
        patch: value(),
        present: "plain".to_owned(),
    };
    let cell_id = crate::domain::CellId::of(&key);
    RunResult {
        run_id: RunId(format!("{cell}{repeat}")),
        verdict,
        reason_code: crate::domain::ReasonCode::NoViolation,
        ..RunResult::blank(cell_id, key, repeat)
    }
}

fn read_in_order(limits: TimelineLimits) -> (Vec<String>, usize) {
    use Verdict::{Error, Fail, NotTested, Pass};
    let runs = [
        ended("a", 1, Pass),
        ended("a", 2, Fail),
        ended("a", 3, Fail),
        ended("b", 1, NotTested),
        ended("b", 2, Error),
        ended("b", 3, Fail),
    ];
    let mut order = Vec::new();
    let found = timelines(&runs, limits, &mut |run| {
        order.push(run.run_id.0.clone());
        Some(records(vec![Event::TurnStarted { turn: 0, text: "x".repeat(1_000) }]))
    });
    (order, found.len())
}

#[test]
fn what_failed_comes_first_and_every_cell_has_its_turn() {
    let (order, found) = read_in_order(TimelineLimits::default());
    assert_eq!((order.join(" ").as_str(), found), ("a2 b3 a3 b2 b1 a1", 6));
}

#[test]
fn no_trace_is_read_beyond_the_limits() {
    let (order, found) = read_in_order(TimelineLimits { runs: 2, bytes: usize::MAX });
    assert_eq!((order.join(" ").as_str(), found), ("a2 b3", 2));
    let (order, found) = read_in_order(TimelineLimits { runs: 9, bytes: 2_500 });
    assert_eq!((order.join(" ").as_str(), found), ("a2 b3 a3", 2));
}

#[test]
fn a_command_line_is_not_told() {
    let started = Event::UpstreamStarted {
        connection: ConnectionId(1),
        command: vec!["/home/ada/server".to_owned()],
        pid: Some(7),
        execution: None,
    };
    assert_eq!(timeline(&records(vec![started])).entries[0].text, "server started");
}
