//! Faults that take their time, break connections, or change an answer.

use super::*;

const BOOKED: &str = r#"{"content":[{"type":"text","text":"{\"booking_id\":\"BK-1\"}"}]}"#;

impl Wire {
    fn booked(&mut self, id: u32) {
        self.upstream_message(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{BOOKED}}}"#));
    }

    fn cancel(&mut self, id: u32) {
        self.client_message(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }

    /// Time passes until the next thing is due.
    fn due(&mut self) -> Micros {
        let due = self.engine.next_deadline().expect("something is due");
        self.now = due;
        for action in self.engine.handle(Input::Tick, due) {
            match action {
                Action::Record(event) => self.events.push(event),
                Action::ToClient { message, .. } => self.client.push(message),
                Action::Cut { id, .. } => self.client.push(format!("cut {id}")),
                Action::Kill { .. } => self.upstream.push("kill".to_owned()),
                _ => {}
            }
        }
        due
    }

    fn result(&self, at: usize) -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&self.client[at]).unwrap()["result"].clone()
    }
}

#[test]
fn t1_nothing_leaves_and_a_timeout_is_told() {
    let mut wire = Wire::new("T1");
    wire.call(1, "create_booking");
    assert!(wire.upstream.is_empty());
    assert_eq!(wire.told(), [(Told::Timeout, true)]);
    wire.call(2, "create_booking");
    wire.booked(2);
    assert_eq!(wire.told()[1], (Told::Result, false));
}

#[test]
fn t2_is_told_after_its_delay_and_holds_up_no_other_call() {
    let mut wire = Wire::new("T2");
    wire.call(1, "create_booking");
    let sent = wire.now;
    wire.booked(1);
    assert!(wire.client.is_empty(), "it waits");
    wire.call(2, "find_bookings");
    wire.answer(2);
    assert_eq!(wire.told(), [(Told::Result, false)]);
    assert_eq!(wire.engine.open_requests(ONE), 1);
    assert_eq!(wire.due() - sent, Micros::from_duration(Parameters::default().delay));
    assert_eq!(wire.told()[1], (Told::Timeout, true));
    assert_eq!(wire.engine.open_requests(ONE), 0);
    assert_eq!(wire.engine.next_deadline(), None);
}

#[test]
fn t2_is_told_when_the_client_gives_up_before() {
    let mut wire = Wire::new("T2");
    wire.call(1, "create_booking");
    wire.booked(1);
    wire.cancel(1);
    assert_eq!(
        wire.names(),
        [
            "call_received",
            "call_sent",
            "upstream_answered",
            "scenario_fired",
            "call_cancelled",
            "call_answered"
        ]
    );
    assert_eq!(wire.engine.next_deadline(), None);
}

#[test]
fn t3_brings_half_of_the_answer() {
    let mut wire = Wire::new("T3");
    wire.call(1, "create_booking");
    wire.booked(1);
    assert_eq!(wire.told(), [(Told::Malformed, true)]);
    let result = wire.result(0);
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&true.into(), &r#"{"booking_"#.into()));
}

#[test]
fn t4_waits_for_the_client_to_give_up_and_then_answers_after_all() {
    let mut wire = Wire::new("T4");
    wire.call(1, "create_booking");
    wire.booked(1);
    wire.call(2, "create_booking");
    wire.answer(2);
    assert_eq!(wire.client.len(), 1, "another call is not held up");
    wire.cancel(1);
    assert_eq!(wire.client.len(), 1);
    wire.due();
    assert!(wire.client[1].contains("BK-1"), "{}", wire.client[1]);
    assert_eq!(wire.told(), [(Told::Result, false), (Told::Late, true)]);
}

#[test]
fn t4_answers_a_client_that_does_not_say_that_it_gave_up() {
    let mut wire = Wire::new("T4");
    wire.call(1, "create_booking");
    let sent = wire.now;
    wire.booked(1);
    assert_eq!(wire.due() - sent, Micros::from_duration(Parameters::default().late));
    assert!(wire.client[0].contains("BK-1"));
}

#[test]
fn what_is_held_back_from_a_client_that_goes_away_is_told_of_in_the_trace() {
    let mut wire = Wire::new("T4");
    wire.call(1, "create_booking");
    wire.booked(1);
    wire.input(Input::ClientDisconnected { connection: ONE });
    assert_eq!(wire.names().last().unwrap(), "call_answered");
    assert_eq!((wire.engine.open_requests(ONE), wire.engine.next_deadline()), (0, None));
}

#[test]
fn t5_breaks_the_connection_in_place_of_the_answer() {
    let mut wire = Wire::new("T5");
    wire.call(1, "create_booking");
    wire.booked(1);
    assert_eq!(wire.client, ["cut 1"]);
    assert_eq!(wire.told(), [(Told::ConnectionLost, true)]);
}

#[test]
fn i1_breaks_at_the_first_sign_and_the_work_goes_on() {
    let mut wire = Wire::new("I1");
    wire.call(1, "create_booking");
    assert!(wire.client.is_empty());
    let sign =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"begun"}}"#;
    wire.upstream_message(sign);
    assert_eq!(wire.client, [sign, "cut 1"]);
    assert_eq!(wire.engine.open_requests(ONE), 1, "it is still waited for");
    wire.booked(1);
    assert_eq!(
        wire.names(),
        ["call_received", "scenario_fired", "call_sent", "call_answered", "upstream_answered"]
    );
    assert_eq!((wire.client.len(), wire.engine.next_deadline()), (2, None));
}

#[test]
fn i1_breaks_without_a_sign_when_its_time_is_up_or_the_answer_comes() {
    let mut wire = Wire::new("I1");
    wire.call(1, "create_booking");
    wire.due();
    assert_eq!(wire.client, ["cut 1"]);
    let mut wire = Wire::new("I1");
    wire.call(1, "create_booking");
    wire.booked(1);
    assert_eq!(wire.client, ["cut 1"]);
}

#[test]
fn i2_kills_the_upstream_too() {
    let mut wire = Wire::new("I2");
    wire.call(1, "create_booking");
    wire.due();
    assert_eq!((wire.client[0].as_str(), wire.upstream[1].as_str()), ("cut 1", "kill"));
    wire.input(Input::UpstreamEnded {
        connection: ONE,
        how: "killed".into(),
        expected: true,
        stderr: String::new(),
    });
    assert_eq!(
        wire.names(),
        ["call_received", "scenario_fired", "call_sent", "call_answered", "upstream_ended", "upstream_lost"]
    );
}

#[test]
fn a1_expires_with_the_first_write_and_stays_so() {
    let mut wire = Wire::new("A1");
    wire.call(1, "find_bookings");
    wire.answer(1);
    for (id, tool) in [(2, "create_booking"), (3, "find_bookings"), (4, "create_booking")] {
        wire.call(id, tool);
    }
    assert_eq!(wire.upstream.len(), 1);
    let told: Vec<Told> = wire.told().iter().map(|(told, _)| *told).collect();
    assert_eq!(told, [Told::Result, Told::Unauthorized, Told::Unauthorized, Told::Unauthorized]);
    assert!(wire.client[1].contains("WWW-Authenticate"));
}

#[test]
fn a2_and_a3_refuse_every_write_and_no_read() {
    for (id, told) in [("A2", Told::Forbidden), ("A3", Told::Refused)] {
        let mut wire = Wire::new(id);
        wire.call(1, "create_booking");
        wire.call(2, "find_bookings");
        wire.answer(2);
        wire.call(3, "create_booking");
        assert_eq!(wire.told(), [(told, true), (Told::Result, false), (told, true)], "{id}");
    }
}

#[test]
fn m1_names_the_field_that_it_broke_and_leaves_the_rest_a_success() {
    let mut wire = Wire::new("M1:number");
    wire.call(1, "create_booking");
    wire.answer(1);
    assert_eq!(wire.told(), [(Told::Result, false)], "an answer without an identifier uses nothing up");
    wire.call(2, "create_booking");
    wire.booked(2);
    assert_eq!(wire.result(1)["content"][0]["text"], r#"{"booking_id":1}"#);
    let field = wire.events.iter().find_map(|event| match event {
        Event::ScenarioFired { field, .. } => field.clone(),
        _ => None,
    });
    assert_eq!(field.as_deref(), Some("booking_id"));
}

#[test]
fn a_contract_says_what_is_known_and_carries_the_id_of_the_attempt() {
    let known = |scenario: &str| {
        let mut wire = Wire::presenting(scenario, Present::Structured);
        wire.call(1, "create_booking");
        if !wire.upstream.is_empty() {
            assert!(
                wire.upstream[0].contains(r#""_meta":{"correlation-id":"run-1"}"#),
                "{}",
                wire.upstream[0]
            );
            wire.booked(1);
        }
        let result = wire.result(0);
        let contract = result["structuredContent"].clone();
        let text: serde_json::Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap_or_default();
        assert!(contract.is_null() || text == contract, "both parts say the same");
        assert!(contract.is_null() || contract["correlation_id"] == "run-1");
        (
            contract["category"].as_str().unwrap_or("none").to_owned(),
            contract["retry"].as_str().unwrap_or("none").to_owned(),
        )
    };
    for (scenario, category, retry) in [
        ("F1", "outcome_unknown", "reconcile_first"),
        ("F2", "rejected", "after"),
        ("F3", "malformed_response", "reconcile_first"),
        ("T1", "outcome_unknown", "reconcile_first"),
        ("T3", "malformed_response", "reconcile_first"),
        ("E1:502", "outcome_unknown", "reconcile_first"),
        ("E1:success_false", "failed", "safe"),
        ("E1:rate_limited", "rejected", "after"),
        ("L1", "local_failure", "safe"),
        ("A1", "rejected", "never"),
        ("A2", "rejected", "never"),
        ("A3", "rejected", "never"),
        ("M1", "malformed_response", "reconcile_first"),
        ("M2", "malformed_response", "reconcile_first"),
        ("M3", "malformed_response", "reconcile_first"),
        ("M4", "malformed_response", "reconcile_first"),
        ("none", "none", "none"),
    ] {
        assert_eq!(known(scenario), (category.to_owned(), retry.to_owned()), "{scenario}");
    }
}

#[test]
fn every_attempt_has_an_id_of_its_own_before_it_leaves() {
    let mut wire = Wire::presenting("none", Present::Plain);
    wire.call(1, "create_booking");
    wire.call(1, "create_booking");
    let ids: Vec<Option<String>> = wire
        .events
        .iter()
        .filter_map(|event| match event {
            Event::CallSent { correlation, .. } => Some(correlation.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [Some("run-1".to_owned()), Some("run-2".to_owned())]);
    assert!(wire.upstream[1].contains("run-2"));
}

#[test]
fn j13_no_message_to_the_client_gives_the_test_away() {
    let words =
        ["inject", "chaos", "nochmal", "test", "scenario", "simulat", "proxy", "fault", "mock", "fake"];
    for spelling in scenario::spellings() {
        for present in Present::ALL {
            let mut wire = Wire::presenting(&spelling, present);
            wire.call(1, "create_booking");
            wire.booked(1);
            if wire.engine.next_deadline().is_some() {
                wire.due();
            }
            wire.call(2, "find_bookings");
            wire.upstream_message(
                r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"[1,2]"}]}}"#,
            );
            for message in &wire.client {
                let message = message.to_lowercase();
                let word = words.iter().find(|word| message.contains(**word));
                assert_eq!(word, None, "{spelling}: {message}");
            }
        }
    }
}
