//! The agent at a terminal.

use super::machine::program;
use super::{NOCHMAL, PROMPT};
use nochmal::upstream::builtin::ledger;
use serde_json::{Value, json};
use std::path::Path;
use tokio::process::Command;

/// What a person saw who waited for texts and typed; every step has to be reached.
async fn at_a_terminal(folder: &Path, flags: &[&str], steps: Value) -> String {
    let file = folder.join("steps.json");
    std::fs::write(&file, steps.to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/terminal.py");
    let mut python = Command::from(program("python3"));
    let output = python.arg(script).arg(&file).arg(NOCHMAL).args(flags).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["left"], &done["status"]), (&json!([]), &json!(0)), "{}", done["shown"]);
    done["shown"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn ctrl_c_ends_the_turn_and_not_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("ledger.jsonl");
    let killer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/harness/killer.py");
    let hotel =
        format!("hotel=python3 '{killer}' hold 1 '{NOCHMAL}' upstream booking --ledger '{}'", book.display());
    let shown = at_a_terminal(
        folder.path(),
        &["agent", "--model", "script:careful", "--mcp", &hotel],
        json!([
            ["> ", "/tools\n"],
            ["cancel_booking", ""],
            ["> ", format!("{PROMPT}\n")],
            ["→ create_booking", "\u{3}"],
            ["? create_booking: interrupted", ""],
            ["the conversation goes on", ""],
            ["> ", "\u{3}"],
            ["/quit ends", "/branches\n"],
            ["* 1  1 messages", "/back\n"],
            ["begins anew", "/branches\n"],
            ["* 2  0 messages", "/branch 1\n"],
            ["Your last message is now: Please book room 12", "/nonsense\n"],
            ["There is no /nonsense", "/quit\n"]
        ]),
    )
    .await;
    assert!(shown.contains("create_booking  (write)") && shown.contains("find_bookings  (read)"), "{shown}");
    assert_eq!(ledger::read(&book).unwrap().len(), 1);
}

#[tokio::test]
async fn a_conversation_at_a_terminal_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let (session, book) = (folder.path().join("s.db"), folder.path().join("ledger.jsonl"));
    let hotel = format!("hotel='{NOCHMAL}' upstream booking --ledger '{}'", book.display());
    let flags =
        ["agent", "--model", "script:careful", "--mcp", &hotel, "--session", session.to_str().unwrap()];
    let first = json!([["> ", format!("{PROMPT}\n")], ["Booked: ", ""], ["> ", "\u{4}"]]);
    let second = json!([["> ", "bitte nochmal\n"], ["Already done", ""], ["> ", "/quit\n"]]);
    for steps in [first, second] {
        at_a_terminal(folder.path(), &flags, steps).await;
    }
    assert_eq!(ledger::read(&book).unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_terminal_all_of_stdin_is_the_prompt() {
    use tokio::io::AsyncWriteExt;
    let mut child = super::nochmal(&["agent", "--model", "script:careful"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"book\na room\n").await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.stdout, b"I have no tool with which I could do that.\n");
    let mut silent = super::nochmal(&["agent", "--model", "script:careful"]);
    let output = silent.stdin(std::process::Stdio::null()).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("there is no prompt"));
}
