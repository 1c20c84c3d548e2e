//! A session in a file is the conversation that was led, whenever it is opened again.

use super::sqlite::SqliteJournal;
use super::{Journal, JournalError};
use crate::harness::context::Summary;
use crate::harness::message::ToolCall;
use crate::harness::model::{Consumption, Unit};
use crate::harness::state::{Spent, State};
use crate::harness::tools::ToolOutcome;
use proptest::prelude::*;
use rusqlite::Connection;

fn call(state: &mut State, id: &str) -> ToolCall {
    let mut call = ToolCall { id: id.into(), name: "create_booking".into(), ..ToolCall::default() };
    call.arguments.insert("room".into(), 12.into());
    call.signature = Some("s".into());
    state.conversation.assistant("a moment", vec![call]).remove(0)
}

/// One whole turn, kept as the loop keeps it.
fn turn(journal: &mut SqliteJournal, state: &mut State, said: &str) {
    state.conversation.user(said);
    journal.keep(state).unwrap();
    let call = call(state, said);
    let usage = Consumption { input: 3, output: 2, answers: 1, unit: Unit::Words, ..Consumption::default() };
    state.spent.add(usage, None);
    journal.keep(state).unwrap();
    journal.sending(&[&call]).unwrap();
    state.conversation.result(&call.id, "done".into(), false);
    journal.keep(state).unwrap();
    state.conversation.assistant("booked", vec![]);
    journal.keep(state).unwrap();
}

#[test]
fn what_was_kept_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let (mut journal, resumed) = SqliteJournal::open(&file).unwrap();
    assert_eq!(resumed.state, State::default());
    let mut state = State::new("system");
    turn(&mut journal, &mut state, "one");
    state.context.summary = Some(Summary { text: "much was booked".into(), upto: 3 });
    state.context.learnt = Some(900);
    turn(&mut journal, &mut state, "two");
    drop(journal);
    let (_, resumed) = SqliteJournal::open(&file).unwrap();
    assert_eq!(resumed.state, state);
    assert!(!resumed.pending && resumed.unknown.is_empty());
}

#[test]
fn going_back_is_a_branch_and_forgets_neither_the_other_nor_what_was_spent() {
    let (mut journal, _) = SqliteJournal::in_memory().unwrap();
    let mut state = State::new("system");
    for said in ["one", "two", "three"] {
        turn(&mut journal, &mut state, said);
    }
    let back = journal.back(2).unwrap();
    assert_eq!(back.state.conversation.messages(), &state.conversation.messages()[..5]);
    assert_eq!(back.state.spent, state.spent);
    let mut other = back.state;
    turn(&mut journal, &mut other, "another");
    let branches = journal.branches().unwrap();
    let seen: Vec<_> = branches.iter().map(|b| (b.id, b.current, b.said, b.last.as_str())).collect();
    assert_eq!(seen, [(1, false, 3, "three"), (2, true, 2, "another")]);
    let first = journal.switch(1).unwrap();
    assert_eq!(first.state.conversation, state.conversation);
    assert_eq!(first.state.spent.tokens(), 20);
    assert_eq!(journal.switch(7).unwrap_err(), JournalError::NoBranch(7));
    // More than there is goes to the beginning.
    assert!(journal.back(99).unwrap().state.conversation.messages().len() <= 1);
}

#[test]
fn a_read_that_ended_before_the_others_is_not_lost() {
    let (mut journal, _) = SqliteJournal::in_memory().unwrap();
    let mut state = State::new("");
    state.conversation.user("look");
    let calls: Vec<ToolCall> =
        ["a", "b"].iter().map(|id| ToolCall { id: (*id).into(), ..ToolCall::default() }).collect();
    let calls = state.conversation.assistant("", calls);
    journal.keep(&state).unwrap();
    journal.sending(&calls.iter().collect::<Vec<_>>()).unwrap();
    journal.finished(&calls[1], &ToolOutcome { text: "found".into(), is_error: false }).unwrap();
    let resumed = journal.switch(1).unwrap();
    assert_eq!(resumed.unknown, [calls[0].clone()]);
    assert!(resumed.pending && format!("{:?}", resumed.state.conversation.messages()).contains("\"found\""));
}

#[test]
fn what_is_no_session_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("other.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    assert!(matches!(SqliteJournal::open(&foreign).unwrap_err(), JournalError::Foreign { .. }));
    let later = folder.path().join("later.db");
    drop(SqliteJournal::open(&later).unwrap());
    Connection::open(&later).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteJournal::open(&later).unwrap_err().to_string();
    assert!(error.contains("later.db is no session") && error.contains("later version"), "{error}");
    let nowhere = SqliteJournal::open(&folder.path().join("no/such/folder.db")).unwrap_err();
    assert!(matches!(nowhere, JournalError::Store { .. }), "{nowhere}");
    // A step that cannot be read is told, and not passed over.
    let broken = folder.path().join("broken.db");
    let (mut journal, _) = SqliteJournal::open(&broken).unwrap();
    turn(&mut journal, &mut State::new(""), "one");
    drop(journal);
    Connection::open(&broken).unwrap().execute("UPDATE step SET entry = '{' WHERE id = 2", []).unwrap();
    let error = SqliteJournal::open(&broken).unwrap_err().to_string();
    assert!(error.contains("its step 2 cannot be read"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_walk_over_branches_ends_where_it_says(steps in proptest::collection::vec(0_usize..5, 1..14)) {
        let (mut journal, _) = SqliteJournal::in_memory().unwrap();
        let mut state = State::new("system");
        // What every branch has to hold, from branch 1 on.
        let mut held = vec![state.conversation.clone()];
        let mut at = 0;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                0..3 => {
                    turn(&mut journal, &mut state, &format!("m{number}"));
                    held[at] = state.conversation.clone();
                }
                3 => {
                    journal.keep(&state).unwrap();
                    state = journal.back(1).unwrap().state;
                    held.push(state.conversation.clone());
                    at = held.len() - 1;
                }
                _ => {
                    journal.keep(&state).unwrap();
                    at = number % held.len();
                    state = journal.switch(i64::try_from(at).unwrap() + 1).unwrap().state;
                    prop_assert_eq!(state.conversation.messages().len() > 1, held[at].messages().len() > 1);
                    if held[at].messages().len() > 1 {
                        prop_assert_eq!(&state.conversation, &held[at]);
                    }
                }
            }
        }
        let spent = Spent { usage: state.spent.usage, ..Spent::default() };
        prop_assert_eq!(spent, state.spent);
    }
}
