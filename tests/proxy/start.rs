//! Starts that fail: every one says why, on stderr and in the report file, with the right exit code.

use crate::rig::{Agent, LIMIT, nochmal};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

struct Refused {
    code: Option<i32>,
    stderr: String,
    report: Option<Value>,
}

/// Runs the proxy with these flags, after a report that says PASS.
fn refused(flags: &[&str]) -> Refused {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("report.json");
    fs::write(&path, r#"{"verdict":"PASS"}"#).unwrap();
    let mut command = nochmal();
    command.current_dir(folder.path()).stdin(Stdio::null());
    let output = command.arg("proxy").args(["--report-file", "report.json"]).args(flags).output().unwrap();
    let report = fs::read_to_string(&path).ok();
    Refused {
        code: output.status.code(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        report: report.map(|text| serde_json::from_str(&text).unwrap()),
    }
}

fn check(flags: &[&str], code: i32, parts: &[&str]) {
    let refused = refused(flags);
    assert_eq!(refused.code, Some(code), "{flags:?}: {}", refused.stderr);
    let report = refused.report.unwrap();
    assert_eq!(report["verdict"], "NOT_TESTED", "{flags:?}");
    assert_eq!(report["status"], "failed", "{flags:?}");
    assert_eq!(report["score"], Value::Null, "{flags:?}");
    let reason = report["startupError"].as_str().unwrap();
    for part in parts {
        assert!(refused.stderr.contains(part), "{flags:?}: stderr lacks {part:?}: {}", refused.stderr);
        assert!(reason.contains(part), "{flags:?}: startupError lacks {part:?}: {reason}");
    }
}

fn shell(script: &str, code: i32, parts: &[&str]) {
    check(&["--upstream-command", "sh", "--upstream-arg", "-c", "--upstream-arg", script], code, parts);
}

#[test]
fn r6_bad_arguments() {
    let upstream = ["--upstream-command", "true"];
    let bad: [(&[&str], &[&str]); 23] = [
        (&["--nonsense"], &["--nonsense"]),
        (&["--scenario", "F9"], &["F9", "--scenario", "F5"]),
        (&["--scenario", "f1"], &["f1"]),
        (&["--scenario="], &["--scenario"]),
        (&["--scenario", ""], &["--scenario"]),
        (&["--scenario"], &["--scenario"]),
        (&["--scenario", "F1", "--scenario", "F2"], &["--scenario"]),
        (&["--retry-after", "5"], &["--retry-after", "F2"]),
        (&["--scenario", "F1", "--retry-after", "5"], &["--retry-after", "F2"]),
        (&["--scenario", "F2", "--retry-after", "0"], &["--retry-after", "86400"]),
        (&["--scenario", "F2", "--retry-after", "86401"], &["--retry-after"]),
        (&["--scenario", "F2", "--retry-after", "1.5"], &["--retry-after"]),
        (&["--error-rate", "0.5"], &["--error-rate", "chaos"]),
        (&["--mode", "chaos"], &["--error-rate"]),
        (&["--mode", "chaos", "--error-rate", "1.1"], &["--error-rate"]),
        (&["--mode", "chaos", "--error-rate", "NaN"], &["--error-rate"]),
        (&["--mode", "chaos", "--error-rate", "0.5", "--scenario", "F1"], &["--mode", "--scenario"]),
        (&["--mode", "wild"], &["wild"]),
        (&["--write-tools", "a,,b"], &["--write-tools"]),
        (&["--upstream-env-var", "=x"], &["KEY=VALUE"]),
        (&["--upstream-env", "A=1,B"], &["--upstream-env", "KEY=VALUE"]),
        (&["--audit-tools", "maybe"], &["--audit-tools", "off"]),
        (&["--upstream-arg", "--scenario", "F1"], &["--upstream-arg", "--upstream-arg=--scenario"]),
    ];
    for (flags, parts) in bad {
        check(&[&upstream[..], flags].concat(), 2, parts);
    }
    check(&["stray", "--upstream-command", "true"], 2, &["stray"]);
    check(&["--upstream-command", ""], 2, &["--upstream-command"]);
}

#[test]
fn r5_an_upstream_that_does_not_start() {
    check(&["--upstream-command", "no-such-program-anywhere"], 1, &["no-such-program-anywhere", "not found"]);
    check(&["--upstream-command", "true", "--upstream-cwd", "/no/such/folder"], 1, &["/no/such/folder"]);
    shell("echo 'cannot read config.toml' >&2; exit 3", 1, &["exit code 3", "cannot read config.toml"]);
    shell("echo Usage: server PORT; exit 0", 1, &["exit code 0", "Usage: server PORT"]);
    shell("read x; echo Listening on 3000; kill -9 $$", 1, &["signal 9", "Listening on 3000"]);
}

#[test]
fn r5_an_upstream_that_speaks_no_mcp() {
    check(&["--upstream-command", "cat"], 1, &["does not speak MCP", "initialize"]);
    let error =
        r#"read x; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no database"}}'; read x"#;
    shell(error, 1, &["initialize", "no database"]);
    let odd = concat!(
        r#"read x; echo '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}'; read x; read x; "#,
        r#"echo '{"jsonrpc":"2.0","id":2,"result":{"tools":7}}'; read x"#
    );
    shell(odd, 1, &["does not speak MCP", "tools/list"]);
}

#[test]
fn r4_a_report_path_that_is_no_file() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("folder")).unwrap();
    let made = crate::machine::program("mkfifo").arg(path("fifo")).status().unwrap();
    assert!(made.success());
    let endless = path("endless");
    std::os::unix::fs::symlink(&endless, &endless).unwrap();
    let targets = [path("folder"), path("fifo"), path("none/report.json"), endless, "/dev/null".to_owned()];
    for target in &targets {
        let marker = path("started");
        let mut command = nochmal();
        command.args(["proxy", "--upstream-command", "touch", "--upstream-arg", &marker]);
        let output = command.args(["--report-file", target]).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{target}: {stderr}");
        assert!(stderr.contains(target.as_str()), "{target}: {stderr}");
        assert!(!Path::new(&marker).exists(), "{target}: the upstream was started");
    }
}

#[test]
fn j23_the_self_test_passes_and_leaves_its_file() {
    let folder = TempDir::new().unwrap();
    let run = |flags: &[&str]| {
        let mut command = nochmal();
        command.current_dir(folder.path()).arg("benchmark").args(flags).output().unwrap()
    };
    let output = run(&["--runs", "2", "--jitter=100"]);
    assert_eq!(output.status.code(), Some(0));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("49 of 100, FAIL") && table.contains("Self-test PASSED"), "{table}");
    let text = fs::read(folder.path().join(".nochmal/benchmark-report.json")).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(file["certification"], "UNVERIFIED_FOR_PRODUCTION");
    assert_eq!(file["careful"]["score"]["overall"], 100);
    assert_eq!(file["naive"]["score"]["verdict"], "FAIL");
    for bad in ["--scenarios=F6", "--scenarios=", "--runs=0", "--runs=1001", "--jitter=60001"] {
        assert_eq!(run(&[bad]).status.code(), Some(2), "{bad}");
    }
}

#[test]
fn the_demo_judges_what_is_sent_through_it() {
    let mut command = nochmal();
    command.arg("demo");
    let mut agent = Agent::spawn(command, TempDir::new().unwrap());
    agent.introduce("2025-11-25").unwrap();
    let tools = agent.list().unwrap();
    let named = ["start_session", "execute_call", "get_report", "get_score"];
    assert_eq!(tools[..4], named);
    assert_eq!(tools[4..], ["list_scenarios", "reset_session", "delete_session"]);
    let mut ask = |tool: &str, args: Value| -> String {
        let id = agent.send(&json!({"call": tool, "args": args}));
        let answer = agent.answer(id, LIMIT).unwrap();
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    ask("start_session", json!({"scenario": "F1"}));
    let write = json!({"session_id": "session-1", "tool": "create_booking", "arguments": {"guest": "Ada"}});
    assert!(ask("execute_call", write.clone()).contains("timeout_after_execution"));
    ask("execute_call", write);
    let score = ask("get_score", json!({"session_id": "session-1", "format": "json"}));
    let score: Value = serde_json::from_str(&score).unwrap();
    assert_eq!((score["verdict"].as_str(), score["report"]["kind"].as_str()), (Some("FAIL"), Some("demo")));
    assert_eq!(agent.finish().unwrap(), 0);
}
