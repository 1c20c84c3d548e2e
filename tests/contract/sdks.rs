//! Servers on the official SDKs, which their users really write, through the cases that come along.

use super::machine::{Port, until};
use super::{API_TIMEOUT_MS, RELEASES, TOKEN, command, contract, kinds, place, text};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Interpreter and script.
fn python() -> [String; 2] {
    [format!("{ROOT}/target/venv/bin/python"), format!("{ROOT}/tests/contract/releases.py")]
}

fn typescript() -> [String; 2] {
    ["node".to_owned(), format!("{ROOT}/tests/contract/releases.mjs")]
}

/// The contract that comes along, with another server.
fn releases(upstream: &str, more: &str) -> String {
    let text = std::fs::read_to_string(RELEASES).unwrap();
    let (head, rest) = text.split_once("upstream:\n").unwrap();
    let (_, cases) = rest.split_once("limits:").unwrap();
    format!("{head}upstream: {upstream}\n{more}limits:{cases}")
}

fn over_stdio(server: &[String; 2]) -> BTreeMap<String, Vec<String>> {
    let [program, script] = server;
    let env = format!(
        "{{API_URL: '{{{{ fixture.url }}}}', API_TOKEN: {TOKEN}, API_TIMEOUT_MS: '{API_TIMEOUT_MS}'}}"
    );
    let upstream = format!("{{command: '{program}', args: ['{script}', careful], env: {env}}}");
    let dir = place(&releases(&upstream, "secrets: [API_TOKEN]\n"));
    let output = contract(dir.path(), &["contract.yaml", "--json"]);
    let canary = regex::Regex::new("ist_[0-9a-f]{6}").unwrap();
    assert!(!text(&output.stdout).contains(TOKEN) && !canary.is_match(&text(&output.stdout)));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    kinds(&output)
}

fn all_pass(kinds: &BTreeMap<String, Vec<String>>) {
    assert!(kinds.len() == 22 && kinds.values().all(Vec::is_empty), "{kinds:#?}");
}

/// Whatever the SDK does with what a tool throws: the case fails for what the tool says.
fn fails_where_it_should(kinds: &BTreeMap<String, Vec<String>>) {
    assert!(kinds["created"].is_empty());
    let has = |id: &str, kind: &str| kinds[id].iter().any(|found| found == kind);
    for id in ["expired-token", "denied", "rate-limited", "html", "error-after-commit"] {
        assert!(has(id, "secret_in_result"), "{id}: {kinds:#?}");
    }
    for id in [
        "id-null",
        "id-number",
        "id-object",
        "id-missing",
        "field-missing",
        "success-with-error-body",
        "reordered",
    ] {
        assert!(has(id, "result"), "{id}: {kinds:#?}");
    }
    assert!(has("doubled", "is_error"), "{kinds:#?}");
    let claims: Vec<&str> = kinds.keys().map(String::as_str).filter(|id| has(id, "claim")).collect();
    let wanted = [
        "cut-after-commit",
        "cut-in-the-answer",
        "error-after-commit",
        "timeout-after-commit",
        "timeout-before-the-answer",
        "timeout-in-the-answer",
        "truncated",
    ];
    assert_eq!(claims, wanted);
}

#[test]
fn a_careful_server_on_the_python_sdk_passes_every_case() {
    all_pass(&over_stdio(&python()));
}

#[test]
fn a_careful_server_on_the_typescript_sdk_passes_every_case() {
    all_pass(&over_stdio(&typescript()));
}

#[test]
fn careless_servers_on_both_sdks_fail_where_they_should() {
    fails_where_it_should(&over_http(&python(), "careless"));
    fails_where_it_should(&over_http(&typescript(), "careless"));
}

/// A server that runs already, ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn over_http(server: &[String; 2], manner: &str) -> BTreeMap<String, Vec<String>> {
    let kept = [Port::kept(), Port::kept()];
    let [backend, port] = kept.each_ref().map(Port::number);
    let [program, script] = server;
    let mut started = command(program, Path::new(ROOT), &[script, manner, &port.to_string()]);
    let started = started
        .env("API_URL", format!("http://127.0.0.1:{backend}"))
        .env("API_TOKEN", TOKEN)
        .env("API_TIMEOUT_MS", API_TIMEOUT_MS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut started = Running(started.unwrap());
    until("a server that listens", || {
        assert!(started.0.try_wait().unwrap().is_none(), "{script} ended");
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    });
    let upstream = format!("{{url: 'http://127.0.0.1:{port}/mcp'}}");
    let dir = place(&releases(&upstream, &format!("fixture: {{listen: '127.0.0.1:{backend}'}}\n")));
    let output = contract(dir.path(), &["contract.yaml", "--json"]);
    assert!(!text(&output.stdout).contains(TOKEN), "the token that came in a request");
    kinds(&output)
}

#[test]
fn careful_servers_on_both_sdks_pass_over_http_too() {
    all_pass(&over_http(&python(), "careful"));
    all_pass(&over_http(&typescript(), "careful"));
}
