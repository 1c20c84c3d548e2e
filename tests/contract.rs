//! `nochmal contract` from end to end: real servers, as a user tests them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is wrong"
)]

#[path = "rig/machine.rs"]
mod machine;
#[path = "contract/sdks.rs"]
mod sdks;

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const RELEASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/contracts/releases.yaml");
/// How long a server waits for the backend where this is set: a busy machine answers within it, too.
const API_TIMEOUT_MS: &str = "4000";
const TOKEN: &str = "rel-test-4f1c9a7d2b60";

fn command(program: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = machine::program(program);
    command.current_dir(folder).args(arguments);
    command
}

fn contract(folder: &Path, arguments: &[&str]) -> Output {
    let arguments = [&["contract"], arguments].concat();
    command(machine::NOCHMAL, folder, &arguments).output().unwrap()
}

/// The contract that comes along.
fn releases(folder: &Path, more: &[&str]) -> Output {
    let patient = format!("api_timeout={API_TIMEOUT_MS}");
    contract(folder, &[&[RELEASES, "--set", &patient], more].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with a contract in it.
fn place(contract: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("contract.yaml"), contract).unwrap();
    dir
}

/// The kinds of failure of each case; of a case that could not be carried out, `error`.
fn kinds(output: &Output) -> BTreeMap<String, Vec<String>> {
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let cases = results["cases"].as_array().unwrap().iter().map(|case| {
        let mut kinds: Vec<String> =
            case["failures"].as_array().unwrap().iter().map(|failure| string(&failure["kind"])).collect();
        kinds.extend(case["error"].as_str().map(|_| "error".to_owned()));
        assert_eq!(kinds.is_empty(), case["state"] == "passed", "{case}");
        (string(&case["id"]), kinds)
    });
    cases.collect()
}

#[test]
fn the_careful_server_passes_every_case() {
    let dir = tempfile::tempdir().unwrap();
    let output = releases(dir.path(), &["--json"]);
    let kinds = kinds(&output);
    assert!(kinds.values().all(Vec::is_empty), "{kinds:#?}");
    assert_eq!((kinds.len(), output.status.code()), (22, Some(0)));
}

#[test]
fn the_careless_server_fails_where_it_should_and_its_token_is_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--set", "server=careless.mjs", "--markdown", "out/c.md", "--junit", "out/c.xml"];
    let output = releases(dir.path(), &[&["--json"], &more[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let silent = ["is_error", "category", "retry"];
    let with = |more: &[&'static str]| [&silent[..], more].concat();
    let made_up = with(&["result"]);
    let leaks = with(&["secret_in_result"]);
    let repeats = with(&["requests", "claim"]);
    let wanted: BTreeMap<&str, Vec<&str>> = [
        ("created", vec![]),
        ("expired-token", leaks.clone()),
        ("denied", leaks.clone()),
        ("rate-limited", leaks.clone()),
        ("id-null", made_up.clone()),
        ("id-number", made_up.clone()),
        ("id-object", made_up.clone()),
        ("id-missing", made_up.clone()),
        ("field-missing", made_up.clone()),
        ("success-with-error-body", made_up),
        ("truncated", repeats.clone()),
        ("html", leaks),
        ("error-after-commit", with(&["secret_in_result", "claim"])),
        ("doubled", vec!["is_error", "category"]),
        ("reordered", vec!["result"]),
        ("refused", silent.to_vec()),
        // Nothing was carried out, so its claim is not false; that it asks twice is.
        ("timeout-before-the-body", with(&["requests"])),
        ("timeout-after-commit", repeats.clone()),
        ("timeout-before-the-answer", repeats.clone()),
        ("timeout-in-the-answer", repeats.clone()),
        ("cut-after-commit", repeats.clone()),
        ("cut-in-the-answer", repeats),
    ]
    .into_iter()
    .collect();
    let found = kinds(&output);
    for (id, wanted) in &wanted {
        assert_eq!(&found[*id], wanted, "{id}");
    }
    assert_eq!(found.len(), wanted.len());

    let [markdown, junit] =
        ["c.md", "c.xml"].map(|name| std::fs::read_to_string(dir.path().join("out").join(name)).unwrap());
    for written in [&markdown, &junit, &text(&output.stdout), &text(&output.stderr)] {
        assert!(!written.contains(TOKEN), "{written}");
    }
    assert!(text(&output.stdout).contains("‹secret:API_TOKEN›"));
    assert!(markdown.contains("1 of 22 cases passed, 21 failed"), "{markdown}");
    let xml = roxmltree::Document::parse(&junit).unwrap();
    let root = xml.root_element();
    assert_eq!((root.attribute("tests"), root.attribute("failures")), (Some("22"), Some("21")));
    let failures = xml.descendants().filter(|node| node.has_tag_name("failure")).count();
    assert_eq!(failures, 21);
}

#[test]
fn a_filter_keeps_cases_and_names_what_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    let output = releases(dir.path(), &["--json", "--filter", "id-*", "--filter", "created"]);
    let ids: Vec<String> = kinds(&output).into_keys().collect();
    assert_eq!(ids, ["created", "id-missing", "id-null", "id-number", "id-object"]);
    for (arguments, meant) in [
        (["--filter", "creatd"], "did you mean `created`?"),
        (["--set", "servr=x"], "did you mean `server`?"),
        (["--set", "server"], "NAME=VALUE"),
    ] {
        let output = contract(dir.path(), &[&[RELEASES], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(meant), "{}", text(&output.stderr));
    }
}

#[test]
fn the_table_tells_what_was_asked_and_answered() {
    let dir = tempfile::tempdir().unwrap();
    let filter = ["--set", "server=careless.mjs", "--filter", "denied", "--filter", "created"];
    let output = releases(dir.path(), &filter);
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn what_cannot_be_carried_out_is_an_error_with_its_reason() {
    let case =
        "cases:\n- {id: a, call: {tool: create_relase}, fixture: {status: 200}, expect: {is_error: true}}\n";
    let script =
        |script: &str| format!("contract: c\nupstream: {{command: node, args: [-e, \"{script}\"]}}\n{case}");
    let careful = format!("{}/suites/contracts/careful.mjs", env!("CARGO_MANIFEST_DIR"));
    for (contract_text, reason) in [
        (script("console.error('no config: /etc/x'); process.exit(3)"), "no config: /etc/x"),
        (
            format!("contract: c\nupstream: {{command: no-such-program}}\n{case}"),
            "`no-such-program` was not found",
        ),
        (
            script("setInterval(() => {}, 1000)").replace("cases:", "limits: {start: 500ms}\ncases:"),
            "did not answer `initialize`",
        ),
        (
            format!("contract: c\nupstream: {{command: node, args: ['{careful}']}}\n{case}"),
            "it has create_release, find_release",
        ),
        (
            format!(
                "contract: c\nupstream: {{command: node, args: ['--x={TOKEN}'], env: {{T: {TOKEN}}}}}\nsecrets: [T]\n{case}"
            ),
            "the command line would show the value of T",
        ),
        (
            format!(
                "contract: c\nupstream: {{command: node, args: [x], env: {{T: short}}}}\nsecrets: [T]\n{case}"
            ),
            "the value of T cannot be kept secret: it has 5 characters",
        ),
    ] {
        let dir = place(&contract_text);
        let output = contract(dir.path(), &["contract.yaml", "--json"]);
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        let error = results["cases"][0]["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(reason), "{error}\nwanted: {reason}");
        assert!(!text(&output.stdout).contains(TOKEN));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_server_that_ends_or_hangs_in_a_call_fails_its_case() {
    let server = |work: &str| {
        format!(
            "import {{ serve }} from '{}/suites/contracts/stdio.mjs';\nserve('s', {{ t: {{ inputSchema: {{ type: 'object' }}, run: async () => {{ {work} }} }} }});\n",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    for (work, limit, reason) in [
        (
            "console.error('out of luck'); process.exit(7);",
            "3m",
            "exit code 7; its stderr ends with: out of luck",
        ),
        ("await new Promise(() => setInterval(() => {}, 1000));", "500ms", "did not answer within 500ms"),
        ("throw new Error('no');", "3m", ""),
    ] {
        let dir = place(&format!(
            "contract: c\nupstream: {{command: node, args: [server.mjs]}}\nlimits: {{start: 3m, call: {limit}}}\ncases:\n- {{id: a, call: {{tool: t}}, fixture: {{status: 200}}, expect: {{is_error: true, requests: 0}}}}\n"
        ));
        std::fs::write(dir.path().join("server.mjs"), server(work)).unwrap();
        let output = contract(dir.path(), &["contract.yaml", "--json"]);
        let results: Value = serde_json::from_slice(&output.stdout).unwrap();
        let case = &results["cases"][0];
        let said = case["failures"][0]["reason"].as_str().unwrap_or_default();
        assert!(said.contains(reason) && said.is_empty() == reason.is_empty(), "{case}");
    }
}

#[test]
fn a_server_that_runs_already_is_asked_over_http() {
    let dir = tempfile::tempdir().unwrap();
    let backend = machine::Port::kept();
    let port = backend.number();
    let script = format!("{}/tests/contract/http.mjs", env!("CARGO_MANIFEST_DIR"));
    let mut server = command("node", dir.path(), &[&script])
        .env("API_URL", format!("http://127.0.0.1:{port}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let text = format!(
        "contract: c\nupstream: {{url: 'http://127.0.0.1:{}/mcp'}}\nfixture: {{listen: '127.0.0.1:{port}'}}\ncases:\n\
         - {{id: a, call: {{tool: create_release, args: {{name: v1}}}}, fixture: {{match: {{body: {{name: v1}}}}, status: 403}}, expect: {{is_error: true, requests: 1, text: {{contains: 'status 403'}}}}}}\n\
         - {{id: b, call: {{tool: create_release}}, fixture: {{status: 201}}, expect: {{is_error: false, requests: 1, committed: true}}}}\n",
        line.trim()
    );
    std::fs::write(dir.path().join("contract.yaml"), text).unwrap();
    let output = contract(dir.path(), &["contract.yaml", "--json"]);
    server.kill().unwrap();
    server.wait().unwrap();
    let kinds = kinds(&output);
    assert!(kinds.len() == 2 && kinds.values().all(Vec::is_empty), "{kinds:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_server_and_keeps_what_is_done() {
    let stdio = format!("{}/suites/contracts/stdio.mjs", env!("CARGO_MANIFEST_DIR"));
    let dir = place(
        "contract: c\nupstream: {command: node, args: [server.mjs]}\ncases:\n\
         - {id: first, call: {tool: quick}, fixture: {status: 200}, expect: {is_error: false}}\n\
         - {id: second, call: {tool: slow}, fixture: {status: 200}, expect: {is_error: false}}\n\
         - {id: third, call: {tool: quick}, fixture: {status: 200}, expect: {is_error: false}}\n",
    );
    let server = format!(
        "import {{ serve }} from '{stdio}';\nimport {{ writeFileSync, renameSync }} from 'node:fs';\nconst inputSchema = {{ type: 'object' }};\nserve('s', {{\n  quick: {{ inputSchema, run: () => ({{ content: [] }}) }},\n  slow: {{ inputSchema, run: () => {{ writeFileSync('tmp', String(process.pid)); renameSync('tmp', 'pid'); return new Promise(() => setInterval(() => {{}}, 1000)); }} }},\n}});\n"
    );
    std::fs::write(dir.path().join("server.mjs"), server).unwrap();
    let mut child = command(machine::NOCHMAL, dir.path(), &["contract", "contract.yaml", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid_file = dir.path().join("pid");
    machine::until("the slow call", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the slow call was there");
        pid_file.exists()
    });
    let server: i32 = std::fs::read_to_string(pid_file).unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&results["passed"], &results["not_run"]), (&Value::from(1), &Value::from(2)));
    machine::until("the end of the server", || !machine::runs(server));
}
