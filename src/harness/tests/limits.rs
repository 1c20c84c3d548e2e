//! What ends a turn that would not end by itself.

use super::rig::{Desk, Log, Plays, asks, results, says, turn};
use crate::harness::journal::Forgets;
use crate::harness::model::{Consumption, Prices};
use crate::harness::reply::{Reply, TurnError};
use crate::harness::state::State;
use crate::harness::turn::{Agent, Limits};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn limited(limits: Limits, prices: Option<Prices>) -> (Result<Reply, TurnError>, State, usize) {
    let log = Log::default();
    let (model, desk) = (Plays::new(|number, _| asks(&[(&format!("c{number}"), "w")])), Desk::new(&log, 1));
    let agent = Agent { limits, prices, ..Agent::new(&model, &desk) };
    let (done, state) = turn(&agent, &mut Forgets, &CancellationToken::new()).await;
    let carried_out = log.lock().unwrap().len() / 2;
    (done, state, carried_out)
}

#[tokio::test]
async fn a_result_goes_back_to_the_model_and_the_call_is_not_sent_again() {
    let log = Log::default();
    let model = Plays::new(|number, _| if number == 0 { asks(&[("c", "w")]) } else { says("done") });
    let desk = Desk::new(&log, 1);
    let (done, state) = turn(&Agent::new(&model, &desk), &mut Forgets, &CancellationToken::new()).await;
    let usage = Consumption { input: 4, output: 2, answers: 2, ..Consumption::default() };
    assert_eq!(done.unwrap(), Reply { text: "done".into(), usage, cost_usd: None });
    assert_eq!(*log.lock().unwrap(), ["c begins", "c ends"]);
    assert_eq!(results(&state), ["c: done"]);
}

#[tokio::test]
async fn equal_calls_in_a_row_end_the_turn() {
    let (done, state, carried_out) = limited(Limits { equal_calls: 3, ..Limits::default() }, None).await;
    assert_eq!(done.unwrap_err(), TurnError::EqualCalls { tool: "w".into(), count: 4 });
    assert_eq!(carried_out, 3);
    assert_eq!(results(&state)[3], "c3: Not carried out: a limit was reached.");
}

#[tokio::test]
async fn too_many_requests_end_the_turn() {
    let (done, _, carried_out) =
        limited(Limits { turns: 4, equal_calls: 99, ..Limits::default() }, None).await;
    assert_eq!(done.unwrap_err(), TurnError::Turns(4));
    assert_eq!(carried_out, 4);
}

#[tokio::test]
async fn what_was_consumed_ends_the_conversation_before_the_next_request() {
    let limits = Limits { tokens: Some(7), equal_calls: 99, ..Limits::default() };
    let (done, state, carried_out) = limited(limits, None).await;
    assert_eq!(done.unwrap_err(), TurnError::Tokens { used: 9, limit: 7, unit: "tokens" });
    assert_eq!((carried_out, state.spent.tokens()), (3, 9));
    let prices = Prices { input: 1e6, cached: None, output: 3e6 };
    let limits = Limits { cost_usd: Some(10.0), equal_calls: 99, ..Limits::default() };
    let (done, _, carried_out) = limited(limits, Some(prices)).await;
    assert_eq!(done.unwrap_err(), TurnError::Cost { used: 10.0, limit: 10.0 });
    assert_eq!(carried_out, 2);
}

#[tokio::test]
async fn time_ends_a_turn_and_the_call_that_was_under_way_is_unknown() {
    let log = Log::default();
    let (model, desk) = (Plays::new(|_, _| asks(&[("c", "h")])), Desk::new(&log, 1));
    let time = Duration::from_millis(1);
    let limits = Limits { time: Some(time), ..Limits::default() };
    let agent = Agent { limits, ..Agent::new(&model, &desk) };
    let (done, state) = turn(&agent, &mut Forgets, &CancellationToken::new()).await;
    assert_eq!(done.unwrap_err(), TurnError::Time(time));
    // The time may be over before the call leaves.
    let told = results(&state);
    assert!(
        told.is_empty() || told[0].contains("outcome is unknown") || told[0].contains("Not carried out"),
        "{told:?}"
    );
    assert_eq!(log.lock().unwrap().len(), usize::from(told.iter().any(|line| line.contains("unknown"))));
}
