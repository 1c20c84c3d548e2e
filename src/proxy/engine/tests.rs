//! The engine, message by message.

use super::*;
use crate::scenario::{self, Parameters};
use crate::trace::{AnswerKind, Fault, Told};

mod approval;

const ONE: ConnectionId = ConnectionId(1);

struct Wire {
    engine: Engine,
    now: Micros,
    events: Vec<Event>,
    client: Vec<String>,
    upstream: Vec<String>,
}

fn classify(tool: &RawValue) -> Option<ToolInfo> {
    let value: serde_json::Value = serde_json::from_str(tool.get()).ok()?;
    let name = value.get("name")?.as_str()?.to_owned();
    let class = if name.starts_with("create") {
        ToolClass::Write
    } else if name.starts_with("find") {
        ToolClass::Read
    } else {
        ToolClass::Unclassified
    };
    Some(ToolInfo { tool: name, class, reason: String::new(), key_fields: Vec::new() })
}

impl Wire {
    /// The same, whose failures are told in a form and whose calls have ids upstream.
    fn presenting(scenario: &str, present: Present) -> Wire {
        let mut wire = Wire::new(scenario);
        wire.engine.present = present;
        wire.engine.correlation = Some("run".to_owned());
        wire
    }

    /// A connected client whose upstream lists `create_booking`, `find_bookings` and `sync`.
    fn new(scenario: &str) -> Wire {
        let engine = Engine::new(Settings {
            scenario: scenario::build(scenario, &Parameters::default()).unwrap(),
            classify: Box::new(classify),
            upstream_timeout: Duration::from_secs(60),
            present: Present::Plain,
            correlation: None,
        });
        let mut wire = Wire { engine, now: Micros(0), events: vec![], client: vec![], upstream: vec![] };
        wire.input(Input::ClientConnected { connection: ONE, transport: "stdio" });
        wire.client_message(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        wire.upstream_message(
            r#"{"id":"list","result":{"tools":[{"name":"create_booking"},{"name":"find_bookings"},{"name":"sync"}]}}"#,
        );
        wire.events.clear();
        wire.client.clear();
        wire.upstream.clear();
        wire
    }

    fn input(&mut self, input: Input) {
        self.now = self.now + Duration::from_millis(1);
        for action in self.engine.handle(input, self.now) {
            match action {
                Action::Record(event) => self.events.push(event),
                Action::ToClient { message, .. } => self.client.push(message),
                Action::ToUpstream { message, .. } => self.upstream.push(message),
                Action::Cut { id, .. } => self.client.push(format!("cut {id}")),
                Action::Kill { .. } => self.upstream.push("kill".to_owned()),
                Action::Rebuild => {}
                Action::Replace { .. } => self.upstream.push("replace".to_owned()),
                Action::Close { .. } => self.client.push("close".to_owned()),
                Action::Ask { decision, .. } => self.upstream.push(format!("ask {}", decision.epoch)),
                Action::Tell { id, question, .. } => self.client.push(format!("{id} {question:?}")),
            }
        }
    }

    fn client_message(&mut self, message: &str) {
        self.input(Input::FromClient { connection: ONE, message: message.to_owned() });
    }

    fn upstream_message(&mut self, message: &str) {
        self.input(Input::FromUpstream { connection: ONE, message: message.to_owned() });
    }

    fn call(&mut self, id: u32, tool: &str) {
        self.client_message(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
        ));
    }

    fn answer(&mut self, id: u32) {
        self.upstream_message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
    }

    fn names(&self) -> Vec<String> {
        let name = |event: &Event| match serde_json::to_value(event).unwrap() {
            serde_json::Value::Object(map) => map.keys().next().unwrap().clone(),
            other => other.to_string(),
        };
        self.events.iter().map(name).collect()
    }

    fn told(&self) -> Vec<(Told, bool)> {
        let told = |event: &Event| match event {
            Event::CallAnswered { told, injected, .. } => Some((*told, *injected)),
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }
}

#[test]
fn messages_pass_to_the_letter_in_both_directions() {
    let mut wire = Wire::new("none");
    let sent = [
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1e400,"a":1, "a":2}}"#,
        r#"{ "id" : 1.0, "method":"resources/read", "unknown":{"__proto__":9007199254740993}}"#,
        r#"{"id":"s","result":{"role":"assistant"}}"#,
    ];
    for message in sent {
        wire.client_message(message);
    }
    assert_eq!(wire.upstream, sent);
    let back =
        [r#"{"id":1,"result":{"ttlMs":1,"x":[0.10]}}"#, r#"{"method":"notifications/tools/list_changed"}"#];
    for message in back {
        wire.upstream_message(message);
    }
    assert_eq!(wire.client, back);
}

#[test]
fn a_call_leaves_its_events_in_order() {
    let mut wire = Wire::new("none");
    wire.call(1, "create_booking");
    wire.answer(1);
    assert_eq!(wire.names(), ["call_received", "call_sent", "upstream_answered", "call_answered"]);
    assert_eq!(wire.told(), [(Told::Result, false)]);
    assert_eq!(wire.client, [r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#]);
}

#[test]
fn j11_f1_executes_and_tells_of_a_timeout() {
    let mut wire = Wire::new("F1");
    wire.call(7, "create_booking");
    assert_eq!(wire.upstream.len(), 1);
    wire.answer(7);
    assert_eq!(
        wire.names(),
        ["call_received", "call_sent", "upstream_answered", "scenario_fired", "call_answered"]
    );
    assert_eq!(wire.told(), [(Told::Timeout, true)]);
    assert!(
        wire.client[0].starts_with(r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#),
        "{}",
        wire.client[0]
    );
    assert!(wire.client[0].contains(r#""isError":true"#) && !wire.client[0].contains("resultType"));
}

#[test]
fn j6_f2_is_not_sent_upstream() {
    let mut wire = Wire::new("F2");
    wire.call(1, "create_booking");
    assert!(wire.upstream.is_empty());
    assert_eq!(wire.told(), [(Told::RateLimited { retry_after_ms: 60_000 }, true)]);
}

#[test]
fn j7_the_time_limit_tells_what_f1_tells_and_a_late_answer_settles_the_outcome() {
    let mut wire = Wire::new("F1");
    wire.call(1, "create_booking");
    assert_eq!(wire.engine.next_deadline(), Some(wire.now + Duration::from_secs(60)));
    wire.now = wire.now + Duration::from_secs(61);
    wire.input(Input::Tick);
    assert_eq!(wire.told(), [(Told::Timeout, false)]);
    assert_eq!(wire.engine.next_deadline(), None);
    wire.answer(1);
    assert_eq!(wire.client.len(), 1, "a late answer is not sent to the agent");
    assert_eq!(
        wire.names(),
        ["call_received", "call_sent", "upstream_timed_out", "call_answered", "upstream_answered"]
    );
    // F1 was not used up by a write that was not answered in time (J11).
    wire.call(2, "create_booking");
    wire.answer(2);
    assert_eq!(wire.told().last(), Some(&(Told::Timeout, true)));
    let by_limit = wire.client[0].replace(r#""id":1"#, r#""id":2"#);
    assert_eq!(by_limit, wire.client[1]);
}

#[test]
fn j7_a_dying_upstream_loses_open_calls_and_later_ones_are_unavailable() {
    let mut wire = Wire::new("none");
    wire.call(1, "create_booking");
    wire.client_message(r#"{"id":2,"method":"prompts/list"}"#);
    wire.input(Input::UpstreamEnded {
        connection: ONE,
        how: "exit status: 9".to_owned(),
        expected: false,
        stderr: String::new(),
    });
    wire.call(3, "create_booking");
    assert_eq!(wire.told(), [(Told::ConnectionLost, false), (Told::Unavailable, false)]);
    assert_eq!(
        wire.names(),
        [
            "call_received",
            "call_sent",
            "upstream_ended",
            "upstream_lost",
            "call_answered",
            "call_received",
            "call_answered"
        ]
    );
    assert!(wire.client[0].contains(r#""id":2,"error""#) || wire.client[1].contains(r#""id":2,"error""#));
    assert!(wire.client[2].contains("UPSTREAM_UNAVAILABLE"));
}

#[test]
fn j7_a_cancelled_call_is_recorded_once_and_only_while_it_waits() {
    let mut wire = Wire::new("none");
    wire.call(1, "create_booking");
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#;
    wire.client_message(cancel);
    wire.client_message(cancel);
    wire.answer(1);
    assert_eq!(wire.names(), ["call_received", "call_sent", "call_cancelled", "upstream_answered"]);
    assert_eq!(wire.upstream.len(), 3, "cancellations pass on");
    // A client that cancels what was answered already, as OpenCode does after every call.
    wire.call(2, "create_booking");
    wire.answer(2);
    wire.client_message(r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(wire.names()[4..], ["call_received", "call_sent", "upstream_answered", "call_answered"]);
}

#[test]
fn j10_a_tool_that_was_not_listed_is_unclassified_and_fires_nothing() {
    let mut wire = Wire::new("F5");
    wire.call(1, "create_invented");
    assert!(matches!(&wire.events[0], Event::CallReceived { class: ToolClass::Unclassified, .. }));
    assert_eq!(wire.upstream.len(), 1);
    wire.call(2, "create_booking");
    assert_eq!(wire.told(), [(Told::ServerError, true)]);
}

#[test]
fn j14_of_two_parallel_writes_the_first_answered_is_the_ghost() {
    let mut wire = Wire::new("F1");
    wire.call(1, "create_booking");
    wire.call(2, "create_booking");
    wire.answer(2);
    wire.answer(1);
    let fired = wire.events.iter().find_map(|event| match event {
        Event::ScenarioFired { call, fault, .. } => Some((*call, *fault)),
        _ => None,
    });
    assert_eq!(fired, Some((CallId(2), Fault::TimeoutAfterExecution)));
    assert_eq!(wire.told(), [(Told::Timeout, true), (Told::Result, false)]);
}

#[test]
fn j9_a_continuation_is_marked() {
    let mut wire = Wire::new("F5");
    wire.client_message(
        r#"{"id":1,"method":"tools/call","params":{"name":"create_booking","requestState":"s","inputResponses":{}}}"#,
    );
    assert!(matches!(&wire.events[0], Event::CallReceived { continuation: true, arguments: None, .. }));
    assert_eq!(wire.upstream.len(), 1);
}

#[test]
fn an_injected_answer_on_a_modern_connection_has_a_result_type() {
    let mut wire = Wire::new("F5");
    wire.client_message(
        r#"{"id":"a","method":"tools/call","params":{"name":"create_booking","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}"#,
    );
    assert!(wire.client[0].contains(r#""id":"a""#) && wire.client[0].contains(r#""resultType":"complete""#));
    let Event::ClientReady { client, .. } = &wire.events[0] else { panic!("{:?}", wire.events) };
    assert_eq!((client.name.as_deref(), client.protocol.as_deref()), (Some("c"), Some("2026-07-28")));
}

#[test]
fn r9_batches_are_refused_unless_the_version_has_them() {
    let batch =
        r#"[{"id":1,"method":"tools/call","params":{"name":"create_booking"}},{"id":2,"method":"ping"}]"#;
    let mut wire = Wire::new("F5");
    wire.client_message(batch);
    assert!(wire.upstream.is_empty() && wire.client[0].contains("-32600"));
    let mut wire = Wire::new("F5");
    wire.client_message(r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#);
    wire.upstream_message(r#"{"id":0,"result":{"protocolVersion":"2025-03-26"}}"#);
    wire.client_message(batch);
    assert_eq!(wire.told(), [(Told::ServerError, true)]);
    assert!(wire.upstream.last().unwrap().contains("ping"));
}

#[test]
fn nothing_passes_around_the_judge() {
    let mut wire = Wire::new("F5");
    for message in [
        r#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"create_booking"}}"#,
        r#"{"method":"tools/call","params":{"name":"create_booking"}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"create_booking","name":"sync"}}"#,
        r#"{"id":1,"method":"tools/call","params":["create_booking"]}"#,
        "not json",
        "[",
    ] {
        wire.client_message(message);
    }
    assert_eq!(wire.upstream, Vec::<String>::new());
    // The same tool under an escaped name is the same tool.
    wire.client_message(r#"{"id":1,"method":"tools\/call","params":{"n\u0061me":"create\u005fbooking"}}"#);
    assert_eq!(wire.told(), [(Told::ServerError, true)]);
}

#[test]
fn an_answer_that_cannot_be_read_counts_as_neither_executed_nor_rejected() {
    for body in [
        r#""result":{"isError":"true"}"#,
        r#""result":{"isError":false,"isError":true}"#,
        r#""result":{},"error":{}"#,
        r#""x":1"#,
    ] {
        let mut wire = Wire::new("F1");
        wire.call(1, "create_booking");
        wire.upstream_message(&format!(r#"{{"id":1,{body}}}"#));
        let kind = wire.events.iter().find_map(|event| match event {
            Event::UpstreamAnswered { answer, .. } => Some(answer.kind),
            _ => None,
        });
        assert_eq!(kind, Some(AnswerKind::ProtocolError), "{body}");
    }
}

#[test]
fn an_id_given_twice_gets_its_answers_in_order() {
    let mut wire = Wire::new("F1");
    wire.call(1, "create_booking");
    wire.call(1, "create_booking");
    wire.answer(1);
    wire.answer(1);
    assert_eq!(wire.told(), [(Told::Timeout, true), (Told::Result, false)]);
}

#[test]
fn j7_whose_an_answer_is_nobody_can_say_where_two_requests_share_an_id() {
    let unclear = (Told::ProtocolError, false);
    for (one, other) in
        [("create_booking", "find_bookings"), ("find_bookings", "create_booking"), ("sync", "create_booking")]
    {
        let mut wire = Wire::new("F1");
        wire.call(1, one);
        wire.call(1, other);
        wire.answer(1);
        wire.answer(1);
        assert_eq!(wire.told(), [unclear, unclear], "{one}, {other}");
        assert_eq!(wire.client.len(), 2, "both answers pass as they are");
        // Once the id is free again its answer is clear.
        wire.call(1, "create_booking");
        wire.answer(1);
        assert_eq!(wire.told().last(), Some(&(Told::Timeout, true)));
    }
    let mut wire = Wire::new("none");
    wire.client_message(r#"{"id":1,"method":"ping"}"#);
    wire.call(1, "create_booking");
    wire.answer(1);
    wire.answer(1);
    assert_eq!(wire.told(), [unclear]);
    let mut wire = Wire::new("none");
    wire.call(1, "create_booking");
    wire.client_message(r#"{"id":1,"method":"ping"}"#);
    wire.answer(1);
    assert_eq!(wire.told(), [unclear]);
}

#[test]
fn what_waits_for_an_answer_is_counted_but_not_a_subscription() {
    let mut wire = Wire::new("none");
    wire.client_message(r#"{"id":1,"method":"subscriptions/listen"}"#);
    assert_eq!(wire.engine.open_requests(ONE), 0);
    wire.call(2, "create_booking");
    assert_eq!(wire.engine.open_requests(ONE), 1);
    wire.answer(2);
    assert_eq!(wire.engine.open_requests(ONE), 0);
}

fn audited(list: &str) -> Wire {
    let mut wire = Wire::new("F2");
    wire.engine = wire.engine.with_audit_tools();
    wire.client_message(r#"{"jsonrpc":"2.0","id":"more","method":"tools/list"}"#);
    wire.upstream_message(list);
    wire
}

#[test]
fn audit_tools_come_last_and_leave_the_rest_of_the_text_alone() {
    let wire =
        audited(r#"{"id":"more", "result":{"tools" : [ {"name":"a", "x":1.0} ] ,"_meta":{"n":1e400}}}"#);
    let text = wire.client.last().unwrap();
    assert!(text.starts_with(
        r#"{"id":"more", "result":{"tools" : [ {"name":"a", "x":1.0} ,{"name":"nochmal__get_report","#
    ));
    assert!(text.ends_with(r#"] ,"_meta":{"n":1e400}}}"#), "{text}");
    assert!(text.contains("nochmal__get_score"));
    serde_json::from_str::<&RawValue>(text).unwrap();
}

#[test]
fn audit_tools_stand_on_the_last_page_only() {
    let page = r#"{"id":"more","result":{"tools":[],"nextCursor":"2"}}"#;
    assert_eq!(audited(page).client.last().unwrap(), page);
    let last = audited(r#"{"id":"more","result":{"nextCursor":null,"tools":[]}}"#);
    let text = last.client.last().unwrap();
    assert!(text.contains(r#""tools":[{"name":"nochmal__get_report""#), "{text}");
    assert!(!Wire::new("F2").client.iter().any(|text| text.contains("nochmal")));
}

#[test]
fn audit_calls_are_answered_here_and_judged_nowhere() {
    let mut wire = audited(r#"{"id":"more","result":{"tools":[]}}"#);
    wire.events.clear();
    wire.client.clear();
    wire.upstream.clear();
    let ask = |arguments: &str| {
        format!(
            r#"{{"id":7,"method":"tools/call","params":{{"name":"nochmal__get_report","arguments":{arguments}}}}}"#
        )
    };
    for arguments in ["{}", "null", r#"{"format":"markdown"}"#, r#"{"format":"html"}"#, "[1]"] {
        wire.client_message(&ask(arguments));
    }
    assert_eq!(wire.client[..3], ["7 Report(Json)", "7 Report(Json)", "7 Report(Markdown)"]);
    assert!(wire.client[3].contains("isError") && wire.client[3].contains("html"));
    assert!(wire.client[4].contains("isError"));
    assert!(wire.events.is_empty() && wire.upstream.is_empty());
}

#[test]
fn a_tool_of_that_name_that_the_upstream_lists_is_its_own() {
    let list = r#"{"id":"more","result":{"tools":[{"name":"nochmal__get_score"}]}}"#;
    let mut wire = audited(list);
    assert_eq!(wire.client.last().unwrap().matches("nochmal__get_score").count(), 1);
    wire.call(9, "nochmal__get_score");
    assert_eq!(wire.upstream.len(), 2);
}

#[test]
fn a_tool_that_was_listed_as_a_write_stays_one() {
    let mut wire = Wire::new("F5");
    let tool =
        |class| ToolInfo { tool: "book".to_owned(), class, reason: String::new(), key_fields: Vec::new() };
    wire.engine.know_tools(vec![tool(ToolClass::Write), tool(ToolClass::Read)]);
    wire.engine.know_tools(vec![tool(ToolClass::Unclassified)]);
    wire.call(1, "book");
    assert!(matches!(&wire.events[0], Event::CallReceived { class: ToolClass::Write, .. }));
    assert_eq!(wire.told(), [(Told::ServerError, true)]);
}

mod held;
mod rebuilt;
