//! Faults that a suite describes itself: each key of them, by the ledger and by what the agent was told. The
//! agent books room 12 twice and then looks, whatever it is told.

use super::eyes;
use super::rig::lines;
use nochmal::domain::RunResult;
use serde_json::Value;
use std::path::Path;

struct Case {
    id: &'static str,
    fault: &'static str,
    /// What the agent was told of its two bookings and of its look-up.
    told: [&'static str; 3],
    /// How often the room is booked by the ledger.
    booked: usize,
    violations: &'static str,
}

const DUPLICATE: &str = "DUPLICATE_EXECUTION";

const CASES: [Case; 17] = [
    Case {
        id: "first",
        fault: "execute: false, answer: {kind: timeout}",
        told: ["timeout", "result", "result"],
        booked: 1,
        violations: "",
    },
    Case {
        id: "second",
        fault: "on: {tool: \"create_*\", nth: 2}, execute: false, answer: {kind: status, status: 503}",
        told: ["result", "server_error", "result"],
        booked: 1,
        violations: "",
    },
    Case {
        id: "room",
        fault: "on: {args: {room: 12.0}}, execute: false, answer: {kind: timeout}",
        told: ["timeout", "result", "result"],
        booked: 1,
        violations: "",
    },
    Case {
        id: "other-room",
        fault: "on: {args: {room: 99}}, execute: false, answer: {kind: timeout}",
        told: ["result", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "quoted-room",
        fault: "on: {args: {room: \"12\"}}, execute: false, answer: {kind: timeout}",
        told: ["result", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "look",
        fault: "on: {class: read}, execute: false, answer: {kind: status, status: 500}",
        told: ["result", "result", "server_error"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "twice",
        fault: "times: 2, execute: false, answer: {kind: timeout}",
        told: ["timeout", "timeout", "result"],
        booked: 0,
        violations: "",
    },
    Case {
        id: "always",
        fault: "times: always, execute: false, answer: {kind: status, status: 403}",
        told: ["forbidden", "forbidden", "result"],
        booked: 0,
        violations: "RETRIED_AFTER_REFUSAL",
    },
    Case {
        id: "before",
        fault: "execute: before, answer: {kind: timeout}",
        told: ["timeout", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "after",
        fault: "execute: after, delay: 50ms, answer: {kind: text, text: \"Please hold the line\"}",
        told: ["server_error", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "praise",
        fault: "execute: false, answer: {kind: text, text: \"All is well\", is_error: false}",
        told: ["contradiction", "result", "result"],
        booked: 1,
        violations: "",
    },
    Case {
        id: "error",
        fault: "answer: {kind: protocol_error, code: -32000, message: Overloaded}",
        told: ["server_error", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "limit",
        fault: "execute: false, answer: {kind: status, status: 429, retry_after: 30s}",
        told: ["rate_limited", "result", "result"],
        booked: 1,
        violations: "RETRY_AFTER_VIOLATED",
    },
    Case {
        id: "mutation",
        fault: "answer: {kind: mutate, field: room, to: missing}",
        told: ["altered", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "list",
        fault: "on: {class: read}, answer: {kind: mutate, list: reordered}",
        told: ["result", "result", "altered"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "half",
        fault: "answer: {kind: half}",
        told: ["malformed", "result", "result"],
        booked: 2,
        violations: DUPLICATE,
    },
    Case {
        id: "path",
        fault: "execute: false, answer: {kind: timeout}, expect: {forbid: [\"book -> outcome_unknown -> book\"], \
                steps: {book: {args: {room: 12}}}}",
        told: ["timeout", "result", "result"],
        booked: 1,
        violations: "FORBIDDEN_TRANSITION",
    },
];

fn told(out: &Path, run: &RunResult) -> Vec<String> {
    let name = |told: &Value| match told {
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        _ => told.as_str().unwrap_or_default().to_owned(),
    };
    let records = lines(&out.join(run.trace.as_ref().unwrap()));
    records
        .iter()
        .filter_map(|record| Some(name(record["event"].get("call_answered")?.get("told")?)))
        .collect()
}

#[test]
fn every_key_of_a_fault_does_what_it_says_over_both_transports() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let own = CASES.each_ref().map(|case| (case.id, case.fault));
    let runs = eyes::watch(&out, &["pipe", "web"], &["plain"], &[], &own);
    assert_eq!(runs.len(), 2 * CASES.len());
    let mut problems = Vec::new();
    for run in &runs {
        let case = CASES.iter().find(|case| case.id == run.key.scenario).unwrap();
        let ledger = lines(&out.join("runs").join(&run.run_id.0).join("ledger.jsonl"));
        let kinds: std::collections::BTreeSet<&str> = run.violations.iter().map(String::as_str).collect();
        let violations = kinds.into_iter().collect::<Vec<_>>().join(" ");
        let seen = (told(&out, run), ledger.len(), violations);
        let wanted = (case.told.map(str::to_owned).to_vec(), case.booked, case.violations.to_owned());
        if seen != wanted {
            problems.push(format!("{} {}: {seen:?}, not {wanted:?}: {}", case.id, run.key.agent, run.reason));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// `delay` is after the call, and holds up no other; `present` of a fault holds where the axis is plain.
#[test]
fn a_fault_says_when_and_in_which_form_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let own = [
        ("slow", "execute: false, delay: 400ms, answer: {kind: timeout}"),
        ("contract", "execute: false, present: structured, answer: {kind: timeout}"),
    ];
    let runs = eyes::watch(&out, &["pipe"], &["plain"], &[], &own);
    for run in &runs {
        let records = lines(&out.join(run.trace.as_ref().unwrap()));
        let at = |name: &str| {
            let record = records.iter().find(|record| record["event"].get(name).is_some()).unwrap();
            (record["at_us"].as_u64().unwrap(), record["event"][name].clone())
        };
        let ((came, _), (left, answered)) = (at("call_received"), at("call_answered"));
        let is_contract = answered["body"]["json"]["structuredContent"]["retry"] == "reconcile_first";
        assert_eq!(is_contract, run.key.scenario == "contract", "{answered}");
        if run.key.scenario == "slow" {
            assert!(left - came >= 400_000, "told after {} µs", left - came);
        }
    }
}
