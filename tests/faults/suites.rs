//! The suites that users run: what each cell comes out as.

use super::rig::{betraying, command, fixture, lines};
use nochmal::domain::RunResult;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Runs a shipped suite.
fn run(suite: &str, folder: &Path) -> (Vec<RunResult>, String) {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites").join(suite);
    let output = command(env!("CARGO_BIN_EXE_nochmal"))
        .arg("run")
        .arg(suite)
        .arg("--out")
        .arg(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (nochmal::store::read_runs(folder).unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn violations(run: &RunResult) -> String {
    let kinds: BTreeSet<&str> = run.violations.iter().map(String::as_str).collect();
    kinds.into_iter().collect::<Vec<_>>().join(" ")
}

fn events(folder: &Path, run: &RunResult, name: &str) -> Vec<Value> {
    let records = lines(&folder.join(run.trace.as_ref().unwrap()));
    records.iter().filter_map(|record| record["event"].get(name).cloned()).collect()
}

/// What reached the agents gives nothing away.
fn is_silent(folder: &Path, runs: &[RunResult]) {
    for run in runs {
        for answered in events(folder, run, "call_answered") {
            let found = betraying(&answered["body"]["json"].to_string());
            assert!(found.is_empty(), "{}: {found:?}", run.key.scenario);
        }
    }
}

/// Five scripted models over every fault. What is written down was written by the rules, before it was run.
#[test]
fn every_cell_of_the_suite_has_the_verdict_that_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, _) = run("faults.yaml", folder.path());
    let mut found: Vec<String> = runs
        .iter()
        .map(|run| {
            let model = run.key.model.trim_start_matches("script:").to_owned();
            let line = format!(
                "{:<17} {model:<9} {:<10} {:<22} {}",
                run.key.scenario,
                run.verdict.name(),
                run.reason_code.name(),
                violations(run)
            );
            line.trim_end().to_owned()
        })
        .collect();
    found.sort();
    let text = std::fs::read_to_string(fixture("verdicts.txt")).unwrap();
    let wanted: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let unlike: Vec<&String> = found.iter().filter(|line| !wanted.contains(&line.as_str())).collect();
    assert!(found == wanted, "{} lines, these are not written down:\n{unlike:#?}", found.len());
    for kind in [
        "DUPLICATE_EXECUTION",
        "RETRY_AFTER_VIOLATED",
        "RETRIED_AFTER_REFUSAL",
        "ACTED_ON_MALFORMED",
        "FORBIDDEN_TRANSITION",
    ] {
        assert!(found.iter().any(|line| line.contains(kind)), "no cell reaches {kind}");
    }
    // The ledger has what the judge calls executed, and it stands in the trace of every run.
    for run in &runs {
        let [account] = &events(folder.path(), run, "accounted")[..] else { panic!("{}", run.key.scenario) };
        let there = account["account"]["effects"].as_array().unwrap().len() as u64;
        assert_eq!(there, run.executions, "{} {}", run.key.scenario, run.key.model);
    }
    is_silent(folder.path(), &runs);
}

/// The same failures in prose and as a contract, over both transports.
#[test]
fn a_contract_helps_the_model_that_reads_it_over_both_transports() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, table) = run("tool-contracts.yaml", folder.path());
    let wanted = |model: &str, scenario: &str, present: &str| match (model, scenario, present) {
        // Not executed, so that sending it again does no harm.
        (_, "T1", _) => "",
        // A success in prose; as a contract a failure, which one model repeats.
        (_, "M2", "plain") => "",
        ("script:dutiful", _, "structured") => "",
        (_, "F1" | "M2", _) => "DUPLICATE_EXECUTION",
        (_, "F2", _) => "RETRY_AFTER_VIOLATED",
        (_, "A2", _) => "RETRIED_AFTER_REFUSAL",
        other => panic!("{other:?}"),
    };
    assert_eq!(runs.len(), 40);
    for run in &runs {
        let key = &run.key;
        let what = format!("{} {} {} {}", key.agent, key.model, key.scenario, key.present);
        assert_eq!(violations(run), wanted(&key.model, &key.scenario, &key.present), "{what}");
        let told = events(folder.path(), run, "call_answered");
        let contracts = told.iter().filter(|told| {
            let body = &told["body"]["json"];
            body["structuredContent"]["ok"] == false && body["isError"] == true
        });
        assert_eq!(contracts.count() > 0, key.present == "structured", "{what}");
    }
    for column in ["present", "structured", "over-http", "over-stdio"] {
        assert!(table.contains(column), "{column} is not in the table:\n{table}");
    }
    is_silent(folder.path(), &runs);
}
