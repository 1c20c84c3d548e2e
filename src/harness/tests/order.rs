//! What is carried out when, and what is kept before it is.

use super::rig::{Desk, Log, Notes, Plays, asks, results, says, turn};
use crate::harness::journal::Forgets;
use crate::harness::message::Message;
use crate::harness::reply::TurnError;
use crate::harness::turn::Agent;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn reads_are_under_way_together_and_all_else_one_by_one_in_order() {
    let log = Log::default();
    let model = Plays::new(|number, _| match number {
        0 => asks(&[("r1", "r"), ("r2", "r"), ("w1", "w"), ("u1", "u"), ("r3", "r"), ("r4", "r")]),
        _ => says("done"),
    });
    // No read ends before two are under way: one by one they would never end.
    let desk = Desk::new(&log, 2);
    let mut notes = Notes { log: log.clone(), full: false };
    let cancel = CancellationToken::new();
    let agent = Agent::new(&model, &desk);
    let (reply, state) = timeout(Duration::from_secs(60), turn(&agent, &mut notes, &cancel)).await.unwrap();
    assert_eq!(reply.unwrap().text, "done");
    let mut log = log.lock().unwrap().clone();
    // Which of two reads ends first is nobody's business.
    log[3..5].sort();
    log[14..16].sort();
    assert_eq!(log[..5], ["r1+r2 kept", "r1 begins", "r2 begins", "r1 ends", "r2 ends"]);
    assert_eq!(log[5..11], ["w1 kept", "w1 begins", "w1 ends", "u1 kept", "u1 begins", "u1 ends"]);
    assert_eq!(log[11..], ["r3+r4 kept", "r3 begins", "r4 begins", "r3 ends", "r4 ends"]);
    // The results stand in the order in which they were asked for.
    let ids: Vec<String> = results(&state).iter().map(|line| line[..2].to_owned()).collect();
    assert_eq!(ids, ["r1", "r2", "w1", "u1", "r3", "r4"]);
}

#[tokio::test]
async fn a_call_whose_intention_cannot_be_kept_does_not_leave() {
    let log = Log::default();
    let model = Plays::new(|_, _| asks(&[("w1", "w"), ("w2", "w")]));
    let desk = Desk::new(&log, 1);
    let mut notes = Notes { log: log.clone(), full: true };
    let (done, state) = turn(&Agent::new(&model, &desk), &mut notes, &CancellationToken::new()).await;
    assert!(matches!(done.unwrap_err(), TurnError::Journal(_)));
    assert!(log.lock().unwrap().is_empty());
    assert!(results(&state).iter().all(|line| line.contains("Not carried out")), "{:?}", results(&state));
}

#[tokio::test]
async fn a_cancelled_turn_tells_what_is_unknown_from_what_never_left() {
    let log = Log::default();
    let model = Plays::new(|_, _| asks(&[("w1", "w"), ("h1", "h"), ("w2", "w")]));
    let desk = Desk::new(&log, 1);
    let (done, state) = turn(&Agent::new(&model, &desk), &mut Forgets, &desk.hanging).await;
    assert_eq!(done.unwrap_err(), TurnError::Cancelled);
    let results = results(&state);
    assert_eq!(results[0], "w1: done");
    assert!(results[1].contains("outcome is unknown"), "{results:?}");
    assert!(results[2].starts_with("w2: Not carried out"), "{results:?}");
    assert_eq!(*log.lock().unwrap(), ["w1 begins", "w1 ends", "h1 begins"]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_and_not_sent() {
    let log = Log::default();
    let model = Plays::new(|number, _| match number {
        0 => {
            let mut turn = asks(&[("a", "x"), ("b", "no_such"), ("c", "w")]).unwrap();
            turn.tool_calls[2].unreadable = Some("{room: 12".into());
            Ok(turn)
        }
        _ => says("sorry"),
    });
    let desk = Desk::new(&log, 1);
    let mut notes = Notes { log: log.clone(), full: false };
    let (done, state) = turn(&Agent::new(&model, &desk), &mut notes, &CancellationToken::new()).await;
    assert_eq!(done.unwrap().text, "sorry");
    assert!(log.lock().unwrap().is_empty());
    let results = results(&state);
    assert_eq!(results[0], "a: Invalid arguments");
    assert!(results[1].starts_with("b: There is no tool \"no_such\". The call was not sent."), "{results:?}");
    assert!(results[2].contains("not a JSON object") && results[2].contains("not sent"), "{results:?}");
}

#[tokio::test]
async fn a_model_that_numbers_its_calls_anew_is_still_sent_a_valid_history() {
    let log = Log::default();
    let model = Plays::new(|number, _| match number {
        0..3 => asks(&[("0", "w"), ("", "w")]),
        _ => says("done"),
    });
    let desk = Desk::new(&log, 1);
    let agent = Agent::new(&model, &desk);
    let (done, state) = turn(&agent, &mut Forgets, &CancellationToken::new()).await;
    // The same tool with the same arguments six times in a row is one more than may be.
    assert!(matches!(done.unwrap_err(), TurnError::EqualCalls { count: 6, .. }));
    let messages = state.conversation.messages();
    assert_eq!(messages.iter().filter(|message| matches!(message, Message::ToolResult { .. })).count(), 6);
}
