//! `nochmal trace` and what reports make of traces that were changed, as a user starts them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is wrong"
)]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::store::read_runs;
use std::path::{Path, PathBuf};
use std::process::Output;

fn nochmal(folder: &Path, arguments: &[&str]) -> Output {
    machine::nochmal().current_dir(folder).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a small matrix; its folder, and the trace of its first run.
fn results(folder: &Path) -> (PathBuf, PathBuf) {
    let suite = include_str!("run/small.yaml").replace("repeats: 6", "repeats: 1");
    std::fs::write(folder.join("suite.yaml"), suite).unwrap();
    let output = nochmal(folder, &["run", "suite.yaml", "--out", "out", "--filter", "conversation=insists"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let out = folder.join("out");
    let run = read_runs(&out).unwrap().remove(0);
    (out.clone(), out.join(run.trace.unwrap()))
}

/// Each change of one trace is found by `verify` and by the reports, with a word for it.
#[test]
fn a_trace_that_was_changed_fails_verify_report_and_compare() {
    let dir = tempfile::tempdir().unwrap();
    let (_, trace) = results(dir.path());
    let whole = nochmal(dir.path(), &["trace", "verify", "out"]);
    assert_eq!(
        (code(&whole), stdout(&whole).as_str()),
        (0, "out: 3 traces are whole and end as runs.jsonl says\n")
    );
    assert_eq!(code(&nochmal(dir.path(), &["report", "out"])), 0);

    let text = std::fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let changes = [
        ("CHANGED", text.replacen("Ada Lovelace", "Eve Lovelace", 1)),
        ("CHANGED", [&lines[..3], &lines[4..]].concat().concat()),
        ("CUT", lines[..lines.len() - 1].concat()),
        ("CUT", text[..text.len() - 40].to_owned()),
    ];
    for (word, changed) in changes {
        assert_ne!(changed, text);
        std::fs::write(&trace, changed).unwrap();
        let verified = nochmal(dir.path(), &["trace", "verify", "out"]);
        assert_eq!(code(&verified), 1, "{}", stdout(&verified));
        assert!(stdout(&verified).starts_with(word), "{word}: {}", stdout(&verified));
        for arguments in
            [vec!["report", "out"], vec!["report", "out", "--out", "again"], vec!["compare", "out", "out"]]
        {
            let report = nochmal(dir.path(), &arguments);
            assert_eq!(code(&report), 1, "{arguments:?}");
            assert!(stdout(&report).contains("traces are as they were written"), "{}", stdout(&report));
        }
        let page = std::fs::read_to_string(dir.path().join("again/report.html")).unwrap();
        assert!(page.contains("traces are as they were written"));
    }
}

/// A chain that is sound in itself, but not the one that was written.
#[test]
fn a_trace_that_was_written_anew_is_found_by_the_end_that_was_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (out, trace) = results(dir.path());
    let runs = read_runs(&out).unwrap();
    let other = out.join(runs[1].trace.as_ref().unwrap());
    std::fs::copy(&other, &trace).unwrap();
    let name = trace.to_string_lossy();
    assert_eq!(code(&nochmal(dir.path(), &["trace", "verify", &name])), 0);
    let kept = runs[0].trace_digest.as_deref().unwrap();
    assert_eq!(code(&nochmal(dir.path(), &["trace", "verify", &name, "--end", kept])), 1);
    let verified = nochmal(dir.path(), &["trace", "verify", "out"]);
    assert_eq!(code(&verified), 1);
    assert!(stdout(&verified).contains("it is another trace, or was written anew"), "{}", stdout(&verified));
}

/// What a killed run leaves is neither whole nor changed.
#[test]
fn a_trace_without_an_end_is_told_apart_from_one_that_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (out, trace) = results(dir.path());
    let text = std::fs::read_to_string(&trace).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    std::fs::write(out.join("traces/left.jsonl"), &text[..cut - 30]).unwrap();
    let verified = nochmal(dir.path(), &["trace", "verify", "out", "out/traces/left.jsonl"]);
    assert_eq!(code(&verified), 1);
    let words: Vec<String> =
        stdout(&verified).lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(words, ["UNFINISHED", "out:", "UNFINISHED"], "{}", stdout(&verified));
    // It counts nowhere, so reports do not mind.
    assert_eq!(code(&nochmal(dir.path(), &["report", "out"])), 0);
    std::fs::remove_file(&trace).unwrap();
    let verified = nochmal(dir.path(), &["trace", "verify", "out", "--quiet"]);
    assert!(stdout(&verified).starts_with("MISSING"), "{}", stdout(&verified));
}

#[test]
fn a_trace_is_shown_as_a_timeline() {
    let dir = tempfile::tempdir().unwrap();
    let (_, trace) = results(dir.path());
    let shown = nochmal(dir.path(), &["trace", "show", &trace.to_string_lossy()]);
    assert_eq!(code(&shown), 0);
    let text = stdout(&shown);
    for part in
        ["scenario F1", "user says", "agent calls    call 1", "write no. 1 of this run", "agent is told"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let cut = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &cut[..cut.len() - 200]).unwrap();
    let shown = nochmal(dir.path(), &["trace", "show", &trace.to_string_lossy()]);
    assert_eq!(code(&shown), 1);
    assert!(stdout(&shown).contains("user says"));
    assert!(String::from_utf8_lossy(&shown.stderr).contains("it has no closing line"));
    assert_eq!(code(&nochmal(dir.path(), &["trace", "show", "nowhere.jsonl"])), 2);
}

/// A results folder whose `runs.jsonl` somebody writes anew.
struct Doctored {
    dir: tempfile::TempDir,
    lines: Vec<serde_json::Value>,
}

impl Doctored {
    fn new() -> Doctored {
        let dir = tempfile::tempdir().unwrap();
        let (out, _) = results(dir.path());
        let text = std::fs::read_to_string(out.join("runs.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Doctored { dir, lines }
    }

    /// The place of the run with this verdict, after `skip` others.
    fn at(&self, verdict: &str, skip: usize) -> usize {
        let all = self.lines.iter().enumerate().filter(|(_, run)| run["verdict"] == verdict);
        all.map(|(at, _)| at).nth(skip).unwrap()
    }

    /// Exit code and words of `trace verify`, and exit code of `report`, after a change of one run.
    fn told(&self, at: usize, change: &dyn Fn(&mut serde_json::Value)) -> (i32, String, i32) {
        let mut lines = self.lines.clone();
        change(&mut lines[at]);
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.dir.path().join("out/runs.jsonl"), lines).unwrap();
        let verified = nochmal(self.dir.path(), &["trace", "verify", "out", "--quiet"]);
        (code(&verified), stdout(&verified), code(&nochmal(self.dir.path(), &["report", "out"])))
    }
}

/// `runs.jsonl` has no chain of its own: what it says must be what the traces prove.
#[test]
fn a_verdict_that_its_trace_does_not_prove_fails_verify_and_report() {
    let doctored = Doctored::new();
    let failed = doctored.at("FAIL", 0);
    for verdict in ["PASS", "NOT_TESTED", "ERROR"] {
        let (verified, told, report) = doctored.told(failed, &|run| run["verdict"] = verdict.into());
        assert_eq!((verified, report), (1, 1), "{verdict}: {told}");
        assert!(told.starts_with("CHANGED") && told.contains("the trace proves FAIL"), "{told}");
    }
    let trace = doctored.lines[failed]["trace"].as_str().unwrap();
    std::fs::remove_file(doctored.dir.path().join("out").join(trace)).unwrap();
    let (verified, told, report) = doctored.told(failed, &|run| {
        run["verdict"] = "PASS".into();
        run["trace"] = serde_json::Value::Null;
        run["trace_digest"] = serde_json::Value::Null;
    });
    assert_eq!((verified, report), (1, 1), "{told}");
    assert!(told.starts_with("MISSING") && told.contains("names no trace"), "{told}");
}

/// Whatever a report says of a run is what its trace gives.
#[test]
fn figures_that_a_trace_does_not_prove_fail_verify_and_report() {
    let doctored = Doctored::new();
    let failed = doctored.at("FAIL", 0);
    let edits: [(&str, serde_json::Value, &str); 7] = [
        ("/executions", 7.into(), "7 executions"),
        ("/writes", 9.into(), "9 writes"),
        ("/calls", 0.into(), "0 calls"),
        ("/violations", serde_json::json!(["SECRET_LEAKED"]), "the trace proves DUPLICATE_EXECUTION"),
        ("/cell/scenario", "F4".into(), "the scenario of its run is `F4`"),
        ("/cell/model", "another".into(), "its cell has the id"),
        ("/struck/0/work", "not_executed".into(), "what its faults showed"),
    ];
    for (place, value, word) in edits {
        let (verified, told, report) =
            doctored.told(failed, &|run| *run.pointer_mut(place).unwrap() = value.clone());
        assert_eq!((verified, report), (1, 1), "{place}: {told}");
        assert!(told.starts_with("CHANGED") && told.contains(word), "{told}");
    }
    let (verified, told, report) =
        doctored.told(failed, &|run| run["trace_digest"] = serde_json::Value::Null);
    assert_eq!((verified, report), (1, 1), "{told}");
    assert!(told.starts_with("NOT KEPT"), "{told}");
    let (verified, told, report) = doctored.told(failed, &|_| ());
    assert_eq!((verified, report), (0, 0), "{told}");
}

/// The traces of tries that were made again are kept, and their ends with their run.
#[test]
fn the_trace_of_a_spoiled_try_is_held_against_its_own_end() {
    let doctored = Doctored::new();
    let passed = doctored.at("PASS", 0);
    let out = doctored.dir.path().join("out");
    let own = doctored.lines[passed]["trace"].as_str().unwrap().to_owned();
    let name = own.replace(".jsonl", ".try1.jsonl");
    let (own, of_try) = (out.join(own), out.join(&name));
    std::fs::copy(&own, &of_try).unwrap();
    let with_try = |run: &mut serde_json::Value| {
        run["agent"]["spoiled"] = serde_json::json!([{
            "reason": "529 overloaded", "started_at": run["started_at"], "duration_ms": 5, "waited_ms": 1,
            "executions": run["executions"], "usage": run["usage"], "trace": name, "trace_digest": run["trace_digest"],
        }]);
    };
    let (verified, told, report) = doctored.told(passed, &with_try);
    assert_eq!((verified, report), (0, 0), "{told}");
    let text = std::fs::read_to_string(&own).unwrap();
    std::fs::write(&of_try, text.replacen("Ada Lovelace", "Eve Lovelace", 1)).unwrap();
    let (verified, told, report) = doctored.told(passed, &with_try);
    assert_eq!((verified, report), (1, 1), "{told}");
    assert!(told.starts_with("CHANGED"), "{told}");
    std::fs::remove_file(&of_try).unwrap();
    let (verified, told, _) = doctored.told(passed, &with_try);
    assert_eq!(verified, 1, "{told}");
    assert!(told.starts_with("MISSING") && told.contains(".try1.jsonl"), "{told}");
}

/// A chain is whole on its own: whose it is stands in its first line.
#[test]
fn a_run_that_names_the_trace_of_another_fails_verify_and_report() {
    let doctored = Doctored::new();
    // Two runs of one verdict: judged again, either trace proves it.
    let (first, second) = (doctored.at("FAIL", 0), &doctored.lines[doctored.at("FAIL", 1)]);
    let told = |change: &dyn Fn(&mut serde_json::Value)| {
        let (verified, told, report) = doctored.told(first, change);
        assert_eq!((verified, report), (1, 1), "{told}");
        told
    };
    let own = format!("another run than its own, which is {}", second["run_id"].as_str().unwrap());
    // Both together: the end that was kept is that of the trace.
    let both = told(&|run| {
        run["trace"] = second["trace"].clone();
        run["trace_digest"] = second["trace_digest"].clone();
    });
    assert!(both.starts_with("CHANGED") && both.contains(&own), "{both}");
    for member in ["trace", "trace_digest"] {
        let one = told(&|run| run[member] = second[member].clone());
        assert!(one.starts_with("CHANGED"), "{one}");
    }
    // Without an end nothing is kept, but whose it is still shows.
    let neither = told(&|run| {
        run["trace"] = second["trace"].clone();
        run["trace_digest"] = serde_json::Value::Null;
    });
    assert!(neither.contains(&own), "{neither}");
    // The trace that its own run no longer names belongs to nobody.
    assert!(neither.contains("NOT KEPT"), "{neither}");
}

/// A full disk is no reader that has seen enough.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [["schema", "summary"].as_slice(), &["scenarios"], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            machine::nochmal().current_dir(dir.path()).args(arguments).stdout(full).output().unwrap();
        assert_eq!(code(&output), 1, "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to stdout"));
    }
}
