use super::*;
use crate::domain::{
    Account, AccountSource, AgentFacts, ApprovalRequest, Attribution, CallId, CellId, CellKey, CheckResult,
    CheckState, Claim, Completion, ConditionalTurn, Confidence, Disagreement, DisagreementKind, Effects,
    ExpectedEffect, Honesty, Layer, NextAction, ReadClaim, ReaderFacts, Reading, ReadingOutcome, ReasonCode,
    Reform, StruckCall, TurnResult, UnaskedEffect, Usage, Verdict, WorkState,
};

fn matrix() -> MatrixRecord {
    MatrixRecord {
        version: 1,
        harness_version: "0".to_owned(),
        suite: "s".to_owned(),
        suite_file: PathBuf::from("/s.yaml"),
        digest: "d".to_owned(),
        repeats: Some(2),
        filters: vec![],
        gates: vec![],
        level: None,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        rehearsal: None,
        record: None,
        replay: None,
    }
}

fn run(repeat: u32) -> RunResult {
    let value = |text: &str| text.to_owned();
    let key = CellKey {
        agent: value("a|b\n"),
        model: value("\u{1}"),
        prompt: value("=cmd()"),
        conversation: value("c"),
        upstream: value("u"),
        scenario: value("F1"),
        patch: value("off"),
        present: "plain".to_owned(),
    };
    let cell_id = CellId::of(&key);
    RunResult {
        run_id: RunId::of(&cell_id, repeat),
        cell_id,
        key,
        repeat,
        verdict: Verdict::NotTested,
        reason_code: ReasonCode::NoCall,
        reason: value("…"),
        started_at: value("2026-01-01T00:00:00Z"),
        duration_ms: 12,
        calls: 1,
        writes: 2,
        executions: 3,
        violations: vec![value("DUPLICATE_EXECUTION")],
        observations: vec![],
        patches: vec![],
        score: None,
        scenario_fired: Some(true),
        usage: Usage { input_tokens: Some(u64::MAX), cost_usd: Some(0.1), ..Usage::default() },
        turns: vec![TurnResult {
            say: value("bitte"),
            reply: Some("Booked.".to_owned()),
            claim: Some(ReadClaim { claim: Claim::Success, rule: "en.done".to_owned(), double: true }),
            honesty: Some(Honesty::Honest),
            reader: Some(Reading {
                outcome: ReadingOutcome::Claim(Claim::Failure),
                honesty: Some(Honesty::FalseFailure),
            }),
            duration_ms: 4,
        }],
        honesty: Some(Honesty::Honest),
        reader: Some(ReaderFacts { model: value("ollama:a"), usage: Usage::default() }),
        conditions: vec![ConditionalTurn {
            turn: 2,
            when: value("not_confirmed"),
            said: false,
            claim: Some(Claim::Unclear),
        }],
        agent: AgentFacts { signal: Some(9), ..AgentFacts::default() },
        trace: Some(value("traces/x.jsonl")),
        trace_digest: None,
        approvals: vec![ApprovalRequest {
            operation: value("op-2"),
            tool: value("create_booking"),
            digest: value("0f"),
            asked: 2,
            again: Some((value("op-1"), Reform::Reworded)),
            submitted: 1,
            withdrawn: 0,
        }],
        struck: vec![
            StruckCall {
                call: CallId(2),
                tool: "charge".into(),
                answered: true,
                advice: Some(("rejected".into(), "never".into())),
                next: NextAction::OtherCall(CallId(3), "find".into()),
                work: WorkState::NotExecuted,
                evidence: "it was not sent".into(),
                sent: false,
                correlation: None,
            },
            StruckCall {
                call: CallId(3),
                tool: "find".into(),
                answered: false,
                advice: None,
                next: NextAction::Nothing,
                work: WorkState::Read,
                evidence: String::new(),
                sent: true,
                correlation: Some("a-1".into()),
            },
        ],
        effects: Some(Effects {
            source: AccountSource::Ledger,
            account: Account::Known {
                expected: vec![ExpectedEffect { effect: value("a"), asked: 1, found: 2 }],
                unasked: vec![UnaskedEffect { effect: value("b"), found: 1 }],
            },
        }),
        disagreements: vec![Disagreement {
            kind: DisagreementKind::IdempotentUpstreamHeld,
            sentence: value("…"),
        }],
        completion: Some(Completion {
            checks: vec![CheckResult { check: value("c"), state: CheckState::Unknown, reason: value("…") }],
        }),
        attribution: Some(Attribution {
            layer: Layer::Tool,
            confidence: Confidence::Medium,
            evidence: value("…"),
        }),
    }
}

#[test]
fn what_was_appended_is_resumed() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("out");
    let mut folder = Folder::create(&path, &matrix()).unwrap();
    folder.append(&run(1)).unwrap();
    folder.append(&run(2)).unwrap();
    drop(folder);
    let (_, read, runs) = Folder::resume(&path).unwrap();
    assert_eq!((read, runs), (matrix(), vec![run(1), run(2)]));
}

#[test]
fn a_line_of_an_older_program_says_nothing_of_effects() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("out");
    let mut folder = Folder::create(&path, &matrix()).unwrap();
    folder.append(&run(1)).unwrap();
    drop(folder);
    let mut line: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.join(RUNS)).unwrap()).unwrap();
    let fields = line.as_object_mut().unwrap();
    for name in ["effects", "disagreements", "checks", "attribution"] {
        assert!(fields.remove(name).is_some(), "{name}");
    }
    std::fs::write(path.join(RUNS), format!("{line}\n")).unwrap();
    let read = read_runs(&path).unwrap().remove(0);
    assert_eq!((&read.effects, &read.disagreements, &read.completion), (&None, &vec![], &None));
    let kept =
        RunResult { effects: None, disagreements: vec![], completion: None, attribution: None, ..run(1) };
    assert_eq!(read, kept);
}

#[test]
fn a_line_cut_by_a_kill_does_not_count_and_is_mended() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("out");
    let mut folder = Folder::create(&path, &matrix()).unwrap();
    folder.append(&run(1)).unwrap();
    folder.append(&run(2)).unwrap();
    drop(folder);
    let whole = std::fs::read(path.join(RUNS)).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in first..whole.len() {
        std::fs::write(path.join(RUNS), &whole[..cut]).unwrap();
        let (mut folder, _, runs) = Folder::resume(&path).unwrap();
        assert_eq!(runs, [run(1)], "cut at {cut}");
        folder.append(&run(3)).unwrap();
        assert_eq!(read_runs(&path).unwrap(), [run(1), run(3)]);
    }
}

#[test]
fn a_run_that_is_there_twice_is_refused_with_both_lines() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("out");
    let mut folder = Folder::create(&path, &matrix()).unwrap();
    for repeat in [1, 2, 1] {
        folder.append(&run(repeat)).unwrap();
    }
    let error = read_runs(&path).unwrap_err().to_string();
    assert!(error.contains("line 3: the run") && error.contains("in line 1 already"), "{error}");
}

#[test]
fn two_at_once_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("out");
    let _first = Folder::create(&path, &matrix()).unwrap();
    assert!(matches!(Folder::resume(&path), Err(StoreError::Locked(_))));
}

#[test]
fn a_folder_with_something_in_it_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("x"), "").unwrap();
    assert!(matches!(Folder::create(parent.path(), &matrix()), Err(StoreError::NotEmpty(_))));
    assert!(matches!(Folder::resume(parent.path()), Err(StoreError::NotResults { .. })));
}
