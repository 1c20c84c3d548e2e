//! Every fault before real clients: the official SDKs for Python and TypeScript, over stdio and
//! Streamable HTTP. The server's own ledger says whether the work was done, the client says what
//! it saw.
//!
//! `bash tests/install.sh` brings both SDKs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test starts processes, waits no longer than it must, and ends where something is wrong"
)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Longer than anything here takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sdk {
    Python,
    TypeScript,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    Stdio,
    Http,
}

/// What becomes of the order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Done,
    NotBegun,
    /// Begun and not done.
    Begun,
}

struct Case {
    scenario: &'static str,
    flags: &'static [&'static str],
    /// How long the server works on an order, in milliseconds.
    takes: u32,
    /// How long the client waits, in seconds.
    waits: f64,
    work: Work,
    /// What the trace says that the agent was told.
    told: &'static str,
    /// What the client sees; none where its call fails without an answer.
    sees: Option<(&'static str, bool)>,
}

const fn case(
    scenario: &'static str,
    work: Work,
    told: &'static str,
    sees: Option<(&'static str, bool)>,
) -> Case {
    Case { scenario, flags: &[], takes: 0, waits: 20.0, work, told, sees }
}

use Work::{Begun, Done, NotBegun};

const CASES: &[Case] = &[
    case("T1", NotBegun, "timeout", Some(("timed out", true))),
    Case { flags: &["--delay", "700ms"], ..case("T2", Done, "timeout", Some(("timed out", true))) },
    case("T3", Done, "malformed", Some((r#"{"order_id": "ORD-1", "item""#, true))),
    Case { waits: 1.0, ..case("T4", Done, "late", None) },
    Case { waits: 4.0, ..case("T5", Done, "connection_lost", None) },
    case("E1", Done, "server_error", Some(("HTTP 500", true))),
    case("E1:502", Done, "server_error", Some(("HTTP 502 Bad Gateway", true))),
    case("E1:success_false", Done, "failed", Some((r#""success":false"#, false))),
    case("E1:rate_limited", Done, "rate_limited", Some(("HTTP 429", true))),
    case("L1", NotBegun, "local_failure", Some(("connection refused", true))),
    case("A1", NotBegun, "unauthorized", Some(("WWW-Authenticate: Bearer", true))),
    case("A2", NotBegun, "forbidden", Some(("HTTP 403", true))),
    case("A3", NotBegun, "refused", Some(("declined", true))),
    case("M1", Done, "altered", Some((r#""order_id":null"#, false))),
    case("M1:number", Done, "altered", Some((r#""order_id":1,"#, false))),
    case("M1:object", Done, "altered", Some((r#""order_id":{}"#, false))),
    case("M2", Done, "altered", Some((r#"{"item":"lamp""#, false))),
    case("M3", Done, "contradiction", Some((r#""error":{"#, false))),
    case("M4", NotBegun, "malformed", Some(("<!DOCTYPE html>", true))),
    case("M5", Done, "result", Some(("ORD-1", false))),
    Case { takes: 500, waits: 4.0, ..case("I1", Done, "connection_lost", None) },
    Case { takes: 30_000, waits: 4.0, ..case("I2", Begun, "connection_lost", None) },
    case("F1", Done, "timeout", Some(("timed out", true))),
    case("F5", NotBegun, "server_error", Some(("HTTP 500", true))),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults").join(name)
}

#[expect(clippy::disallowed_methods, reason = "a test starts programs")]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python")
}

fn sdk(sdk: Sdk) -> Command {
    let (program, script) = match sdk {
        Sdk::Python => (python(), fixture("client.py")),
        Sdk::TypeScript => (PathBuf::from("node"), fixture("client.mjs")),
    };
    let mut command = command(program);
    command.arg(script);
    command
}

struct Played {
    seen: Vec<Value>,
    ledger: Vec<Value>,
    events: Vec<Value>,
    report: Value,
}

impl Played {
    fn event(&self, name: &str) -> Option<&Value> {
        self.events.iter().find_map(|record| record["event"].get(name))
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn play(case: &Case, sdk_of: Sdk, wire: Wire) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut proxy: Vec<String> = vec![env!("CARGO_BIN_EXE_nochmal").into(), "proxy".into()];
    let mut flag = |name: &str, value: String| proxy.extend([name.to_owned(), value]);
    flag("--upstream-command", python().display().to_string());
    // The clients list the tools themselves.
    flag("--probe", "off".into());
    flag("--upstream-arg", fixture("upstream.py").display().to_string());
    flag("--upstream-arg", at("ledger.jsonl").display().to_string());
    flag("--upstream-arg", case.takes.to_string());
    flag("--scenario", case.scenario.into());
    flag("--trace", at("trace.jsonl").display().to_string());
    flag("--report-file", at("report.json").display().to_string());
    proxy.extend(["--audit-tools", "off"].map(str::to_owned));
    proxy.extend(case.flags.iter().map(|flag| (*flag).to_owned()));

    let mut calls =
        vec![json!({"tool": "create_order", "arguments": {"item": "lamp"}, "timeout": case.waits})];
    if case.scenario == "M5" {
        calls.push(json!({"tool": "find_orders"}));
    }
    let mut spec = json!({"calls": calls, "linger": if case.scenario == "T4" { 0.5 } else { 0.0 }});
    let mut listening = None;
    match wire {
        Wire::Stdio => spec["command"] = json!(proxy),
        Wire::Http => {
            let mut server = command(&proxy[0])
                .args(&proxy[1..])
                .args(["--listen", "127.0.0.1:0"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stderr = BufReader::new(server.stderr.take().unwrap()).lines();
            let url = stderr
                .find_map(|line| line.unwrap().strip_prefix("[nochmal] listening on ").map(str::to_owned))
                .expect("a URL on stderr");
            std::thread::spawn(move || stderr.for_each(drop));
            spec["url"] = json!(url);
            listening = Some(server);
        }
    }
    let output = sdk(sdk_of).arg(spec.to_string()).output().expect("`bash tests/install.sh` brings the SDKs");
    let text = String::from_utf8(output.stdout).unwrap();
    let seen: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!seen.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));

    let settled =
        |name: &str| lines(&at("trace.jsonl")).iter().any(|record| record["event"].get(name).is_some());
    if let Some(server) = listening {
        // What was begun is completed, or is known to be lost, before the proxy is told to end.
        if case.work != NotBegun {
            until("the end of the work", || settled("upstream_answered") || settled("upstream_lost"));
        }
        interrupt(server);
    }
    until("the end of the trace", || settled("closed"));
    let report = std::fs::read_to_string(at("report.json")).unwrap();
    Played {
        seen,
        ledger: lines(&at("ledger.jsonl")),
        events: lines(&at("trace.jsonl")),
        report: serde_json::from_str(&report).unwrap(),
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "nothing came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn interrupt(mut server: Child) {
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    server.wait().unwrap();
}

/// Words that would give the test away.
const BETRAYING: [&str; 14] = [
    "inject",
    "chaos",
    "nochmal",
    "test",
    "scenario",
    "simulat",
    "proxy",
    "fault",
    "mock",
    "fake",
    "benchmark",
    "harness",
    "experiment",
    "synthetic",
];

fn problems(case: &Case, played: &Played) -> Vec<String> {
    let mut problems = Vec::new();
    let mut wrong = |what: String| problems.push(what);
    let states = |state: &str| played.ledger.iter().filter(|line| line["state"] == state).count();
    let wanted = match case.work {
        Done => (1, 1),
        NotBegun => (0, 0),
        Begun => (1, 0),
    };
    if (states("begun"), states("done")) != wanted {
        wrong(format!("the ledger says {:?}, not {wanted:?}", (states("begun"), states("done"))));
    }
    // What nobody asked for, such as a late answer, is no answer.
    let first = played.seen.iter().find(|seen| seen.get("unasked").is_none()).unwrap_or(&played.seen[0]);
    match case.sees {
        // Some clients end with the connection.
        None if first.get("text").is_none() => {}
        Some((text, is_error))
            if first["is_error"] == is_error
                && first["text"].as_str().is_some_and(|seen| seen.contains(text)) => {}
        wanted => wrong(format!("the client saw {first}, not {wanted:?}")),
    }
    let told = played.event("call_answered").map(|answered| answered["told"].clone()).unwrap_or_default();
    let told = told.as_str().map(str::to_owned).or_else(|| told.as_object()?.keys().next().cloned());
    if told.as_deref() != Some(case.told) {
        wrong(format!("the trace says that the agent was told {told:?}"));
    }
    // The id of the attempt is in the trace and at the server, and was there first.
    let sent = played.event("call_sent").and_then(|sent| sent["correlation"].as_str());
    if let Some(line) = played.ledger.first()
        && (sent.is_none() || line["correlation"].as_str() != sent)
    {
        wrong(format!("the attempt had the id {sent:?}, and the ledger says {}", line["correlation"]));
    }
    if (case.work == NotBegun) != sent.is_none() {
        wrong(format!("an order that is {:?} was sent with {sent:?}", case.work));
    }
    for seen in &played.seen {
        let text = seen["text"].as_str().unwrap_or_default().to_lowercase();
        for word in BETRAYING.iter().filter(|word| text.contains(**word)) {
            wrong(format!("the client reads {word:?}: {text}"));
        }
    }
    let verdict = &played.report["verdict"];
    let unknown = case.work == Begun;
    if *verdict != if unknown { "NOT_TESTED" } else { "PASS" } {
        wrong(format!(
            "the verdict on a client that sends nothing again is {verdict}: {}",
            played.report["report"]["verdictReason"]
        ));
    }
    if case.scenario == "M5" {
        let list = played.seen[1]["text"].as_str().unwrap_or_default();
        if list.matches("ORD-1").count() != 2 {
            wrong(format!("the list is not doubled: {list}"));
        }
    }
    problems
}

fn check(sdk: Sdk, wire: Wire) {
    let next = Mutex::new(CASES.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Most of the time a case waits for processes.
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    let found = problems(case, &play(case, sdk, wire));
                    if !found.is_empty() {
                        failures.lock().unwrap().push(format!("{}: {}", case.scenario, found.join("\n    ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), CASES.len(), failures.join("\n"));
}

#[test]
fn every_fault_before_the_python_sdk_over_stdio() {
    check(Sdk::Python, Wire::Stdio);
}

#[test]
fn every_fault_before_the_python_sdk_over_http() {
    check(Sdk::Python, Wire::Http);
}

#[test]
fn every_fault_before_the_typescript_sdk_over_stdio() {
    check(Sdk::TypeScript, Wire::Stdio);
}

#[test]
fn every_fault_before_the_typescript_sdk_over_http() {
    check(Sdk::TypeScript, Wire::Http);
}

#[test]
fn every_built_in_fault_has_a_case() {
    let covered = |id: &str| CASES.iter().any(|case| case.scenario.split(':').next() == Some(id));
    let left_out: Vec<&str> = nochmal::scenario::table()
        .iter()
        .map(|entry| entry.id)
        // The rebuilds (R1 to R5) have tests of their own.
        .filter(|id| !covered(id) && !id.starts_with('R'))
        .filter(|id| !matches!(*id, "F2" | "F3" | "F4" | "chaos" | "none"))
        .collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

/// Three scripted models over every fault, as the suite that users run: what each cell comes out as.
#[test]
fn every_cell_of_the_suite_has_the_verdict_that_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/faults.yaml");
    let output =
        command(env!("CARGO_BIN_EXE_nochmal")).arg("run").arg(suite).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found: Vec<String> = nochmal::store::read_runs(&out)
        .unwrap()
        .into_iter()
        .map(|run| {
            let model = run.key.model.trim_start_matches("script:").to_owned();
            let violations: std::collections::BTreeSet<&str> =
                run.violations.iter().map(String::as_str).collect();
            let violations: Vec<&str> = violations.into_iter().collect();
            let line = format!(
                "{:<17} {model:<9} {:<10} {:<22} {}",
                run.key.scenario,
                run.verdict.name(),
                run.reason_code.name(),
                violations.join(" ")
            );
            line.trim_end().to_owned()
        })
        .collect();
    found.sort();
    let text = std::fs::read_to_string(fixture("verdicts.txt")).unwrap();
    let wanted: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let unlike: Vec<&String> = found.iter().filter(|line| !wanted.contains(&line.as_str())).collect();
    assert!(found == wanted, "{} lines, these are not written down:\n{unlike:#?}", found.len());
    // What reached the agents gives nothing away either.
    for run in nochmal::store::read_runs(&out).unwrap() {
        for record in lines(&out.join(run.trace.unwrap())) {
            let answered = &record["event"]["call_answered"];
            if answered["injected"] == true || answered["told"] != "result" {
                let body = answered["body"]["json"].to_string().to_lowercase();
                let word = BETRAYING.iter().find(|word| body.contains(**word));
                assert_eq!(word, None, "{}: {body}", run.key.scenario);
            }
        }
    }
}
