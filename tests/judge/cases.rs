//! Every case of `cases.json`: calls go in, a report file comes out.

use crate::rig::{self, Case};
use nochmal::judge::live::LiveReport;
use nochmal::judge::report_file::{ReportFile, Status};
use nochmal::trace::Record;
use proptest::prelude::*;
use serde_json::{Value, json};

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

/// R7 must not cost R3: after every record the file says what it would say if it were made anew.
fn live_is_whole(records: &[Record]) {
    let mut live = LiveReport::new("test");
    for (index, record) in records.iter().enumerate() {
        live.observe(record);
        let wanted = serde_json::to_value(live.file()).unwrap();
        // Some changes are only seen together.
        if index % 3 != 1 {
            let text = live.pieces().unwrap().concat();
            let found: Value = serde_json::from_slice(&text).unwrap();
            for name in ["operations", "violations", "observations", "keySummary"] {
                assert_eq!(found["report"][name], wanted["report"][name], "{name} after record {index}");
            }
            assert_eq!(found, wanted, "after record {index}");
        }
    }
}

#[test]
fn r3_the_live_report_is_the_report() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("cases.json")).unwrap();
    for case in &cases {
        live_is_whole(&rig::play(case).records);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn r3_the_live_report_is_the_report_of_any_history(
        scenario in prop::sample::select(vec!["F1", "F2", "F3", "F4", "F5"]),
        behave in prop::collection::vec(
            prop::sample::select(vec!["ok", "error", "rpc:-32603", "write+hang", "slow:40", "ok:same"]), 1..6),
        calls in prop::collection::vec((0_usize..4, 0_u64..5, prop::option::of(0_u64..3), any::<bool>()), 1..40),
    ) {
        let tools = ["create_booking", "find_bookings", "sync_ledger", "send_mail"];
        let steps: Vec<Value> = calls
            .iter()
            .map(|(tool, value, key, parallel)| {
                let mut args = json!({"n": value, "room": "a"});
                if *value == 4 {
                    args = json!({"n": "3", "room": "A"});
                }
                if let Some(key) = key {
                    args["idempotency_key"] = json!(key);
                }
                let call = json!({"call": tools[*tool], "args": args});
                if *parallel { json!({"send": call}) } else { call }
            })
            .collect();
        let case = json!({
            "id": "random", "rule": "R3", "scenario": scenario, "steps": steps, "expect": {}, "tools": tools,
            "behave": {"create_booking": behave, "send_mail": ["ok", "error"]},
        });
        let case: Case = serde_json::from_value(case).unwrap();
        live_is_whole(&rig::play(&case).records);
    }
}
