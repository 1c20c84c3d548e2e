//! The approval that A3 asks for, message by message.

use super::*;
use crate::trace::{ApprovalReply, AskedBy};
use serde_json::{Value, json};

impl Wire {
    /// A client that introduces itself with these capabilities.
    fn introduces(&mut self, capabilities: &Value) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                            "clientInfo": {"name": "c", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        self.client_message(&message.to_string());
        self.upstream_message(r#"{"id":"hello","result":{"protocolVersion":"2025-11-25"}}"#);
        self.client.clear();
        self.upstream.clear();
        self.events.clear();
    }

    fn read(&self, number: usize) -> Value {
        serde_json::from_str(&self.client[number]).unwrap()
    }

    fn approvals(&self) -> (Vec<AskedBy>, Vec<ApprovalReply>) {
        let asked = self.events.iter().filter_map(|event| match event {
            Event::ApprovalAsked { how, .. } => Some(*how),
            _ => None,
        });
        let replied = self.events.iter().filter_map(|event| match event {
            Event::ApprovalReplied { reply, .. } => Some(*reply),
            _ => None,
        });
        (asked.collect(), replied.collect())
    }
}

#[test]
fn a_client_that_cannot_elicit_is_refused_at_once() {
    let mut wire = Wire::new("A3");
    wire.introduces(&json!({"roots": {}}));
    wire.call(1, "create_booking");
    assert_eq!(wire.approvals(), (vec![AskedBy::Call], vec![]));
    assert_eq!(wire.told(), [(Told::Refused, true)]);
    assert!(wire.client[0].contains("declined"));
    wire.call(2, "find_bookings");
    assert_eq!(wire.upstream.len(), 1, "reads need no approval");
}

#[test]
fn a_client_that_elicits_is_asked_first_and_refused_whatever_it_says() {
    for (answer, reply) in [
        (json!({"result": {"action": "accept", "content": {}}}), ApprovalReply::Submitted),
        (json!({"result": {"action": "decline"}}), ApprovalReply::Declined),
        (json!({"result": {"action": "cancel"}}), ApprovalReply::Cancelled),
        (json!({"error": {"code": -32601, "message": "no"}}), ApprovalReply::Failed),
        (json!({"result": 7}), ApprovalReply::Failed),
    ] {
        let mut wire = Wire::new("A3");
        wire.introduces(&json!({"elicitation": {}}));
        wire.call(1, "create_booking");
        let asked = wire.read(0);
        assert_eq!(asked["method"], "elicitation/create");
        assert!(asked["params"]["message"].as_str().unwrap().contains("create_booking {}"), "{asked}");
        assert!(wire.told().is_empty());
        let mut message = answer.clone();
        message["jsonrpc"] = json!("2.0");
        message["id"] = asked["id"].clone();
        wire.client_message(&message.to_string());
        assert_eq!(wire.approvals(), (vec![AskedBy::Elicitation], vec![reply]), "{answer}");
        assert_eq!(wire.told(), [(Told::Refused, true)]);
        assert_eq!((wire.client.len(), wire.read(1)["id"].clone()), (2, json!(1)));
        assert!(wire.upstream.is_empty(), "the server hears nothing of it");
        // An answer to something that the server asked passes.
        wire.client_message(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#);
        assert_eq!(wire.upstream.len(), 1);
    }
}

#[test]
fn nobody_waits_for_ever_for_a_client_that_does_not_answer() {
    let mut wire = Wire::new("A3");
    wire.introduces(&json!({"elicitation": {"form": {}}}));
    wire.call(1, "create_booking");
    let due = wire.engine.next_deadline().unwrap();
    wire.now = due;
    wire.input(Input::Tick);
    assert_eq!(wire.told(), [(Told::Refused, true)]);
    // What it says after all settles nothing more.
    let id = wire.read(0)["id"].clone();
    wire.client_message(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}}).to_string());
    assert_eq!((wire.told().len(), wire.upstream.len()), (1, 0));
}

/// Its client cancelled the call, is gone, or left the stream: nobody is told anything, and what the dialog
/// still says settles nothing.
#[test]
fn a_call_that_was_given_up_during_its_dialog_is_not_answered() {
    let gone: [fn(&mut Wire); 3] = [
        |wire| {
            let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            wire.client_message(cancel);
        },
        |wire| wire.input(Input::ClientDisconnected { connection: ONE }),
        |wire| {
            let id = RawJson::parse("1").unwrap();
            wire.input(Input::ClientWaits { connection: ONE, id, waits: false });
        },
    ];
    for leaves in gone {
        let mut wire = Wire::new("A3");
        wire.introduces(&json!({"elicitation": {}}));
        wire.call(1, "create_booking");
        leaves(&mut wire);
        if let Some(due) = wire.engine.next_deadline() {
            wire.now = due;
            wire.input(Input::Tick);
        }
        assert_eq!((wire.told().len(), wire.client.len()), (0, 1), "{:?}", wire.events);
        assert_eq!((wire.engine.next_deadline(), wire.engine.open_requests(ONE)), (None, 0));
        let reply = json!({"jsonrpc": "2.0", "id": wire.read(0)["id"], "result": {"action": "accept"}});
        let passed = wire.upstream.len();
        wire.client_message(&reply.to_string());
        assert_eq!((wire.approvals().1.len(), wire.told().len()), (0, 0));
        assert_eq!(wire.upstream.len(), passed, "the server hears nothing of it");
    }
}

#[test]
fn a_stream_that_is_taken_up_again_gets_its_answer() {
    let mut wire = Wire::new("A3");
    wire.introduces(&json!({"elicitation": {}}));
    wire.call(1, "create_booking");
    for waits in [false, true] {
        wire.input(Input::ClientWaits { connection: ONE, id: RawJson::parse("1").unwrap(), waits });
    }
    wire.now = wire.engine.next_deadline().unwrap();
    wire.input(Input::Tick);
    assert_eq!(wire.told(), [(Told::Refused, true)]);
}

#[test]
fn a_client_of_a_version_without_elicitation_is_not_asked() {
    for (version, how) in
        [("2024-11-05", AskedBy::Call), ("2025-03-26", AskedBy::Call), ("2025-06-18", AskedBy::Elicitation)]
    {
        let mut wire = Wire::new("A3");
        wire.introduces(&json!({"elicitation": {}}));
        let result = json!({"protocolVersion": version});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
        wire.client_message(
            &json!({"jsonrpc": "2.0", "id": "v", "method": "initialize", "params": hello}).to_string(),
        );
        wire.upstream_message(&json!({"id": "v", "result": result}).to_string());
        wire.call(1, "create_booking");
        assert_eq!(wire.approvals().0, [how], "{version}");
    }
}

#[test]
fn from_2026_07_28_on_the_answer_requires_the_input() {
    let modern = |id: u32, extra: &Value| {
        let mut params = json!({"name": "create_booking", "arguments": {"room": 12}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}});
        params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let mut wire = Wire::new("A3");
    wire.client_message(&modern(1, &json!({})));
    let required = wire.read(0)["result"].clone();
    assert_eq!(required["resultType"], "input_required");
    assert_eq!(required["inputRequests"]["approval"]["method"], "elicitation/create");
    let goes_on = json!({"requestState": required["requestState"],
                         "inputResponses": {"approval": {"action": "accept", "content": {"reason": "please"}}}});
    wire.client_message(&modern(2, &goes_on));
    assert_eq!(wire.approvals(), (vec![AskedBy::InputRequired], vec![ApprovalReply::Submitted]));
    assert_eq!(wire.told(), [(Told::InputRequired, true), (Told::Refused, true)]);
    assert!(wire.client[1].contains("declined") && wire.client[1].contains("\"resultType\":\"complete\""));
    // A state that nobody gave begins anew.
    wire.client_message(&modern(3, &json!({"requestState": "mine", "inputResponses": {}})));
    assert_eq!(wire.told().len(), 3);
    assert!(wire.upstream.is_empty());
}

#[test]
fn nothing_that_a_client_is_asked_gives_the_test_away() {
    let mut wire = Wire::new("A3");
    wire.introduces(&json!({"elicitation": {}}));
    wire.call(1, "create_booking");
    let text = wire.client.concat().to_lowercase();
    for word in ["inject", "nochmal", "test", "scenario", "proxy", "fault", "a3"] {
        // Digits of an id may spell anything.
        let id = wire.read(0)["id"].as_str().unwrap().to_owned();
        assert!(!text.replace(&id, "").contains(word), "{text}");
    }
}
