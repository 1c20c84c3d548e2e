//! Every case of `cases.json`: calls go in, a report file comes out.

use crate::rig::{self, Case};
use nochmal::judge::report_file::{ReportFile, Status};
use serde_json::Value;

/// What is wrong with the outcome of one case.
fn check(case: &Case) -> Vec<String> {
    let outcome = rig::play(case);
    let mut problems = outcome.problems;
    let judgement = nochmal::judge::judge(&outcome.records);
    let bytes = ReportFile::of(&judgement, Status::Finished, "test").to_bytes().unwrap();
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let report = &file["report"];
    let words = |list: &Value, field: &str| -> Vec<String> {
        let mut words: Vec<String> =
            list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect();
        words.sort();
        words
    };
    let violations = words(&report["violations"], "type");
    let observations = words(&report["observations"], "type");
    let mut same = |name: &str, got: &Value, wanted: &Value| {
        if got != wanted {
            problems.push(format!("{name} is {got}, wanted {wanted}"));
        }
    };
    for (name, wanted) in case.expect.as_object().unwrap() {
        match name.as_str() {
            "verdict" => {
                same("verdict", &file["verdict"], wanted);
                same("report.verdict", &report["verdict"], wanted);
            }
            "violations" => same(name, &violations.clone().into(), wanted),
            "patches" => same(name, &words(&file["patches"], "id").into(), wanted),
            "score" => same(name, &file["score"]["overall"], wanted),
            "capped" => same(name, &file["score"]["capped"], wanted),
            "triggered" => same(name, &report["coverage"]["scenarioTriggered"], wanted),
            "has" | "lacks" => {
                for kind in wanted.as_array().unwrap() {
                    let held = observations.iter().any(|observation| observation == kind.as_str().unwrap());
                    same(
                        &format!("{name} {kind} in {observations:?}"),
                        &(name == "has").into(),
                        &held.into(),
                    );
                }
            }
            "operation" | "duplicate" => {
                let found = match name.as_str() {
                    "operation" => &report["operations"][0],
                    _ => &report["violations"][0]["duplicate"],
                };
                for (field, wanted) in wanted.as_object().unwrap() {
                    same(field, &found[field], wanted);
                }
            }
            "executed" => {
                for (tool, wanted) in wanted.as_object().unwrap() {
                    same(tool, &outcome.executed.get(tool).copied().unwrap_or(0).into(), wanted);
                }
            }
            "says" => {
                let said = report.to_string().contains(wanted.as_str().unwrap());
                same(&format!("says {wanted}: {report}"), &said.into(), &true.into());
            }
            other => panic!("{}: unknown expectation {other}", case.id),
        }
    }
    problems
}

#[test]
fn every_case_ends_as_the_rules_say() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("cases.json")).unwrap();
    assert!(cases.len() > 80);
    let mut failed = String::new();
    for case in &cases {
        for problem in check(case) {
            failed.push_str(&format!("\n{} ({}): {problem}", case.id, case.rule));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}
