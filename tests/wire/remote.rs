//! An upstream over HTTP: what it is told in headers, and what happens where HTTP fails.

use super::machine::{Port, nochmal};
use super::rig::{Rig, Wire, soon};
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_session_and_the_version_are_named_in_every_request_and_the_session_is_ended() {
    let mut rig = Rig::initialized(Wire::Stdio, Wire::Http, "2025-06-18").await;
    rig.down.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    let got = rig.up.http().next().await;
    assert_eq!(got.headers["mcp-session-id"], "the-server's");
    assert_eq!(got.headers["mcp-protocol-version"], "2025-06-18");
    assert!(!got.headers.contains_key("mcp-method"));
    rig.down_gets(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    rig.interrupt().await;
    let got = rig.up.http().any().await;
    assert_eq!(
        (got.method, &got.headers["mcp-session-id"]),
        (Method::DELETE, &"the-server's".parse().unwrap())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_2026_repeats_itself_in_headers() {
    let mut rig = Rig::with(Wire::Stdio, Wire::Http, &["--upstream-header", "Authorization: Bearer x"]).await;
    rig.down.say(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#)).await;
    let got = rig.up.http().next().await;
    assert_eq!(got.headers["authorization"], "Bearer x");
    assert_eq!(got.headers["mcp-method"], "tools/list");
    rig.down_gets(
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"büro","inputSchema":{"properties":{"to":{"type":"string","x-mcp-header":"To"}}}}]}}"#,
    )
    .await;
    rig.down
        .say(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"büro","arguments":{{"to":"x"}},{META}}}}}"#
        ))
        .await;
    let got = rig.up.http().next().await;
    assert_eq!(got.headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(got.headers["mcp-name"], "=?base64?YsO8cm8=?=");
    assert_eq!(got.headers["mcp-param-to"], "x");
    assert!(!got.headers.contains_key("mcp-session-id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_an_http_client_pass_and_the_sessions_stay_apart() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Http, "2025-11-25").await;
    let request =
        rig.down.http().request(Method::POST).header("authorization", "Bearer y").header("x-own", "1");
    let sent = request.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let sending = tokio::spawn(sent.send());
    let got = rig.up.http().next().await;
    assert_eq!(
        (&got.headers["authorization"], &got.headers["x-own"]),
        (&"Bearer y".parse().unwrap(), &"1".parse().unwrap())
    );
    assert_eq!(got.headers["mcp-session-id"], "the-server's");
    // This client sends no version, so none is sent for it.
    assert!(!got.headers.contains_key("mcp-protocol-version"));
    rig.up.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    let text = sending.await.unwrap().unwrap().text().await.unwrap();
    assert!(text.contains(r#"data: {"jsonrpc":"2.0","id":1,"result":{}}"#), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_in_the_middle_of_a_call_is_j7() {
    for down in [Wire::Stdio, Wire::Http] {
        let mut rig = Rig::initialized(down, Wire::Http, "2025-11-25").await;
        rig.up_gets(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#).await;
        rig.up.http().break_off("1");
        let told = rig.down.next().await;
        assert!(
            told.starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"#) && told.contains(r#""isError":true"#),
            "{told}"
        );
        rig.recorded("upstream_lost").await;
        // The session lives on.
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_with_event_ids_is_taken_up_again() {
    let mut rig = Rig::initialized(Wire::Stdio, Wire::Http, "2025-11-25").await;
    rig.up_gets(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#).await;
    rig.up.http().say_on("1", "\nid: e-5\nretry: 10\ndata: ");
    rig.up.http().break_off("1");
    let again = rig.up.http().any().await;
    assert_eq!((again.method, &again.headers["last-event-id"]), (Method::GET, &"e-5".parse().unwrap()));
    rig.up.http().say_on("GET", r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(rig.down.next().await, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_are_errors_over_stdio_and_statuses_over_http() {
    for down in [Wire::Stdio, Wire::Http] {
        let mut rig = Rig::initialized(down, Wire::Http, "2025-11-25").await;
        for (status, body, told) in [
            (404, "no session", r#""message":"the server answered with HTTP 404 Not Found: no session""#),
            (307, "", r#""message":"the server answered with HTTP 307 Temporary Redirect""#),
            (
                400,
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"m","data":1.0},"id":null}"#,
                r#"{"jsonrpc":"2.0","id":"s","error":{"code":-32000,"message":"m","data":1.0}}"#,
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let response =
                (status, [("location", "http://127.0.0.1:1/"), ("www-authenticate", "Bearer")], body);
            *rig.up.http().scripted.lock().unwrap() = Some(response.into_response());
            let ping = r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#;
            let text = if down == Wire::Stdio {
                rig.down.say(ping).await;
                rig.down.next().await
            } else {
                let sent = rig.down.http().request(Method::POST).body(ping).send().await.unwrap();
                assert_eq!(
                    (sent.status(), &sent.headers()["www-authenticate"]),
                    (status, &"Bearer".parse().unwrap())
                );
                sent.text().await.unwrap()
            };
            assert!(text.contains(told), "{text}");
            rig.up.http().next().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_told_and_not_waited_for() {
    let closed = Port::closed();
    let told = told_about(&format!("http://{}/mcp", closed.address())).await;
    assert!(told.contains("the connection to the server was lost"), "{told}");
}

/// What a client hears of its first call where no server can be reached at that address.
pub async fn told_about(url: &str) -> String {
    let mut child = tokio::process::Command::from(nochmal())
        .args(["proxy", "--probe", "off", "--upstream-url", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
    stdin.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = soon("an answer", lines.next_line()).await.unwrap().unwrap();
    drop(stdin);
    assert!(soon("the end", child.wait()).await.unwrap().success());
    told
}
