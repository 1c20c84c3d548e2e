//! The built-in agent as a process, and the scripted models behind their endpoint.
#![expect(clippy::unwrap_used, reason = "what only tests use is a test, too")]

#[path = "harness/answers.rs"]
mod answers;
#[path = "rig/machine.rs"]
mod machine;
#[path = "harness/repl.rs"]
mod repl;
#[path = "harness/servers.rs"]
mod servers;
#[path = "harness/sessions.rs"]
mod sessions;

use machine::{NOCHMAL, runs, until};
use nochmal::harness::endpoint;
use nochmal::upstream::builtin::ledger;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const PROMPT: &str = "Please book room 12 for Ada Lovelace on 2026-12-03.";

fn nochmal(args: &[&str]) -> Command {
    let mut command = Command::from(machine::nochmal());
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// An agent in session mode in front of a hotel.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    ledger: PathBuf,
    _folder: tempfile::TempDir,
}

impl Agent {
    fn start(model: &str, hotel: &[&str], flags: &[&str]) -> Agent {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.jsonl");
        let config = folder.path().join("mcp.json");
        let mut args = vec!["upstream", "booking", "--ledger", ledger.to_str().unwrap()];
        args.extend(hotel);
        let servers = json!({"mcpServers": {"hotel": {"command": NOCHMAL, "args": args}}});
        std::fs::write(&config, servers.to_string()).unwrap();
        let mut child = nochmal(&["agent", "--model", model, "--protocol", "jsonl"])
            .args(["--mcp-config", config.to_str().unwrap()])
            .args(flags)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Agent { stdin: child.stdin.take(), child, lines, ledger, _folder: folder }
    }

    async fn line(&mut self, line: &str) -> Value {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn say(&mut self, text: &str) -> String {
        let answer = self.line(&json!({"type": "user", "text": text}).to_string()).await;
        assert_eq!(answer["type"], "reply", "{answer}");
        assert_eq!(answer["usage"]["unit"], "words");
        assert!(answer["usage"]["input_tokens"].as_u64().unwrap() > 0);
        answer["text"].as_str().unwrap().to_owned()
    }

    /// Waits until the servers are there: only then is a line answered.
    async fn ready(&mut self) {
        assert_eq!(self.line("{}").await["type"], "error");
    }

    fn bookings(&self) -> usize {
        ledger::read(&self.ledger).unwrap().len()
    }

    async fn end(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().await.unwrap()
    }
}

#[tokio::test]
async fn two_turns_of_one_session_book_once() {
    for script in ["script:careful", "script:naive", "script:obedient", "script:random:0.5"] {
        let mut agent = Agent::start(script, &[], &[]);
        let reply = agent.say(PROMPT).await;
        assert!(reply.starts_with("Booked: "), "{reply}");
        let reply = agent.say("bitte nochmal").await;
        assert!(reply.starts_with("Already done"), "{reply}");
        assert!(agent.end().await.success());
        assert_eq!(agent.bookings(), 1);
    }
}

/// Holds the hotel's ledger while the agent books, so that the answer comes too late: the
/// booking is carried out, and the agent was told of a timeout.
async fn ghost_write(model: &str, hotel: &[&str]) -> (Agent, String) {
    let mut agent = Agent::start(model, hotel, &["--tool-timeout", "10s"]);
    agent.ready().await;
    let held = File::options().write(true).open(&agent.ledger).unwrap();
    held.lock().unwrap();
    let reply = agent.say(PROMPT).await;
    assert_eq!(agent.bookings(), 0);
    held.unlock().unwrap();
    until("the late booking", || agent.bookings() > 0);
    (agent, reply)
}

#[tokio::test]
async fn obedient_books_twice_when_the_user_insists_on_a_late_booking() {
    let (mut agent, reply) = ghost_write("script:obedient", &[]).await;
    assert!(reply.starts_with("The booking failed: The tool did not answer within 10 s."), "{reply}");
    let reply = agent.say("bitte nochmal versuchen").await;
    assert!(reply.starts_with("Booked: "), "{reply}");
    assert!(agent.end().await.success());
    assert_eq!(agent.bookings(), 2);
}

#[tokio::test]
async fn careful_finds_a_late_booking_and_leaves_it_at_that() {
    let (mut agent, reply) = ghost_write("script:careful", &[]).await;
    assert!(reply.starts_with("I cannot tell whether"), "{reply}");
    let reply = agent.say("bitte nochmal versuchen").await;
    assert!(reply.starts_with("Booked: "), "{reply}");
    assert!(agent.end().await.success());
    assert_eq!(agent.bookings(), 1);
}

#[tokio::test]
async fn careful_without_a_search_does_not_repeat() {
    let (mut agent, _) = ghost_write("script:careful", &["--search", "false"]).await;
    let reply = agent.say("bitte nochmal versuchen").await;
    assert!(reply.starts_with("I cannot tell whether"), "{reply}");
    assert!(agent.end().await.success());
    assert_eq!(agent.bookings(), 1);
}

#[tokio::test]
async fn one_prompt_is_answered_as_text_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("led ger.jsonl");
    let hotel = format!("hotel={NOCHMAL} upstream booking --ledger '{}'", ledger.display());
    let flags = ["agent", "--provider", "script:careful", "--mcp", &hotel, "--prompt", PROMPT];
    let output = nochmal(&flags).output().await.unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("Booked: "));
    let output = nochmal(&flags).args(["--json", "--mcp-handshake", "auto"]).output().await.unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["reply"].as_str().unwrap().starts_with("Booked: "));
    assert_eq!(answer["usage"]["unit"], "words");
    assert_eq!(ledger::read(&ledger).unwrap().len(), 2);
}

#[tokio::test]
async fn a_seed_reaches_the_generator() {
    // Bookings of a room that does not exist are refused every time: a choice each.
    let play = |seed: u32| async move {
        let mut agent = Agent::start("script:random:0.5", &[], &["--seed", &seed.to_string()]);
        let mut words = 0;
        for text in
            ["Please book room 99 for Ada Lovelace on 2026-12-03.", "again", "again", "again", "again"]
        {
            let answer = agent.line(&json!({"type": "user", "text": text}).to_string()).await;
            words = words * 1000 + answer["usage"]["output_tokens"].as_u64().unwrap();
        }
        agent.end().await;
        assert_eq!(agent.bookings(), 0);
        words
    };
    let mut seen = Vec::new();
    for seed in 0..6 {
        let first = play(seed).await;
        if seed == 0 {
            assert_eq!(play(seed).await, first);
        }
        seen.push(first);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 2, "{seen:?}");
}

#[tokio::test]
async fn what_cannot_start_is_told_with_its_reason() {
    for (flags, code, reason) in [
        (&["--model", "script:carefull"][..], 2, "did you mean \"careful\"?"),
        (&["--model", "careful"], 2, "--model PROVIDER:NAME"),
        (&["--model", "script:careful", "--mcp", "hotel"], 2, "--mcp takes NAME=COMMAND LINE"),
        (&["--model", "script:careful", "--mcp", "h=/no/such/program"], 1, "cannot start /no/such/program"),
        (&["--model", "script:careful", "--mcp", "h=sh -c 'echo broken >&2; exit 3'"], 1, "broken"),
    ] {
        let output = nochmal(&["agent", "--prompt", "x"]).args(flags).output().await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(reason), "{stderr}");
        assert_eq!(output.status.code(), Some(code));
    }
    let output =
        nochmal(&["agent", "--model", "script:careful", "--protocol", "jsonl", "--mcp", "h=/no/such"])
            .output()
            .await
            .unwrap();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["type"], "error");
}

/// A hotel that starts something of its own; the numbers of both processes are in the files.
fn hotel_with_a_child(folder: &Path) -> String {
    let script = format!(
        "sleep 1000 & echo $! > {0}/child; echo $$ > {0}/server; exec {NOCHMAL} upstream booking",
        folder.display()
    );
    format!("hotel=sh -c '{script}'")
}

#[tokio::test]
async fn servers_are_ended_with_all_they_started() {
    for end in [None, Some((Signal::TERM, 143)), Some((Signal::INT, 130))] {
        let folder = tempfile::tempdir().unwrap();
        let hotel = hotel_with_a_child(folder.path());
        let mut agent =
            Agent::start("script:careful", &[], &["--mcp", &hotel.replacen("hotel", "second", 1)]);
        agent.ready().await;
        let pid = |name: &str| -> i32 {
            std::fs::read_to_string(folder.path().join(name)).unwrap().trim().parse().unwrap()
        };
        assert!(runs(pid("server")) && runs(pid("child")));
        let status = match end {
            None => agent.end().await,
            Some((signal, _)) => {
                let id = i32::try_from(agent.child.id().unwrap()).unwrap();
                kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
                agent.child.wait().await.unwrap()
            }
        };
        assert_eq!(status.code(), Some(end.map_or(0, |(_, code)| code)));
        until("the end of all that the server started", || !runs(pid("server")) && !runs(pid("child")));
    }
}

/// One HTTP/1.1 exchange: status and body.
async fn post(address: &str, path: &str, body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn request(model: &str, messages: Value) -> Value {
    let tool = json!({"type": "function", "function": {"name": "create_booking", "parameters": {
        "type": "object", "properties": {"guest": {"type": "string"}, "room": {"type": "integer"}},
        "required": ["guest", "room"]}}});
    json!({"model": model, "messages": messages, "tools": [tool], "tool_choice": "auto"})
}

#[tokio::test]
async fn the_endpoint_plays_a_script_from_the_messages_alone() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let mut child = nochmal(&["model", "--log", log.to_str().unwrap()]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.next_line().await.unwrap().unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();

    let mut messages = json!([{"role": "user", "content": PROMPT}]);
    let (status, body) =
        post(address, "/v1/chat/completions", &request("script:obedient", messages.clone())).await;
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_str(&body).unwrap();
    let message = answer["choices"][0]["message"].clone();
    assert_eq!(message["tool_calls"][0]["function"]["name"], "create_booking");
    let list = messages.as_array_mut().unwrap();
    list.push(message.clone());
    list.push(json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Request timed out"}));
    let (_, body) = post(address, "/v1/chat/completions", &request("obedient", messages.clone())).await;
    assert!(body.contains("The booking failed: Request timed out."), "{body}");

    let mut streamed = request("naive", messages);
    streamed["stream"] = true.into();
    let (_, body) = post(address, "/v1/chat/completions", &streamed).await;
    assert!(body.contains("data: ") && body.contains("create_booking") && body.contains("[DONE]"), "{body}");
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 3);

    let id = i32::try_from(child.id().unwrap()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_endpoint_fails_as_the_models_name_says() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(endpoint::serve(listener, endpoint::Options::default(), async {
        let _ = stopped.await;
    }));
    for (model, expected) in [("error:401", 401), ("error:429", 429), ("error:500", 500), ("gpt-x", 404)] {
        let (status, body) = post(&address, "/v1/chat/completions", &request(model, json!([]))).await;
        assert_eq!(status, expected);
        assert!(serde_json::from_str::<Value>(&body).unwrap()["error"]["message"].is_string());
    }
    let (status, _) = post(&address, "/v1/chat/completions", &json!({"model": "naive"})).await;
    assert_eq!(status, 400);
    // A request that hangs is let go when the endpoint ends.
    let hanging = tokio::spawn({
        let address = address.clone();
        async move { post(&address, "/v1/chat/completions", &request("hang", json!([]))).await }
    });
    let (status, _) = post(&address, "/chat/completions", &request("naive", json!([]))).await;
    assert_eq!(status, 200);
    assert!(!hanging.is_finished());
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    assert!(!matches!(hanging.await, Ok((200, _))));
}
