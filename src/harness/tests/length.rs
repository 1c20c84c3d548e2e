//! Histories that are too long for the model.

use super::rig::{Desk, Log, Plays, asks, says};
use crate::harness::journal::Forgets;
use crate::harness::message::{Message, ToolCall};
use crate::harness::model::{Model, ModelError, ModelTurn, Request};
use crate::harness::reply::TurnError;
use crate::harness::state::State;
use crate::harness::turn::{self, Agent};
use serde_json::json;
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Twelve writes with long results, each with an identifier of its own.
fn long() -> State {
    let mut state = State::new("system");
    for number in 0..12 {
        state.conversation.user(&format!("please book number {number} of the customer C-{number:04}"));
        let arguments = json!({"customer": format!("C-{number:04}")}).as_object().unwrap().clone();
        let call = ToolCall::new(format!("c{number}"), "w".into(), arguments);
        state.conversation.assistant("", vec![call]);
        let result = format!("BK-{number:04} {}", "all rooms are described here at length. ".repeat(40));
        state.conversation.result(&format!("c{number}"), result, false);
        state.conversation.assistant("It is booked.", vec![]);
    }
    state.conversation.user("and now?");
    state
}

/// What the model was sent last, as one text; and how the turn ended.
async fn sent(
    window: Option<u64>,
    refuses_above: usize,
    summary: impl Fn() -> Result<ModelTurn, ModelError> + Send + Sync,
) -> (Result<String, TurnError>, String, State, usize) {
    let last = Mutex::new(String::new());
    let summaries = Mutex::new(0);
    let model = Plays::new(|_, request: Request<'_>| {
        let text = format!("{:?}", request.messages);
        if request.tools.is_empty() {
            *summaries.lock().unwrap() += 1;
            return summary();
        }
        if text.len() > refuses_above {
            return Err(ModelError::TooLong("too long".into()));
        }
        *last.lock().unwrap() = text;
        says("here")
    });
    let desk = Desk::new(&Log::default(), 1);
    let mut state = long();
    let agent = Agent { window, ..Agent::new(&model as &dyn Model, &desk) };
    let done = turn::run(&agent, &mut state, &mut Forgets, &CancellationToken::new()).await;
    let (last, summaries) = (last.lock().unwrap().clone(), *summaries.lock().unwrap());
    (done.map(|reply| reply.text), last, state, summaries)
}

/// All identifiers that came before the last message.
fn assert_nothing_is_forgotten(sent: &str) {
    for number in 0..12 {
        for identifier in [format!("BK-{number:04}"), format!("C-{number:04}")] {
            assert!(sent.contains(&identifier), "{identifier} is not in {sent}");
        }
    }
}

#[tokio::test]
async fn what_fits_is_sent_as_it_is() {
    let (done, sent, state, summaries) = sent(Some(100_000), usize::MAX, || says("")).await;
    assert_eq!((done.unwrap().as_str(), summaries), ("here", 0));
    assert_eq!(sent, format!("{:?}", &long().conversation.messages()));
    assert_eq!(state.context.cut_before, 0);
}

#[tokio::test]
async fn old_results_are_cut_first() {
    let (_, sent, state, summaries) = sent(Some(5_000), usize::MAX, || says("")).await;
    assert_eq!(summaries, 0);
    assert_nothing_is_forgotten(&sent);
    assert!(state.context.cut_before > 0 && state.context.summary.is_none());
    // The latest is whole.
    assert!(sent.contains(&"all rooms are described here at length. ".repeat(40)));
}

#[tokio::test]
async fn then_the_older_part_is_summarised_and_its_writes_and_identifiers_survive() {
    let (_, sent, state, summaries) = sent(Some(2_200), usize::MAX, || says("Ada booked much.")).await;
    assert_eq!(summaries, 1);
    assert!(state.context.summary.is_some());
    assert!(sent.contains("Ada booked much.") && sent.contains("and now?"), "{sent}");
    assert_nothing_is_forgotten(&sent);
    assert!(sent.contains(r#"- w {\"customer\":\"C-0000\"} → BK-0000"#), "{sent}");
    // The history itself is whole.
    assert_eq!(state.conversation.messages().len(), long().conversation.messages().len() + 1);
}

#[tokio::test]
async fn a_summary_that_is_not_shorter_is_dropped() {
    let (_, sent, _, summaries) = sent(Some(2_200), usize::MAX, || says(&"words ".repeat(9_000))).await;
    assert_eq!(summaries, 1);
    assert!(!sent.contains("words words"), "{sent}");
    assert_nothing_is_forgotten(&sent);
}

#[tokio::test]
async fn without_a_summary_the_users_words_take_its_place() {
    for broken in [Err(ModelError::Malformed("no".into())), says(" ")] {
        let (done, sent, state, summaries) = sent(Some(2_200), usize::MAX, || broken.clone()).await;
        assert_eq!((done.unwrap().as_str(), summaries), ("here", 1));
        assert!(state.context.summary.is_some());
        assert!(sent.contains("- please book number 0"), "{sent}");
        assert_nothing_is_forgotten(&sent);
    }
}

#[tokio::test]
async fn an_endpoint_that_refuses_teaches_how_much_it_takes() {
    let (done, sent, state, _) = sent(None, 9_000, || says("Ada booked much.")).await;
    assert_eq!(done.unwrap(), "here");
    assert!(sent.len() <= 9_000 && state.context.learnt.is_some());
    assert_nothing_is_forgotten(&sent);
}

#[tokio::test]
async fn what_cannot_be_made_to_fit_is_told() {
    let (done, ..) = sent(None, 10, || says("short")).await;
    assert!(matches!(done.unwrap_err(), TurnError::Model(ModelError::TooLong(_))));
}

#[tokio::test]
async fn a_single_result_that_is_too_long_is_cut_in_its_middle() {
    let log = Log::default();
    let mut desk = Desk::new(&log, 1);
    desk.answer = format!("begin {} end", "x".repeat(100_000));
    let longest = Mutex::new(0);
    let model = Plays::new(|number, request: Request<'_>| {
        let of = |message: &Message| format!("{message:?}").len();
        *longest.lock().unwrap() = request.messages.iter().map(of).max().unwrap();
        if number == 0 { asks(&[("c", "w")]) } else { says("done") }
    });
    let agent = Agent { window: Some(4_000), ..Agent::new(&model, &desk) };
    let (done, state) = super::rig::turn(&agent, &mut Forgets, &CancellationToken::new()).await;
    assert_eq!(done.unwrap().text, "done");
    assert!(*longest.lock().unwrap() < 14_000);
    let Some(Message::ToolResult { text, .. }) = state
        .context
        .view(state.conversation.messages())
        .iter()
        .find(|m| matches!(m, Message::ToolResult { .. }))
        .cloned()
    else {
        unreachable!()
    };
    assert!(text.starts_with("begin") && text.ends_with("end") && text.contains("left out"), "{text}");
    assert_eq!(model.asked(), 2);
}
