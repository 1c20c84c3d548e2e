//! What the tests share: two agents, the ids, and a suite that uses everything.

use nochmal::suite::{BuiltinNames, Context, Diagnostics, ProfileText, Suite, check};
use std::collections::BTreeMap;
use std::io;

pub const BUILTIN: &str = r#"
agent: builtin
mcp: http
first:
  mode: session
  command: ["{{ nochmal }}", agent, "--model={{ model }}", --mcp, "{{ mcp.url }}"]
"#;

/// It has no `next`, so it cannot go on.
pub const ONE_SHOT: &str = r#"
agent: one-shot
mcp: http
first: {command: [one-shot, -p, --, "{{ prompt.user }}"]}
"#;

pub const SCENARIOS: [&str; 7] = ["F1", "F2", "F3", "F4", "F5", "chaos", "none"];
pub const PATCHES: [&str; 4] = ["GHOST_WRITE", "IDEMPOTENCY", "RATE_LIMIT", "VERIFICATION"];

pub const FULL: &str = r#"suite: full
description: Everything at once
matrix:
  agent: [builtin]
  model: [qwen3:14b, gemma4]
  prompt: [plain, long]
  conversation: [alone, insists]
  upstream: [with-search, real]
  scenario: [none, F1, F2, chaos]
  patch: [off, GHOST_WRITE, observed, file:patches/own.md]
exclude:
  - {scenario: none, patch: [GHOST_WRITE, observed, file:patches/own.md]}
include:
  - {model: 1.0, scenario: F1, conversation: alone, patch: off, prompt: plain, upstream: real}
repeats: 10
seed: 7
prompts:
  plain:
    system: "You are the front desk assistant of a small hotel."
    user: "Please book room 12 for Ada Lovelace on {{ date }}."
  long: {user: file:prompts/long.md}
vars: {date: 2026-12-03}
conversations:
  insists:
    - say: "bitte nochmal versuchen"
      when: always
      after: 2s
    - say: "und jetzt? {{ date }}"
      when: {matches: "(?i)time.?out"}
upstreams:
  with-search: {builtin: booking, search: true}
  real:
    command: npx
    args: ["-y", "some-server"]
    env: {FILE: "{{ run.dir }}/memory.jsonl"}
    tools: {write: ["create_*", "add_*"], read: ["read_*"]}
    key_fields: [idempotency_key]
scenario_params: {retry_after: 30s, error_rate: 0.2}
limits:
  run_timeout: 5m
  upstream_timeout: 60s
  parallel: 4
  per_model: 1
  output: 10MiB
"#;

pub fn agents() -> BTreeMap<String, ProfileText> {
    [("builtin", BUILTIN), ("one-shot", ONE_SHOT)]
        .into_iter()
        .map(|(name, text)| {
            let file = format!("agents/{name}.yaml");
            (name.to_owned(), ProfileText { file, text: text.to_owned() })
        })
        .collect()
}

fn read(path: &str) -> io::Result<String> {
    match path {
        "patches/own.md" => Ok("Never repeat a write.".to_owned()),
        "prompts/long.md" => Ok("Dear assistant,\nplease book room 12 on {{ date }}.\n".to_owned()),
        "prompts/bad.md" => Ok("Dear assistant,\nplease book {{ rooom }}.\n".to_owned()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    }
}

pub fn checked(text: &str) -> Result<Suite, Diagnostics> {
    let agents = agents();
    let settings = vec!["search", "idempotent"];
    let builtins = [
        BuiltinNames { name: "booking", settings: settings.clone() },
        BuiltinNames { name: "payments", settings: vec!["search"] },
    ];
    check(
        text,
        "suites/t.yaml",
        &Context {
            agents: &agents,
            scenarios: &SCENARIOS,
            builtins: &builtins,
            patches: &PATCHES,
            models: &|model| (model == "scrip:careful").then(|| "no provider is called scrip".to_owned()),
            no_model: &|name| name.starts_with("olama:").then(|| format!("no provider is called {name:?}")),
            read: &read,
        },
    )
}

pub fn full() -> Suite {
    match checked(FULL) {
        Ok(suite) => suite,
        Err(mistakes) => panic!("{mistakes}"),
    }
}

/// A suite of one cell, with lines put in or replaced.
pub fn small(change: impl FnOnce(String) -> String) -> String {
    change(
        r#"suite: small
matrix:
  agent: [builtin]
  model: [gemma4]
  scenario: [F1]
repeats: 3
prompts:
  plain:
    user: "Please book room 12."
upstreams:
  desk: {builtin: booking}
"#
        .to_owned(),
    )
}
