//! Sessions with a handshake, in all four combinations of stdio and HTTP.

use super::rig::{ALL, Rig, Wire};

const LATEST: &str = "2025-11-25";

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_message_passes_to_the_letter_in_both_directions() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.exchange(
            r#"{"id":"server-discover-probe-1","jsonrpc":"2.0","method":"server/discover","params":{"_meta":{"a/b":[1.0,1e400,-0]}}}"#,
            r#"{"error":{"message":"Method not found","code":-32601,"data":{"z":1,"a":null}},"id":"server-discover-probe-1","jsonrpc":"2.0"}"#,
        )
        .await;
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":18446744073709551617,"method":"tools/list","params":{"cursor":"p\u0032"},"extra":{"ü":"\ud83d\ude00"}}"#,
            r#"{"jsonrpc":"2.0","id":18446744073709551617,"result":{"tools":[{"name":"create_x","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"},"x":null}],"nextCursor":"p3","ttlMs":1.50}}"#,
        )
        .await;
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_x","arguments":{"":0.10,"__proto__":{"n":123456789012345678901234567890},"a":1e400},"_meta":{"progressToken":"t/1","vendor/x":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":1.000,"b":null},"content":[{"type":"text","text":"\u0000x","annotations":{"audience":["user"]}}],"_meta":{"k":[]},"isError":false,"unknown":1}}"#,
        )
        .await;
        for method in [
            "resources/read",
            "resources/templates/list",
            "prompts/list",
            "completion/complete",
            "ping",
            "x/y",
        ] {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":"{method}","method":"{method}","params":{{"uri":"a:b"}}}}"#
            );
            let answer =
                format!(r#"{{"jsonrpc":"2.0","id":"{method}","result":{{"m":"{method}","contents":[]}}}}"#);
            rig.exchange(&request, &answer).await;
        }
        for method in ["sampling/createMessage", "elicitation/create", "roots/list"] {
            rig.down_gets(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"messages":[],"maxTokens":1e2}}}}"#
            ))
            .await;
            rig.up_gets(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"of":"{method}","content":{{"x":1.0}}}}}}"#
            ))
            .await;
        }
        rig.down_gets(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":01e0}}}"#.replace("01e0", "1e0").as_str()).await;
        rig.up_gets(
            r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":{"q":1}}}"#,
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_before_its_answer_and_keeps_its_numbers() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.up_gets(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":7}}}"#).await;
        for step in 1..=5 {
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,"progress":{step},"total":5.0}}}}"#
            );
            rig.up.say_about("7", &progress).await;
        }
        rig.up.say(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#).await;
        for step in 1..=5 {
            assert!(rig.down.next().await.contains(&format!(r#""progress":{step},"#)), "{down:?} {up:?}");
        }
        assert_eq!(rig.down.next().await, r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_slow_call_holds_up_no_other() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.up_gets(r#"{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"slow"}}"#).await;
        for n in 0..50 {
            let request =
                format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"quick"}}}}"#);
            rig.exchange(&request, &format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"content":[]}}}}"#))
                .await;
        }
        rig.down_gets(r#"{"jsonrpc":"2.0","id":"slow","result":{"content":[]}}"#).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_and_huge_messages_pass() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        let deep = format!("{}1{}", r#"{"a":["#.repeat(200), "]}".repeat(200));
        let huge = "ü€x".repeat(50_000_000 / 6);
        for value in [deep, format!("\"{huge}\"")] {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"t","arguments":{{"v":{value}}}}}}}"#
            );
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":5,"result":{{"content":[],"structuredContent":{{"v":{value}}}}}}}"#
            );
            rig.exchange(&request, &answer).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_what_was_answered_already_passes_and_settles_nothing() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#,
        )
        .await;
        rig.up_gets(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"done"}}"#).await;
        rig.exchange(
            r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
        )
        .await;
        assert_eq!(rig.count("call_cancelled"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_cancelled_upstream_and_its_late_answer_passes() {
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.up_gets(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t"}}"#).await;
        rig.up_gets(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#).await;
        rig.recorded("call_cancelled").await;
        rig.down_gets(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_id_given_twice_is_answered_twice() {
    for (down, up) in [(Wire::Stdio, Wire::Stdio), (Wire::Http, Wire::Stdio)] {
        let mut rig = Rig::initialized(down, up, LATEST).await;
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
        rig.up_gets(request).await;
        rig.up_gets(request).await;
        rig.down_gets(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"n":1}}"#).await;
        rig.down_gets(r#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[],"n":2}}"#).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_taken_apart_where_the_version_has_them_and_refused_elsewhere() {
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":1.0}}}"#;
    let two = r#"{"jsonrpc":"2.0","id":"b","method":"ping"}"#;
    let batch = format!("[{one}, {two}]");
    for (down, up) in ALL {
        let mut rig = Rig::initialized(down, up, "2025-03-26").await;
        rig.down.say(&batch).await;
        let mut got = [rig.up.next().await, rig.up.next().await];
        if up == Wire::Http {
            // Two requests are two connections there.
            got.sort_by_key(|text| text.contains("ping"));
        }
        assert_eq!(got, [one, two]);
        rig.down_gets(r#"{"jsonrpc":"2.0","id":"b","result":{}}"#).await;
        rig.down_gets(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).await;

        let mut rig = Rig::initialized(down, up, LATEST).await;
        rig.down.say(&batch).await;
        assert!(rig.down.next().await.contains("-32600"));
        rig.exchange(two, r#"{"jsonrpc":"2.0","id":"b","result":{}}"#).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_starts_its_server_anew_for_every_attempt_is_one_run() {
    let mut rig = Rig::initialized(Wire::Http, Wire::Stdio, LATEST).await;
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_x","arguments":{"n":1}}}"#;
    rig.up_gets(call).await;
    for _ in 0..3 {
        *rig.down.http().session.lock().unwrap() = None;
        rig.down
            .say(
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
            )
            .await;
        rig.up.stdio().accept().await;
        assert!(rig.up.next().await.contains("initialize"));
        rig.down_gets(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}"#).await;
        rig.up_gets(call).await;
    }
    assert_eq!(rig.count("call_received"), 4);
}
