//! What runs show, each against one mistake of a profile.

use super::super::told::Told;
use super::*;
use crate::domain::{CallId, CellId, ConnectionId, Micros, RawJson, RunId, ToolClass, Usage};
use crate::harness::message::{Object, ToolCall};

const SYSTEM: &str = "You are the front desk.";
const PROMPT: &str = "Please book room 12.";
const AGAIN: &str = "bitte nochmal";

/// A run in which everything is as it should be; tests change one thing.
struct Played {
    expected: Expected,
    seen: Vec<Seen>,
    run: RunResult,
    events: Vec<Event>,
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id.into(), "mcp__x__create_booking".into(), Object::new())
}

fn request(messages: Vec<Message>, calls: Vec<ToolCall>, text: &str) -> Seen {
    Seen {
        protocol: Some("messages"),
        path: "/run/r/v1/messages".into(),
        status: 200,
        messages,
        tools: vec!["Bash".into(), "mcp__x__create_booking".into()],
        server_tools: vec!["mcp__x__create_booking".into()],
        calls,
        text: text.into(),
        input: 10,
        ..Seen::default()
    }
}

fn received(call: u64) -> Event {
    Event::CallReceived {
        call: CallId(call),
        connection: ConnectionId(1),
        rpc_id: RawJson::parse("1").unwrap(),
        tool: "create_booking".into(),
        class: ToolClass::Write,
        arguments: None,
        continuation: false,
        binding: None,
    }
}

impl Played {
    fn well() -> Played {
        let system = || Message::System { text: format!("Be brief.\n{SYSTEM}\n") };
        let user = |text: &str| Message::User { text: text.into() };
        let assistant = |calls| Message::Assistant { text: String::new(), tool_calls: calls };
        let result = |id: &str| Message::ToolResult {
            call_id: format!("toolu_{id}"),
            text: "timed out".into(),
            is_error: true,
        };
        let first = vec![system(), user(PROMPT)];
        let second = [first.clone(), vec![assistant(vec![call("call_1")]), result("call_1")]].concat();
        let third = [second.clone(), vec![assistant(Vec::new()), user(AGAIN)]].concat();
        let fourth = [third.clone(), vec![assistant(vec![call("call_2")]), result("call_2")]].concat();
        let ended = |turn, reply: &str| Event::TurnEnded { turn, reply: Some(reply.into()) };
        let started = |turn, text: &str| Event::TurnStarted { turn, text: text.into() };
        let key = CellKey {
            agent: "some-agent".into(),
            model: "m".into(),
            prompt: "p".into(),
            conversation: "insists".into(),
            upstream: "booking".into(),
            scenario: "F1".into(),
            patch: "off".into(),
            present: "plain".to_owned(),
        };
        Played {
            expected: Expected {
                system: SYSTEM.into(),
                patch: None,
                tools: vec!["create_booking".into(), "booking".into()],
            },
            seen: vec![
                request(first, vec![call("call_1")], ""),
                request(second, Vec::new(), "It failed."),
                request(third, vec![call("call_2")], ""),
                request(fourth, Vec::new(), "Booked."),
            ],
            run: RunResult {
                run_id: RunId("r-r001".into()),
                verdict: Verdict::Fail,
                reason_code: ReasonCode::DuplicateExecution,
                calls: 2,
                writes: 2,
                executions: 2,
                usage: Usage { input_tokens: Some(40), ..Usage::default() },
                ..RunResult::blank(CellId("r".into()), key, 1)
            },
            events: vec![
                started(0, PROMPT),
                received(1),
                ended(0, "It failed."),
                started(1, AGAIN),
                received(2),
                ended(1, "Booked."),
            ],
        }
    }

    fn findings(&self) -> Findings {
        let records: Vec<Record> = (0..)
            .zip(&self.events)
            .map(|(seq, event)| Record { seq, at: Micros(seq), event: event.clone() })
            .collect();
        examine(&self.expected, &self.seen, &self.run, &records)
    }

    fn problems(&self) -> Vec<&'static str> {
        self.findings().problems.iter().map(|problem| problem.code).collect()
    }

    fn notes(&self) -> Vec<&'static str> {
        self.findings().notes.iter().map(|note| note.code).collect()
    }

    fn messages(&mut self, change: fn(&mut Message)) {
        self.seen.iter_mut().flat_map(|one| &mut one.messages).for_each(change);
    }
}

#[test]
fn where_all_sides_agree_nothing_is_found() {
    let played = Played {
        expected: Expected { tools: vec!["create_booking".into()], ..Played::well().expected },
        ..Played::well()
    };
    let findings = played.findings();
    assert_eq!((findings.problems.as_slice(), findings.notes.as_slice()), (&[][..], &[][..]));
    assert_eq!((findings.asked, findings.arrived, findings.system, findings.patch), (2, 2, Some(true), None));
    assert_eq!(findings.tools.iter().map(String::as_str).collect::<Vec<_>>(), ["mcp__x__create_booking"]);
}

fn well() -> Played {
    let mut played = Played::well();
    played.expected.tools.truncate(1);
    played
}

#[test]
fn an_endpoint_that_was_never_asked_is_a_problem_unless_the_program_plays_scripts() {
    let mut played = well();
    played.seen.clear();
    assert_eq!(played.problems(), ["no_request"]);
    played.run.key.model = "script:naive".into();
    assert_eq!((played.problems(), played.notes()), (vec![], vec!["own_script"]));
    played.run.key.model = "m".into();
    played.run.verdict = Verdict::Error;
    played.run.reason_code = ReasonCode::AgentNotStarted;
    assert_eq!(played.problems(), ["run_failed"]);
}

#[test]
fn a_call_that_never_arrives_comes_with_what_the_model_was_told() {
    let mut played = well();
    played.events.retain(|event| !matches!(event, Event::CallReceived { .. }));
    let findings = played.findings();
    assert_eq!(findings.problems.len(), 1);
    assert_eq!(
        findings.problems[0].text,
        "2 of 2 calls of create_booking that the model asked for never arrived; the model was told: timed out"
    );
}

#[test]
fn a_program_that_repeats_calls_is_noted() {
    let mut played = well();
    played.events.push(received(3));
    assert_eq!((played.problems(), played.notes()), (vec![], vec!["repeats_itself"]));
}

#[test]
fn a_system_prompt_must_come_word_for_word_and_as_one() {
    let mut played = well();
    played.messages(|message| {
        if let Message::System { text } = message {
            *text = text.replace("front desk", "back desk");
        }
    });
    assert_eq!(played.problems(), ["system_lost"]);
    let mut played = well();
    played.expected.patch = Some("Never repeat.".into());
    let findings = played.findings();
    assert_eq!((findings.system, findings.patch), (Some(true), Some(false)));
    assert_eq!(findings.problems[0].code, "patch_lost");
    let mut played = well();
    played.messages(|message| {
        if let Message::System { text } = message {
            text.push_str(patches::text("GHOST_WRITE", Lang::En).unwrap());
        }
    });
    assert_eq!(played.problems(), ["patch_leaked"]);
}

#[test]
fn a_second_turn_without_the_first_is_another_session() {
    let mut played = well();
    for one in &mut played.seen[2..] {
        one.messages.retain(|message| !matches!(message, Message::User { text } if text == PROMPT));
    }
    assert_eq!(played.problems(), ["session_lost"]);
    played.seen.truncate(2);
    played.events.truncate(3);
    played.events.push(Event::TurnStarted { turn: 1, text: AGAIN.into() });
    assert_eq!(played.problems(), ["turn_lost"]);
}

#[test]
fn tools_that_the_model_does_not_see_are_told() {
    let mut played = well();
    for one in &mut played.seen {
        one.tools = vec!["Bash".into()];
        one.calls.clear();
        one.text = "Booked. It failed.".into();
    }
    played.events.retain(|event| !matches!(event, Event::CallReceived { .. } | Event::TurnEnded { .. }));
    assert_eq!(played.problems(), ["no_tools"]);
    let mut played = well();
    played.expected.tools.push("find_bookings".into());
    assert_eq!(played.findings().problems[0].text, "the model was not offered find_bookings");
}

#[test]
fn replies_and_tokens_are_compared_with_what_the_model_said() {
    let mut played = well();
    played.events[2] = Event::TurnEnded { turn: 0, reply: None };
    played.events[5] = Event::TurnEnded { turn: 1, reply: Some("0b7e".into()) };
    played.run.usage.input_tokens = Some(70);
    assert_eq!((played.problems(), played.notes()), (vec!["no_reply", "other_reply"], vec!["tokens_differ"]));
    played.run.usage.input_tokens = None;
    assert_eq!(played.notes(), ["no_tokens"]);
}

#[test]
fn refusals_and_unknown_paths_are_told() {
    let mut played = well();
    played.seen.push(Seen {
        protocol: Some("messages"),
        path: "/x".into(),
        status: 400,
        text: "why".into(),
        ..Seen::default()
    });
    played.seen.push(Seen { path: "GET /run/r/other".into(), status: 404, ..Seen::default() });
    assert_eq!((played.problems(), played.notes()), (vec!["refused"], vec!["unknown_path"]));
}

#[test]
fn the_same_finding_of_several_runs_is_told_once() {
    let mut played = well();
    played.run.usage.input_tokens = None;
    let clean = played.findings();
    played.events.remove(1);
    let told = Told::of("obedient", &[clean, played.findings(), played.findings()]);
    assert!(!told.is_clean());
    insta::assert_snapshot!(told.text(), @r"
    REHEARSAL, not a measurement: every model was the script `obedient` on this machine.
    Verdicts say what the script did, and nothing of any model or agent.

    some-agent: 3 runs
      model requests       12 (messages)
      tools seen           mcp__x__create_booking
      calls                6 asked for by the model, 4 arrived at the server
      system prompt        word for word in 3 of 3 runs
      verdicts             3 FAIL
      PROBLEM  1 of 2 calls of create_booking that the model asked for never arrived; the model was told: timed out [call_lost]
               in 2 of 3 runs, first m · insists · F1 · off (r-r001)
               help: allow the server's tools in the profile: permission or approval mode
      note     no token counts were found in its output [no_tokens], in 3 of 3 runs

    1 problem has to be mended before anything is measured.
    ");
    let json: serde_json::Value = serde_json::from_slice(&told.json()).unwrap();
    assert_eq!(
        (&json["agents"][0]["problems"][0]["code"], &json["agents"][0]["problems"][0]["runs"]),
        (&"call_lost".into(), &2.into())
    );
}

#[test]
fn how_long_a_client_waits_and_what_its_program_sends_again_is_told() {
    let told = |gave_up: Option<u64>, resent: u64, waited: u64| {
        let mut played = well();
        (played.run.agent.gave_up_after_ms, played.run.agent.resent) = (gave_up, resent);
        let one = Findings { waited_ms: Some(waited), ..played.findings() };
        let text = Told::of("naive", &[one]).text();
        let lines =
            text.lines().filter(|line| line.starts_with("  tool timeout") || line.contains("by itself"));
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    // What came at once tells nothing.
    assert_eq!(told(None, 0, 40), [""; 0]);
    assert_eq!(told(None, 0, 300_900), ["tool timeout         more than 300 s"]);
    assert_eq!(told(Some(60_012), 0, 40), ["tool timeout         60.0 s", "sent again by itself no"]);
    assert_eq!(told(Some(5_000), 3, 40), ["tool timeout         5.0 s", "sent again by itself 3 times"]);
}
