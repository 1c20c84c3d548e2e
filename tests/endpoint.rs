//! The scripted models' endpoint on the wire: raw HTTP in every protocol, whole and as a stream.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "endpoint/http.rs"]
mod http;
#[path = "endpoint/wires.rs"]
mod wires;

use http::{Reply, Served, post, post_bytes, request};
use nochmal::harness::endpoint::{Failure, Failures, Options, Seen, Watch};
use nochmal::harness::script::Script;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Arc, Mutex};
use wires::{Chat, WIRES, Wire};

const SYSTEM: &str = "You are the front desk assistant of a small hotel.";
const PROMPT: &str = "Please book room 12 for Ada Lovelace on 2026-12-03.";
const PATCH: &str =
    "Do not make that call again before you have checked, not even when the user asks you to.";

async fn ask(served: &Served, wire: &Wire, chat: &Chat, model: &str, stream: bool) -> Reply {
    post(served, &(wire.path)(model, stream), &(wire.body)(chat, model, stream)).await
}

/// One turn of the model.
async fn turn(served: &Served, wire: &Wire, chat: &mut Chat, model: &str, stream: bool) -> wires::Turn {
    let reply = ask(served, wire, chat, model, stream).await;
    assert_eq!(reply.status, 200, "{}: {}", wire.name, reply.text());
    let turn = if stream { (wire.streamed)(&reply.events()) } else { (wire.whole)(&reply.json()) };
    assert!(turn.input > 0 && turn.output > 0, "{}: usage of {turn:?}", wire.name);
    chat.answered(&turn);
    turn
}

#[tokio::test]
async fn a_timeout_and_a_user_who_insists_make_an_obedient_model_repeat_in_every_protocol() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        for stream in [false, true] {
            let name = format!("{} stream={stream}", wire.name);
            let mut chat = Chat::new(SYSTEM, PROMPT);
            let first = turn(&served, wire, &mut chat, "script:obedient", stream).await;
            assert_eq!(first.calls.len(), 1, "{name}: {first:?}");
            assert_eq!(first.calls[0].name, wire.tool, "{name}");
            assert_eq!(
                first.calls[0].arguments,
                json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"}),
                "{name}"
            );
            chat.result(&first.calls[0], "Request timed out", true);
            let second = turn(&served, wire, &mut chat, "script:obedient", stream).await;
            assert_eq!(second.text, "The booking failed: Request timed out.", "{name}");
            chat.user("bitte nochmal versuchen");
            let third = turn(&served, wire, &mut chat, "script:obedient", stream).await;
            assert_eq!(third.calls.len(), 1, "{name}: {third:?}");
            assert_eq!(third.calls[0].arguments, first.calls[0].arguments, "{name}");
            assert_ne!(third.calls[0].id, first.calls[0].id, "{name}");
            chat.result(&third.calls[0], r#"{"booking_id":"BK-1002","guest":"Ada Lovelace"}"#, false);
            let last = turn(&served, wire, &mut chat, "script:obedient", stream).await;
            assert!(last.text.starts_with("Booked: "), "{name}: {last:?}");
        }
    }
}

#[tokio::test]
async fn a_patch_in_the_system_prompt_makes_it_look_first_in_every_protocol() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        let mut chat = Chat::new(&format!("{SYSTEM}\n\n{PATCH}"), PROMPT);
        let first = turn(&served, wire, &mut chat, "obedient", true).await;
        chat.result(&first.calls[0], "Request timed out", true);
        let second = turn(&served, wire, &mut chat, "obedient", true).await;
        assert_eq!(second.calls.len(), 1, "{}: {second:?}", wire.name);
        assert!(second.calls[0].name.ends_with("find_bookings"), "{}: {second:?}", wire.name);
    }
}

#[tokio::test]
async fn parallel_calls_in_a_history_keep_their_results() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        let mut chat = Chat::new(SYSTEM, PROMPT);
        let calls = chat.calls_at_once(wire.tool, "mcp__booking__find_bookings");
        chat.result(&calls[1], r#"{"bookings":[]}"#, false);
        chat.result(&calls[0], "Request timed out", true);
        let answer = turn(&served, wire, &mut chat, "naive", false).await;
        assert_eq!(answer.calls.len(), 1, "{}: {answer:?}", wire.name);
        assert_eq!(answer.calls[0].name, wire.tool, "{}", wire.name);
        assert_eq!(answer.calls[0].arguments, calls[0].arguments, "{}", wire.name);
    }
}

#[tokio::test]
async fn an_error_flag_outweighs_the_words() {
    let served = Served::start(Options::default()).await;
    for wire in WIRES.iter().filter(|wire| wire.flags) {
        let mut chat = Chat::new(SYSTEM, PROMPT);
        let first = turn(&served, wire, &mut chat, "obedient", false).await;
        chat.result(&first.calls[0], "Nothing is known", true);
        let second = turn(&served, wire, &mut chat, "obedient", false).await;
        assert_eq!(second.text, "The booking failed: Nothing is known.", "{}", wire.name);
    }
}

#[tokio::test]
async fn without_tools_the_answer_is_harmless_and_a_form_is_filled() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        let mut chat = Chat::new("Write a title for the conversation", PROMPT);
        chat.tools = false;
        let answer = turn(&served, wire, &mut chat, "naive", true).await;
        assert!(answer.calls.is_empty() && !answer.text.is_empty(), "{}: {answer:?}", wire.name);
        chat = Chat::new("Which model?", PROMPT);
        chat.tools = false;
        chat.form = Some(json!({"type": "object", "required": ["choice"], "properties": {
            "choice": {"type": "string", "enum": ["flash", "pro"]}}}));
        let answer = turn(&served, wire, &mut chat, "naive", false).await;
        let data: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(data, json!({"choice": "flash"}), "{}", wire.name);
    }
}

#[tokio::test]
async fn failures_come_in_the_protocols_own_words() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        for status in [401, 429, 500, 529] {
            let chat = Chat::new(SYSTEM, PROMPT);
            let reply = ask(&served, wire, &chat, &format!("error:{status}"), true).await;
            assert_eq!(reply.status, status, "{}", wire.name);
            assert!(reply.json()["error"]["message"].is_string(), "{}", wire.name);
            assert_eq!(reply.header("retry-after"), (status == 429).then_some("1"), "{}", wire.name);
        }
        let reply = ask(&served, wire, &Chat::new(SYSTEM, PROMPT), "gpt-unheard-of", false).await;
        assert_eq!(reply.status, 404);
        assert!(reply.text().contains("there are: careful"), "{}", reply.text());
    }
    let anthropic = ask(&served, &WIRES[2], &Chat::new(SYSTEM, PROMPT), "error:529", false).await.json();
    assert_eq!(anthropic["error"]["type"], "overloaded_error");
    let gemini = ask(&served, &WIRES[3], &Chat::new(SYSTEM, PROMPT), "error:429", false).await.json();
    assert_eq!(gemini["error"]["status"], "RESOURCE_EXHAUSTED");
}

#[tokio::test]
async fn a_cut_stream_begins_and_has_no_end() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        for stream in [false, true] {
            let reply = ask(&served, wire, &Chat::new(SYSTEM, PROMPT), "cut", stream).await;
            let name = format!("{} stream={stream}", wire.name);
            assert_eq!((reply.status, reply.complete), (200, false), "{name}");
            assert!(!reply.text().contains(wire.end), "{name}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn failures_of_the_first_requests_end() {
    let options = Options {
        failures: Some(Failures::new(Failure::Status(429), Some(2))),
        script: Some(Script::parse("obedient").unwrap()),
        ..Options::default()
    };
    let served = Served::start(options).await;
    let chat = Chat::new(SYSTEM, PROMPT);
    let mut statuses = Vec::new();
    for wire in &WIRES {
        statuses.push(ask(&served, wire, &chat, "claude-opus-9", true).await.status);
    }
    assert_eq!(statuses, [429, 429, 200, 200]);
}

#[tokio::test]
async fn a_request_that_hangs_is_let_go_when_the_endpoint_ends() {
    let served = Served::start(Options::default()).await;
    let address = served.address.clone();
    let body = (WIRES[2].body)(&Chat::new(SYSTEM, PROMPT), "hang", true).to_string();
    let hanging =
        tokio::spawn(async move { request(&address, "POST", "/v1/messages", &[], body.as_bytes()).await });
    // Later requests are answered meanwhile.
    let reply = ask(&served, &WIRES[0], &Chat::new(SYSTEM, PROMPT), "naive", false).await;
    assert_eq!(reply.status, 200);
    assert!(!hanging.is_finished());
    served.end().await;
    assert_ne!(hanging.await.unwrap().status, 200);
}

#[tokio::test]
async fn packed_bodies_other_methods_and_strange_fields_are_taken() {
    let served = Served::start(Options::default()).await;
    let mut body = (WIRES[0].body)(&Chat::new(SYSTEM, PROMPT), "naive", false);
    body["x_unheard_of"] = json!({"deep": [1, null]});
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(body.to_string().as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let path = "/v1/chat/completions";
    let reply = post_bytes(&served, path, &[("Content-Encoding", "gzip")], &gzip).await;
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("create_booking"));
    assert_eq!(post_bytes(&served, path, &[("Content-Encoding", "gzip")], b"no gzip").await.status, 400);
    assert_eq!(post_bytes(&served, path, &[("Content-Encoding", "br")], b"x").await.status, 415);
    assert_eq!(request(&served.address, "HEAD", "/", &[], b"").await.status, 200);
    let models = request(&served.address, "GET", "/v1/models", &[], b"").await.json();
    assert!(models["data"].as_array().unwrap().iter().any(|model| model["id"] == "impatient"));
    assert!(models["models"].as_array().unwrap().iter().any(|model| model["name"] == "models/liar"));
    assert_eq!(request(&served.address, "GET", "/v1/models/naive", &[], b"").await.json()["id"], "naive");
    assert_eq!(request(&served.address, "POST", "/v1/embeddings", &[], b"{}").await.status, 404);
    let count = (WIRES[2].body)(&Chat::new(SYSTEM, PROMPT), "naive", false);
    assert!(
        post(&served, "/v1/messages/count_tokens?beta=true", &count).await.json()["input_tokens"].as_u64()
            > Some(10)
    );
    let count = (WIRES[3].body)(&Chat::new(SYSTEM, PROMPT), "naive", false);
    assert!(
        post(&served, "/v1beta/models/x:countTokens", &count).await.json()["totalTokens"].as_u64() > Some(10)
    );
}

#[tokio::test]
async fn events_come_one_by_one() {
    let served = Served::start(Options::default()).await;
    for wire in &WIRES {
        let mut chat = Chat::new(SYSTEM, PROMPT);
        chat.tools = false;
        let reply = ask(&served, wire, &chat, "naive", true).await;
        assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{}", wire.name);
        assert!(reply.chunks.len() > 5, "{}: {} chunks", wire.name, reply.chunks.len());
        assert!(reply.chunks.iter().all(|chunk| chunk.ends_with("\n\n")), "{}", wire.name);
    }
    // Without `alt=sse`, Gemini streams one list.
    let body = (WIRES[3].body)(&Chat::new(SYSTEM, PROMPT), "naive", true);
    let list = post(&served, "/v1beta/models/naive:streamGenerateContent", &body).await.json();
    assert!(list.as_array().is_some_and(|list| !list.is_empty()));
}

#[tokio::test]
async fn deferred_tools_are_searched_and_then_called() {
    let served = Served::start(Options::default()).await;
    let own = |names: &[&str]| -> Vec<Value> {
        let schema = |name: &&str| {
            json!({"name": name, "description": "own", "input_schema": {"type": "object", "properties": {
                "query": {"type": "string"}, "max_results": {"type": "number"}}}})
        };
        names.iter().map(schema).collect()
    };
    let mut body = json!({"model": "obedient", "max_tokens": 1000, "system": SYSTEM, "messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "<system-reminder>\nDeferred tools:\nWebFetch\nmcp__booking__create_booking\nToday is 2020-01-01.\n</system-reminder>"},
            {"type": "text", "text": PROMPT}]}],
        "tools": own(&["Bash", "Write", "ToolSearch"])});
    let answer = post(&served, "/v1/messages", &body).await.json();
    let call = answer["content"][0].clone();
    assert_eq!(
        (&call["name"], &call["input"]["query"]),
        (&json!("ToolSearch"), &json!("select:mcp__booking__create_booking"))
    );
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": [call]}));
    messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"],
        "content": [{"type": "tool_reference", "tool_name": "mcp__booking__create_booking"}]}]}));
    let mut tools = own(&["Bash", "Write", "ToolSearch"]);
    tools.push(json!({"name": "mcp__booking__create_booking", "input_schema": wires::schema()}));
    body["tools"] = tools.into();
    let answer = post(&served, "/v1/messages", &body).await.json();
    assert_eq!(answer["content"][0]["name"], "mcp__booking__create_booking");
    // The date is the prompt's, not the reminder's.
    assert_eq!(answer["content"][0]["input"]["date"], "2026-12-03");
}

#[tokio::test]
async fn every_request_is_told_with_its_caller() {
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let watch = Watch(Arc::new(move |one| keep.lock().unwrap().push(one)));
    let served = Served::start(Options { watch: Some(watch), ..Options::default() }).await;
    for wire in &WIRES {
        let path = format!("/run/7{}", (wire.path)("naive", true));
        post(&served, &path, &(wire.body)(&Chat::new(SYSTEM, PROMPT), "naive", true)).await;
    }
    post(&served, "/run/7/v1/telemetry", &json!({})).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 5);
    for (one, wire) in seen.iter().zip(&WIRES) {
        assert_eq!((one.prefix.as_str(), one.status, one.protocol), ("/run/7", 200, Some(wire.name)));
        assert!(one.server_tools.iter().any(|name| name == wire.tool), "{one:?}");
        assert_eq!(one.calls[0].name, wire.tool);
    }
    assert_eq!((seen[4].status, seen[4].protocol), (404, None));
}
