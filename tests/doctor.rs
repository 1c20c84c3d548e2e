//! `nochmal doctor`: what it tells of agents, keys and endpoints, and its exit code.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::harness::endpoint::{Options, serve};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use tokio::net::TcpListener;

fn suite(agent: &str, model: &str, upstream: &str, agents: &str) -> String {
    format!(
        "suite: look\nmatrix:\n  agent: [{agent}]\n  model: [{model}]\n  scenario: [F1]\nprompts:\n  plain:\n    user: \
         Book room 12.\nupstreams:\n  desk: {upstream}\n{agents}"
    )
}

const AGENT: &str = "agents:
  some-agent:
    install: npm install -g some-agent@1.2.3
    tested: 1.2.3
    probe: [some-agent, --version]
    mcp: stdio
    first: {command: [some-agent, \"{{ prompt.user }}\"]}
    env: {pass: [SOME_API_KEY, SOME_BASE_URL]}
";

fn program(dir: &Path, says: &str) {
    machine::script(&dir.join("some-agent"), &format!("#!/bin/sh\necho '{says}'\n"));
}

fn doctor(dir: &Path, suite: &str, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    std::fs::write(dir.join("suite.yaml"), suite).unwrap();
    machine::nochmal()
        .arg("doctor")
        .arg(dir.join("suite.yaml"))
        .args(arguments)
        .env("PATH", format!("{}:/usr/bin:/bin", dir.display()))
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_suite_that_needs_nothing_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let output = doctor(dir.path(), &suite("builtin", "script:naive", "{builtin: booking}", ""), &[], &[]);
    assert!(text(&output).ends_with("Everything that the suites need is there.\n"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_built_in_agent_needs_the_key_of_the_model_that_it_asks() {
    let dir = tempfile::tempdir().unwrap();
    let anthropic = [("ANTHROPIC_API_KEY", "sk-hidden")];
    let told = |model: &str, env: &[(&str, &str)]| {
        let output = doctor(dir.path(), &suite("builtin", model, "{builtin: booking}", ""), &[], env);
        let told = text(&output);
        let end = told.split_once("\n\n").unwrap().1;
        let end = end.split_once("\nMissing:\n").map_or(end, |(_, missing)| missing);
        (output.status.code().unwrap(), end.split("\n\n").last().unwrap().to_owned())
    };
    insta::assert_snapshot!(told("gpt-4", &anthropic).1, @r"
    agent builtin: the model gpt-4 cannot be asked: OPENAI_API_KEY is not set, and the vendor's own endpoint asks for it; for another one set OPENAI_BASE_URL
      → export OPENAI_API_KEY=…
    ");
    assert_eq!(told("gpt-4", &anthropic).0, 1);
    // A key that is there may still be refused.
    let (code, end) = told("\"anthropic:claude\"", &anthropic);
    assert!(
        end.starts_with("Nothing that the suites need was found missing. Whether keys are accepted"),
        "{end}"
    );
    assert_eq!(code, 0);
    // An empty variable is none, and another provider's address is no matter.
    let env = [("OPENAI_API_KEY", ""), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    assert_eq!(told("gpt-4", &env).0, 1);
    let env = [("OPENAI_API_KEY", "sk-hidden"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    assert_eq!(told("gpt-4", &env).0, 0);
    let (code, missing) = told("\"ollama:qwen3:14b\"", &[("OLLAMA_HOST", "127.0.0.1:9")]);
    assert!(
        missing.contains("the endpoint http://127.0.0.1:9 of ollama:qwen3:14b does not answer"),
        "{missing}"
    );
    assert!(missing.contains("→ ollama serve") && code == 1, "{missing}");
}

#[test]
fn an_agent_that_extends_the_built_in_one_may_say_whose_its_models_are() {
    let dir = tempfile::tempdir().unwrap();
    let agents = "agents:\n  mine:\n    extends: builtin\n    args: [\"--provider=openai\"]\n    env: {set: {OPENAI_BASE_URL: \"http://127.0.0.1:9/v1\"}}\n";
    // Without the flag this would be a slip in the name of a provider.
    let output =
        doctor(dir.path(), &suite("mine", "\"scrip:careful\"", "{builtin: booking}", agents), &[], &[]);
    let told = text(&output);
    assert!(told.contains("the endpoint http://127.0.0.1:9/v1 of scrip:careful does not answer"), "{told}");
}

#[test]
fn what_is_missing_comes_with_what_mends_it() {
    let dir = tempfile::tempdir().unwrap();
    let suite = suite("some-agent", "m", "{command: server-of-nobody}", AGENT);
    let output = doctor(dir.path(), &suite, &[], &[]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output);
    let missing = told.split("Missing:\n").nth(1).unwrap();
    insta::assert_snapshot!(missing, @r"
      agent some-agent: `some-agent` was not found on PATH
        → npm install -g some-agent@1.2.3
      agent some-agent: neither a key (SOME_API_KEY) nor an endpoint of its own (SOME_BASE_URL) is set
        → export SOME_API_KEY=…
      upstream program `server-of-nobody` was not found
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_keys_and_endpoints_are_told_and_no_value_of_a_key() {
    let dir = tempfile::tempdir().unwrap();
    program(dir.path(), "some-agent 1.3.0");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://ada:hidden@{}/v1", listener.local_addr().unwrap());
    tokio::spawn(serve(listener, Options::default(), std::future::pending()));
    let suite = suite("some-agent", "script:naive", "{builtin: booking}", AGENT);
    let env = [("SOME_API_KEY", "sk-hidden"), ("SOME_BASE_URL", url.as_str())];
    let path = dir.path().to_owned();
    let (json, table) = tokio::task::block_in_place(|| {
        (doctor(&path, &suite, &["--json"], &env), doctor(&path, &suite, &[], &env))
    });
    assert!(!text(&json).contains("hidden") && !text(&table).contains("hidden"));
    assert_eq!((json.status.code(), table.status.code()), (Some(0), Some(0)));
    let told: Value = serde_json::from_slice(&json.stdout).unwrap();
    let agent = &told["agents"][0];
    assert_eq!((&agent["installed"], &agent["version"]), (&"some-agent 1.3.0".into(), &"other".into()));
    assert_eq!((&agent["keys"]["SOME_API_KEY"], &told["ready"]), (&true.into(), &true.into()));
    let models = &told["endpoints"][0]["answered"]["models"];
    assert!(models.as_array().unwrap().contains(&"naive".into()), "{told:#}");
    assert_eq!(told["missing"], serde_json::json!([]));
    assert!(text(&table).contains("some-agent 1.3.0 is installed, and the profile was tried with 1.2.3"));
}

#[test]
fn an_endpoint_that_does_not_answer_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    program(dir.path(), "1.2.3");
    let suite = suite("some-agent", "m", "{builtin: booking}", AGENT);
    let nobody = machine::Port::closed();
    let url = format!("http://{}/v1", nobody.address());
    let output = doctor(dir.path(), &suite, &["--json"], &[("SOME_BASE_URL", &url)]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["agents"][0]["version"], "tested");
    let what = told["missing"][0]["what"].as_str().unwrap();
    assert!(what.contains(&format!("{url} (SOME_BASE_URL) does not answer")), "{what}");
}
