//! The report file while things go wrong: whole and true at every moment (R3, R4).

use crate::machine::until;
use crate::rig::{Agent, LIMIT, nochmal, upstream};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

fn booking(n: u64) -> Value {
    json!({"call": "create_booking", "args": {"guest": format!("guest {n}")}})
}

fn flags(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn temporaries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "tmp")).collect()
}

/// Reads the file again and again until told to stop: it must be whole every time.
fn watch(path: &Path, stop: &AtomicBool) -> u64 {
    let mut reads = 0;
    loop {
        let last = stop.load(Ordering::SeqCst);
        if let Ok(text) = fs::read_to_string(path) {
            let file: Result<Value, _> = serde_json::from_str(&text);
            assert!(file.is_ok_and(|file| file["verdict"].is_string()), "half a file: {text:?}");
            reads += 1;
        }
        if last {
            return reads;
        }
    }
}

/// What the file says after the end of everything is never better than what happened.
fn never_better_than_the_truth(agent: &Agent, answered: &[u64]) {
    let file = agent.report().unwrap();
    let mut written: HashMap<String, u64> = HashMap::new();
    for entry in agent.ledger() {
        *written.entry(entry["arguments"].to_string()).or_default() += 1;
    }
    let mut operations: HashMap<String, &Value> = HashMap::new();
    for operation in file["report"]["operations"].as_array().into_iter().flatten() {
        operations.insert(operation["arguments"].to_string(), operation);
    }
    for (arguments, count) in &written {
        let operation = operations.get(arguments).unwrap_or_else(|| panic!("{arguments} is missing: {file}"));
        assert!(operation["attempts"].as_u64().unwrap() >= *count, "{arguments}: {operation}");
        if *count > 1 {
            assert_ne!(file["verdict"], "PASS", "{arguments} was written {count} times: {file}");
        }
    }
    for n in answered {
        let arguments = booking(*n)["args"].to_string();
        let operation =
            operations.get(&arguments).unwrap_or_else(|| panic!("{arguments} is missing: {file}"));
        assert!(operation["executions"].as_u64() >= Some(1), "the agent has the answer: {operation}");
    }
    assert!(!written.is_empty() || file["verdict"] == "NOT_TESTED");
}

#[test]
fn r3_killed_at_any_moment_the_file_is_whole_and_never_better_than_the_truth() {
    for round in 0..12_u64 {
        let mut agent = Agent::start(&json!({}), &flags(&["--probe", "off"]));
        agent.introduce("2025-11-25").unwrap();
        agent.list().unwrap();
        let (path, stop) = (agent.report_path(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let watching = scope.spawn(|| watch(&path, &stop));
            // The kill falls at another place of a burst every time: some of its calls are
            // answered, some are at the upstream, some are still on their way.
            let sent: Vec<(u64, u64)> = (0..40).map(|n| (n % 30, agent.send(&booking(n % 30)))).collect();
            let mut answered = Vec::new();
            for (n, id) in sent.iter().take(3 * round as usize) {
                agent.answer(*id, LIMIT).unwrap();
                answered.push(*n);
            }
            agent.kill();
            stop.store(true, Ordering::SeqCst);
            assert!(watching.join().unwrap() > 0);
            never_better_than_the_truth(&agent, &answered);
        });
    }
}

#[test]
fn r3_the_file_says_that_a_call_is_out_before_it_leaves() {
    let mut agent = Agent::start(&json!({"behave": {"create_booking": ["ok", "write+hang"]}}), &[]);
    agent.introduce("2025-11-25").unwrap();
    agent.list().unwrap();
    let id = agent.send(&booking(1));
    agent.answer(id, LIMIT).unwrap();
    assert_eq!(agent.report().unwrap()["verdict"], "PASS");
    assert_eq!(agent.report().unwrap()["status"], "running");
    agent.send(&booking(1));
    // The second write is in the ledger, so the file must know of it already.
    until("the second write", || agent.ledger().len() == 2);
    agent.kill();
    let file = agent.report().unwrap();
    assert_eq!(file["verdict"], "NOT_TESTED");
    assert_eq!(file["report"]["operations"][0]["attempts"], 2);
}

#[test]
fn r4_the_file_is_written_through_links() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    std::os::unix::fs::symlink("second", at("first")).unwrap();
    std::os::unix::fs::symlink("deep/real.json", at("second")).unwrap();
    let mut command = nochmal();
    command.arg("proxy").args(upstream(folder.path(), &json!({})));
    command.arg("--report-file").arg(at("first"));
    let inner = TempDir::new().unwrap();
    let mut agent = Agent::spawn(command, inner);
    agent.introduce("2025-11-25").unwrap();
    agent.list().unwrap();
    let id = agent.send(&booking(1));
    agent.answer(id, LIMIT).unwrap();
    assert_eq!(agent.finish().unwrap(), 0);
    assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(at("second")).unwrap().is_symlink());
    let file: Value = serde_json::from_slice(&fs::read(at("deep/real.json")).unwrap()).unwrap();
    assert_eq!((file["verdict"].as_str(), file["status"].as_str()), (Some("PASS"), Some("finished")));
    assert_eq!(temporaries(&at("deep")), [] as [PathBuf; 0]);
    assert_eq!(temporaries(folder.path()), [] as [PathBuf; 0]);
}

/// The agent gets one answer; then `spoil` is done to the report, and it calls once more.
fn spoilt(spoil: impl Fn(&Path)) -> Agent {
    let mut agent = Agent::start(&json!({}), &[]);
    agent.introduce("2025-11-25").unwrap();
    agent.list().unwrap();
    let first = agent.send(&booking(1));
    agent.answer(first, LIMIT).unwrap();
    spoil(&agent.report_path());
    let second = agent.send(&booking(2));
    assert!(agent.answer(second, LIMIT).is_err(), "the agent got an answer");
    assert_eq!(agent.finish().unwrap(), 1);
    assert!(agent.stderr().contains("can no longer be written"), "{}", agent.stderr());
    // It never went upstream either.
    assert_eq!(agent.written()["create_booking"], 1);
    agent
}

#[test]
fn r4_a_target_that_became_a_folder_ends_the_proxy_before_the_next_answer() {
    spoilt(|report| {
        fs::remove_file(report).unwrap();
        fs::create_dir(report).unwrap();
    });
}

#[test]
fn r4_a_target_that_became_a_device_ends_the_proxy_before_the_next_answer() {
    spoilt(|report| {
        fs::remove_file(report).unwrap();
        std::os::unix::fs::symlink("/dev/null", report).unwrap();
    });
}

/// Two processes of one client: the later one has the file, and the earlier one never covers up what it says.
#[test]
fn r4_a_file_that_another_process_has_written_is_left_to_that_one() {
    let text = r#"{"verdict":"FAIL"}"#;
    let agent = spoilt(|report| {
        let new = report.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, report).unwrap();
    });
    assert_eq!(fs::read_to_string(agent.report_path()).unwrap(), text);
}

#[test]
fn r3_r6_the_trace_judged_again_says_the_same() {
    let folder = TempDir::new().unwrap();
    let trace = folder.path().join("trace.jsonl");
    let mut agent =
        Agent::start(&json!({}), &flags(&["--scenario", "F1", "--trace", trace.to_str().unwrap()]));
    agent.introduce("2025-11-25").unwrap();
    agent.list().unwrap();
    for _ in 0..2 {
        let id = agent.send(&booking(1));
        agent.answer(id, LIMIT).unwrap();
    }
    assert_eq!(agent.finish().unwrap(), 0);
    let trace = nochmal::trace::read(&fs::read_to_string(&trace).unwrap()).unwrap();
    let judgement = nochmal::judge::judge(&trace.records);
    let status = nochmal::judge::report_file::Status::Finished;
    let file = nochmal::judge::report_file::ReportFile::of(&judgement, status, env!("CARGO_PKG_VERSION"));
    assert_eq!(serde_json::to_value(file).unwrap(), agent.report().unwrap());
    assert_eq!(agent.report().unwrap()["verdict"], "FAIL");
}

#[test]
fn audit_tools_are_listed_last_and_tell_what_the_file_tells() {
    let mut agent = Agent::start(&json!({"page": 3}), &flags(&["--audit-tools", "on", "--scenario", "F1"]));
    agent.introduce("2025-11-25").unwrap();
    let tools = agent.list().unwrap();
    assert_eq!(tools[4..], ["nochmal__get_report", "nochmal__get_score"]);
    for _ in 0..2 {
        let id = agent.send(&booking(1));
        agent.answer(id, LIMIT).unwrap();
    }
    let mut told = |tool: &str, args: Value| -> String {
        let id = agent.send(&json!({"call": tool, "args": args}));
        let answer = agent.answer(id, LIMIT).unwrap();
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let report: Value =
        serde_json::from_str(&told("nochmal__get_report", json!({"format": "json"}))).unwrap();
    let score: Value = serde_json::from_str(&told("nochmal__get_score", json!({}))).unwrap();
    let markdown = told("nochmal__get_report", json!({"format": "markdown"}));
    assert!(markdown.contains("**FAIL**") && markdown.contains("DUPLICATE_EXECUTION"), "{markdown}");
    assert!(told("nochmal__get_score", json!({"format": "markdown"})).contains("GHOST_WRITE"));
    assert_eq!(report, agent.report().unwrap());
    assert_eq!(score["patches"][0]["id"], "GHOST_WRITE");
    assert_eq!(report["report"]["coverage"]["calls"], json!({"write": 2, "read": 0, "unclassified": 0}));
    agent.finish().unwrap();
}
