//! What remains of a suite when it is over, however it ends: nothing that runs, and nothing in the
//! user's home.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use machine::{gone, runs, until};
use nochmal::domain::{RunResult, Verdict};
use nochmal::store::read_runs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// One agent that ignores SIGTERM and never answers, one that answers and leaves children and daemons
/// behind, one that leaves a child which holds its output open. FIXTURES is their folder.
const SUITE: &str = r#"
suite: remains
matrix: {agent: [hangs, leaves, holds]}
prompts: {plain: {user: hello}}
upstreams: {desk: {builtin: booking}}
agents:
  hangs: {mcp: stdio, first: {command: [sh, FIXTURES/family.sh, hang]}}
  leaves: {mcp: stdio, first: {command: [sh, FIXTURES/family.sh, end]}}
  holds: {mcp: stdio, first: {command: [sh, FIXTURES/hold.sh]}, output: {format: json, reply: /result}}
limits: {run_timeout: TIME, parallel: 3}
"#;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(time: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent");
        let suite = SUITE.replace("FIXTURES", &fixtures.display().to_string()).replace("TIME", time);
        std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
        Place { dir }
    }

    fn start(&self) -> Child {
        let mut command = machine::nochmal();
        command.current_dir(&self.dir).args(["run", "suite.yaml", "--out", "out"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The processes that the agents have told of so far.
    fn pids(&self) -> Vec<i32> {
        let Ok(runs) = std::fs::read_dir(self.dir.path().join("out/runs")) else { return Vec::new() };
        let files = runs.flatten().map(|run| run.path().join("work/pids"));
        let texts = files.filter_map(|file| std::fs::read_to_string(file).ok());
        texts
            .flat_map(|text| text.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
            .collect()
    }

    /// Waits until the two agents with a family have told of it.
    fn families(&self) -> Vec<i32> {
        until("two families", || self.pids().len() == 8);
        self.pids()
    }

    /// Waits until two of the three runs have ended, so that only the one that hangs is left.
    fn only_one_left(&self) {
        let runs = self.dir.path().join("out/runs.jsonl");
        until("two finished runs", || {
            std::fs::read_to_string(&runs).unwrap_or_default().lines().count() == 2
        });
    }

    /// Everything below the folder has ended, and so have these processes.
    fn nothing_runs(&self, pids: &[i32]) {
        until("the end of all that was started", || !pids.iter().any(|pid| runs(*pid)));
        gone(&self.dir.path().display().to_string());
    }
}

fn result<'a>(results: &'a [RunResult], agent: &str) -> &'a RunResult {
    results.iter().find(|run| run.key.agent == agent).unwrap()
}

#[test]
fn a_suite_that_ends_by_itself_leaves_no_process() {
    let place = Place::new("30s");
    place.start().wait().unwrap();
    place.nothing_runs(&place.pids());
    let results = read_runs(&place.dir.path().join("out")).unwrap();
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|run| !run.verdict.is_tested()));
    // Timed out, leaking and failing are three things.
    let told = |agent: &str| {
        let run = result(&results, agent);
        (run.agent.timed_out, run.agent.leaked > 0, run.agent.exit_code)
    };
    assert_eq!(told("hangs"), (true, false, None));
    assert_eq!(told("leaves"), (false, true, Some(0)));
    assert_eq!(told("holds"), (false, true, Some(0)));
    assert_eq!(result(&results, "holds").turns[0].reply.as_deref(), Some("done"));
}

#[test]
fn ctrl_c_leaves_no_process() {
    let place = Place::new("10m");
    let mut child = place.start();
    let pids = place.families();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(pids.iter().filter(|pid| runs(**pid)).count(), 0, "all is over before the program is");
    place.nothing_runs(&pids);
}

#[test]
fn kill_9_of_the_runner_leaves_no_process() {
    let place = Place::new("10m");
    let mut child = place.start();
    let pids = place.families();
    place.only_one_left();
    child.kill().unwrap();
    child.wait().unwrap();
    // One of them had dropped its environment, its group and its parent at once.
    place.nothing_runs(&pids);
}

/// Every file of a folder with its content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            files.insert(path, Vec::new());
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn the_users_home_is_byte_for_byte_the_same_after_everything() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    std::fs::create_dir_all(home.join(".config/some-agent")).unwrap();
    std::fs::write(home.join(".config/some-agent/settings.json"), "{\"mine\": true}").unwrap();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/openai-agents.yaml");
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin");
    assert!(venv.is_dir(), "run tests/install.sh first: {} is missing", venv.display());
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/quickstart.yaml");
    let before = content(&home);
    let out = |name: &str| dir.path().join(name);
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = machine::nochmal();
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).env("HOME", &home);
        command.env("PATH", format!("{}:{}", venv.display(), std::env::var("PATH").unwrap()));
        command.output().unwrap()
    };
    let ran = run(&[
        "run".as_ref(),
        quickstart.as_ref(),
        "--repeats=1".as_ref(),
        "--out".as_ref(),
        out("run").as_ref(),
    ]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let rehearsed = run(&["rehearse".as_ref(), suite.as_ref(), "--out".as_ref(), out("rehearsal").as_ref()]);
    assert!(rehearsed.status.success(), "{}", String::from_utf8_lossy(&rehearsed.stdout));
    let results = read_runs(&out("rehearsal")).unwrap();
    assert!(results.iter().any(|run| run.verdict != Verdict::Error), "a real agent program ran");
    run(&["doctor".as_ref(), suite.as_ref()]);
    assert_eq!(content(&home), before);
}
