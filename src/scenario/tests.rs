//! Every scenario, call by call.

use super::*;

fn write() -> CallView<'static> {
    CallView { tool: "create_booking", class: ToolClass::Write, arguments: None, continuation: false }
}

fn read() -> CallView<'static> {
    CallView { tool: "find_bookings", class: ToolClass::Read, ..write() }
}

fn armed(id: &str) -> Box<dyn Scenario> {
    build(id, &Parameters::default()).unwrap()
}

const ANSWER: &str = r#"{"content":[{"type":"text","text":"{\"bookings\":[{\"booking_id\":\"B-1\"},{\"booking_id\":\"B-2\"}]}"}]}"#;

fn answered(scenario: &mut Box<dyn Scenario>, call: &CallView<'_>, kind: AnswerKind) -> OnAnswer {
    let body = RawJson::parse(ANSWER).unwrap();
    scenario.on_answer(call, &AnswerView { kind, body: body.raw() })
}

fn told(action: OnCall) -> Option<Told> {
    match action {
        OnCall::Answer(injection) | OnCall::Ask(injection) => Some(injection.told),
        OnCall::Forward | OnCall::ForwardFired | OnCall::ForwardThen(_) | OnCall::Rebuild(_) => None,
    }
}

#[test]
fn the_table_is_sorted_and_its_spellings_are_unique() {
    assert!(table().is_sorted_by_key(|entry| entry.id.to_lowercase()));
    let spellings = spellings();
    assert_eq!(spellings.iter().collect::<std::collections::BTreeSet<_>>().len(), spellings.len());
    assert_eq!(table().len(), 29);
}

#[test]
fn j11_f1_strikes_the_first_executed_write_and_only_it() {
    let mut f1 = armed("F1");
    assert_eq!(f1.on_call(&write()), OnCall::Forward);
    assert_eq!(answered(&mut f1, &write(), AnswerKind::ErrorResult), OnAnswer::Deliver);
    assert_eq!(answered(&mut f1, &write(), AnswerKind::ProtocolError), OnAnswer::Deliver);
    assert_eq!(answered(&mut f1, &write(), AnswerKind::InputRequired), OnAnswer::Deliver);
    assert_eq!(answered(&mut f1, &read(), AnswerKind::Result), OnAnswer::Deliver);
    let OnAnswer::Replace(injection) = answered(&mut f1, &write(), AnswerKind::Result) else { panic!() };
    assert_eq!((injection.told, injection.fault), (Told::Timeout, Fault::TimeoutAfterExecution));
    assert_eq!(answered(&mut f1, &write(), AnswerKind::Result), OnAnswer::Deliver);
}

#[test]
fn j11_f2_answers_the_first_write_with_what_it_announces() {
    let mut f2 =
        build("F2", &Parameters { retry_after: Duration::from_secs(7), ..Parameters::default() }).unwrap();
    assert_eq!(f2.on_call(&read()), OnCall::Forward);
    let OnCall::Answer(injection) = f2.on_call(&write()) else { panic!() };
    assert_eq!(injection.told, Told::RateLimited { retry_after_ms: 7_000 });
    assert!(
        injection.text().unwrap().contains("429")
            && injection.text().unwrap().contains("retry_after")
            && injection.text().unwrap().contains('7')
    );
    assert_eq!(f2.on_call(&write()), OnCall::Forward);
}

#[test]
fn j13_f3_text_is_exact() {
    let OnCall::Answer(injection) = armed("F3").on_call(&write()) else { panic!() };
    assert_eq!(injection.text(), Some("{\""));
    assert_eq!(injection.told, Told::Malformed);
}

#[test]
fn j14_f4_has_fired_with_the_first_write_and_changes_nothing() {
    let mut f4 = armed("F4");
    assert_eq!(f4.on_call(&read()), OnCall::Forward);
    assert_eq!(f4.on_call(&write()), OnCall::ForwardFired);
    assert_eq!(f4.on_call(&write()), OnCall::ForwardFired);
    assert_eq!(f4.on_call(&write()), OnCall::Forward);
}

#[test]
fn j11_f5_lets_the_next_attempt_pass() {
    let mut f5 = armed("F5");
    assert_eq!(told(f5.on_call(&write())), Some(Told::ServerError));
    assert_eq!(f5.on_call(&write()), OnCall::Forward);
}

#[test]
fn a3_lets_no_write_past_the_approver_and_every_read() {
    let mut a3 = armed("A3");
    assert_eq!(a3.on_call(&read()), OnCall::Forward);
    for call in [write(), CallView { continuation: true, ..write() }] {
        let OnCall::Ask(injection) = a3.on_call(&call) else { panic!() };
        assert_eq!((injection.told, injection.when), (Told::Refused, When::Now));
    }
}

#[test]
fn j10_an_unlisted_tool_uses_nothing_up() {
    for id in ["F2", "F3", "F4", "F5"] {
        let mut scenario = armed(id);
        let unlisted = CallView { class: ToolClass::Unclassified, ..write() };
        assert_eq!(scenario.on_call(&unlisted), OnCall::Forward, "{id}");
        assert_ne!(scenario.on_call(&write()), OnCall::Forward, "{id}");
    }
}

#[test]
fn j9_a_continuation_is_no_first_write() {
    for id in ["F2", "F3", "F4", "F5"] {
        let mut scenario = armed(id);
        assert_eq!(scenario.on_call(&CallView { continuation: true, ..write() }), OnCall::Forward, "{id}");
    }
}

fn chaos(error_rate: f64, seed: u64) -> Vec<bool> {
    let mut chaos = build(CHAOS, &Parameters { error_rate, seed, ..Parameters::default() }).unwrap();
    let calls = [read(), write()];
    (0..400).map(|n| told(chaos.on_call(&calls[n % 2])).is_some()).collect()
}

#[test]
fn j12_chaos_is_seeded_and_meets_its_rate() {
    assert_eq!(chaos(0.3, 7), chaos(0.3, 7));
    assert_ne!(chaos(0.3, 7), chaos(0.3, 8));
    let failed = chaos(0.3, 7).iter().filter(|failed| **failed).count();
    assert!((80..160).contains(&failed), "{failed} of 400");
    assert!(chaos(0.0, 1).iter().all(|failed| !failed));
    assert!(chaos(1.0, 1).iter().all(|failed| *failed));
}

#[test]
fn j13_no_text_betrays_the_test() {
    let parameters = Parameters { error_rate: 1.0, ..Parameters::default() };
    for spelling in spellings() {
        let mut scenario = build(&spelling, &parameters).unwrap();
        let mut texts = vec![unavailable().to_owned(), connection_lost().to_owned(), timeout().to_owned()];
        texts.push(approval_question("create_booking", "{}"));
        let mut injections = Vec::new();
        for call in [write(), read()] {
            match scenario.on_call(&call) {
                OnCall::Answer(injection) | OnCall::Ask(injection) | OnCall::ForwardThen(injection) => {
                    injections.push(injection);
                }
                OnCall::Forward | OnCall::ForwardFired | OnCall::Rebuild(_) => {}
            }
            if let OnAnswer::Replace(injection) = answered(&mut scenario, &call, AnswerKind::Result) {
                injections.push(injection);
            }
        }
        texts.extend(injections.into_iter().map(|injection| format!("{:?}", injection.reply)));
        for text in texts {
            let text = text.to_lowercase();
            for word in ["inject", "chaos", "nochmal", "test", "scenario", "simulat", "proxy", "fault"] {
                assert!(!text.contains(word), "{spelling}: {text:?} says {word:?}");
            }
        }
    }
}
