//! Conversations with endpoints that answer as told, for every provider, as a whole and as a stream.

mod endpoint;

use super::retry::{Backoff, Retrying};
use super::*;
use crate::harness::message::ToolSpec;
use crate::harness::model::BoxFuture;
use crate::harness::model::{Identity, Listener, Model, Stop};
use crate::harness::session::Session;
use crate::harness::tools::{ToolOutcome, Tools};
use crate::harness::turn::Agent;
use endpoint::{Endpoint, Sent};
use reqwest::Url;
use serde_json::json;
use std::sync::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const PROVIDERS: [(&str, Wire); 4] =
    [("chat", CHAT), ("responses", RESPONSES), ("messages", MESSAGES), ("gemini", GEMINI)];

fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect()
}

/// An answer with a text and two calls at once, the second with arguments that are no JSON where
/// the protocol lets a model write any.
fn calling(provider: &str, stream: bool) -> Sent {
    let bad = "{\"room\": ";
    let body = match (provider, stream) {
        ("chat", false) => {
            json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": "One moment.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "create_booking", "arguments": "{\"room\": 12}"}},
            {"id": "c2", "type": "function", "function": {"name": "create_booking", "arguments": bad}}]}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}})
        }
        ("chat", true) => {
            let delta =
                |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            return Sent::Stream(
                events(&[
                    delta(json!({"role": "assistant", "content": "One "})),
                    delta(json!({"content": "moment."})),
                    delta(
                        json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "create_booking", "arguments": ""}}]}),
                    ),
                    delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"room\""}}]})),
                    delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ": 12}"}}]})),
                    delta(
                        json!({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "create_booking", "arguments": bad}}]}),
                    ),
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                    json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}}),
                ]) + "data: [DONE]\n\n",
                true,
            );
        }
        ("responses", stream) => {
            let call = |id: &str, arguments: &str| {
                json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "create_booking",
                    "arguments": arguments, "status": "completed"})
            };
            let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment.", "annotations": []}]});
            let whole = json!({"object": "response", "status": "completed", "error": null, "incomplete_details": null,
                "output": [{"type": "reasoning", "summary": []}, message, call("c1", "{\"room\": 12}"), call("c2", bad)],
                "usage": {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 64}}});
            if !stream {
                return Sent::Whole(200, "", whole.to_string());
            }
            let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
            return Sent::Stream(
                events(&[
                    json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
                    json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}}),
                    delta("One "),
                    delta("moment."),
                    json!({"type": "response.function_call_arguments.delta", "delta": "{\"room\": 12}"}),
                    json!({"type": "response.completed", "response": whole}),
                ]),
                true,
            );
        }
        ("messages", false) => json!({"content": [{"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "c1", "name": "create_booking", "input": {"room": 12}},
            {"type": "tool_use", "id": "c2", "name": "create_booking", "input": bad}], "stop_reason": "tool_use",
            "usage": {"input_tokens": 30, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 20}}),
        ("messages", true) => {
            let block = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
            let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
            let call =
                |id: &str| json!({"type": "tool_use", "id": id, "name": "create_booking", "input": {}});
            return Sent::Stream(
                events(&[
                    json!({"type": "message_start", "message": {"usage": {"input_tokens": 30, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 1}}}),
                    block(0, json!({"type": "text", "text": ""})),
                    json!({"type": "ping"}),
                    delta(0, json!({"type": "text_delta", "text": "One "})),
                    delta(0, json!({"type": "text_delta", "text": "moment."})),
                    json!({"type": "content_block_stop", "index": 0}),
                    block(1, call("c1")),
                    delta(1, json!({"type": "input_json_delta", "partial_json": "{\"room\""})),
                    delta(1, json!({"type": "input_json_delta", "partial_json": ": 12}"})),
                    block(2, call("c2")),
                    delta(2, json!({"type": "input_json_delta", "partial_json": bad})),
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
                    json!({"type": "message_stop"}),
                ]),
                true,
            );
        }
        (_, stream) => {
            let part = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
            let calls = json!([{"functionCall": {"name": "create_booking", "args": {"room": 12}}, "thoughtSignature": "s1"},
                               {"functionCall": {"name": "create_booking", "args": bad}}]);
            let mut last = part(calls.clone());
            last["candidates"][0]["finishReason"] = "STOP".into();
            last["usageMetadata"] = json!({"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "cachedContentTokenCount": 64});
            if stream {
                let text = |text: &str| part(json!([{"text": "hm", "thought": true}, {"text": text}]));
                return Sent::Stream(events(&[text("One "), text("moment."), last]), true);
            }
            let mut parts = vec![json!({"text": "One moment."})];
            parts.extend(calls.as_array().cloned().unwrap());
            last["candidates"][0]["content"]["parts"] = parts.into();
            last
        }
    };
    Sent::Whole(200, "", body.to_string())
}

/// An answer that ends the turn.
fn done(provider: &str) -> Sent {
    let body = match provider {
        "chat" => {
            json!({"choices": [{"finish_reason": "stop", "message": {"content": "Booked."}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        }
        "responses" => {
            json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "Booked."}]}], "usage": {"input_tokens": 1, "output_tokens": 1}})
        }
        "messages" => {
            json!({"content": [{"type": "text", "text": "Booked."}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}})
        }
        _ => {
            json!({"candidates": [{"content": {"parts": [{"text": "Booked."}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}})
        }
    };
    Sent::Whole(200, "", body.to_string())
}

/// What is heard while an answer arrives.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Listener for Heard {
    fn text(&self, piece: &str) {
        self.0.lock().unwrap().push(piece.to_owned());
    }

    fn discarded(&self) {
        self.0.lock().unwrap().push("<discarded>".to_owned());
    }
}

fn booking() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"room": {"type": "integer"}}});
    vec![ToolSpec {
        name: "create_booking".into(),
        description: "Books".into(),
        input_schema: schema.as_object().cloned().unwrap(),
        ..ToolSpec::default()
    }]
}

#[tokio::test]
async fn every_provider_reads_text_calls_and_usage_alike() {
    for (name, wire) in PROVIDERS {
        for stream in [false, true] {
            let endpoint = Endpoint::new(vec![calling(name, stream)]).await;
            let heard = Heard::default();
            let history = [Message::System { text: "s".into() }, Message::User { text: "book".into() }];
            let tools = booking();
            let request = Request { messages: &history, tools: &tools, listener: Some(&heard) };
            let turn = endpoint.model(wire, stream).respond(request).await.unwrap();
            let at = format!("{name}, stream: {stream}");
            assert_eq!(turn.text, "One moment.", "{at}");
            assert_eq!(heard.0.lock().unwrap().concat(), "One moment.", "{at}");
            assert_eq!(heard.0.lock().unwrap().len(), if stream { 2 } else { 1 }, "{at}");
            assert_eq!(turn.tool_calls.len(), 2, "{at}");
            let [first, second] = &turn.tool_calls[..] else { unreachable!() };
            assert_eq!(
                (first.name.as_str(), &first.arguments["room"]),
                ("create_booking", &json!(12)),
                "{at}"
            );
            assert_eq!(second.unreadable.as_deref(), Some("{\"room\": "), "{at}");
            assert!(!first.id.is_empty() && first.id != second.id, "{at}");
            assert_eq!(first.signature.is_some(), name == "gemini", "{at}");
            let usage = turn.usage;
            assert_eq!((usage.input, usage.output, usage.cached, usage.answers), (100, 20, 64, 1), "{at}");
            let (head, body) = endpoint.asked.lock().unwrap()[0].clone();
            assert!(head.contains("sk-secret"), "{at}");
            assert!(
                body.to_string().contains("create_booking") && !body.to_string().contains("sk-secret"),
                "{at}"
            );
        }
    }
}

/// Books, and keeps what it was asked.
#[derive(Default)]
struct Hotel(Mutex<Vec<ToolCall>>, Vec<ToolSpec>);

impl Tools for Hotel {
    fn specs(&self) -> &[ToolSpec] {
        &self.1
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            if !self.1.iter().any(|tool| tool.name == call.name) {
                return ToolOutcome::error(format!("There is no tool \"{}\".", call.name));
            }
            self.0.lock().unwrap().push(call.clone());
            ToolOutcome { text: "BK-1".into(), is_error: false }
        })
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_answered_and_never_carried_out() {
    for (name, wire) in PROVIDERS {
        for stream in [false, true] {
            let endpoint = Endpoint::new(vec![calling(name, stream), done(name)]).await;
            let (hotel, model) = (Hotel(Mutex::default(), booking()), endpoint.model(wire, stream));
            let cancel = CancellationToken::new();
            let mut session = Session::new(Agent::new(&model, &hotel), "s");
            assert_eq!(session.say("book", &cancel).await.unwrap().text, "Booked.");
            assert_eq!(hotel.0.lock().unwrap().len(), 1, "{name}, stream: {stream}");
            let second = endpoint.bodies()[1].to_string();
            assert!(second.contains("BK-1") && second.contains("not a JSON object"), "{second}");
            assert_eq!(second.contains("thoughtSignature"), name == "gemini");
        }
    }
}

#[tokio::test]
async fn an_unknown_tool_is_told_to_the_model() {
    for (name, wire) in PROVIDERS {
        for stream in [false, true] {
            // Both calls of the answer are for a tool that nobody offers.
            let answer = match calling(name, stream) {
                Sent::Whole(status, headers, body) => {
                    Sent::Whole(status, headers, body.replace("create_booking", "book_flight"))
                }
                Sent::Stream(body, whole) => {
                    Sent::Stream(body.replace("create_booking", "book_flight"), whole)
                }
                Sent::Nothing => unreachable!(),
            };
            let endpoint = Endpoint::new(vec![answer, done(name)]).await;
            let (hotel, model) = (Hotel(Mutex::default(), booking()), endpoint.model(wire, stream));
            let mut session = Session::new(Agent::new(&model, &hotel), "");
            let reply = session.say("book", &CancellationToken::new()).await.unwrap();
            assert_eq!(reply.text, "Booked.", "{name}, stream: {stream}");
            assert!(hotel.0.lock().unwrap().is_empty(), "{name}, stream: {stream}");
            let told = endpoint.bodies()[1].to_string();
            assert!(
                told.contains("There is no tool \\\"book_flight\\\""),
                "{name}, stream: {stream}: {told}"
            );
        }
    }
}

/// A stream without its last events.
fn broken(provider: &str, whole: bool) -> Sent {
    let Sent::Stream(body, _) = calling(provider, true) else { unreachable!() };
    let half: Vec<&str> = body.split_inclusive("\n\n").collect();
    Sent::Stream(half[..half.len() / 2].concat(), whole)
}

/// Without waiting: what is told here is not about time.
fn at_once<M: Model>(model: M, retries: u32) -> Retrying<M> {
    let none = Duration::ZERO;
    Retrying::new(model, Backoff { retries, first: none, longest: Duration::from_secs(9) }, 0)
}

#[tokio::test]
async fn a_broken_stream_is_thrown_away_and_asked_for_again() {
    for (name, wire) in PROVIDERS {
        // The connection breaks; the stream ends as it should, but the answer did not.
        let answers = vec![broken(name, false), broken(name, true), Sent::Nothing, calling(name, true)];
        let endpoint = Endpoint::new(answers).await;
        let heard = Heard::default();
        let history = [Message::User { text: "book".into() }];
        let request = Request { messages: &history, tools: &[], listener: Some(&heard) };
        let turn = at_once(endpoint.model(wire, true), 5).respond(request).await.unwrap();
        assert_eq!((turn.usage.retries, turn.text.as_str()), (3, "One moment."), "{name}");
        assert_eq!(turn.tool_calls.len(), 2, "{name}");
        let heard = heard.0.into_inner().unwrap();
        let last = heard.iter().rposition(|piece| piece == "<discarded>").unwrap();
        assert_eq!(heard[last + 1..].concat(), "One moment.", "{name}");
        let bodies = endpoint.bodies();
        assert!(bodies.len() == 4 && bodies.iter().all(|body| *body == bodies[0]), "{name}");
        // Without a retry it is an error, not half an answer.
        for whole in [false, true] {
            let endpoint = Endpoint::new(vec![broken(name, whole)]).await;
            let error = endpoint.model(wire, true).respond(Request::new(&history, &[])).await.unwrap_err();
            assert_eq!(error.kind(), "broken_stream", "{name}");
        }
    }
}

#[tokio::test]
async fn statuses_that_can_pass_are_asked_again_and_others_are_told() {
    let history = [Message::User { text: "book".into() }];
    for (name, wire) in PROVIDERS {
        let busy = |status: u16| Sent::Whole(status, "retry-after: 0\r\n", "{}".into());
        let answers = vec![busy(429), busy(500), busy(529), done(name)];
        let endpoint = Endpoint::new(answers).await;
        let turn =
            at_once(endpoint.model(wire, false), 5).respond(Request::new(&history, &[])).await.unwrap();
        assert_eq!(turn.usage.retries, 3, "{name}");
        for (status, message, told) in [
            (
                401,
                "Incorrect API key provided: sk-secret",
                "the model endpoint answered 401: Incorrect API key provided: [key]",
            ),
            (400, "bad", "the model endpoint answered 400: bad"),
            (
                400,
                "prompt is too long: 9 tokens",
                "the model endpoint says that the request is too long for the model: prompt is too long: 9 tokens",
            ),
        ] {
            let body = json!({"error": {"message": message}}).to_string();
            let endpoint = Endpoint::new(vec![Sent::Whole(status, "", body)]).await;
            let asked = at_once(endpoint.model(wire, true), 5).respond(Request::new(&history, &[])).await;
            assert_eq!(asked.unwrap_err().to_string(), told, "{name}");
            assert_eq!(endpoint.bodies().len(), 1, "{name}");
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let settings = Settings { silence: Duration::from_millis(20), ..Settings::default() };
    let model = RemoteModel::new(CHAT, &url, Key::None, Identity::default(), settings).unwrap();
    // Connections are taken by the kernel, and nobody answers.
    let error = model.respond(Request::new(&[], &[])).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("nothing came"), "{error}");
    // Bound and not listening: nobody else is given the port.
    let nobody = tokio::net::TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = Url::parse(&format!("http://{}", nobody.local_addr().unwrap())).unwrap();
    let model = RemoteModel::new(CHAT, &url, Key::None, Identity::default(), Settings::default()).unwrap();
    let error = model.respond(Request::new(&[], &[])).await.unwrap_err();
    assert!(error.to_string().starts_with("the model endpoint cannot be reached: "), "{error}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn what_is_no_answer_is_an_error_and_not_an_empty_reply() {
    for (name, wire) in PROVIDERS {
        for body in ["", "hello", "[]", "{}", "null", "{\"choices\": [], \"content\": 1, \"candidates\": []}"]
        {
            let endpoint = Endpoint::new(vec![Sent::Whole(200, "", body.into())]).await;
            let answer = endpoint.model(wire, false).respond(Request::new(&[], &[])).await;
            assert_eq!(answer.unwrap_err().kind(), "malformed", "{name}: {body}");
        }
        let error = json!({"error": {"message": "Overloaded", "type": "overloaded_error"}});
        let error = match name {
            "messages" => json!({"type": "error", "error": error["error"]}),
            "responses" => json!({"type": "response.failed", "response": error}),
            _ => error,
        };
        let endpoint = Endpoint::new(vec![Sent::Stream(events(&[error]), true)]).await;
        let answer = endpoint.model(wire, true).respond(Request::new(&[], &[])).await;
        assert_eq!(answer.unwrap_err().kind(), "529", "{name}");
    }
}

#[tokio::test]
async fn calls_of_servers_that_number_them_badly_are_told_apart() {
    let call = |extra: Value, arguments: &str| {
        let mut call = json!({"function": {"name": "f", "arguments": arguments}});
        call.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
        json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": null}]})
    };
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    for streamed in [
        // Every call is number 0.
        vec![
            call(json!({"index": 0, "id": "a"}), "{\"n\":1}"),
            call(json!({"index": 0, "id": "b"}), "{\"n\":2}"),
        ],
        // None is numbered.
        vec![call(json!({"id": "a"}), "{\"n\":1}"), call(json!({"id": "b"}), "{\"n\":2}")],
        // The ids are those of an answer before.
        vec![
            call(json!({"index": 0, "id": "old"}), "{\"n\":1}"),
            call(json!({"index": 1, "id": ""}), "{\"n\":2}"),
        ],
    ] {
        let events = events(&[streamed, vec![end.clone()]].concat());
        let endpoint = Endpoint::new(vec![Sent::Stream(events, true)]).await;
        let old = ToolCall::new("old".into(), "f".into(), Object::new());
        let history = [Message::Assistant { text: String::new(), tool_calls: vec![old] }];
        let turn = endpoint.model(CHAT, true).respond(Request::new(&history, &[])).await.unwrap();
        let numbers: Vec<_> =
            turn.tool_calls.iter().map(|call| call.arguments["n"].as_u64().unwrap()).collect();
        assert_eq!(numbers, [1, 2]);
        let [first, second] = &turn.tool_calls[..] else { unreachable!() };
        assert!(first.id != second.id && first.id != "old" && !second.id.is_empty());
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_off_says_so() {
    for (name, wire, body) in [
        ("chat", CHAT, json!({"choices": [{"finish_reason": "length", "message": {"content": "One"}}]})),
        (
            "responses",
            RESPONSES,
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "One"}]}]}),
        ),
        (
            "messages",
            MESSAGES,
            json!({"content": [{"type": "text", "text": "One"}], "stop_reason": "max_tokens"}),
        ),
        (
            "gemini",
            GEMINI,
            json!({"candidates": [{"content": {"parts": [{"text": "One"}]}, "finishReason": "MAX_TOKENS"}]}),
        ),
    ] {
        let endpoint = Endpoint::new(vec![Sent::Whole(200, "", body.to_string())]).await;
        let turn = endpoint.model(wire, true).respond(Request::new(&[], &[])).await.unwrap();
        assert_eq!((turn.stop, turn.text.as_str()), (Stop::Length, "One"), "{name}");
    }
}
