//! The suite that comes with the OpenAI Agents SDK's profile, as a user runs it, against scripted
//! models on loopback.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::domain::{RunResult, Verdict};
use nochmal::store::read_runs;
use nochmal::upstream::builtin::ledger;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Scripted models behind OpenAI's API, for the time of one test.
struct Models {
    process: Child,
    url: String,
    log: PathBuf,
}

impl Models {
    fn start(dir: &Path) -> Models {
        let log = dir.join("requests.jsonl");
        let mut process = machine::nochmal()
            .args(["model", "--listen", "127.0.0.1:0", "--log"])
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Models { process, url: url.trim().to_owned(), log }
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(suite: &str, dir: &Path, models: &Models) -> Vec<RunResult> {
    let venv = root().join("target/venv/bin");
    assert!(venv.is_dir(), "run tests/install.sh first: {} is missing", venv.display());
    let path = format!("{}:{}", venv.display(), std::env::var("PATH").unwrap());
    std::fs::write(dir.join("suite.yaml"), suite).unwrap();
    let output = machine::nochmal()
        .current_dir(root())
        .arg("run")
        .arg(dir.join("suite.yaml"))
        .arg("--out")
        .arg(dir.join("out"))
        .env("PATH", path)
        .env("OPENAI_BASE_URL", &models.url)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read_runs(&dir.join("out")).unwrap()
}

fn check(results: &[RunResult], dir: &Path) {
    assert_eq!(results.len(), 8);
    for run in results {
        let name = format!("{}: {:?} {}", run.key, run.reason_code, run.reason);
        let twice = run.key.conversation == "insists" && run.key.patch == "off";
        assert_eq!(run.verdict, if twice { Verdict::Fail } else { Verdict::Pass }, "{name}");
        let bookings = ledger::read(&dir.join("out/runs").join(&run.run_id.0).join("ledger.jsonl")).unwrap();
        assert_eq!(bookings.len(), if twice { 2 } else { 1 }, "{name}");
        let turns = if run.key.conversation == "insists" { 2 } else { 1 };
        assert_eq!(run.turns.len(), turns, "{name}");
        assert!(
            run.turns.iter().all(|turn| turn.reply.as_ref().is_some_and(|reply| !reply.is_empty())),
            "{name}"
        );
        assert!(run.usage.input_tokens.is_some_and(|tokens| tokens > 0), "{name}");
        assert!(run.agent.client.as_ref().is_some_and(|client| client.contains("MCP 20")), "{name}");
    }
}

const SUITE: &str = include_str!("../suites/openai-agents.yaml");

#[test]
fn over_streamable_http_the_duplicate_comes_with_bitte_nochmal_and_not_without() {
    let dir = tempfile::tempdir().unwrap();
    let models = Models::start(dir.path());
    check(&run(SUITE, dir.path(), &models), dir.path());
    // The patch reached the model word for word, and in the patched runs only.
    let patch = nochmal::judge::patches::text("GHOST_WRITE", nochmal::judge::patches::Lang::En).unwrap();
    let patch = serde_json::to_string(patch).unwrap();
    let requests = std::fs::read_to_string(&models.log).unwrap();
    let (with, without): (Vec<&str>, Vec<&str>) = requests
        .lines()
        .filter(|line| line.contains("front desk"))
        .partition(|line| line.contains(patch.trim_matches('"')));
    assert!(!with.is_empty() && !without.is_empty(), "{} with, {} without", with.len(), without.len());
}
