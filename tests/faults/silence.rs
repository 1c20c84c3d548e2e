//! Nothing that an agent can see gives the test away: an agent without an SDK writes down every byte that
//! came to it, under every fault, in both forms, over both transports.

use super::rig::{betraying, command, fixture, python};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Faults of a suite's own, with every kind of answer.
const OWN: [(&str, &str); 11] = [
    ("own-timeout", "execute: false, answer: {kind: timeout}"),
    ("own-status", "answer: {kind: status, status: 503}"),
    ("own-limit", "execute: false, answer: {kind: status, status: 429, retry_after: 7s}"),
    ("own-mutation", "answer: {kind: mutate, field: room, to: object}"),
    ("own-list", "on: {class: read}, answer: {kind: mutate, list: doubled}"),
    ("own-cut", "answer: {kind: cut}"),
    ("own-killed", "execute: after, answer: {kind: cut, kill: true}"),
    ("own-half", "answer: {kind: half}"),
    ("own-late", "delay: 20s, answer: {kind: late}"),
    ("own-text", "execute: after, delay: 20ms, answer: {kind: text, text: \"Please hold the line\"}"),
    ("own-error", "times: always, answer: {kind: protocol_error, code: -32000, message: \"Internal error\"}"),
];

fn suite() -> String {
    let built_in: Vec<String> = nochmal::scenario::spellings()
        .into_iter()
        // Rebuilds need a server that can be rebuilt (`tests/rebuilds.rs`).
        .filter(|id| !id.starts_with('R'))
        .filter(|id| {
            nochmal::scenario::find(id)
                .is_some_and(|(entry, _)| entry.variants.is_empty() || id.contains(':'))
        })
        .collect();
    let mut text = String::from("suite: desk\nmatrix:\n  agent: [pipe, web]\n  model: [none]\n");
    text.push_str("  present: [plain, structured]\n  scenario:\n");
    for id in built_in.iter().map(String::as_str).chain(OWN.map(|(id, _)| id)) {
        writeln!(text, "    - \"{id}\"").unwrap();
    }
    text.push_str("scenarios:\n");
    for (id, fault) in OWN {
        writeln!(text, "  {id}: {{{fault}}}").unwrap();
    }
    let (python, eyes) = (python(), fixture("eyes.py"));
    for (agent, mcp, config) in [
        ("pipe", "stdio", r#"{"command": {{ mcp.command | tojson }}, "args": {{ mcp.args | tojson }}}"#),
        ("web", "http", r#"{"url": {{ mcp.url | tojson }}}"#),
    ] {
        if agent == "pipe" {
            text.push_str("agents:\n");
        }
        let command = format!(
            "[\"{}\", \"{{{{ run.dir }}}}/eyes.py\", \"{{{{ run.dir }}}}/mcp.json\", \"{{{{ run.dir }}}}/seen.txt\"]",
            python.display()
        );
        writeln!(
            text,
            "  {agent}:\n    agent: {agent}\n    mcp: {mcp}\n    files:\n      mcp.json: '{config}'"
        )
        .unwrap();
        let code = std::fs::read_to_string(&eyes).unwrap();
        let code = format!("{{% raw %}}{code}{{% endraw %}}");
        let code: String = code.lines().map(|line| format!("        {line}\n")).collect();
        write!(text, "      eyes.py: |\n{code}").unwrap();
        writeln!(text, "    first: {{mode: session, command: {command}}}\n    isolate: {{home: true}}")
            .unwrap();
    }
    text.push_str("prompts:\n  plain: {user: \"Please book room 12 for Ada Lovelace on 2026-12-03.\"}\n");
    text.push_str("conversations:\n  alone: []\n");
    text.push_str("upstreams:\n  booking: {builtin: booking, search: true}\n");
    text.push_str("scenario_params: {delay: 100ms, late: 20s, error_rate: 1.0}\n");
    text.push_str("limits: {run_timeout: 1m, parallel: 3}\n");
    text
}

#[test]
fn nothing_that_an_agent_can_see_gives_the_test_away() {
    let folder = tempfile::Builder::new().prefix("desk-").tempdir().unwrap();
    let file = folder.path().join("desk.yaml");
    std::fs::write(&file, suite()).unwrap();
    let out = folder.path().join("out");
    let output = command(env!("CARGO_BIN_EXE_nochmal"))
        .arg("run")
        .arg(&file)
        .arg("--out")
        .arg(&out)
        // Agents get it, and where a developer keeps programs is not what is looked for.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = nochmal::store::read_runs(&out).unwrap();
    let mut struck: BTreeMap<String, u32> = BTreeMap::new();
    let mut problems = Vec::new();
    for run in &runs {
        let key = &run.key;
        let what = format!("{} {} {}", key.scenario, key.agent, key.present);
        let seen = std::fs::read_to_string(out.join("runs").join(&run.run_id.0).join("seen.txt"));
        let seen = seen.unwrap_or_default();
        for part in ["create_booking", "Ada Lovelace", "hotel-front-desk"] {
            assert!(seen.contains(part), "{what}: {part} is not in what it saw: {}\n{seen}", run.reason);
        }
        problems.extend(betraying(&seen).into_iter().map(|found| format!("{what}: {found}")));
        *struck.entry(key.scenario.clone()).or_default() += u32::from(run.scenario_fired == Some(true));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // Every fault really was before it, in each form and over each transport.
    let idle: Vec<&String> = struck
        .iter()
        .filter(|(id, runs)| **runs < 4 && !matches!(id.as_str(), "none" | "chaos"))
        .map(|(id, _)| id)
        .collect();
    assert!(idle.is_empty(), "{idle:?} of {struck:?}");
}
