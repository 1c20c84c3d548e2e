//! Every fault before real clients: the server's own ledger says whether the work was done, the client says
//! what it saw.

use super::rig::{Played, Sdk, Setup, Wire, play};
use serde_json::Value;
use std::sync::Mutex;

/// What becomes of the order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Done,
    NotBegun,
    /// Begun and not done.
    Begun,
}

struct Case {
    scenario: &'static str,
    flags: &'static [&'static str],
    /// How long the server works on an order, in milliseconds.
    takes: u32,
    /// How long the client waits, in seconds.
    waits: f64,
    work: Work,
    /// What the trace says that the agent was told.
    told: &'static str,
    /// What the client sees; none where its call fails without an answer.
    sees: Option<(&'static str, bool)>,
    /// The category and advice of the contract, where failures are told as one; none where the answer
    /// passes or there is none.
    contract: Option<(&'static str, &'static str)>,
    /// What is said of a client that sends nothing again.
    verdict: &'static str,
}

const fn case(
    scenario: &'static str,
    work: Work,
    told: &'static str,
    sees: Option<(&'static str, bool)>,
) -> Case {
    Case { scenario, flags: &[], takes: 0, waits: 20.0, work, told, sees, contract: None, verdict: "PASS" }
}

impl Case {
    const fn with(self, category: &'static str, retry: &'static str) -> Case {
        Case { contract: Some((category, retry)), ..self }
    }
}

const UNKNOWN: (&str, &str) = ("outcome_unknown", "reconcile_first");
const MALFORMED: (&str, &str) = ("malformed_response", "reconcile_first");

use Work::{Begun, Done, NotBegun};

const TIMED_OUT: Option<(&str, bool)> = Some(("timed out", true));
const CONFIRMED: Option<(&str, bool)> = Some(("ORD-1", false));

const CASES: &[Case] = &[
    case("none", Done, "result", CONFIRMED),
    case("F1", Done, "timeout", TIMED_OUT).with(UNKNOWN.0, UNKNOWN.1),
    case("F2", NotBegun, "rate_limited", Some(("retry_after: 60", true))).with("rejected", "after"),
    case("F3", NotBegun, "malformed", Some(("{\"", true))).with(MALFORMED.0, MALFORMED.1),
    case("F4", Done, "result", CONFIRMED),
    case("F5", NotBegun, "server_error", Some(("HTTP 500", true))).with(UNKNOWN.0, UNKNOWN.1),
    case("T1", NotBegun, "timeout", TIMED_OUT).with(UNKNOWN.0, UNKNOWN.1),
    Case { flags: &["--delay", "700ms"], ..case("T2", Done, "timeout", TIMED_OUT) }
        .with(UNKNOWN.0, UNKNOWN.1),
    case("T3", Done, "malformed", Some((r#"{"order_id": "ORD-1", "item""#, true)))
        .with(MALFORMED.0, MALFORMED.1),
    Case { waits: 10.0, ..case("T4", Done, "late", None) },
    Case { waits: 4.0, ..case("T5", Done, "connection_lost", None) },
    case("E1:500", Done, "server_error", Some(("HTTP 500", true))).with(UNKNOWN.0, UNKNOWN.1),
    case("E1:502", Done, "server_error", Some(("HTTP 502 Bad Gateway", true))).with(UNKNOWN.0, UNKNOWN.1),
    case("E1:success_false", Done, "failed", Some((r#""success":false"#, false))).with("failed", "safe"),
    case("E1:rate_limited", Done, "rate_limited", Some(("HTTP 429", true))).with("rejected", "after"),
    case("L1", NotBegun, "local_failure", Some(("connection refused", true))).with("local_failure", "safe"),
    case("A1", NotBegun, "unauthorized", Some(("WWW-Authenticate: Bearer", true))).with("rejected", "never"),
    case("A2", NotBegun, "forbidden", Some(("HTTP 403", true))).with("rejected", "never"),
    case("A3", NotBegun, "refused", Some(("declined", true))).with("rejected", "never"),
    case("M1:null", Done, "altered", Some((r#""order_id":null"#, false))).with(MALFORMED.0, MALFORMED.1),
    case("M1:number", Done, "altered", Some((r#""order_id":1,"#, false))).with(MALFORMED.0, MALFORMED.1),
    case("M1:object", Done, "altered", Some((r#""order_id":{}"#, false))).with(MALFORMED.0, MALFORMED.1),
    case("M2", Done, "altered", Some((r#"{"item":"lamp""#, false))).with(MALFORMED.0, MALFORMED.1),
    case("M3", Done, "contradiction", Some((r#""error":{"#, false))).with(MALFORMED.0, MALFORMED.1),
    case("M4", NotBegun, "malformed", Some(("<!DOCTYPE html>", true))).with(MALFORMED.0, MALFORMED.1),
    case("M5:doubled", Done, "result", CONFIRMED),
    case("M5:reordered", Done, "result", CONFIRMED),
    Case { takes: 500, waits: 4.0, ..case("I1", Done, "connection_lost", None) },
    Case { takes: 30_000, waits: 4.0, verdict: "NOT_TESTED", ..case("I2", Begun, "connection_lost", None) },
    // The same program is started anew, so that its list of tools is the same.
    case("R1", Done, "result", CONFIRMED),
    case("R2:pending", NotBegun, "stale_epoch", Some(("authorization_stale", true))),
    case("R2:pass", Done, "result", CONFIRMED),
    case("R3", NotBegun, "stale_epoch", Some(("authorization_stale", true))),
    case("R5", NotBegun, "stale_epoch", Some(("authorization_stale", true))),
    Case { takes: 30_000, verdict: "NOT_TESTED", ..case("R4", Begun, "epoch_changed", Some(("", true))) },
];

impl Case {
    fn is_list(&self) -> bool {
        self.scenario.starts_with("M5")
    }

    fn setup(&self, structured: bool) -> Setup {
        let mut setup = Setup {
            takes: self.takes,
            linger: if self.scenario == "T4" { 0.5 } else { 0.0 },
            begins: self.work != NotBegun,
            flags: self.flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Setup::new(self.scenario).order("lamp", self.waits)
        };
        if structured {
            setup.flags.extend(["--present", "structured"].map(str::to_owned));
        }
        if self.is_list() { setup.order("sofa", 20.0).look() } else { setup }
    }
}

fn problems(case: &Case, structured: bool, played: &Played) -> Vec<String> {
    let mut problems = Vec::new();
    let mut wrong = |what: String| problems.push(what);
    let states = |state: &str| played.ledger.iter().filter(|line| line["state"] == state).count();
    let orders = if case.is_list() { 2 } else { 1 };
    let wanted = match case.work {
        Done => (orders, orders),
        NotBegun => (0, 0),
        Begun => (orders, 0),
    };
    if (states("begun"), states("done")) != wanted {
        wrong(format!("the ledger says {:?}, not {wanted:?}", (states("begun"), states("done"))));
    }
    // Some clients end with the connection.
    let answers = played.answers();
    let first = answers.first().copied().unwrap_or(&Value::Null);
    match (case.contract.filter(|_| structured), case.sees) {
        (Some((category, retry)), _) => {
            let contract = &first["structured"];
            let text: Value =
                serde_json::from_str(first["text"].as_str().unwrap_or_default()).unwrap_or_default();
            let sent = played.event("call_sent").map(|sent| sent["correlation"].clone());
            let is_told = first["is_error"] == true
                && contract["ok"] == false
                && (&contract["category"], &contract["retry"]) == (&category.into(), &retry.into())
                && contract["operation"] == "create_order"
                && contract["correlation_id"].as_str().is_some_and(|id| !id.is_empty())
                && sent.is_none_or(|id| id == contract["correlation_id"]);
            if !is_told || text != *contract {
                wrong(format!("the client was told {first}, not {category}, {retry}"));
            }
        }
        (None, None) if first.get("text").is_none() => {}
        (None, Some((text, is_error)))
            if first["is_error"] == is_error
                && first["text"].as_str().is_some_and(|seen| seen.contains(text)) => {}
        (None, wanted) => wrong(format!("the client saw {first}, not {wanted:?}")),
    }
    let told = played.event("call_answered").map(|answered| answered["told"].clone()).unwrap_or_default();
    let told = told.as_str().map(str::to_owned).or_else(|| told.as_object()?.keys().next().cloned());
    if told.as_deref() != Some(case.told) {
        wrong(format!("the trace says that the agent was told {told:?}"));
    }
    // The id of the attempt is in the trace and at the server, and was there first.
    let sent = played.event("call_sent").and_then(|sent| sent["correlation"].as_str());
    if let Some(line) = played.ledger.first()
        && case.scenario != "none"
        && (sent.is_none() || line["correlation"].as_str() != sent)
    {
        wrong(format!("the attempt had the id {sent:?}, and the ledger says {}", line["correlation"]));
    }
    // Without a scenario messages pass to the letter.
    if case.scenario != "none" && (case.work == NotBegun) != sent.is_none() {
        wrong(format!("an order that is {:?} was sent with {sent:?}", case.work));
    }
    for found in played.betraying() {
        wrong(format!("the client reads {found}"));
    }
    if played.report["verdict"] != case.verdict {
        wrong(format!(
            "the verdict on a client that sends nothing again is {}: {}",
            played.report["verdict"], played.report["report"]["verdictReason"]
        ));
    }
    if case.is_list() {
        let list = answers.get(2).and_then(|seen| seen["text"].as_str()).unwrap_or_default();
        let places: Vec<usize> =
            ["ORD-1", "ORD-2"].iter().flat_map(|id| list.match_indices(id).map(|(at, _)| at)).collect();
        let as_said = match case.scenario {
            "M5:reordered" => places.len() == 2 && places[1] < places[0],
            _ => places.len() == 4,
        };
        if !as_said {
            wrong(format!("the list is not as it should be: {list}"));
        }
    }
    problems
}

fn check(sdk: Sdk, wire: Wire, structured: bool) {
    // Where nothing is told as a contract the two forms are one.
    let cases = || CASES.iter().filter(|case| !structured || case.contract.is_some());
    let next = Mutex::new(cases());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Most of the time a case waits for processes.
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { return };
                    let found = problems(case, structured, &play(&case.setup(structured), sdk, wire));
                    if !found.is_empty() {
                        failures.lock().unwrap().push(format!("{}: {}", case.scenario, found.join("\n    ")));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {} failed:\n{}",
        failures.len(),
        cases().count(),
        failures.join("\n")
    );
}

#[test]
fn every_fault_before_the_python_sdk_over_stdio() {
    check(Sdk::Python, Wire::Stdio, false);
}

#[test]
fn every_fault_before_the_python_sdk_over_http() {
    check(Sdk::Python, Wire::Http, false);
}

#[test]
fn every_fault_before_the_typescript_sdk_over_stdio() {
    check(Sdk::TypeScript, Wire::Stdio, false);
}

#[test]
fn every_fault_before_the_typescript_sdk_over_http() {
    check(Sdk::TypeScript, Wire::Http, false);
}

#[test]
fn every_failure_as_a_contract_before_the_python_sdk_over_http() {
    check(Sdk::Python, Wire::Http, true);
}

#[test]
fn every_failure_as_a_contract_before_the_typescript_sdk_over_stdio() {
    check(Sdk::TypeScript, Wire::Stdio, true);
}

#[test]
fn every_spelling_of_every_built_in_fault_has_a_case() {
    let same = |one: &str, other: &str| match (nochmal::scenario::find(one), nochmal::scenario::find(other)) {
        (Some((one, variant)), Some((other, another))) => one.id == other.id && variant == another,
        _ => false,
    };
    let covered = |id: &str| CASES.iter().any(|case| same(case.scenario, id));
    let left_out: Vec<String> = nochmal::scenario::spellings()
        .into_iter()
        .filter(|id| !covered(id))
        // What a client meets when its server is rebuilt has tests of its own (`tests/rebuilds.rs`); chaos,
        // which needs its own flag, too (below).
        .filter(|id| !(id.starts_with('R') && id.contains(':')) && id != "chaos")
        .collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

#[test]
fn chaos_keeps_every_call_from_the_server_that_it_fails() {
    for (sdk, wire) in [(Sdk::Python, Wire::Http), (Sdk::TypeScript, Wire::Stdio)] {
        let flags = ["--mode", "chaos", "--error-rate", "1"].map(str::to_owned).to_vec();
        let played = play(&Setup { flags, ..Setup::new("none").order("lamp", 20.0).look() }, sdk, wire);
        assert!(played.ledger.is_empty(), "{:?}", played.ledger);
        for seen in played.answers() {
            assert!(seen["is_error"] == true && seen["text"] == "HTTP 500 Internal Server Error", "{seen}");
        }
        assert_eq!((played.answers().len(), played.betraying()), (2, vec![]));
    }
}
