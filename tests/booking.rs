//! `nochmal upstream booking` as a process, spoken to by an MCP client.
#![expect(clippy::unwrap_used, reason = "what only tests use is a test, too")]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::upstream::builtin::ledger::{self, LedgerEntry};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn ledger(&self) -> PathBuf {
        self.0.path().join("ledger.jsonl")
    }

    fn entries(&self) -> Vec<LedgerEntry> {
        ledger::read(&self.ledger()).unwrap()
    }
}

fn start(ledger: &Path, flags: &[&str]) -> (Child, ChildStdout, ChildStdin) {
    let mut child = Command::from(machine::nochmal())
        .args(["upstream", "booking", "--ledger"])
        .arg(ledger)
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, stdout, stdin)
}

struct Client {
    service: RunningService<RoleClient, ClientConfig>,
    child: Child,
}

impl Client {
    async fn open(ledger: &Path, flags: &[&str], lifecycle: ClientLifecycleMode) -> Client {
        let (child, stdout, stdin) = start(ledger, flags);
        let service = ClientConfig::default().serve_with_lifecycle((stdout, stdin), lifecycle).await.unwrap();
        Client { service, child }
    }

    async fn legacy(ledger: &Path, flags: &[&str]) -> Client {
        Client::open(ledger, flags, ClientLifecycleMode::Initialize).await
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let arguments = arguments.as_object().cloned().unwrap();
        self.service.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
    }

    /// The answer of a call that must succeed, as JSON.
    async fn done(&self, tool: &'static str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{result:?}");
        serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap()
    }

    async fn tools(&self) -> Vec<String> {
        self.service.list_all_tools().await.unwrap().iter().map(|tool| tool.name.to_string()).collect()
    }

    /// Closes the server's stdin; it must end by itself.
    async fn end(mut self) {
        self.service.close().await.unwrap();
        assert!(self.child.wait().await.unwrap().success());
    }
}

fn ada() -> Value {
    json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"})
}

#[tokio::test]
async fn the_same_booking_twice_is_two_records_in_the_ledger() {
    let folder = Folder::new();
    let client = Client::legacy(&folder.ledger(), &[]).await;
    assert_eq!(client.tools().await, ["create_booking", "get_booking", "find_bookings", "cancel_booking"]);
    let first = client.done("create_booking", ada()).await;
    assert_eq!(folder.entries().len(), 1, "the line is there before the answer");
    client.done("create_booking", ada()).await;
    let found = client.done("find_bookings", json!({"guest": "Ada Lovelace"})).await;
    assert_eq!(found["bookings"].as_array().unwrap().len(), 2);
    client.end().await;
    let entries = folder.entries();
    assert_eq!(entries.iter().map(|entry| entry.n).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(entries[0].effect, "create_booking");
    assert_eq!(Value::Object(entries[0].record.clone()), first);
    assert_eq!(Value::Object(entries[0].arguments.clone()), ada());
}

#[tokio::test]
async fn a_refused_booking_is_an_error_result_and_no_record() {
    let folder = Folder::new();
    let client = Client::legacy(&folder.ledger(), &[]).await;
    let result = client.call("create_booking", json!({"guest": "A", "room": 41, "date": "2026-12-03"})).await;
    assert_eq!(result.is_error, Some(true));
    assert_eq!(result.content[0].as_text().unwrap().text, "There is no room 41; the rooms are 1 to 40");
    client.end().await;
    assert!(folder.entries().is_empty());
}

#[tokio::test]
async fn state_and_ids_survive_a_restart() {
    let folder = Folder::new();
    for expected in ["BK-1001", "BK-1002"] {
        let client = Client::legacy(&folder.ledger(), &[]).await;
        assert_eq!(client.done("create_booking", ada()).await["booking_id"], expected);
        client.end().await;
    }
    let client = Client::legacy(&folder.ledger(), &[]).await;
    client.done("cancel_booking", json!({"booking_id": "BK-1001"})).await;
    client.end().await;
    let client = Client::legacy(&folder.ledger(), &[]).await;
    let record = client.done("get_booking", json!({"booking_id": "BK-1001"})).await;
    assert_eq!(record["status"], "cancelled");
    client.end().await;
    assert_eq!(folder.entries().len(), 3);
}

#[tokio::test]
async fn two_processes_on_one_ledger_book_side_by_side() {
    let folder = Folder::new();
    let (one, two) =
        (Client::legacy(&folder.ledger(), &[]).await, Client::legacy(&folder.ledger(), &[]).await);
    let calls = (0..20).map(|at| if at % 2 == 0 { &one } else { &two });
    let mut ids = Vec::new();
    let mut running = Vec::new();
    for client in calls {
        let peer = client.service.peer().clone();
        running.push(tokio::spawn(async move {
            let params = CallToolRequestParams::new("create_booking")
                .with_arguments(ada().as_object().cloned().unwrap());
            peer.call_tool(params).await.unwrap()
        }));
    }
    for call in running {
        let record: Value =
            serde_json::from_str(&call.await.unwrap().content[0].as_text().unwrap().text).unwrap();
        ids.push(record["booking_id"].as_str().unwrap().to_owned());
    }
    one.end().await;
    two.end().await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert_eq!(
        folder.entries().iter().map(|entry| entry.n).collect::<Vec<_>>(),
        (1..=20).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn with_a_key_a_repetition_writes_nothing_even_after_a_restart() {
    let folder = Folder::new();
    let mut keyed = ada();
    keyed["idempotency_key"] = "k".into();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let client = Client::legacy(&folder.ledger(), &["--idempotent", "true", "--search", "false"]).await;
        assert_eq!(client.tools().await, ["create_booking", "get_booking", "cancel_booking"]);
        answers.push(client.done("create_booking", keyed.clone()).await);
        client.end().await;
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(folder.entries().len(), 1);
}

#[tokio::test]
async fn a_client_without_a_handshake_is_served() {
    let folder = Folder::new();
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = Client::open(&folder.ledger(), &[], discover).await;
    assert_eq!(client.done("create_booking", ada()).await["booking_id"], "BK-1001");
    client.end().await;
}

#[tokio::test]
async fn every_version_with_a_handshake_is_served() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let folder = Folder::new();
        let (mut child, stdout, mut stdin) = start(&folder.ledger(), &[]);
        let mut lines = BufReader::new(stdout).lines();
        let initialize = json!({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
        stdin.write_all(format!("{initialize}\n").as_bytes()).await.unwrap();
        let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "hotel-front-desk");
        let rest = [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                   "params": {"name": "create_booking", "arguments": ada()}}),
        ];
        for message in rest {
            stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], 7);
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("BK-1001"));
        drop(stdin);
        assert!(child.wait().await.unwrap().success());
        assert_eq!(folder.entries().len(), 1);
    }
}
