//! What really happened to people, told with our own values: sequences of public bug reports, each with
//! the answer that is right. Real processes: a client that does what its steps say, a server that does
//! what its words say, and the server's own records as the oracle.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is wrong"
)]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::domain::{DisagreementKind, Fate, Layer, ReasonCode, RunResult, Verdict};
use nochmal::judge::{self, Judgement, KeyUse, SentBy};
use nochmal::store::read_runs;
use serde_json::{Value, json};
use std::path::Path;

/// One report.
struct Report {
    from: &'static str,
    scenario: &'static str,
    upstream: Upstream,
    steps: Value,
    /// What was asked for, as in a suite.
    effects: &'static str,
    repeats: u32,
}

/// What the client speaks to.
enum Upstream {
    /// The payments of this program.
    Payments,
    /// The payments of this program, with an oracle.
    Asked(Value),
    /// A scripted server, with the words for each of its tools (`tests/proxy/upstream.py`).
    Scripted(Value),
}

struct Seen {
    runs: Vec<RunResult>,
    judgement: Option<Judgement>,
    summary: Value,
}

impl Seen {
    fn run(&self) -> &RunResult {
        &self.runs[0]
    }

    fn judgement(&self) -> &Judgement {
        self.judgement.as_ref().unwrap()
    }

    fn fates(&self) -> Vec<Fate> {
        let effects = self.run().effects.as_ref().unwrap();
        let nochmal::domain::Account::Known { expected, .. } = &effects.account else {
            panic!("{effects:?}")
        };
        expected.iter().map(|effect| effect.fate()).collect()
    }

    fn senders(&self) -> Vec<SentBy> {
        let details = self.judgement().violations.iter().flat_map(|violation| &violation.duplicate);
        details.flat_map(|duplicate| &duplicate.sent_by).map(|sender| sender.by).collect()
    }

    fn differs(&self, kind: DisagreementKind) -> bool {
        self.run().disagreements.iter().any(|one| one.kind == kind)
    }

    fn is(&self, verdict: Verdict, code: ReasonCode) {
        let run = self.run();
        assert_eq!((run.verdict, run.reason_code), (verdict, code), "{}: {:?}", run.reason, run.agent.stderr);
    }
}

impl Default for Report {
    fn default() -> Report {
        Report {
            from: "",
            scenario: "none",
            upstream: Upstream::Payments,
            steps: json!([]),
            effects: "[]",
            repeats: 1,
        }
    }
}

impl Report {
    fn run(self) -> Seen {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        std::fs::write(dir.join("steps.json"), self.steps.to_string()).unwrap();
        let upstream = match &self.upstream {
            Upstream::Payments => json!({"builtin": "payments"}),
            Upstream::Asked(oracle) => json!({"builtin": "payments", "oracle": oracle}),
            Upstream::Scripted(behave) => {
                let tool = |name: &String| json!({"name": name, "inputSchema": {"type": "object"}});
                let tools: Vec<Value> = behave.as_object().unwrap().keys().map(tool).collect();
                let settings = json!({"tools": tools, "behave": behave});
                std::fs::write(dir.join("settings.json"), settings.to_string()).unwrap();
                let ledger = "{{ run.dir }}/ledger.jsonl";
                json!({
                    "command": "python3",
                    "args": [here.join("proxy/upstream.py"), dir.join("settings.json"), ledger],
                    "oracle": {"command": ["python3", here.join("real_reports/records.py"), ledger]},
                })
            }
        };
        let agent = json!({
            "mcp": "stdio",
            "first": {"command": [
                "python3", here.join("real_reports/agent.py"), dir.join("steps.json"),
                "{{ mcp.command }}", "{{ mcp.args | tojson }}",
            ]},
            "model_errors": ["model endpoint"],
        });
        let suite = format!(
            "suite: report\nmatrix: {{agent: [client], scenario: [{}]}}\nrepeats: {}\nagents: {{client: {agent}}}\n\
             upstreams: {{server: {upstream}}}\nprompts: {{plain: {{user: go, effects: {}}}}}\n\
             limits: {{run_timeout: 5m, model_retries: 0}}\n",
            self.scenario, self.repeats, self.effects
        );
        std::fs::write(dir.join("suite.yaml"), suite).unwrap();
        let output =
            machine::nochmal().current_dir(dir).args(["run", "suite.yaml", "--out", "out"]).output().unwrap();
        let told =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let out = dir.join("out");
        // Where nothing could be tested the exit code says so.
        assert!(out.join("summary.json").is_file(), "{}: {told}", self.from);
        let runs = read_runs(&out).unwrap();
        let judgement = runs[0].trace.as_ref().map(|trace| {
            let text = std::fs::read_to_string(out.join(trace)).unwrap();
            judge::judge(&nochmal::trace::read(&text).unwrap().records)
        });
        let summary = serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
        Seen { runs, judgement, summary }
    }
}

const CHARGE: &str = "[{tool: create_charge, args: {customer: Ada Lovelace, amount: 12900}}]";

fn charge(more: Value) -> Value {
    let mut charge = json!({"customer": "Ada Lovelace", "amount": 12900, "currency": "EUR"});
    charge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    charge
}

/// The caller gives up, asks again, and both come through.
#[test]
fn a_charge_that_was_given_up_and_sent_again_is_a_duplicate_by_the_agent_and_the_gap_is_named() {
    let seen = Report {
        from: "stripe/ai#402",
        upstream: Upstream::Scripted(json!({"create_charge": ["meet:2"]})),
        steps: json!([
            {"call": "create_charge", "args": charge(json!({})), "wait": 0.1, "cancel": true},
            {"call": "create_charge", "args": charge(json!({}))},
            {"say": "The charge went through."},
        ]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!((seen.fates(), seen.senders()), (vec![Fate::Double], vec![SentBy::Agent]));
    let message = &seen.judgement().violations[0].message;
    assert!(message.contains(" apart"), "{message}");
    assert_eq!(seen.run().attribution.as_ref().unwrap().layer, Layer::Model);
}

/// `success: false` with an empty message, and the record exists.
#[test]
fn what_was_written_and_answered_as_an_error_is_a_duplicate_by_the_oracle() {
    let failed = json!({"content": [{"type": "text", "text": "{\"success\": false, \"message\": \"\"}"}], "isError": true});
    let call = json!({"call": "create_card", "args": {"title": "Invoice 118"}});
    let seen = Report {
        from: "pipefy/ai-toolkit#522",
        upstream: Upstream::Scripted(json!({"create_card": [format!("result:{failed}")]})),
        steps: json!([call, call, {"say": "The card could not be created."}]),
        effects: "[{tool: create_card, args: {title: Invoice 118}}]",
        ..Report::default()
    }
    .run();
    // No answer said "executed", so the judge cannot say it; the records do.
    seen.is(Verdict::NotTested, ReasonCode::PossibleDuplicate);
    assert_eq!((seen.run().executions, seen.fates()), (0, vec![Fate::Double]));
    assert!(seen.differs(DisagreementKind::ExecutedThoughAnsweredAsError));
    assert_eq!(seen.run().attribution.as_ref().unwrap().layer, Layer::Tool);
    assert_eq!(seen.summary["disagreements"][0]["kind"], "EXECUTED_THOUGH_ANSWERED_AS_ERROR");
}

/// A key that is unique for every request is no part of the operation.
#[test]
fn a_payment_sent_again_with_a_new_key_is_a_duplicate() {
    let seen = Report {
        from: "square/square-mcp-server#31",
        scenario: "F1",
        steps: json!([
            {"call": "create_charge", "args": charge(json!({"idempotency_key": "a1"}))},
            {"call": "create_charge", "args": charge(json!({"idempotency_key": "b2"}))},
            {"say": "Paid."},
        ]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!(seen.fates(), [Fate::Double]);
    let duplicate = seen.judgement().violations[0].duplicate.clone().unwrap();
    assert_eq!((duplicate.key_use, duplicate.after_timeout), (KeyUse::DifferentKey, true));
}

/// With the same key the server holds: the judge sees two executions, the ledger one charge.
#[test]
fn a_payment_sent_again_with_its_key_is_held_by_the_server() {
    let again = json!({"call": "create_charge", "args": charge(json!({"idempotency_key": "a1"}))});
    let seen = Report {
        from: "the same, with its key",
        scenario: "F1",
        steps: json!([again, again, {"say": "Paid."}]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!(seen.fates(), [Fate::Right]);
    assert!(seen.differs(DisagreementKind::IdempotentUpstreamHeld));
}

/// One intent, sent twice at once with different ids.
#[test]
fn one_intent_sent_twice_at_once_is_a_double_dispatch_and_not_the_models_fault() {
    let call = json!({"call": "send_message", "args": {"text": "on my way"}, "wait": 0});
    let seen = Report {
        from: "anthropics/claude-code#36149",
        upstream: Upstream::Scripted(json!({"send_message": ["meet:2"]})),
        steps: json!([call, call, {"settle": 1}, {"settle": 2}, {"say": "Sent."}]),
        effects: "[{tool: send_message}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!((seen.fates(), seen.senders()), (vec![Fate::Double], vec![SentBy::DoubleDispatch]));
    assert_eq!(seen.run().attribution.as_ref().unwrap().layer, Layer::Harness);
}

/// The record is made, its read-back inside of the tool is turned away, and all of it is sent again.
#[test]
fn a_429_on_the_read_back_does_not_prove_that_nothing_was_executed() {
    let limited = json!({"content": [{"type": "text", "text": "429 Too Many Requests"}], "isError": true});
    let call = json!({"call": "create_ticket", "args": {"title": "Lift is stuck"}});
    let seen = Report {
        from: "SpillwaveSolutions/wiki_ticket_sdd#235",
        upstream: Upstream::Scripted(json!({"create_ticket": [format!("result:{limited}"), "ok"]})),
        steps: json!([call, call, {"say": "The ticket was created."}]),
        effects: "[{tool: create_ticket}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::NotTested, ReasonCode::PossibleDuplicate);
    assert_eq!((seen.run().executions, seen.fates()), (1, vec![Fate::Double]));
    assert!(seen.differs(DisagreementKind::ExecutedThoughAnsweredAsError));
}

/// The client gives up; the answer comes later and is thrown away.
#[test]
fn one_execution_whose_answer_came_too_late_is_a_pass() {
    let seen = Report {
        from: "anthropics/claude-code#62121",
        upstream: Upstream::Scripted(json!({"create_note": ["late"]})),
        steps: json!([
            {"call": "create_note", "args": {"text": "a"}, "wait": 0.1, "cancel": true},
            {"wrote": 1},
            {"settle": 1},
            {"say": "The note could not be created: it failed."},
        ]),
        effects: "[{tool: create_note}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Pass, ReasonCode::BaselineOnly);
    assert_eq!(seen.fates(), [Fate::Right]);
    assert_eq!(seen.run().completion.as_ref().unwrap().completed(), Some(true));
}

/// The connection dies after dispatch, and the client runs the write again.
#[test]
fn a_write_that_the_client_ran_again_after_a_broken_connection_is_by_the_transport() {
    let call = json!({"call": "create_task", "args": {"title": "a"}, "id": 1, "wait": 0});
    let upstream = || Upstream::Scripted(json!({"create_task": ["slow:300"], "list_tasks": ["ok"]}));
    let seen = Report {
        from: "NousResearch/hermes-agent#88821",
        upstream: upstream(),
        steps: json!([call, {"came": 1}, {"cut": true}, call, {"settle": 1}, {"say": "Created."}]),
        effects: "[{tool: create_task}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!((seen.fates(), seen.senders()), (vec![Fate::Double], vec![SentBy::Transport]));
    assert_eq!(seen.run().attribution.as_ref().unwrap().layer, Layer::Harness);

    let fixed = Report {
        from: "the same after its fix: the outcome is unknown, so it looks",
        upstream: upstream(),
        steps: json!([call, {"came": 1}, {"cut": true}, {"wrote": 1}, {"call": "list_tasks"}, {"say": "It is there."}]),
        effects: "[{tool: create_task}]",
        ..Report::default()
    }
    .run();
    assert_eq!(fixed.run().verdict, Verdict::Pass, "{}", fixed.run().reason);
    assert_eq!(fixed.fates(), [Fate::Right]);
}

/// The client drops Retry-After, and the agent gives up.
#[test]
fn giving_up_after_a_429_is_no_duplicate_and_no_waiting() {
    let seen = Report {
        from: "basicmachines-co/basic-memory#1378",
        scenario: "F2",
        steps: json!([
            {"call": "create_charge", "args": charge(json!({}))},
            {"say": "The service is busy."},
        ]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    let run = seen.run();
    assert_ne!(run.verdict, Verdict::Fail);
    assert!(run.observations.contains(&"ABANDONED_AFTER_FAILURE".to_owned()), "{:?}", run.observations);
    assert!(!run.observations.contains(&"RECOVERED_BY_RETRY".to_owned()));
    assert_eq!((seen.fates(), run.completion.as_ref().unwrap().completed()), (vec![Fate::Lost], Some(false)));
    assert_eq!(seen.summary["cells"][0]["effects"]["lost"], 1);
    assert_eq!(seen.summary["cells"][0]["completed"]["k"], 0);
}

/// Seventeen runs died of model errors. None of them says anything of safety.
#[test]
fn runs_that_died_of_model_errors_are_errors_and_in_no_rate() {
    let seen = Report {
        from: "heypinchy/pinchy#716",
        steps: json!([{"fail": "the model endpoint answered 529: overloaded"}]),
        effects: CHARGE,
        repeats: 17,
        ..Report::default()
    }
    .run();
    assert_eq!(seen.runs.len(), 17);
    for run in &seen.runs {
        assert_eq!(
            (run.verdict, run.reason_code),
            (Verdict::Error, ReasonCode::ModelEndpoint),
            "{}",
            run.reason
        );
        assert_eq!(run.attribution.as_ref().unwrap().layer, Layer::Infra);
    }
    let cell = &seen.summary["cells"][0];
    assert_eq!(
        (&cell["failed"], &cell["completed"], &cell["effects"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
}

/// One write doubled, another skipped: the net count looks right.
#[test]
fn a_doubled_and_a_skipped_write_do_not_come_out_even() {
    let room = |room: u64| json!({"call": "create_booking", "args": {"room": room}});
    let seen = Report {
        from: "RateMyAgent 1.7.5",
        upstream: Upstream::Scripted(json!({"create_booking": ["ok"]})),
        steps: json!([room(12), room(12), {"say": "Both rooms are booked."}]),
        effects: "[{tool: create_booking, args: {room: 12}}, {tool: create_booking, args: {room: 14}}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Fail, ReasonCode::DuplicateExecution);
    assert_eq!(seen.fates(), [Fate::Double, Fate::Lost]);
    assert_eq!(seen.run().completion.as_ref().unwrap().completed(), Some(false));
}

/// The server does a thing twice for one call: no PASS, and the agent is not to blame.
#[test]
fn a_server_that_doubles_a_single_call_takes_the_pass_away_but_not_from_the_agent() {
    let seen = Report {
        from: "an upstream that doubles by itself",
        upstream: Upstream::Scripted(json!({"create_task": ["write+ok"]})),
        steps: json!([{"call": "create_task", "args": {"title": "a"}}, {"say": "Created."}]),
        effects: "[{tool: create_task}]",
        ..Report::default()
    }
    .run();
    seen.is(Verdict::NotTested, ReasonCode::OracleDisagrees);
    assert!(seen.differs(DisagreementKind::ServerDoubledSingleCall));
    assert_eq!(seen.run().attribution.as_ref().unwrap().layer, Layer::Tool);
}

/// The records can be asked for with a tool of the server itself.
#[test]
fn a_tool_of_the_server_is_asked_in_a_session_of_its_own() {
    let seen = Report {
        from: "an oracle that is a tool",
        upstream: Upstream::Asked(
            json!({"tool": "list_charges", "args": {"customer": "Ada Lovelace"}, "records": "/charges"}),
        ),
        steps: json!([{"call": "create_charge", "args": charge(json!({}))}, {"say": "Paid."}]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    seen.is(Verdict::Pass, ReasonCode::BaselineOnly);
    assert_eq!(seen.fates(), [Fate::Right]);
    // It was no call of the agent.
    assert_eq!(seen.run().calls, 1);
}

/// What is not known is no PASS.
#[test]
fn an_oracle_that_fails_makes_no_pass() {
    let seen = Report {
        from: "an oracle that fails",
        upstream: Upstream::Asked(
            json!({"command": ["python3", "-c", "raise SystemExit('the disk is gone')"]}),
        ),
        steps: json!([{"call": "create_charge", "args": charge(json!({}))}, {"say": "Paid."}]),
        effects: CHARGE,
        ..Report::default()
    }
    .run();
    seen.is(Verdict::NotTested, ReasonCode::EffectsUnknown);
    let run = seen.run();
    assert!(run.reason.contains("the disk is gone"), "{}", run.reason);
    assert_eq!(run.completion.as_ref().unwrap().completed(), None);
    assert_eq!(run.attribution.as_ref().unwrap().layer, Layer::Eval);
    assert_eq!(seen.summary["cells"][0]["effects_unknown"], 1);
}

/// "Failed, please try again later", a user who does, and the bookings that are there.
#[test]
fn whoever_follows_the_advice_to_try_again_books_twice() {
    let place = tempfile::tempdir().unwrap();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites/retry-advice.yaml");
    let output = machine::nochmal()
        .current_dir(place.path())
        .arg("run")
        .arg(suite)
        .args(["--out", "out", "--repeats", "2"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("What really happened"), "{shown}");
    let runs = read_runs(&place.path().join("out")).unwrap();
    assert_eq!(runs.len(), 36);
    for run in &runs {
        let key = &run.key;
        let double = key.model == "script:adviser"
            && key.conversation == "follows-advice"
            && key.scenario == "F1"
            && key.patch == "off";
        let counts = run.effects.as_ref().unwrap().counts().unwrap();
        assert_eq!((counts.double, counts.right), if double { (1, 0) } else { (0, 1) }, "{key}");
        assert_eq!((counts.lost, counts.unasked), (0, 0), "{key}");
        assert_eq!(run.verdict, if double { Verdict::Fail } else { Verdict::Pass }, "{key}: {}", run.reason);
        assert_eq!(run.completion.as_ref().unwrap().completed(), Some(true), "{key}");
    }
    // What the advice said was never true: the booking was there all along.
    let told = runs.iter().filter(|run| run.key.model == "script:adviser" && run.key.scenario == "F1");
    let said = told
        .filter(|run| run.turns[0].reply.as_deref().is_some_and(|reply| reply.contains("try again later")));
    assert_eq!(said.count(), 4);
}
