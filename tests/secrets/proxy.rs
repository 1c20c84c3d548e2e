//! `nochmal proxy --secret`: the same for the proxy that stands alone.

use super::shows_a_canary;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

const TOKEN: &str = "svc-7Qx92kLm4tZp";

fn proxy(dir: &Path, leak: &str, flags: &[&str]) -> Output {
    let server = format!("{}/tests/run/leaky.mjs", env!("CARGO_MANIFEST_DIR"));
    let mut child = crate::machine::nochmal()
        .current_dir(dir)
        .args(["proxy", "--upstream-command", "node", "--upstream-arg", &server, "--audit-tools", "off"])
        .args(["--report-file", "report.json", "--trace", "trace.jsonl"])
        .args(flags)
        .env("API_TOKEN", TOKEN)
        .env("LEAK", leak)
        .env("NOCHMAL_LOG", "debug")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let info = json!({"name": "agent", "version": "1"});
    let messages = [
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 2, "method": "tools/list"}),
        json!({"id": 3, "method": "tools/call", "params": {"name": "create_booking", "arguments": {"room": "12"}}}),
    ];
    for mut message in messages {
        message["jsonrpc"] = "2.0".into();
        // One that ended at its start reads nothing.
        let _ = writeln!(stdin, "{message}");
    }
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn a_secret_that_reaches_the_agent_fails_and_is_in_no_file() {
    for (leak, name) in
        [("plain", "API_TOKEN"), ("base64", "API_TOKEN"), ("canary", "canary"), ("long", "API_TOKEN")]
    {
        let dir = tempfile::tempdir().unwrap();
        let output = proxy(dir.path(), leak, &["--secret", "API_TOKEN"]);
        assert_eq!(output.status.code(), Some(0), "{leak}: {}", text(&output.stderr));
        // What passes is passed as it is.
        assert_eq!(shows_a_canary(&output.stdout), leak == "canary", "{leak}");
        assert_eq!(text(&output.stdout).contains(TOKEN), ["plain", "long"].contains(&leak), "{leak}");
        let report: Value = serde_json::from_str(&read(dir.path(), "report.json")).unwrap();
        assert_eq!(report["verdict"], "FAIL", "{leak}: {report}");
        let violation = &report["report"]["violations"][0];
        assert_eq!(violation["type"], "SECRET_LEAKED", "{leak}: {report}");
        assert!(violation["message"].as_str().unwrap().contains(name), "{leak}: {violation}");
        let written =
            [read(dir.path(), "report.json"), read(dir.path(), "trace.jsonl"), text(&output.stderr)];
        for written in written {
            assert!(!written.contains(TOKEN) && !shows_a_canary(written.as_bytes()), "{leak}: {written}");
        }
    }
}

#[test]
fn without_a_leak_nothing_is_different() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(proxy(dir.path(), "none", &["--secret", "API_TOKEN"]).status.code(), Some(0));
    let report: Value = serde_json::from_str(&read(dir.path(), "report.json")).unwrap();
    assert_eq!((&report["verdict"], &report["report"]["violations"]), (&json!("PASS"), &json!([])));
    // Nobody asked for it.
    proxy(dir.path(), "plain", &[]);
    assert!(read(dir.path(), "trace.jsonl").contains(TOKEN));
}

#[test]
fn a_server_that_does_not_start_shows_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["--secret", "API_TOKEN", "--upstream-arg", "more"];
    let output = proxy(dir.path(), "end", &flags);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    for written in [read(dir.path(), "report.json"), text(&output.stderr)] {
        assert!(written.contains("‹secret:API_TOKEN›") && !written.contains(TOKEN), "{written}");
    }
}

#[test]
fn a_secret_that_cannot_be_kept_is_refused() {
    let arg = format!("token={TOKEN}");
    for (flags, reason) in [
        (
            &["--secret", "NO_SUCH_VARIABLE"][..],
            "--secret NO_SUCH_VARIABLE: the environment has no value for it",
        ),
        (&["--secret", "LEAK"], "--secret LEAK: the value cannot be kept secret: it has 5 characters"),
        (
            &["--secret", "API_TOKEN", "--upstream-arg", &arg],
            "--secret API_TOKEN: the upstream's command would show",
        ),
        (&["--upstream-env-var", TOKEN], "--upstream-env-var: KEY=VALUE is wanted, and number 1 is none"),
        (
            &["--upstream-env", "A=1,svc-7Qx92kLm4tZp"],
            "--upstream-env: KEY=VALUE is wanted, and number 2 is none",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = proxy(dir.path(), "plain", flags);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let report = read(dir.path(), "report.json");
        assert!(text(&output.stderr).contains(reason) && report.contains(reason), "{}", text(&output.stderr));
        assert!(!report.contains(TOKEN) && !text(&output.stderr).contains(TOKEN), "{reason}");
    }
}
