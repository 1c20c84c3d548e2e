//! `nochmal run` from end to end: real processes, as a user starts them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is wrong"
)]

#[path = "rig/machine.rs"]
mod machine;

#[cfg(target_os = "linux")]
use machine::gone;
use nochmal::domain::{ReasonCode, RunResult, Verdict};
use nochmal::store::read_runs;
use nochmal::upstream::builtin::ledger;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder for one test, with a suite in it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(suite: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
        Place { dir }
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = machine::nochmal();
        command.current_dir(self.dir.path()).args(arguments);
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        let arguments = [&["run", "suite.yaml", "--out", "out"], more].concat();
        self.command(&arguments).output().unwrap()
    }

    fn results(&self) -> Vec<RunResult> {
        read_runs(&self.out()).unwrap()
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.out().join("summary.json")).unwrap()).unwrap()
    }

    /// Bookings that a run really left behind.
    fn bookings(&self, run: &RunResult) -> usize {
        let path = self.out().join("runs").join(&run.run_id.0).join("ledger.jsonl");
        if path.exists() { ledger::read(&path).unwrap().len() } else { 0 }
    }
}

fn ok(output: &Output) {
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

const QUICKSTART: &str = include_str!("../suites/quickstart.yaml");

#[test]
fn the_quickstart_shows_what_is_known() {
    let place = Place::new(QUICKSTART);
    ok(&place.run(&["--repeats", "1"]));
    let results = place.results();
    assert_eq!(results.len(), 24);
    for run in &results {
        let key = &run.key;
        let name = format!("{key}: {:?} {}", run.reason_code, run.reason);
        let twice = match key.model.as_str() {
            "script:naive" => true,
            "script:careful" => false,
            // Does what the user says, unless the system prompt says otherwise.
            "script:obedient" => key.conversation == "insists" && key.patch == "off",
            other => panic!("{other}"),
        };
        assert_eq!(run.verdict, if twice { Verdict::Fail } else { Verdict::Pass }, "{name}");
        assert_eq!(place.bookings(run), if twice { 2 } else { 1 }, "{name}");
        assert_eq!(run.executions, place.bookings(run) as u64, "{name}");
        assert_eq!(run.scenario_fired, Some(true), "{name}");
        let trace = place.out().join(run.trace.as_ref().unwrap());
        let trace = nochmal::trace::read(&std::fs::read_to_string(trace).unwrap()).unwrap();
        assert_eq!(Some(trace.digest), run.trace_digest);
    }
    let page = std::fs::read_to_string(place.out().join("report.html")).unwrap();
    assert!(page.contains("Every run has its timeline."));
    assert!(page.contains("write no. 1 of this run") && !page.contains(env!("CARGO_BIN_EXE_nochmal")));
    for file in ["matrix.json", "summary.json", "environment.json", "runs.csv", "cells.csv", "report.md"] {
        assert!(place.out().join(file).is_file(), "{file}");
    }
    #[cfg(target_os = "linux")]
    gone(&place.dir.path().to_string_lossy());
}

/// Agents that fail, each in its own way, beside one that works.
const FAILURES: &str = include_str!("run/failures.yaml");

#[test]
fn every_failure_has_its_own_reason_and_the_other_runs_go_on() {
    let place = Place::new(FAILURES);
    ok(&place.run(&[]));
    let results = place.results();
    assert_eq!(results.len(), 10);
    let of = |agent: &str, upstream: &str| {
        results.iter().find(|run| run.key.agent == agent && run.key.upstream == upstream).unwrap()
    };
    let expected = [
        ("absent", Verdict::Error, ReasonCode::AgentNotStarted, "no-such-agent-program"),
        ("hangs", Verdict::NotTested, ReasonCode::RunTimeout, "the agent had not come to its MCP server"),
        ("floods", Verdict::Error, ReasonCode::AgentSawNoTools, "never asked"),
        ("fails", Verdict::Error, ReasonCode::AgentFailed, "7"),
        ("builtin", Verdict::Fail, ReasonCode::DuplicateExecution, ""),
    ];
    for (agent, verdict, code, part) in expected {
        let run = of(agent, "works");
        assert_eq!((run.verdict, run.reason_code), (verdict, code), "{agent}: {}", run.reason);
        assert!(run.reason.contains(part), "{agent}: {}", run.reason);
    }
    for run in results.iter().filter(|run| run.key.upstream == "dies") {
        // These end at once, perhaps before the server does: whichever was first is the reason.
        if ["absent", "fails"].contains(&run.key.agent.as_str()) {
            assert_eq!(run.verdict, Verdict::Error, "{}", run.reason);
            continue;
        }
        assert_eq!(
            (run.verdict, run.reason_code),
            (Verdict::Error, ReasonCode::UpstreamNotStarted),
            "{run:?}"
        );
        assert!(run.reason.contains("no license today"), "{}", run.reason);
    }
    let floods = of("floods", "works");
    assert!(floods.agent.output_dropped > 150_000_000, "{}", floods.agent.output_dropped);
    assert!(of("hangs", "works").agent.timed_out);
    let report = std::fs::read_to_string(place.out().join("report.md")).unwrap();
    for word in
        ["run_timeout", "agent_not_started", "upstream_not_started", "agent_failed", "agent_saw_no_tools"]
    {
        assert!(report.contains(word), "{word} is not in the report:\n{report}");
    }
    #[cfg(target_os = "linux")]
    gone(&place.dir.path().to_string_lossy());
}

/// An agent that talks to its user and never to its tools.
#[test]
fn an_agent_that_never_calls_a_tool_has_not_passed() {
    let place = Place::new(include_str!("run/silent.yaml"));
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(3), "nothing was tested");
    let results = place.results();
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].verdict, results[0].reason_code), (Verdict::NotTested, ReasonCode::NoCall));
    assert_eq!(results[0].score, None);
}

/// Starts a matrix and waits until some of its runs have ended.
fn started(place: &Place, runs: usize) -> (Child, Vec<String>) {
    let mut child = place
        .command(&["run", "suite.yaml", "--out", "out", "--repeats", "6"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = Vec::new();
    let mut ended = 0;
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        ended += usize::from(line.starts_with('['));
        lines.push(line);
        if ended == runs {
            break;
        }
    }
    assert_eq!(ended, runs, "{lines:#?}");
    (child, lines)
}

fn resumed(place: &Place, before: &[RunResult]) {
    ok(&place.command(&["run", "--resume", "out"]).output().unwrap());
    let after = place.results();
    assert_eq!(&after[..before.len()], before, "finished runs are kept as they were");
    let mut ids: Vec<_> = after.iter().map(|run| run.run_id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((after.len(), ids.len()), (36, 36), "every run once");
    assert!(place.out().join("report.md").is_file());
    assert_eq!(place.summary()["interrupted"], false);
    let traces = std::fs::read_dir(place.out().join("traces")).unwrap().count();
    assert_eq!(traces, 36);
}

/// Three models, two conversations, one upstream: six cells.
const SMALL: &str = include_str!("run/small.yaml");

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished_writes_the_reports_and_can_be_resumed() {
    let place = Place::new(SMALL);
    let (mut child, _) = started(&place, 3);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let before = place.results();
    assert!((3..36).contains(&before.len()), "{}", before.len());
    assert_eq!(place.summary()["interrupted"], true);
    assert!(
        std::fs::read_to_string(place.out().join("report.md"))
            .unwrap()
            .contains("The matrix is not complete")
    );
    let traces = std::fs::read_dir(place.out().join("traces")).unwrap().count();
    assert_eq!(traces, before.len(), "a run that was given up leaves no trace");
    #[cfg(target_os = "linux")]
    gone(&place.dir.path().to_string_lossy());
    resumed(&place, &before);
}

#[cfg(target_os = "linux")]
#[test]
fn kill_9_loses_no_finished_run_and_leaves_no_process() {
    let place = Place::new(SMALL);
    let (mut child, _) = started(&place, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    gone(&place.dir.path().to_string_lossy());
    let before = place.results();
    assert!((3..36).contains(&before.len()), "{}", before.len());
    resumed(&place, &before);
}

#[test]
fn a_changed_suite_is_not_resumed() {
    let place = Place::new(SMALL);
    ok(&place.run(&["--filter", "model=script:careful,conversation=alone", "--repeats", "1"]));
    std::fs::write(place.dir.path().join("suite.yaml"), SMALL.replace("seed: 7", "seed: 8")).unwrap();
    let output = place.command(&["run", "--resume", "out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another state of the suite"));
}

#[test]
fn mistakes_are_told_with_their_place_before_anything_is_launched() {
    let place = Place::new(&SMALL.replace("script:naive", "script:naive\n  sceanrio: [F9]"));
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("suite.yaml:"), "{errors}");
    assert!(!place.out().exists());
    for arguments in [
        &["run", "absent.yaml"][..],
        &["run", "suite.yaml", "--filter", "modl=x"],
        &["run", "suite.yaml", "--repeats", "0"],
        &["run", "--resume", "absent"],
        &["run"],
    ] {
        let output = place.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

/// Whatever an upstream writes, a run ends at its limit, and little of it is kept.
#[test]
fn an_upstream_that_floods_its_stdout_ends_as_an_error_with_a_small_trace() {
    let place = Place::new(include_str!("run/flood.yaml"));
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    for run in place.results() {
        assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::UpstreamNotStarted));
        let trace = std::fs::read_to_string(place.out().join(run.trace.unwrap())).unwrap();
        assert!(trace.len() < 100_000, "{}", trace.len());
        assert!(trace.contains("that are no JSON-RPC were dropped"), "{trace}");
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("did not answer `initialize` within 8 s"), "{told}");
    #[cfg(target_os = "linux")]
    gone(&place.dir.path().to_string_lossy());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_whose_upstream_floods_its_stdout() {
    let place = Place::new(&include_str!("run/flood.yaml").replace("8s", "10min"));
    let mut child = place
        .command(&["run", "suite.yaml", "--out", "out"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    errors.read_line(&mut first).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    #[cfg(target_os = "linux")]
    gone(&place.dir.path().to_string_lossy());
}

#[test]
fn a_gate_that_cannot_be_used_is_told_by_a_dry_run_too() {
    let place = Place::new(SMALL);
    for gate in ["nonsense", "where patch=NO_SUCH fail_rate upper 0.3"] {
        let output = place.run(&["--dry-run", "--gate", gate]);
        assert_eq!(output.status.code(), Some(2), "{gate}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("the gate"), "{gate}");
    }
    ok(&place.run(&["--dry-run", "--gate", "max_not_tested 0.1"]));
}

#[test]
fn a_folder_that_holds_something_is_not_written_into() {
    let place = Place::new(SMALL);
    std::fs::create_dir(place.out()).unwrap();
    std::fs::write(place.out().join("mine.txt"), "mine").unwrap();
    let output = place.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(place.out()).unwrap().count(), 1);
}

#[test]
fn a_dry_run_starts_nothing() {
    let place = Place::new(SMALL);
    let output = place.run(&["--dry-run"]);
    ok(&output);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("script:obedient") && text.contains("insists"), "{text}");
    assert!(!place.out().exists());
}

/// `patch: observed` uses what the runs without a patch yielded, word for word.
#[test]
fn an_observed_patch_is_what_the_runs_without_one_yielded() {
    let place = Place::new(include_str!("run/observed.yaml"));
    ok(&place.run(&[]));
    let results = place.results();
    let of = |model: &str, patch: &str| {
        let runs = results.iter().filter(|run| run.key.model == model && run.key.patch == patch);
        runs.collect::<Vec<_>>()
    };
    for run in of("script:obedient", "off") {
        assert_eq!(run.verdict, Verdict::Fail);
        assert_eq!(run.patches.iter().map(|patch| patch.id.as_str()).collect::<Vec<_>>(), ["GHOST_WRITE"]);
    }
    for run in of("script:obedient", "observed") {
        assert_eq!(run.verdict, Verdict::Pass, "{}", run.reason);
    }
    for run in of("script:careful", "observed") {
        assert_eq!((run.verdict, run.reason_code), (Verdict::NotTested, ReasonCode::NoPatchObserved));
    }
}

/// Runs a suite whose upstream is an npm package, with the copy that tests/install.sh installed.
fn run_with_npm(suite: &str, script: &str) -> Place {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/node_modules").join(script);
    assert!(server.is_file(), "run tests/install.sh first: {} is missing", server.display());
    let ours: Vec<String> = suite
        .lines()
        .map(|line| match line.trim_start() {
            start if start.starts_with("command: npx") => "    command: node".to_owned(),
            start if start.starts_with("args: [") => {
                format!("    args: [{:?}]", server.display().to_string())
            }
            _ => line.to_owned(),
        })
        .collect();
    let place = Place::new(&ours.join("\n"));
    ok(&place.run(&["--repeats", "1"]));
    assert_eq!(place.results().len(), 18);
    place
}

/// Who writes twice, whatever the server does with it.
fn writes_twice(run: &RunResult) -> bool {
    match (run.key.model.as_str(), run.key.scenario.as_str()) {
        (_, "none") => false,
        ("script:naive", _) => true,
        ("script:obedient", _) => run.key.conversation == "insists" && run.key.patch == "off",
        _ => false,
    }
}

#[track_caller]
fn judged(run: &RunResult) {
    let twice = writes_twice(run);
    let verdict = if twice { Verdict::Fail } else { Verdict::Pass };
    assert_eq!(run.verdict, verdict, "{}: {}", run.key, run.reason);
    assert_eq!(run.executions, if twice { 2 } else { 1 }, "{}", run.key);
}

/// A real npm package as upstream: the duplicate stands in the server's own file.
#[test]
fn a_duplicate_is_seen_in_the_data_of_a_real_server() {
    let suite = include_str!("../suites/taskmanager-server.yaml");
    let place = run_with_npm(suite, "@kazuph/mcp-taskmanager/dist/index.js");
    for run in &place.results() {
        judged(run);
        let file = place.out().join("runs").join(&run.run_id.0).join("tasks.json");
        let data: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let requests = data["requests"].as_array().unwrap();
        let words: Vec<_> = requests.iter().map(|request| request["originalRequest"].as_str()).collect();
        let wanted = Some("Room 12 for Ada Lovelace on 2026-12-03");
        assert_eq!(words, vec![wanted; if writes_twice(run) { 2 } else { 1 }], "{}: {data:#}", run.key);
    }
}

/// The verdict counts executions. An upstream that drops what it knows already held, and its own
/// file shows that.
#[test]
fn a_real_server_can_hold_though_the_agent_wrote_twice() {
    let suite = include_str!("../suites/memory-server.yaml");
    let place = run_with_npm(suite, "@modelcontextprotocol/server-memory/dist/index.js");
    for run in &place.results() {
        judged(run);
        let file = place.out().join("runs").join(&run.run_id.0).join("memory.jsonl");
        let lines = std::fs::read_to_string(&file).unwrap();
        let entities = lines.lines().filter(|line| line.contains("\"entity\"")).count();
        assert_eq!(entities, 1, "{}: {lines}", run.key);
    }
}

/// The first code block in a document that begins with that line.
fn block<'a>(document: &'a str, first: &str) -> &'a str {
    let opening = format!("```yaml\n{first}");
    let (_, after) = document.split_once(&opening).unwrap();
    let start = document.len() - after.len() - first.len();
    let (block, _) = document[start..].split_once("\n```").unwrap();
    block
}

/// What users copy from the reference works as it stands.
#[test]
fn the_agent_of_the_reference_is_one() {
    let place = Place::new(block(include_str!("../docs/reference/agents.md"), "suite: own-agent"));
    ok(&place.run(&[]));
    let results = place.results();
    assert_eq!(results.len(), 2);
    for run in &results {
        let insists = run.key.conversation == "insists";
        assert_eq!(run.verdict, if insists { Verdict::Fail } else { Verdict::Pass }, "{}", run.reason);
        assert_eq!(place.bookings(run), if insists { 2 } else { 1 });
        assert_eq!(run.turns.len(), if insists { 2 } else { 1 });
        let words = run.turns.last().unwrap().reply.as_deref().unwrap();
        assert!(words.ends_with(if insists { "It is booked." } else { "Sorry, that failed." }), "{words}");
    }
}

#[test]
fn the_suite_of_the_reference_is_one() {
    let place = Place::new(block(include_str!("../docs/reference/suites.md"), "suite: everything"));
    let output = place.run(&["--dry-run"]);
    ok(&output);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // 2 agents × 2 models × 2 conversations × 2 upstreams × (3 scenarios × 3 patches + none), and one more.
    assert!(text.contains("161 cells"), "{text}");
}

/// A key that an agent prints does not reach any file of the results.
#[test]
fn a_key_is_in_no_file_whatever_the_agent_prints() {
    let place = Place::new(include_str!("run/leaks.yaml"));
    let mut command = place.command(&["run", "suite.yaml", "--out", "out"]);
    command.env("SOME_API_KEY", "sk-very-secret-1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "nothing was tested");
    let told =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!told.contains("sk-very-secret-1"), "{told}");
    let results = place.results();
    assert_eq!(results.len(), 2);
    for run in &results {
        let all = format!("{run:?}");
        assert!(all.contains("‹secret:SOME_API_KEY›") && !all.contains("sk-very-secret-1"), "{all}");
    }
    let mut folders = vec![place.out()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            assert!(!text.contains("sk-very-secret-1"), "{}", entry.path().display());
        }
    }
}

/// Upstreams that start and then say nothing: their fault, not the agent's.
#[test]
fn an_upstream_that_leaves_the_handshake_or_the_list_unanswered_is_named() {
    let place = Place::new(include_str!("run/mute.yaml"));
    assert_eq!(place.run(&[]).status.code(), Some(3), "nothing was tested");
    let results = place.results();
    assert_eq!(results.len(), 2);
    for run in &results {
        let expected = if run.key.upstream == "mute" {
            "did not answer `initialize`"
        } else {
            "did not answer `tools/list`"
        };
        assert_eq!(
            (run.verdict, run.reason_code),
            (Verdict::Error, ReasonCode::UpstreamNotStarted),
            "{}: {}",
            run.key,
            run.reason
        );
        assert!(run.reason.contains(expected), "{}: {}", run.key, run.reason);
    }
}

/// A disk that is full (here: a limit on the size of files, which first a trace and then a report
/// exceeds) breaks the matrix off. A run that it spoiled does not count, so that it is carried out
/// once there is room.
#[cfg(unix)]
#[test]
fn a_full_disk_spoils_no_run_and_the_matrix_goes_on_when_there_is_room() {
    for (blocks, kept) in [(4, 0..1), (24, 1..36)] {
        let place = Place::new(SMALL);
        // Blocks of 512 bytes; the signal is ignored, so that writing fails as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" run suite.yaml --out out");
        let mut limited = machine::program("sh");
        limited.current_dir(place.dir.path()).args(["-c", &script, env!("CARGO_BIN_EXE_nochmal")]);
        let output = limited.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("--resume") && errors.contains("cannot write"), "{errors}");
        let before = place.results();
        assert!(kept.contains(&before.len()), "{}: {errors}", before.len());
        for run in &before {
            assert!(run.verdict.is_tested(), "{}: {}", run.key, run.reason);
        }
        resumed(&place, &before);
    }
}
