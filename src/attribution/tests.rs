//! Each rule on a case of its own, and their order.

use super::{Case, attribute};
use crate::domain::{
    CallId, CellId, CellKey, Confidence, ConnectionId, Disagreement, DisagreementKind, Layer, Micros,
    RawJson, ReasonCode, RunResult, ToolClass, TurnResult, Verdict,
};
use crate::trace::{Event, Record};

fn run(verdict: Verdict, code: ReasonCode, reason: &str) -> RunResult {
    let value = || "x".to_owned();
    let key = CellKey {
        agent: value(),
        model: value(),
        prompt: value(),
        conversation: value(),
        upstream: value(),
        scenario: value(),
        patch: value(),
        present: value(),
    };
    RunResult {
        verdict,
        reason_code: code,
        reason: reason.to_owned(),
        ..RunResult::blank(CellId::of(&key), key, 1)
    }
}

fn of(run: &RunResult, records: &[Record]) -> Option<(Layer, Confidence)> {
    let attribution = attribute(&Case { run, judgement: None, records });
    attribution.map(|found| {
        assert!(!found.evidence.is_empty());
        (found.layer, found.confidence)
    })
}

fn said(mut run: RunResult, reply: &str) -> RunResult {
    run.turns = vec![TurnResult { reply: Some(reply.to_owned()), ..TurnResult::default() }];
    run
}

#[test]
fn a_pass_has_no_layer_and_every_other_run_has_one() {
    assert_eq!(of(&run(Verdict::Pass, ReasonCode::NoViolation, ""), &[]), None);
    for code in [
        ReasonCode::DuplicateExecution,
        ReasonCode::NoCall,
        ReasonCode::OutcomeUnknown,
        ReasonCode::RunTimeout,
        ReasonCode::Internal,
        ReasonCode::ModelEndpoint,
        ReasonCode::EffectsUnknown,
    ] {
        assert!(of(&run(Verdict::NotTested, code, "…"), &[]).is_some(), "{code}");
    }
}

#[test]
fn the_first_rule_that_matches_decides() {
    use Confidence::{High, Low, Medium};
    use ReasonCode as Code;
    use Verdict::{Error, Fail, NotTested};
    for (run, expected) in [
        (run(Error, Code::ModelEndpoint, "401"), (Layer::Infra, High)),
        (run(Error, Code::AgentFailed, "exit code 1: insufficient quota"), (Layer::Infra, Medium)),
        (run(Error, Code::AgentFailed, "exit code 1: panic"), (Layer::Harness, Medium)),
        (run(NotTested, Code::EffectsUnknown, "count.py failed"), (Layer::Eval, High)),
        (run(NotTested, Code::RunTimeout, "5 m"), (Layer::Harness, Medium)),
        (run(Error, Code::UpstreamNotStarted, "npx"), (Layer::Tool, High)),
        (said(run(NotTested, Code::NoCall, "…"), "Which room would you like?"), (Layer::Prompt, Medium)),
        (said(run(NotTested, Code::NoCall, "…"), "The tool requires approval."), (Layer::Harness, Medium)),
        (said(run(NotTested, Code::NoCall, "…"), "Done."), (Layer::Model, Low)),
        (run(Fail, Code::DuplicateExecution, "…"), (Layer::Model, Medium)),
    ] {
        assert_eq!(of(&run, &[]), Some(expected), "{} {}", run.reason_code, run.reason);
    }
}

#[test]
fn what_was_compacted_comes_before_the_model() {
    let mut lost = run(Verdict::NotTested, ReasonCode::NoWrite, "…");
    lost.agent.stderr = "note: 12 messages were compacted".to_owned();
    assert_eq!(of(&lost, &[]), Some((Layer::Context, Confidence::Low)));
}

#[test]
fn a_server_that_doubles_is_to_blame_and_so_is_one_that_gives_no_answer() {
    let mut doubled = run(Verdict::NotTested, ReasonCode::OracleDisagrees, "…");
    let sentence = "one call, there 2 times".to_owned();
    doubled.disagreements = vec![Disagreement { kind: DisagreementKind::ServerDoubledSingleCall, sentence }];
    assert_eq!(of(&doubled, &[]), Some((Layer::Tool, Confidence::High)));

    let record = |seq, event| Record { seq, at: Micros(seq), event };
    let received = Event::CallReceived {
        call: CallId(1),
        connection: ConnectionId(1),
        rpc_id: RawJson::null(),
        tool: "create_booking".to_owned(),
        class: ToolClass::Write,
        arguments: None,
        continuation: false,
        binding: None,
    };
    let records = [record(0, received), record(1, Event::UpstreamTimedOut { call: CallId(1) })];
    let unknown = run(Verdict::NotTested, ReasonCode::OutcomeUnknown, "…");
    assert_eq!(of(&unknown, &records), Some((Layer::Tool, Confidence::Medium)));
}

#[test]
fn a_sign_begins_a_word() {
    let infra = |reason: &str| {
        of(&run(Verdict::Error, ReasonCode::AgentFailed, reason), &[]).map(|found| found.0)
            == Some(Layer::Infra)
    };
    for reason in [
        "getaddrinfo ENOTFOUND api.example",
        "openai.AuthenticationError: no",
        "HTTPUnauthorized",
        "insufficient_quota",
        "errors.InvalidApiKey",
    ] {
        assert!(infra(reason), "{reason}");
    }
    for reason in ["ModuleNotFoundError: No module named 'openai'", "MODULENOTFOUND", "no such file"] {
        assert!(!infra(reason), "{reason}");
    }
}
