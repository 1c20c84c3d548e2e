//! Nothing that an agent can see gives the test away: an agent without an SDK writes down every byte that
//! came to it, under every fault, in both forms, over both transports.

use super::eyes;
use super::rig::betraying;
use std::collections::BTreeMap;

/// Faults of a suite's own, with every kind of answer.
const OWN: [(&str, &str); 11] = [
    ("own-timeout", "execute: false, answer: {kind: timeout}"),
    ("own-status", "answer: {kind: status, status: 503}"),
    ("own-limit", "execute: false, answer: {kind: status, status: 429, retry_after: 7s}"),
    ("own-mutation", "answer: {kind: mutate, field: room, to: object}"),
    ("own-list", "on: {class: read}, answer: {kind: mutate, list: doubled}"),
    ("own-cut", "answer: {kind: cut}"),
    ("own-killed", "execute: after, answer: {kind: cut, kill: true}"),
    ("own-half", "answer: {kind: half}"),
    ("own-late", "delay: 20s, answer: {kind: late}"),
    ("own-text", "execute: after, delay: 20ms, answer: {kind: text, text: \"Please hold the line\"}"),
    ("own-error", "times: always, answer: {kind: protocol_error, code: -32000, message: \"Internal error\"}"),
];

fn spellings() -> Vec<String> {
    nochmal::scenario::spellings()
        .into_iter()
        // Rebuilds need a server that can be rebuilt (`tests/rebuilds.rs`).
        .filter(|id| !id.starts_with('R'))
        .filter(|id| {
            nochmal::scenario::find(id)
                .is_some_and(|(entry, _)| entry.variants.is_empty() || id.contains(':'))
        })
        .collect()
}

#[test]
fn nothing_that_an_agent_can_see_gives_the_test_away() {
    let folder = tempfile::Builder::new().prefix("desk-").tempdir().unwrap();
    let out = folder.path().join("out");
    let runs = eyes::watch(&out, &["pipe", "web"], &["plain", "structured"], &spellings(), &OWN);
    let mut struck: BTreeMap<String, u32> = BTreeMap::new();
    let mut problems = Vec::new();
    for run in &runs {
        let key = &run.key;
        let what = format!("{} {} {}", key.scenario, key.agent, key.present);
        let seen = eyes::seen(&out, run);
        for part in ["create_booking", "Ada Lovelace", "hotel-front-desk"] {
            assert!(seen.contains(part), "{what}: {part} is not in what it saw: {}\n{seen}", run.reason);
        }
        problems.extend(betraying(&seen).into_iter().map(|found| format!("{what}: {found}")));
        *struck.entry(key.scenario.clone()).or_default() += u32::from(run.scenario_fired == Some(true));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // Every fault really was before it, in each form and over each transport.
    let idle: Vec<&String> = struck
        .iter()
        .filter(|(id, runs)| **runs < 4 && !matches!(id.as_str(), "none" | "chaos"))
        .map(|(id, _)| id)
        .collect();
    assert!(idle.is_empty(), "{idle:?} of {struck:?}");
}
