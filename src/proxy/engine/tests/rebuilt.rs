//! The upstream is rebuilt under a client.

use super::*;
use crate::domain::Approval;
use crate::proxy::epoch::{OnReplace, Rules};
use crate::trace::{AnswerKind, Decision, Execution};

const BOOKED: &str = r#"{"content":[{"type":"text","text":"ok"}]}"#;

fn execution(epoch: &str) -> Option<Box<Execution>> {
    Some(Box::new(Execution {
        epoch: epoch.to_owned(),
        replaces: None,
        server_label: "desk".to_owned(),
        entry_digest: None,
        lockfile_digest: None,
        runtime: None,
        working_directory: "/".to_owned(),
        started_at: String::new(),
        files: Vec::new(),
        identity: epoch.to_owned(),
    }))
}

impl Wire {
    /// A client at epoch A, which has its list of tools.
    fn rebuildable(scenario: &str, on_replace: OnReplace, approval: Approval) -> Wire {
        let mut wire = Wire::new(scenario);
        let rules = Rules { watched: true, on_replace, approval, credentials: Vec::new() };
        wire.engine = std::mem::replace(&mut wire.engine, Wire::new("none").engine).with_rebuilds(rules);
        wire.started("A");
        wire.client_message(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        );
        wire.upstream_message(r#"{"id":0,"result":{"protocolVersion":"2025-11-25"}}"#);
        wire.listed("old");
        wire.events.clear();
        wire.client.clear();
        wire.upstream.clear();
        wire
    }

    fn started(&mut self, epoch: &str) {
        let execution = execution(epoch);
        self.input(Input::UpstreamStarted { connection: ONE, command: vec![], pid: Some(7), execution });
    }

    fn stopped(&mut self) {
        let (how, stderr) = ("exit code 0".to_owned(), String::new());
        self.input(Input::UpstreamStopped { connection: ONE, how, stderr });
    }

    fn listed(&mut self, id: &str) {
        self.client_message(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/list"}}"#));
        self.upstream_message(&format!(
            r#"{{"id":"{id}","result":{{"tools":[{{"name":"create_booking"}},{{"name":"find_bookings"}}]}}}}"#
        ));
    }

    fn text(&self, at: usize) -> String {
        let answer: serde_json::Value = serde_json::from_str(&self.client[at]).unwrap();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn answered(&self) -> Vec<Told> {
        self.told().into_iter().map(|(told, _)| told).collect()
    }
}

#[test]
fn r2_the_prepared_call_is_refused_until_the_list_was_fetched() {
    let mut wire = Wire::rebuildable("R2", OnReplace::Pending, Approval::Auto);
    wire.call(1, "create_booking");
    // It waits for the new process, which is to be named.
    assert_eq!((wire.upstream.as_slice(), wire.client.len()), (&["replace".to_owned()][..], 0));
    assert_eq!(wire.engine.open_requests(ONE), 1);
    wire.stopped();
    wire.started("B");
    assert_eq!(wire.told(), [(Told::StaleEpoch, true)]);
    assert!(wire.client[0].contains("notifications/tools/list_changed"));
    let told: serde_json::Value = serde_json::from_str(&wire.text(1)).unwrap();
    assert_eq!((&told["approvedEpoch"], &told["currentEpoch"]), (&"A".into(), &"B".into()));
    wire.call(2, "create_booking");
    assert_eq!(wire.answered(), [Told::StaleEpoch, Told::StaleEpoch]);
    wire.listed("new");
    wire.call(3, "create_booking");
    wire.answer(3);
    assert_eq!(wire.answered()[2], Told::Result);
    let bound: Vec<String> = wire
        .events
        .iter()
        .filter_map(|event| match event {
            Event::CallReceived { binding, .. } => binding.as_ref().map(|binding| binding.epoch.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(bound, ["A", "B", "B"]);
}

#[test]
fn r1_nothing_is_refused_and_the_epoch_stays() {
    let mut wire = Wire::rebuildable("R1", OnReplace::Pending, Approval::Never);
    wire.call(1, "create_booking");
    wire.answer(1);
    wire.call(2, "create_booking");
    wire.answer(2);
    assert_eq!(wire.answered(), [Told::Result, Told::Result]);
    assert!(wire.events.iter().any(|event| matches!(event, Event::Rebuilt { replaces: false, .. })));
    assert!(wire.upstream.iter().all(|message| message != "replace"));
}

#[test]
fn r4_an_answer_that_came_too_late_is_kept_and_goes_no_further() {
    let mut wire = Wire::rebuildable("R4", OnReplace::Pending, Approval::Auto);
    wire.call(1, "create_booking");
    assert_eq!(wire.upstream.last().map(String::as_str), Some("replace"));
    assert!(wire.upstream[0].contains("create_booking"), "it was sent before");
    wire.upstream_message(&format!(r#"{{"id":1,"result":{BOOKED}}}"#));
    wire.stopped();
    wire.started("B");
    assert_eq!(wire.answered(), [Told::EpochChanged]);
    assert!(wire.events.iter().any(
        |event| matches!(event, Event::UpstreamAnswered { answer, .. } if answer.kind == AnswerKind::Result)
    ));
    let told: serde_json::Value = serde_json::from_str(&wire.text(0)).unwrap();
    assert_eq!((&told["error"], &told["callEpoch"]), (&"outcome_unknown".into(), &"A".into()));
    assert_eq!(wire.upstream.iter().filter(|message| message.contains("create_booking")).count(), 1);
}

#[test]
fn a_call_whose_process_dies_unanswered_is_lost_and_never_sent_again() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Auto);
    wire.call(1, "create_booking");
    wire.input(Input::Rebuilt { replaces: true, paths: vec!["server.js".to_owned()] });
    wire.stopped();
    assert!(wire.events.iter().any(|event| matches!(event, Event::UpstreamLost { .. })));
    wire.started("B");
    assert_eq!(wire.answered(), [Told::EpochChanged]);
    assert_eq!(wire.upstream.iter().filter(|message| message.contains("create_booking")).count(), 1);
}

#[test]
fn an_answer_of_the_old_process_passes_where_no_scenario_holds_it() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Auto);
    wire.call(1, "create_booking");
    wire.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    wire.answer(1);
    wire.stopped();
    wire.started("B");
    assert_eq!(wire.answered(), [Told::Result]);
}

#[test]
fn the_list_of_the_old_process_opens_nothing() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Auto);
    wire.client_message(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
    wire.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    wire.upstream_message(r#"{"id":"l","result":{"tools":[{"name":"create_booking"}]}}"#);
    wire.stopped();
    wire.started("B");
    wire.call(2, "create_booking");
    assert_eq!(wire.answered(), [Told::StaleEpoch]);
}

#[test]
fn pass_sends_the_prepared_call_to_the_new_process() {
    let mut wire = Wire::rebuildable("R3", OnReplace::Pass, Approval::Never);
    wire.call(1, "create_booking");
    wire.stopped();
    wire.started("B");
    wire.answer(1);
    assert_eq!(wire.answered(), [Told::Result]);
}

#[test]
fn the_list_of_what_a_scenario_put_in_place_is_known_whether_its_client_asks_or_not() {
    let mut wire = Wire::rebuildable("R3", OnReplace::Pass, Approval::Auto);
    wire.call(1, "create_booking");
    wire.stopped();
    wire.upstream.clear();
    wire.started("B");
    let asked: serde_json::Value = serde_json::from_str(&wire.upstream[0]).unwrap();
    assert_eq!((&asked["method"], &asked["id"]), (&"tools/list".into(), &"list-B-0".into()));
    let told = wire.client.len();
    wire.upstream_message(
        r#"{"id":"list-B-0","result":{"tools":[{"name":"create_booking","inputSchema":{"required":["day"]}}],"nextCursor":"2"}}"#,
    );
    let asked: serde_json::Value = serde_json::from_str(wire.upstream.last().unwrap()).unwrap();
    assert_eq!((&asked["params"]["cursor"], &asked["id"]), (&"2".into(), &"list-B-1".into()));
    wire.upstream_message(r#"{"id":"list-B-1","result":{"tools":[{"name":"find_bookings"}]}}"#);
    let found = wire.events.iter().find_map(|event| match event {
        Event::CatalogueFound { epoch, required, .. } => Some((epoch.as_str(), required.clone())),
        _ => None,
    });
    let (epoch, required) = found.unwrap();
    assert_eq!((epoch, &required["create_booking"], required.len()), ("B", &vec!["day".to_owned()], 2));
    assert_eq!(wire.client.len(), told, "it is no answer to the client");
    assert!(!wire.events.iter().any(|event| matches!(event, Event::CatalogueSeen { .. })));
    assert_eq!(wire.engine.open_requests(ONE), 1, "the call is open, the list is not");
}

#[test]
fn close_answers_what_waits_and_ends_the_connection() {
    let mut wire = Wire::rebuildable("R2", OnReplace::Close, Approval::Auto);
    wire.call(1, "create_booking");
    wire.stopped();
    wire.started("B");
    assert_eq!(wire.told(), [(Told::StaleEpoch, true)]);
    assert_eq!(wire.client.last().map(String::as_str), Some("close"));
}

#[test]
fn a_command_is_asked_and_until_it_has_answered_nothing_passes() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Command("ask".to_owned()));
    wire.upstream.clear();
    wire.call(1, "create_booking");
    assert_eq!(wire.answered(), [Told::StaleEpoch]);
    let decision = Decision {
        epoch: "A".to_owned(),
        granted: true,
        by: "command".to_owned(),
        tools: Vec::new(),
        credentials: Vec::new(),
    };
    wire.input(Input::Decided { connection: ONE, decision });
    wire.call(2, "create_booking");
    wire.answer(2);
    assert_eq!(wire.answered()[1], Told::Result);
}

#[test]
fn a_stream_of_notifications_is_opened_anew_and_told_of_the_change() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Auto);
    let listen = r#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#;
    wire.client_message(listen);
    wire.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    wire.stopped();
    wire.upstream.clear();
    wire.started("B");
    assert_eq!(wire.upstream, [listen]);
    assert!(wire.client[0].contains(r#""io.modelcontextprotocol/subscriptionId":"s""#), "{}", wire.client[0]);
}

#[test]
fn where_no_new_process_comes_everybody_is_told() {
    let mut wire = Wire::rebuildable("none", OnReplace::Pending, Approval::Auto);
    wire.call(1, "create_booking");
    wire.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    wire.call(2, "create_booking");
    wire.stopped();
    let (how, stderr) = ("no such program".to_owned(), String::new());
    wire.input(Input::UpstreamEnded { connection: ONE, how, expected: false, stderr });
    assert_eq!(wire.answered(), [Told::EpochChanged, Told::Unavailable]);
    // The next build may mend it.
    wire.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    wire.stopped();
    wire.started("C");
    wire.listed("new");
    wire.call(3, "create_booking");
    wire.answer(3);
    assert_eq!(wire.answered()[2], Told::Result);
}
