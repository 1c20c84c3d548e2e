//! `nochmal proxy --listen`: Streamable HTTP as a server must speak it.

use super::machine::{NOCHMAL, nochmal};
use super::rig::{HttpDown, Rig, Wire, soon, url_of};
use axum::http::Method;
use reqwest::RequestBuilder;
use tokio::io::AsyncReadExt;
use tokio::io::AsyncWriteExt;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_are_those_of_the_protocol() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, "2025-11-25").await;
    let down = rig.down.http();
    let url = down.url.clone();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"));
    let bare = |method: Method| down.client.request(method, &url);
    let post = |body: &'static str| bare(Method::POST).body(body);

    assert_eq!(status(post(PING)).await, 400, "no session");
    assert_eq!(status(post(PING).header("mcp-session-id", "x")).await, 404, "unknown session");
    assert_eq!(status(bare(Method::GET)).await, 405);
    assert_eq!(status(bare(Method::GET).header("mcp-session-id", "x")).await, 404);
    assert_eq!(status(bare(Method::DELETE)).await, 405);
    assert_eq!(status(bare(Method::PUT)).await, 405);
    assert_eq!(status(post("{")).await, 400);
    assert_eq!(status(down.request(Method::POST).body("{")).await, 400);
    assert_eq!(
        status(down.request(Method::POST).header("origin", "http://example.com").body(PING)).await,
        403
    );
    assert_eq!(status(down.request(Method::POST).header("host", "example.com").body(PING)).await, 403);
    assert_eq!(status(post(PING).header("accept", "text/html")).await, 406);
    assert_eq!(
        status(down.request(Method::POST).header("mcp-protocol-version", "soon").body(PING)).await,
        400
    );
    let notified = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let accepted = down.request(Method::POST).header("origin", "http://localhost:3000").body(notified);
    assert_eq!(status(accepted).await, 202);
    assert_eq!(rig.up.next().await, notified);
    assert_eq!(status(rig.down.http().request(Method::DELETE)).await, 200);
    assert_eq!(status(rig.down.http().request(Method::POST).body(PING)).await, 404, "ended session");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_an_object_unless_something_comes_before_it() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, "2025-11-25").await;
    for (accept, kind) in [
        ("application/json, text/event-stream", "application/json"),
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("*/*", "application/json"),
    ] {
        let session = rig.down.http().session.lock().unwrap().clone().unwrap();
        let down = rig.down.http();
        let request = down.client.post(&down.url).header("mcp-session-id", session);
        let sending = tokio::spawn(request.header("accept", accept).body(PING).send());
        assert_eq!(rig.up.next().await, PING);
        rig.up.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
        let response = sending.await.unwrap().unwrap();
        assert_eq!(response.headers()["content-type"], kind, "{accept}");
        assert!(response.text().await.unwrap().contains(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_2026_must_say_what_the_body_says_and_errors_have_their_status() {
    let mut rig = Rig::new(Wire::Http, Wire::Stdio).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let request = |down: &Rig, method: &'static str| match &down.down {
        super::rig::Down::Http(down) => {
            let request = down.request(Method::POST).header("mcp-protocol-version", "2026-07-28");
            request.header("mcp-method", method).body(body)
        }
        super::rig::Down::Stdio { .. } => unreachable!(),
    };
    let refused = request(&rig, "other").send().await.unwrap();
    assert_eq!(refused.status(), 400);
    assert!(refused.text().await.unwrap().contains("-32020"));
    let sending = tokio::spawn(request(&rig, "x/y").send());
    let got = rig.up.next().await;
    let id = &got.split_once(r#""id":"#).unwrap().1[..1];
    rig.up.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"m"}}}}"#)).await;
    assert_eq!(sending.await.unwrap().unwrap().status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_connection_cancels_nothing_in_a_session() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, "2025-11-25").await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
    let sending = tokio::spawn(rig.down.http().request(Method::POST).body(call).send());
    assert_eq!(rig.up.next().await, call);
    sending.abort();
    let _ = sending.await;
    rig.exchange(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)
        .await;
    rig.up.say(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).await;
    rig.recorded("upstream_answered").await;
    assert_eq!(rig.count("call_cancelled"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn r8_a_signal_ends_the_proxy_after_its_open_calls() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, "2025-11-25").await;
    rig.up_gets(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#).await;
    let pid = rig.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    rig.recorded("client_disconnected").await;
    rig.down_gets(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).await;
    assert_eq!(rig.ended().await, Some(0));
    assert_eq!(rig.count("closed"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_any_headers_is_served() {
    let mut rig = Rig::new(Wire::Http, Wire::Stdio).await;
    let url = rig.down.http().url.clone();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{hello}", hello.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(rig.up.next().await, hello);
    rig.up.say(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26"}}"#).await;
    let mut bytes = vec![0; 4096];
    let got = stream.read(&mut bytes).await.unwrap();
    let text = String::from_utf8_lossy(&bytes[..got]).to_lowercase();
    assert!(text.starts_with("http/1.1 200") && text.contains("mcp-session-id: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_is_taken_up_again_after_its_last_event() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, "2025-11-25").await;
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}"#;
    let step = |n: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":{n}}}}}"#
        )
    };
    let sending = tokio::spawn(rig.down.http().request(Method::POST).body(call).send());
    assert_eq!(rig.up.next().await, call);
    rig.up.say(&step(1)).await;
    let mut response = sending.await.unwrap().unwrap();
    let mut text = String::new();
    while !text.contains("progress") {
        text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids.len(), 2, "the first tells nothing but its id: {text}");
    drop(response);
    rig.up.say(&step(2)).await;
    rig.up.say(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).await;
    rig.recorded("upstream_answered").await;
    let again = rig.down.http().request(Method::GET).header("last-event-id", ids[1]).send().await.unwrap();
    let rest = again.text().await.unwrap();
    let data: Vec<&str> = rest.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data, [step(2).as_str(), r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#]);
}

/// A session that nobody uses ends, and its upstream with it. One with a call under way, which has been quiet for
/// longer, does not; and nothing that was seen is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_nobody_uses_ends_and_one_with_a_call_under_way_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let mut command = tokio::process::Command::from(nochmal());
    let upstream =
        ["upstream".to_owned(), "booking".to_owned(), format!("--ledger={}", file("ledger.jsonl"))];
    command.args(["proxy", "--listen", "127.0.0.1:0", "--session-timeout", "10s"]);
    // The answer to the booking is held back.
    command.args(["--scenario", "T4", "--late", "10m", "--trace", &file("trace.jsonl")]);
    command.args(["--report-file", &file("report.json"), "--upstream-command", NOCHMAL]);
    for argument in &upstream {
        command.arg(format!("--upstream-arg={argument}"));
    }
    let mut child = command.stderr(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let url = url_of(&mut child).await;
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let come = async || {
        let down = HttpDown::new(url.clone());
        let response = down.request(Method::POST).body(hello).send().await.unwrap();
        *down.session.lock().unwrap() =
            Some(response.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        response.text().await.unwrap();
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(status(down.request(Method::POST).body(ready)).await, 202);
        down
    };
    let trace = || std::fs::read_to_string(dir.path().join("trace.jsonl")).unwrap_or_default();
    let recorded = async |event: &str| {
        soon(event, async {
            while !trace().contains(event) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        })
        .await;
    };
    let busy = come().await;
    let book = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_booking","arguments":{"room":12,"guest":"Ada","date":"2026-12-03"}}}"#;
    let calling = tokio::spawn(busy.request(Method::POST).body(book).send());
    recorded("\"upstream_answered\"").await;
    let idle = come().await;
    recorded("\"client_disconnected\"").await;
    // Its own process ended, and the other one did not.
    recorded("\"upstream_ended\"").await;
    let ended =
        |connection: u64| trace().contains(&format!(r#""client_disconnected":{{"connection":{connection}"#));
    assert!(ended(2) && !ended(1), "{}", trace());
    assert!(trace().contains("a session that nobody had used for 10 s was ended"));
    let gone = idle.request(Method::POST).body(PING).send().await.unwrap();
    assert_eq!(gone.status(), 404);
    assert!(gone.text().await.unwrap().contains("-32001"));
    assert_eq!(status(busy.request(Method::POST).body(PING)).await, 200);
    assert_eq!(status(come().await.request(Method::DELETE)).await, 200);
    recorded(r#""client_disconnected":{"connection":3"#).await;
    let pid = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(soon("the end", child.wait()).await.unwrap().code(), Some(0));
    calling.abort();
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("report.json")).unwrap()).unwrap();
    assert_eq!(report["report"]["coverage"]["calls"]["write"], 1, "{report}");
}
