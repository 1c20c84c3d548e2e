//! The built-in agent and its models, from end to end: endpoints of every provider on loopback, and
//! recordings of whole suites.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use machine::NOCHMAL;
use nochmal::domain::{ReasonCode, RunResult, Verdict};
use nochmal::store::read_runs;
use nochmal::upstream::builtin::ledger;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const PROMPT: &str = "Please book room 12 for Ada Lovelace on 2026-12-03.";

fn nochmal(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = machine::nochmal();
    command.current_dir(dir).args(arguments).stdin(Stdio::null());
    command
}

/// Stdout and stderr of a command that ends with that code.
fn said(code: i32, output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

/// `nochmal model`, ended with the test.
struct Endpoint {
    child: Child,
    url: String,
}

impl Endpoint {
    fn start(dir: &Path, flags: &[&str]) -> Endpoint {
        let mut child = nochmal(dir, &["model"]).args(flags).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Endpoint { child, url: url.trim().trim_end_matches("/v1").to_owned() }
    }

    /// The variables that lead every provider here.
    fn variables(&self) -> [(&'static str, String); 7] {
        [
            ("OPENAI_BASE_URL", format!("{}/v1", self.url)),
            ("OLLAMA_HOST", self.url.trim_start_matches("http://").to_owned()),
            ("ANTHROPIC_BASE_URL", self.url.clone()),
            ("ANTHROPIC_API_KEY", "sk-ant-secret".to_owned()),
            ("GEMINI_BASE_URL", self.url.clone()),
            ("GEMINI_API_KEY", "AIza-secret".to_owned()),
            ("OLLAMA_BASE_URL", String::new()),
        ]
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_provider_books_a_room_as_a_whole_and_as_a_stream() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::start(dir.path(), &["--log", "asked.jsonl"]);
    for provider in ["openai", "openai-responses", "ollama", "anthropic", "gemini"] {
        for stream in [None, Some("--no-stream")] {
            let file = format!("{provider}{}.jsonl", stream.unwrap_or_default());
            let hotel = format!("hotel={NOCHMAL} upstream booking --ledger {file}");
            let model = format!("{provider}:script:naive");
            let flags =
                ["agent", "--model", &model, "--mcp", &hotel, "--system", "s", "--prompt", PROMPT, "--json"];
            let output =
                nochmal(dir.path(), &flags).args(stream).envs(endpoint.variables()).output().unwrap();
            let answer: Value = serde_json::from_str(&said(0, &output).0).unwrap();
            assert!(answer["reply"].as_str().unwrap().starts_with("Booked: "), "{file}: {answer}");
            let usage = &answer["usage"];
            assert_eq!((&usage["unit"], &usage["answers"]), (&"tokens".into(), &2.into()), "{file}");
            assert!(usage["input_tokens"].as_u64().unwrap() > 10, "{file}");
            assert_eq!(ledger::read(&dir.path().join(&file)).unwrap().len(), 1, "{file}");
        }
    }
    let asked = std::fs::read_to_string(dir.path().join("asked.jsonl")).unwrap();
    assert_eq!(asked.lines().count(), 20);
    assert!(!asked.contains("secret"));
}

#[test]
fn an_endpoint_that_is_down_for_a_moment_is_asked_again_and_a_refusal_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let hotel = format!("hotel={NOCHMAL} upstream booking --ledger ledger.jsonl");
    let flags = ["agent", "--model", "anthropic:script:naive", "--mcp", &hotel, "--prompt", PROMPT, "--json"];
    for (failure, retries) in [("529", 1), ("cut", 1)] {
        let endpoint = Endpoint::start(dir.path(), &["--fail", failure, "--fail-first", "1"]);
        let output = nochmal(dir.path(), &flags).envs(endpoint.variables()).output().unwrap();
        let answer: Value = serde_json::from_str(&said(0, &output).0).unwrap();
        assert_eq!(answer["usage"]["retries"], retries, "{failure}");
    }
    let endpoint = Endpoint::start(dir.path(), &["--fail", "401"]);
    let output = nochmal(dir.path(), &flags).envs(endpoint.variables()).output().unwrap();
    let (_, err) = said(1, &output);
    assert!(err.contains("the model endpoint answered 401") && !err.contains("secret"), "{err}");
}

const SUITE: &str = r#"
suite: recorded
matrix:
  agent: [builtin]
  model: ["openai:script:obedient"]
  conversation: [alone, insists]
  scenario: [F1]
  patch: [off, GHOST_WRITE]
repeats: 2
seed: 7
prompts:
  plain:
    system: "You are the front desk assistant of a small hotel."
    user: "Please book room 12 for Ada Lovelace on 2026-12-03."
conversations:
  insists:
    - say: "bitte nochmal versuchen"
upstreams:
  hotel: {builtin: booking}
"#;

fn verdicts(runs: &[RunResult]) -> Vec<(String, Verdict, ReasonCode)> {
    let mut verdicts: Vec<_> =
        runs.iter().map(|run| (run.run_id.0.clone(), run.verdict, run.reason_code)).collect();
    verdicts.sort();
    verdicts
}

#[test]
fn a_suite_on_a_recording_asks_nobody_and_tells_every_difference() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    std::fs::write(path.join("suite.yaml"), SUITE).unwrap();
    let run = |code: i32, out: &str, flags: &[&str], variables: &[(&str, String)]| {
        let mut command = nochmal(path, &["run", "suite.yaml", "--out", out]);
        let told = said(code, &command.args(flags).envs(variables.iter().cloned()).output().unwrap());
        (told.0, told.1, read_runs(&path.join(out)).unwrap_or_default())
    };
    let recorded = {
        let endpoint = Endpoint::start(path, &[]);
        run(0, "out", &["--record", "tapes"], &endpoint.variables()).2
    };
    assert_eq!(recorded.len(), 8);
    assert!(recorded.iter().all(|run| run.usage.input_tokens.is_some() && run.agent.drift.is_empty()));
    assert_eq!(std::fs::read_dir(path.join("tapes")).unwrap().count(), 8);

    // No endpoint, no key.
    let (out, _, replayed) = run(0, "again", &["--replay", "tapes"], &[]);
    assert!(out.contains("Replay: 8 runs, no difference in prompts and calls."), "{out}");
    assert_eq!(verdicts(&replayed), verdicts(&recorded));
    assert!(replayed.iter().all(|run| run.usage.input_tokens.is_none()), "it costs nothing");

    // Somebody has changed the prompt.
    std::fs::write(path.join("suite.yaml"), SUITE.replace("a small hotel", "a big hotel")).unwrap();
    let (out, _, drifted) = run(1, "changed", &["--replay", "tapes"], &[]);
    assert!(out.contains("Replay: 8 of 8 runs differ from their recordings."), "{out}");
    assert!(
        out.contains("request 1, system prompt: message 1: it was \"…desk assistant of a small hotel."),
        "{out}"
    );
    for (then, now) in verdicts(&recorded).into_iter().zip(verdicts(&drifted)) {
        let pass = then.1 == Verdict::Pass;
        let expected = if pass { (Verdict::NotTested, ReasonCode::ReplayDrift) } else { (then.1, then.2) };
        assert_eq!((now.1, now.2), expected, "{}", then.0);
    }
    assert!(drifted.iter().all(|run| run.agent.drift.len() == 1));

    // A run that was not recorded has no answers.
    std::fs::write(path.join("suite.yaml"), SUITE.replace("repeats: 2", "repeats: 3")).unwrap();
    let (out, _, more) = run(1, "more", &["--replay", "tapes"], &[]);
    assert!(out.contains("Replay: 8 of 12 runs could be replayed"), "{out}");
    let missing: Vec<_> = more.iter().filter(|run| run.verdict == Verdict::Error).collect();
    assert_eq!(missing.len(), 4);
    assert!(missing.iter().all(|run| run.reason.contains("recording ")), "{}", missing[0].reason);
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let agent = "agents:\n  own:\n    mcp: stdio\n    first: {mode: session, command: [own-agent]}\n";
    let suite = SUITE.replace("[builtin]", "[builtin, own]") + agent;
    std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
    let run = |flags: &[&str]| {
        nochmal(dir.path(), &[&["run", "suite.yaml", "--out", "out"], flags].concat()).output().unwrap()
    };
    let (_, err) = said(2, &run(&["--record", "tapes"]));
    assert!(
        err.contains(
            "the agent `own` cannot be recorded and replayed: its profile uses {{ run.record }} nowhere"
        ),
        "{err}"
    );
    let (_, err) = said(2, &run(&["--replay", "tapes"]));
    assert!(err.contains("`tapes` is no folder of recordings"), "{err}");
    assert!(!dir.path().join("out").exists());
}

#[test]
fn one_conversation_is_recorded_and_replayed_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let hotel = format!("hotel={NOCHMAL} upstream booking");
    let agent = |flags: &[&str]| {
        let flags = [&["agent", "--mcp", &hotel, "--prompt", PROMPT], flags].concat();
        said(0, &nochmal(dir.path(), &flags).output().unwrap())
    };
    let (reply, _) = agent(&["--model", "script:careful", "--record", "a.jsonl"]);
    let same = "replayed 2 answers: no difference in prompts and calls\n";
    assert_eq!(agent(&["--replay", "a.jsonl"]), (reply.clone(), same.to_owned()));
    assert_eq!(agent(&["--model", "replay:a.jsonl"]), (reply.clone(), same.to_owned()));
    let (now, told) = agent(&["--replay", "a.jsonl", "--system", "Be brief."]);
    assert_eq!(now, reply);
    assert!(
        told.contains("1 difference\n  request 1, system prompt: message 1 was of the kind \"user\""),
        "{told}"
    );
    let output = nochmal(dir.path(), &["agent", "--prompt", "x", "--replay", "b.jsonl"]).output().unwrap();
    assert!(said(2, &output).1.contains("recording b.jsonl: "));
    // What somebody has kept is never written over.
    for flag in ["--record", "--spans"] {
        let kept = std::fs::read(dir.path().join("a.jsonl")).unwrap();
        let flags = ["agent", "--prompt", "x", "--model", "script:careful", flag, "a.jsonl"];
        let output = nochmal(dir.path(), &flags).output().unwrap();
        assert!(said(2, &output).1.contains("choose another name"), "{flag}");
        assert_eq!(std::fs::read(dir.path().join("a.jsonl")).unwrap(), kept, "{flag}");
    }
}

#[test]
fn a_suite_can_name_a_script_of_ones_own_and_a_mistake_in_it_stops_it_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let script = "script: twice\nlike: naive\nrepeats: 2\nsteps:\n  succeeded: say denied\n";
    std::fs::write(dir.path().join("twice.yaml"), script).unwrap();
    let suite =
        SUITE.replace("openai:script:obedient", "script:file:twice.yaml").replace("repeats: 2", "repeats: 1");
    std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
    let run = |out: &str| nochmal(dir.path(), &["run", "suite.yaml", "--out", out]).output().unwrap();
    said(0, &run("out"));
    let runs = read_runs(&dir.path().join("out")).unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run.verdict == Verdict::Fail && run.key.model == "script:file:twice.yaml"));
    std::fs::write(dir.path().join("twice.yaml"), script.replace("repeats: 2", "repeat: 2")).unwrap();
    let (_, err) = said(2, &run("none"));
    assert!(err.contains("twice.yaml:3:1") && err.contains("did you mean `repeats`?"), "{err}");
    std::fs::remove_file(dir.path().join("twice.yaml")).unwrap();
    let (_, err) = said(2, &run("none"));
    assert!(err.contains("the model `script:file:twice.yaml` is a script that cannot be read"), "{err}");
    assert!(!dir.path().join("none").exists());
}

#[test]
fn the_spans_of_a_conversation_are_written_with_their_metrics() {
    let dir = tempfile::tempdir().unwrap();
    let hotel = format!("hotel={NOCHMAL} upstream booking");
    let flags =
        ["agent", "--model", "script:careful", "--mcp", &hotel, "--prompt", PROMPT, "--spans", "s.jsonl"];
    said(0, &nochmal(dir.path(), &flags).output().unwrap());
    let text = std::fs::read_to_string(dir.path().join("s.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().filter_map(|line| line["name"].as_str()).collect();
    let expected =
        ["chat careful", "execute_tool create_booking", "chat careful", "turn", "invoke_agent nochmal"];
    assert_eq!(names, expected);
    let metrics = &lines[5]["metrics"];
    assert_eq!(
        (&metrics["turns"], &metrics["model"]["count"], &metrics["tool"]["failed"]),
        (&1.into(), &2.into(), &0.into())
    );
    assert!(!text.contains("Lovelace"));
}
