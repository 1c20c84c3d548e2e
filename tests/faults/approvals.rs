//! A3 before real clients: what a client that can elicit is asked, and what comes of it.

use super::rig::{Played, Sdk, Setup, Wire, play};
use serde_json::Value;

const CLIENTS: [(Sdk, Wire); 6] = [
    (Sdk::Python, Wire::Stdio),
    (Sdk::Python, Wire::Http),
    (Sdk::TypeScript, Wire::Stdio),
    (Sdk::TypeScript, Wire::Http),
    (Sdk::PythonModern, Wire::Stdio),
    (Sdk::PythonModern, Wire::Http),
];

/// What a client's user does with the form, and what the trace says of that.
const REPLIES: [(&str, &str); 3] =
    [("accept", "submitted"), ("decline", "declined"), ("cancel", "cancelled")];

/// The same order twice, then in other words.
fn thrice(action: Option<&'static str>) -> Setup {
    let setup = Setup::new("A3").order("lamp", 20.0).order("lamp", 20.0).order("Lamp", 20.0).look();
    Setup { elicits: action, ..setup }
}

fn asked(played: &Played) -> (Vec<&Value>, Vec<&Value>) {
    let of = |name: &str, member: &str| played.all(name).into_iter().map(|event| &event[member]).collect();
    (of("approval_asked", "how"), of("approval_replied", "reply"))
}

fn is_refused(played: &Played, what: &str) {
    let answers = played.answers();
    assert_eq!(answers.len(), 4, "{what}: {:?}", played.seen);
    for seen in &answers[..3] {
        let text = seen["text"].as_str().unwrap_or_default();
        assert!(seen["is_error"] == true && text.contains("approver declined"), "{what}: {seen}");
    }
    assert_eq!(answers[3]["is_error"], false, "{what}: reads need no approval: {}", answers[3]);
    assert!(played.ledger.is_empty(), "{what}: {:?}", played.ledger);
    assert_eq!(played.report["verdict"], "FAIL", "{what}: asked again after a refusal");
    assert_eq!(played.betraying(), Vec::<String>::new(), "{what}");
}

#[test]
fn a_client_that_shows_forms_is_asked_first_and_refused_whatever_its_user_does() {
    for (sdk, wire) in CLIENTS {
        let replies = match (sdk, wire) {
            (Sdk::Python, Wire::Stdio) | (Sdk::TypeScript, Wire::Http) => &REPLIES[..],
            _ => &REPLIES[..1],
        };
        for (action, reply) in replies.iter().copied() {
            let what = format!("{sdk:?} {wire:?} {action}");
            let played = play(&thrice(Some(action)), sdk, wire);
            is_refused(&played, &what);
            let shown: Vec<&str> = played.seen.iter().filter_map(|seen| seen["elicited"].as_str()).collect();
            assert_eq!(shown.len(), 3, "{what}: {:?}", played.seen);
            assert!(shown[0].contains("create_order") && shown[0].contains("lamp"), "{what}: {}", shown[0]);
            let how = if sdk == Sdk::PythonModern { "input_required" } else { "elicitation" };
            assert_eq!(asked(&played), (vec![&how.into(); 3], vec![&reply.into(); 3]), "{what}");
        }
    }
}

#[test]
fn a_client_that_shows_none_is_refused_at_once() {
    for (sdk, wire) in CLIENTS {
        let what = format!("{sdk:?} {wire:?}");
        let played = play(&thrice(None), sdk, wire);
        is_refused(&played, &what);
        assert_eq!(asked(&played), (vec![&"call".into(); 3], vec![]), "{what}");
    }
}

/// How often, for what, and in which other form: in the trace as people read it.
#[test]
fn the_trace_shows_how_often_and_for_what_an_approval_was_asked() {
    let played = play(&thrice(Some("accept")), Sdk::TypeScript, Wire::Stdio);
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.jsonl");
    std::fs::write(&trace, &played.trace).unwrap();
    let shown = super::rig::command(env!("CARGO_BIN_EXE_nochmal"))
        .args(["trace", "show"])
        .arg(&trace)
        .output()
        .unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let (_, approvals) = text.split_once("Approvals, all refused\n").expect(&text);
    let lines: Vec<&str> = approvals.lines().take(2).collect();
    assert!(
        lines[0].contains("create_order (op-1")
            && lines[0].contains("asked for twice; the client submitted 2 and withdrew 0"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].contains("(op-2") && lines[1].contains("asked for once, which is op-1 in other words"),
        "{}",
        lines[1]
    );
    assert!(!approvals.to_lowercase().contains("lamp"), "nothing of the arguments: {approvals}");
}
