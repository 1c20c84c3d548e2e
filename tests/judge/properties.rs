//! What holds of every history.

use crate::model::{self, Said, SaidOperation};
use crate::random::{number, records, scenario, steps};
use nochmal::domain::{ToolClass, Verdict};
use nochmal::judge::report_file::{ReportFile, Status};
use nochmal::judge::{Judge, Judgement, judge};
use nochmal::trace::{AnswerKind, Event, LogKind, Record};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// The judge's word in the model's terms.
fn said(judgement: &Judgement) -> Said {
    let operations = judgement
        .operations
        .iter()
        .map(|op| {
            let mut kinds = BTreeSet::new();
            let mut duplicate = None;
            let mut waited_ms = None;
            for violation in judgement.violations.iter().filter(|violation| violation.operation == op.id) {
                kinds.insert(violation.kind);
                duplicate = duplicate.or(violation.duplicate.as_ref().map(|details| {
                    (
                        details.key_use.name(),
                        details.after_timeout,
                        details.verified_before,
                        details.parallel,
                        details.upstream_responses_identical,
                    )
                }));
                waited_ms = waited_ms.or(violation.retry_after.as_ref().map(|details| details.waited_ms));
            }
            let own = judgement.observations.iter().filter(|o| o.operation.as_ref() == Some(&op.id));
            for observation in own {
                assert!(kinds.insert(observation.kind), "twice: {observation:?}");
            }
            SaidOperation {
                attempts: op.attempts as usize,
                executions: op.executions as usize,
                failed: op.failed_attempts as usize,
                outcome: op.outcome,
                kinds,
                duplicate,
                waited_ms,
            }
        })
        .collect();
    let mut patches: Vec<&'static str> = nochmal::judge::patches::ids()
        .filter(|id| judgement.patches.iter().any(|patch| patch.id == *id))
        .collect();
    patches.sort();
    Said {
        verdict: judgement.verdict,
        code: judgement.reason_code,
        operations,
        score: judgement.score.map(|score| (score.overall, score.capped)),
        patches,
        repeats: judgement.observations.iter().filter(|o| o.operation.is_none()).count(),
    }
}

/// Per tool and arguments as sent: executed, and neither executed, refused nor held back.
fn plain_counts(records: &[Record]) -> BTreeMap<(String, String), (u32, u32)> {
    type Plain = (Option<(String, String)>, bool, Option<AnswerKind>);
    let mut calls: BTreeMap<u64, Plain> = BTreeMap::new();
    for record in records {
        match &record.event {
            Event::CallReceived { call, tool, class, arguments, .. } => {
                let key = (tool.clone(), arguments.as_ref().unwrap().get().to_owned());
                calls.insert(call.0, (Some(key).filter(|_| *class == ToolClass::Write), false, None));
            }
            Event::CallSent { call, .. } => calls.get_mut(&call.0).unwrap().1 = true,
            Event::UpstreamAnswered { call, answer } => calls.get_mut(&call.0).unwrap().2 = Some(answer.kind),
            _ => {}
        }
    }
    let mut counts = BTreeMap::new();
    for (key, sent, kind) in calls.into_values() {
        let Some(key) = key.filter(|_| sent) else { continue };
        let count: &mut (u32, u32) = counts.entry(key).or_default();
        match kind {
            Some(AnswerKind::Result) => count.0 += 1,
            None | Some(AnswerKind::ProtocolError) => count.1 += 1,
            Some(AnswerKind::ErrorResult | AnswerKind::InputRequired) => {}
        }
    }
    counts
}

/// Without the upstream's answer to one call and all that was told for it.
fn without_answer(records: &[Record], wanted: u64) -> Vec<Record> {
    let of = |record: &&Record| match &record.event {
        Event::UpstreamAnswered { call, .. } | Event::CallAnswered { call, .. } => call.0 != wanted,
        _ => true,
    };
    number(records.iter().filter(of).map(|record| (record.at.0, record.event.clone())).collect())
}

/// Name and class of the tool of every call.
fn tools_of_calls(records: &[Record]) -> BTreeMap<u64, (String, ToolClass)> {
    let tool = |record: &Record| match &record.event {
        Event::CallReceived { call, tool, class, .. } => Some((call.0, (tool.clone(), *class))),
        _ => None,
    };
    records.iter().filter_map(tool).collect()
}

/// The call that an event is about, and whether it is the call's arrival, whose order gives its number.
fn about(event: &Event) -> Option<(u64, bool)> {
    match event {
        Event::CallReceived { call, .. } => Some((call.0, true)),
        Event::ScenarioFired { call, .. }
        | Event::CallSent { call, .. }
        | Event::UpstreamAnswered { call, .. }
        | Event::UpstreamTimedOut { call }
        | Event::UpstreamLost { call }
        | Event::CallCancelled { call }
        | Event::CallAnswered { call, .. } => Some((call.0, false)),
        _ => None,
    }
}

fn independent(calls: &BTreeMap<u64, (String, ToolClass)>, one: &(u64, Event), two: &(u64, Event)) -> bool {
    let (Some((first, arrives)), Some((second, arrives_too))) = (about(&one.1), about(&two.1)) else {
        return false;
    };
    let (Some(first), Some(second)) = (calls.get(&first), calls.get(&second)) else { return false };
    let look_up = first.1 == ToolClass::Read || second.1 == ToolClass::Read;
    one.0 == two.0 && first.0 != second.0 && !look_up && !(arrives && arrives_too)
}

/// `NOCHMAL_EXPLORE=cases` looks at that many other histories than those of every other run.
fn config() -> ProptestConfig {
    let explore = std::env::var("NOCHMAL_EXPLORE").ok().and_then(|cases| cases.parse().ok());
    let fixed = ProptestConfig {
        cases: 600,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    match explore {
        Some(cases) => ProptestConfig { cases, rng_seed: RngSeed::Random, ..fixed },
        None => fixed,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_judge_says_what_the_rules_say(scenario in scenario(), steps in steps(24)) {
        let records = records(scenario, &steps);
        prop_assert_eq!(said(&judge(&records)), model::say(&records));
    }

    #[test]
    fn after_every_record_the_judge_says_what_the_rules_say(scenario in scenario(), steps in steps(16)) {
        let records = records(scenario, &steps);
        let mut incremental = Judge::new();
        for end in 1..=records.len() {
            incremental.observe(&records[end - 1]);
            let model = model::say(&records[..end]);
            prop_assert_eq!(incremental.verdict(), (model.verdict, model.code));
            let judgement = incremental.judgement();
            prop_assert_eq!(said(&judgement), model);
            prop_assert_eq!(&judgement, &judge(&records[..end]));
        }
    }

    #[test]
    fn what_was_not_touched_has_not_changed(scenario in scenario(), steps in steps(20)) {
        let records = records(scenario, &steps);
        let mut judge = Judge::new();
        let mut known = Vec::new();
        for record in &records {
            judge.observe(record);
            for index in judge.take_touched() {
                let parts = judge.operation(index).unwrap();
                if index == known.len() { known.push(parts) } else { known[index] = parts }
            }
            for (index, parts) in known.iter().enumerate() {
                prop_assert_eq!(Some(parts.clone()), judge.operation(index), "{} after {:?}", index, record);
            }
            prop_assert!(judge.operation(known.len()).is_none());
        }
    }

    #[test]
    fn judging_again_gives_the_same_bytes(scenario in scenario(), steps in steps(24)) {
        let records = records(scenario, &steps);
        let bytes = |records| ReportFile::of(&judge(records), Status::Finished, "1").to_bytes().unwrap();
        let first = bytes(&records);
        prop_assert_eq!(&first, &bytes(&records));
        let back: ReportFile = serde_json::from_slice(&first).unwrap();
        prop_assert_eq!(back.to_bytes().unwrap(), first);
    }

    /// Events of two tools that happened at the same time have no order of their own, as long as neither
    /// tool is a look-up; nor has anything that nobody is judged by.
    #[test]
    fn the_order_of_independent_events_changes_nothing(
        scenario in scenario(), steps in steps(24), places in prop::collection::vec(0_usize..200, 1..12),
    ) {
        let records = records(scenario, &steps);
        let judgement = judge(&records);
        let calls = tools_of_calls(&records);
        let mut events: Vec<(u64, Event)> =
            records.iter().map(|record| (record.at.0, record.event.clone())).collect();
        let mut swapped = 0;
        for place in places {
            let place = place % events.len();
            if place + 1 < events.len() && independent(&calls, &events[place], &events[place + 1]) {
                events.swap(place, place + 1);
                swapped += 1;
            }
            let at = events[place].0;
            let text = format!("{swapped} swapped");
            if place > 0 {
                events.insert(place, (at, Event::Log { kind: LogKind::Agent, text }));
            }
        }
        prop_assert_eq!(judge(&number(events)), judgement);
    }

    #[test]
    fn r2_an_unknown_attempt_beside_an_execution_never_passes(scenario in scenario(), steps in steps(24)) {
        let records = records(scenario, &steps);
        let doubtful = plain_counts(&records).into_values().any(|(executed, unknown)| {
            executed > 1 || (executed == 1 && unknown > 0) || unknown > 1
        });
        if doubtful {
            prop_assert_ne!(judge(&records).verdict, Verdict::Pass);
        }
    }

    /// But for `isError` answers: by J18d such an attempt that was sent again is never tested,
    /// and one of unknown outcome only beside another that may have been executed.
    #[test]
    fn an_answer_less_never_makes_a_pass(scenario in scenario(), steps in steps(24), pick in 0_usize..8) {
        let records = records(scenario, &steps);
        let answered: Vec<u64> = records.iter().filter_map(|record| match &record.event {
            Event::UpstreamAnswered { call, answer } if answer.kind == AnswerKind::Result => Some(call.0),
            _ => None,
        }).collect();
        if let Some(call) = answered.get(pick) && judge(&records).verdict != Verdict::Pass {
            let less = without_answer(&records, *call);
            prop_assert_ne!(judge(&less).verdict, Verdict::Pass, "without the answer to call {}", call);
        }
    }

    #[test]
    fn a_record_less_or_twice_is_never_judged(steps in steps(24), at in 0_usize..60, twice in any::<bool>()) {
        let mut records = records(None, &steps);
        let at = at % records.len();
        if twice {
            records.insert(at, records[at].clone());
        } else {
            records.remove(at);
        }
        if at < records.len() {
            let judgement = judge(&records);
            prop_assert_eq!(judgement.verdict, Verdict::NotTested);
            prop_assert_eq!(judgement.score, None);
        }
    }
}
