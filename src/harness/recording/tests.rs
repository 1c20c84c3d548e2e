//! Recordings, there and back.

use super::record::Recorder;
use super::replay::{Replayer, summary};
use super::*;
use crate::harness::message::{Message, ToolCall, ToolSpec};
use crate::harness::model::{BoxFuture, Consumption, Identity, Model, ModelError, ModelTurn, Request, Unit};
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Gives these answers.
struct Gives(Mutex<Vec<Result<ModelTurn, ModelError>>>);

impl Model for Gives {
    fn respond<'a>(&'a self, _: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(std::future::ready(self.0.lock().unwrap().remove(0)))
    }

    fn identity(&self) -> Identity {
        Identity { provider: "openai".into(), model: "m".into() }
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: "Books a room".into(), ..ToolSpec::default() }
}

fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

fn calling() -> ModelTurn {
    let arguments = json!({"room": 12}).as_object().cloned().unwrap();
    ModelTurn {
        text: "One moment.".into(),
        tool_calls: vec![ToolCall::new("c1".into(), "create_booking".into(), arguments)],
        usage: Consumption { input: 90, output: 9, cached: 30, answers: 1, retries: 2, unit: Unit::Tokens },
        ..ModelTurn::default()
    }
}

fn asked() -> Message {
    let turn = calling();
    Message::Assistant { text: turn.text, tool_calls: turn.tool_calls }
}

fn result(text: &str, is_error: bool) -> Message {
    Message::ToolResult { call_id: "c1".into(), text: text.into(), is_error }
}

fn system() -> Message {
    Message::System { text: "You are the front desk.".into() }
}

/// Records a conversation of two requests, the second of which is refused.
async fn recorded(path: &Path) {
    let busy = ModelError::Refused {
        status: 429,
        message: "busy".into(),
        retry_after: Some(Duration::from_millis(1500)),
    };
    let answers = vec![Ok(calling()), Err(busy), Err(ModelError::TooLong("x".into()))];
    let model = Recorder::new(Box::new(Gives(Mutex::new(answers))), path).unwrap();
    assert_eq!(model.identity().model, "m");
    let tools = [tool("create_booking")];
    let first = [system(), user("book")];
    model.respond(Request::new(&first, &tools)).await.unwrap();
    let second = [system(), user("book"), asked(), result("timed out", true)];
    model.respond(Request::new(&second, &tools)).await.unwrap_err();
    model.respond(Request::new(&second, &[])).await.unwrap_err();
}

#[tokio::test]
async fn what_is_asked_alike_is_answered_alike_and_differs_in_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/a.jsonl");
    recorded(&path).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert_eq!(text.matches("You are the front desk.").count(), 1, "the history is kept once");
    let replay = Arc::new(Replayer::new(&path, None).unwrap());
    let (first, tools) = ([system(), user("book")], [tool("create_booking")]);
    let turn = replay.respond(Request::new(&first, &tools)).await.unwrap();
    let free = Consumption { unit: Unit::Recorded, retries: 0, ..calling().usage };
    assert_eq!(turn, ModelTurn { usage: free, ..calling() });
    let second = [system(), user("book"), asked(), result("timed out", true)];
    let error = replay.respond(Request::new(&second, &tools)).await.unwrap_err();
    assert!(
        matches!(error, ModelError::Refused { status: 429, retry_after: Some(wait), .. } if wait.as_millis() == 1500)
    );
    let error = replay.respond(Request::new(&second, &[])).await.unwrap_err();
    assert_eq!(error, ModelError::TooLong("x".into()));
    assert_eq!(
        summary(3, &replay.finish().unwrap()),
        "replayed 3 answers: no difference in prompts and calls\n"
    );
}

#[tokio::test]
async fn every_difference_is_told_once_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (path, drifts) = (folder.path().join("a.jsonl"), folder.path().join("drift.jsonl"));
    recorded(&path).await;
    let replay = Arc::new(Replayer::new(&path, Some(&drifts)).unwrap());
    let changed = Message::System { text: "You are the front desk. Check first.".into() };
    let tools =
        [ToolSpec { description: "Books a table".into(), ..tool("create_booking") }, tool("find_bookings")];
    let first = [changed.clone(), user("book")];
    replay.respond(Request::new(&first, &tools)).await.unwrap();
    let second = [changed, user("book"), asked(), result("BK-1", false), user("more")];
    replay.respond(Request::new(&second, &tools)).await.unwrap_err();
    let found = replay.finish().unwrap();
    insta::assert_snapshot!(summary(replay.len(), &found), @r#"
    replayed 3 answers: 6 differences
      request 1, tools: create_booking: it was "Books a room", and is "Books a table"
      request 1, tools: find_bookings is offered now
      request 1, system prompt: message 1: it was "… are the front desk.", and is "… are the front desk. Check first."
      request 2, tool result: message 4 was a failure and is a success: it was "timed out", and is "BK-1"
      request 2, user: message 5 is new: more
      request 3, requests: there were 2, and 3 are recorded: nobody asked for the last 1
    "#);
    let lines = std::fs::read_to_string(&drifts).unwrap();
    let lines: Vec<Drift> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, found);
    assert_eq!(replay.finish().unwrap(), found, "told once");
}

#[tokio::test]
async fn there_are_no_answers_beyond_the_recorded_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    recorded(&path).await;
    let replay = Arc::new(Replayer::new(&path, None).unwrap());
    for _ in 0..3 {
        let _ = replay.respond(Request::new(&[], &[])).await;
    }
    let error = replay.respond(Request::new(&[], &[])).await.unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("holds 3 answers"), "{error}");
    assert!(replay.finish().unwrap().iter().any(|drift| drift.place == "requests"));
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let head = "{\"recording\":1,\"provider\":\"openai\",\"model\":\"m\"}\n";
    for (text, told) in [
        ("", "line 1: expected {\"recording\":1,…}"),
        ("hello\n", "line 1: expected"),
        ("{\"recording\":2,\"provider\":\"\",\"model\":\"\"}\n", "line 1: version 2"),
        (
            &format!("{head}{{\"kept\":3,\"messages\":[],\"answer\":{{}}}}\n"),
            "line 2: it keeps 3 messages of 0",
        ),
        (&format!("{head}{{\"kept\":0,\"messages\":[]}}\n"), "line 2: expected one of `answer` and `error`"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Replayer::new(&path, None).map(drop).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    // The recorder was killed in the middle of a line.
    std::fs::write(&path, format!("{head}{{\"kept\":0,\"messages\":[],\"answer\":{{}}}}\n{{\"kept\""))
        .unwrap();
    assert_eq!(Replayer::new(&path, None).unwrap().len(), 1);
    let error = Replayer::new(&folder.path().join("none"), None).map(drop).unwrap_err().to_string();
    assert!(error.contains("none: "), "{error}");
}
