//! The servers of an agent: several of them, over stdio and HTTP, and what they are sent.

use super::answers::{Endpoint, asks, says};
use super::sessions::agent;
use super::{NOCHMAL, nochmal};
use nochmal::upstream::builtin::ledger;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

#[tokio::test]
async fn two_servers_of_one_kind_are_told_apart_one_of_them_behind_a_url() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (folder.path().join("near.jsonl"), folder.path().join("far.jsonl"));
    let mut proxy = nochmal(&["proxy", "--listen", "127.0.0.1:0", "--audit-tools", "off"]);
    proxy.args(["--upstream-command", NOCHMAL, "--upstream-arg=upstream", "--upstream-arg=booking"]);
    proxy.arg("--upstream-arg=--ledger").arg(format!("--upstream-arg={}", far.display()));
    let mut proxy = proxy.spawn().unwrap();
    let mut lines = BufReader::new(proxy.stderr.take().unwrap()).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(at) = line.find("http://") {
            break line[at..].split_whitespace().next().unwrap().to_owned();
        }
    };
    let endpoint = Endpoint::start(|number, _| match number {
        0 => {
            let booking = json!({"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"});
            asks(&[("a", "create_booking", booking.clone()), ("b", "far__create_booking", booking)])
        }
        _ => says("done"),
    })
    .await;
    let mut command =
        agent(&endpoint, &format!("near='{NOCHMAL}' upstream booking --ledger '{}'", near.display()));
    let output =
        command.args(["--mcp", &format!("far={url}"), "--prompt", "book twice"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(ledger::read(&near).unwrap().len(), 1);
    assert_eq!(ledger::read(&far).unwrap().len(), 1);
    proxy.start_kill().unwrap();
}

#[tokio::test]
async fn arguments_that_the_schema_refuses_are_told_to_the_model_and_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("ledger.jsonl");
    let endpoint = Endpoint::start(|number, _| match number {
        0 => asks(&[
            ("a", "create_booking", json!({"guest": "Ada", "room": "twelve"})),
            ("b", "book_flight", json!({})),
        ]),
        1 => asks(&[("c", "create_booking", json!({"guest": "Ada", "room": 12, "date": "2026-12-03"}))]),
        _ => says("done"),
    })
    .await;
    let mut command =
        agent(&endpoint, &format!("hotel='{NOCHMAL}' upstream booking --ledger '{}'", book.display()));
    let output = command.args(["--prompt", "book"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let second = endpoint.requests.lock().unwrap()[1]["messages"].to_string();
    for words in [
        "room: \\\"twelve\\\" is not of type",
        "\\\"date\\\" is a required property",
        "The tools are: create_booking",
    ] {
        assert!(second.contains(words), "{words} is not in {second}");
    }
    assert_eq!(ledger::read(&book).unwrap().len(), 1);
}

#[tokio::test]
async fn a_server_gets_no_key_that_was_not_meant_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("env");
    let endpoint = Endpoint::start(|_, _| says("hello")).await;
    let hotel = format!("hotel=sh -c 'env > {}; exec {NOCHMAL} upstream booking'", seen.display());
    let mut command = agent(&endpoint, &hotel);
    command.env("ROOMS_TOKEN", "t-1").env("OTHER", "o-1");
    let output = command.args(["--mcp-env", "ROOMS_TOKEN", "--prompt", "hi"]).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("ROOMS_TOKEN=t-1") && seen.contains("PATH="), "{seen}");
    assert!(!seen.contains("OPENAI_API_KEY") && !seen.contains("o-1"), "{seen}");
}
