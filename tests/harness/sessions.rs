//! Sessions that survive the end of the agent, whenever it comes.

use super::answers::{Answer, Endpoint, asks, says};
use super::{NOCHMAL, PROMPT, nochmal};
use nochmal::upstream::builtin::ledger;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

const TWO: &str = "Please book room 12 for Ada Lovelace and room 13 for Alan Turing on 2026-12-03.";

/// Where the agent is ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// While the model is asked for the n-th time, from 0.
    Model(usize),
    /// At the n-th call, from 1, before it is carried out or after.
    Call(usize, &'static str),
}

/// The guest of the write that is ended, where one is.
fn write_at(end: End) -> Option<&'static str> {
    match end {
        End::Call(1, _) => Some("Ada Lovelace"),
        End::Call(4, _) => Some("Alan Turing"),
        _ => None,
    }
}

fn booking(room: u32, guest: &str) -> Value {
    json!({"guest": guest, "room": room, "date": "2026-12-03"})
}

/// What the model has been told of the bookings for a guest, in order.
fn told(request: &Value, guest: &str) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let ids = calls
        .filter(|call| call["function"]["name"] == "create_booking")
        .filter(|call| call["function"]["arguments"].as_str().unwrap().contains(guest))
        .map(|call| &call["id"]);
    ids.filter_map(|id| messages.iter().find(|message| &message["tool_call_id"] == id))
        .map(|result| result["content"].as_str().unwrap().to_owned())
        .collect()
}

/// A model that books for both guests, looks twice in between, and sends a booking again until it
/// has heard of its success.
fn plan(request: &Value) -> Answer {
    let booked = |guest: &str| told(request, guest).iter().any(|text| text.contains("confirmed"));
    let looked = request["messages"].to_string().contains("\"name\":\"find_bookings\"");
    let number = request["messages"].as_array().unwrap().len();
    let id = format!("c{number}");
    if !booked("Ada Lovelace") {
        asks(&[(&id, "create_booking", booking(12, "Ada Lovelace"))])
    } else if !looked {
        asks(&[("f1", "find_bookings", json!({"guest": "Ada Lovelace"})), ("f2", "find_bookings", json!({}))])
    } else if !booked("Alan Turing") {
        asks(&[(&id, "create_booking", booking(13, "Alan Turing"))])
    } else {
        says("Both are booked.")
    }
}

pub fn agent(endpoint: &Endpoint, mcp: &str) -> Command {
    let mut command = nochmal(&["agent", "--model", "openai:m", "--no-stream", "--model-retries", "0"]);
    command.args(["--mcp", mcp]);
    command.env("OPENAI_BASE_URL", &endpoint.url).env("OPENAI_API_KEY", "k-1");
    command
}

fn hotel(end: Option<End>, ledger: &Path) -> String {
    let (when, number) = match end {
        Some(End::Call(number, when)) => (when, number),
        _ => ("never", 0),
    };
    let killer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/killer.py");
    let ledger = ledger.display();
    format!("hotel=python3 '{killer}' {when} {number} '{NOCHMAL}' upstream booking --ledger '{ledger}'")
}

fn times(ledger: &Path, guest: &str) -> usize {
    ledger::read(ledger).unwrap().iter().filter(|entry| entry.record["guest"] == guest).count()
}

#[tokio::test]
async fn killed_at_every_step_a_session_repeats_no_finished_call_and_tells_of_the_interrupted_one() {
    let calls = (1..=4).flat_map(|number| [End::Call(number, "before"), End::Call(number, "after")]);
    for end in (0..4).map(End::Model).chain(calls) {
        let folder = tempfile::tempdir().unwrap();
        let (session, book) = (folder.path().join("s.db"), folder.path().join("ledger.jsonl"));
        let session = ["--session", session.to_str().unwrap()];
        let endpoint = Endpoint::start(move |number, request| match end {
            End::Model(at) if at == number => Answer::Kill,
            _ => plan(request),
        })
        .await;
        let mut killed = agent(&endpoint, &hotel(Some(end), &book));
        let child = killed.args(session).args(["--prompt", TWO]).spawn().unwrap();
        endpoint.agent.store(i32::try_from(child.id().unwrap()).unwrap(), Ordering::SeqCst);
        let output = child.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), None, "{end:?}: {}", String::from_utf8_lossy(&output.stderr));
        let executed = ["Ada Lovelace", "Alan Turing"].map(|guest| times(&book, guest));
        let asked = endpoint.requests.lock().unwrap().len();

        let mut resumed = agent(&endpoint, &hotel(None, &book));
        let output = resumed.args(session).arg("--continue").output().await.unwrap();
        assert!(output.status.success(), "{end:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "Both are booked.\n", "{end:?}");

        let first = endpoint.requests.lock().unwrap()[asked].clone();
        for (guest, before) in ["Ada Lovelace", "Alan Turing"].into_iter().zip(executed) {
            let (told, now) = (told(&first, guest), times(&book, guest));
            if write_at(end) == Some(guest) {
                // It had left, so nobody knows: the model is told so, and decides.
                assert_eq!(told.len(), 1, "{end:?}");
                assert!(told[0].contains("outcome is unknown"), "{end:?}: {told:?}");
                let carried_out = usize::from(matches!(end, End::Call(_, "after")));
                assert_eq!((before, now), (carried_out, carried_out + 1), "{end:?}, {guest}");
            } else {
                assert_eq!((told.len(), now), (before, 1), "{end:?}, {guest}");
                assert!(told.iter().all(|text| text.contains("confirmed")), "{end:?}: {told:?}");
            }
        }
        let looking = matches!(end, End::Call(2 | 3, _));
        let unknown = first["messages"].to_string().contains("find_bookings was interrupted");
        assert_eq!(unknown, looking, "{end:?}: {first}");
    }
}

#[tokio::test]
async fn two_processes_do_not_have_one_session() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.db");
    let flags = ["agent", "--model", "script:careful", "--session", session.to_str().unwrap()];
    let mut first = nochmal(&flags).args(["--protocol", "jsonl"]).spawn().unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"continue\"}\n").await.unwrap();
    assert!(lines.next_line().await.unwrap().unwrap().contains("no turn to go on with"));
    let second = nochmal(&flags).args(["--prompt", "x"]).output().await.unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8(second.stderr).unwrap().contains("in use by another process"));
    drop(stdin);
    assert!(first.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_session_remembers_and_is_not_mistaken_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let (session, book) = (folder.path().join("s.db"), folder.path().join("ledger.jsonl"));
    let hotel = format!("hotel='{NOCHMAL}' upstream booking --ledger '{}'", book.display());
    let run = |more: &[&str]| {
        let mut command = nochmal(&["agent", "--model", "script:careful", "--mcp", &hotel]);
        command.args(["--session", session.to_str().unwrap()]).args(more);
        async move { command.output().await.unwrap() }
    };
    let said = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    assert!(said(run(&["--system", "s", "--prompt", PROMPT]).await).starts_with("Booked: "));
    assert!(said(run(&["--prompt", "bitte nochmal"]).await).starts_with("Already done"));
    assert_eq!(ledger::read(&book).unwrap().len(), 1);
    for (more, reason) in [
        (&["--system", "t", "--prompt", "x"][..], "another system prompt"),
        (&["--continue"], "no turn to go on with"),
    ] {
        let output = run(more).await;
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(reason));
    }
    std::fs::write(&session, "something else altogether").unwrap();
    let output = run(&["--prompt", "x"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is no session"));
    assert_eq!(std::fs::read_to_string(&session).unwrap(), "something else altogether");
}

#[tokio::test]
async fn an_endpoint_that_finds_the_history_too_long_is_sent_a_shorter_one() {
    const MOST: usize = 6_000;
    let folder = tempfile::tempdir().unwrap();
    let (session, book) = (folder.path().join("s.db"), folder.path().join("ledger.jsonl"));
    let endpoint = Endpoint::start(|_, request| {
        let message = "This model's maximum context length is 1500 tokens.";
        match request.to_string().len() {
            MOST.. => Answer::Refusal(
                400,
                json!({"error": {"code": "context_length_exceeded", "message": message}}),
            ),
            _ => says("fine"),
        }
    })
    .await;
    for number in 0..4 {
        let prompt = format!("{} R-{number}", "word ".repeat(500));
        let mut command = agent(&endpoint, &hotel(None, &book));
        command.args(["--session", session.to_str().unwrap(), "--prompt", &prompt]);
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let requests: Vec<String> = endpoint.requests.lock().unwrap().iter().map(Value::to_string).collect();
    let last = requests.last().unwrap();
    assert!((0..4).all(|number| last.contains(&format!("R-{number}"))), "{last}");
    // One refusal teaches it for the whole session, also in the next process.
    let refused = requests.iter().filter(|request| request.len() >= MOST).count();
    assert_eq!(refused, 1, "{:?}", requests.iter().map(String::len).collect::<Vec<_>>());
}
