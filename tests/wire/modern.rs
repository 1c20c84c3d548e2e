//! MCP 2026-07-28: no session, every request for itself.

use super::rig::{ALL, Rig, Wire};

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;

fn request(id: &str, method: &str, params: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{{META}{meta}}}}}}}"#
    )
}

/// The id under which the upstream knows a request: over stdio, requests of several HTTP clients
/// share a process.
fn id_at(up: &str) -> String {
    let rest = up.split_once(r#""id":"#).unwrap().1;
    rest[..rest.find(',').unwrap()].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_results_pass_and_an_id_comes_back_as_it_was_given() {
    for (down, up) in ALL {
        let mut rig = Rig::new(down, up).await;
        let shared = (down, up) == (Wire::Http, Wire::Stdio);
        for (id, method, params) in [
            (r#""p-1""#, "server/discover", ""),
            ("1.0", "tools/list", ""),
            (
                "1",
                "tools/call",
                r#""name":"create_x","arguments":{"n":1.0,"big":1e400},"inputResponses":{"a":{}},"requestState":"s","#,
            ),
            ("1", "prompts/list", ""),
        ] {
            let sent = request(id, method, params, "");
            rig.down.say(&sent).await;
            let got = rig.up.next().await;
            let known = id_at(&got);
            assert_eq!(got, sent.replacen(&format!(r#""id":{id}"#), &format!(r#""id":{known}"#), 1));
            assert!(shared || known == id);
            let answer = |id: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":0,"x":1.0}}}}"#
                )
            };
            rig.up.say(&answer(&known)).await;
            assert_eq!(rig.down.next().await, answer(id), "{down:?} {up:?} {method}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_finds_the_request_that_asked_for_it() {
    for up in [Wire::Stdio, Wire::Http] {
        let mut rig = Rig::new(Wire::Http, up).await;
        let call = request("1", "tools/call", r#""name":"slow","#, r#","progressToken":"same""#);
        // Two clients that number their requests alike.
        rig.down.say(&call).await;
        let first = rig.up.next().await;
        if up == Wire::Stdio {
            rig.down.say(&call).await;
            let second = rig.up.next().await;
            let token = |text: &str| text.split_once(r#""progressToken":"#).unwrap().1[..1].to_owned();
            assert_ne!(token(&first), token(&second));
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}}"#,
                token(&second)
            );
            rig.up.say(&progress).await;
        } else {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"same","progress":1}}"#;
            rig.up.say_about("1", progress).await;
        }
        assert_eq!(
            rig.down.next().await,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"same","progress":1}}"#
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_stays_open_and_names_the_id_that_its_client_gave() {
    for (down, up) in ALL {
        let mut rig = Rig::new(down, up).await;
        rig.down.say(&request(r#""listen""#, "subscriptions/listen", r#""notifications":{},"#, "")).await;
        let id = id_at(&rig.up.next().await);
        for method in ["subscriptions/acknowledged", "tools/list_changed"] {
            let notification = |id: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
                )
            };
            rig.up.say_about(&id, &notification(&id)).await;
            assert_eq!(rig.down.next().await, notification(r#""listen""#));
        }
        // It holds up nothing.
        rig.down.say(&request("2", "tools/list", "", "")).await;
        let known = id_at(&rig.up.next().await);
        rig.up.say(&format!(r#"{{"jsonrpc":"2.0","id":{known},"result":{{"tools":[]}}}}"#)).await;
        assert_eq!(rig.down.next().await, r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
        let end = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )
        };
        rig.up.say(&end(&id)).await;
        assert_eq!(rig.down.next().await, end(r#""listen""#));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_stream_cancels_the_call() {
    for up in [Wire::Stdio, Wire::Http] {
        let mut rig = Rig::new(Wire::Http, up).await;
        let call = request("9", "tools/call", r#""name":"t","#, "");
        let sending = rig
            .down
            .http()
            .request(axum::http::Method::POST)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "t")
            .body(call);
        let sending = tokio::spawn(sending.send());
        let id = id_at(&rig.up.next().await);
        // Where the answer has begun already, it is the handle that holds the stream.
        sending.abort();
        drop(sending);
        rig.recorded("call_cancelled").await;
        match up {
            Wire::Stdio => {
                let got = rig.up.next().await;
                assert!(
                    got.contains("notifications/cancelled") && got.contains(&format!(r#""requestId":{id}"#))
                );
            }
            Wire::Http | Wire::Https => rig.up.http().closed(&id).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_over_stdio_closes_the_stream_of_an_upstream_over_http() {
    let mut rig = Rig::new(Wire::Stdio, Wire::Http).await;
    rig.up_gets(&request("9", "tools/call", r#""name":"t","#, "")).await;
    rig.down.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#).await;
    rig.up.http().closed("9").await;
    rig.recorded("call_cancelled").await;
}
