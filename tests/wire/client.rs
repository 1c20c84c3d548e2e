//! A real client library before the built-in booking desk: stdio and HTTP, both eras of MCP.

use super::machine::{NOCHMAL, nochmal};
use super::rig::{http_client, url_of};
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::process::{Child, Command};

struct Desk {
    folder: tempfile::TempDir,
    child: Child,
}

impl Desk {
    fn start(flags: &[&str]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.jsonl");
        let child = Command::from(nochmal())
            .args(["proxy", "--audit-tools", "off", "--upstream-command", NOCHMAL])
            .args(["--upstream-args", "upstream,booking"])
            .arg(format!("--upstream-arg=--ledger={}", ledger.display()))
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Desk { folder, child }
    }

    fn bookings(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.path().join("ledger.jsonl")).unwrap_or_default();
        text.lines().count()
    }
}

fn over(url: &str) -> StreamableHttpClientTransport<reqwest::Client> {
    let config = StreamableHttpClientTransportConfig::with_uri(url.to_owned());
    StreamableHttpClientTransport::with_client(http_client(), config)
}

async fn book(client: &RunningService<RoleClient, ClientConfig>, room: u32) -> CallToolResult {
    let arguments: Value = json!({"guest": "Ada", "room": room, "date": "2026-12-03"});
    let arguments = arguments.as_object().cloned().unwrap();
    let call = CallToolRequestParams::new("create_booking").with_arguments(arguments);
    client.call_tool(call).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_library_sees_the_server_and_not_the_proxy() {
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for mode in [ClientLifecycleMode::Initialize, discover] {
        let mut desk = Desk::start(&[]);
        let wires = (desk.child.stdout.take().unwrap(), desk.child.stdin.take().unwrap());
        let client = ClientConfig::default().serve_with_lifecycle(wires, mode.clone()).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
        assert_ne!(book(&client, 12).await.is_error, Some(true));
        client.cancel().await.unwrap();
        assert!(desk.child.wait().await.unwrap().success());
        assert_eq!(desk.bookings(), 1);

        let mut desk = Desk::start(&["--listen", "127.0.0.1:0"]);
        let url = url_of(&mut desk.child).await;
        let transport = over(&url);
        let client = ClientConfig::default().serve_with_lifecycle(transport, mode).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
        assert_ne!(book(&client, 12).await.is_error, Some(true));
        client.cancel().await.unwrap();
        assert_eq!(desk.bookings(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_clients_have_sessions_of_their_own_in_one_run() {
    let mut desk = Desk::start(&["--listen", "127.0.0.1:0", "--scenario", "F5"]);
    let url = url_of(&mut desk.child).await;
    let mut told = Vec::new();
    let mut clients = Vec::new();
    for room in 11..14 {
        let transport = over(&url);
        let client = ClientConfig::default().serve(transport).await.unwrap();
        told.push(book(&client, room).await.is_error == Some(true));
        clients.push(client);
    }
    // The scenario is armed once for the run, whoever comes.
    assert_eq!(told.iter().filter(|told| **told).count(), 1, "{told:?}");
    for client in clients {
        client.cancel().await.unwrap();
    }
}
