//! Whose an answer is, and when a client sees that none will come.

use crate::rig::{Agent, LIMIT};
use serde_json::json;

fn started(behave: &[&str], flags: &[&str]) -> Agent {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let mut agent = Agent::start(&json!({"behave": {"create_booking": behave}}), &flags);
    agent.introduce("2025-06-18").unwrap();
    agent.list().unwrap();
    agent
}

fn book(agent: &mut Agent, id: u64, guest: &str) {
    agent.write(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"create_booking","arguments":{{"guest":"{guest}"}}}}}}"#
    ));
}

/// The upstream never answers the first call. Its id comes again while it is still under way, and what answers
/// the second call must not make an execution of the first: it was executed once, when it was repeated.
#[test]
fn j7_an_answer_to_an_id_that_two_calls_have_executes_neither() {
    let mut agent = started(&["hang", "ok"], &["--upstream-timeout", "1"]);
    for (id, guest) in [(50, "Ada"), (50, "Grace"), (60, "Ada")] {
        book(&mut agent, id, guest);
        agent.answer(id, LIMIT).unwrap();
    }
    assert_eq!(agent.finish().unwrap(), 0);
    let report = agent.report().unwrap();
    assert_eq!(agent.written()["create_booking"], 2, "one booking each");
    assert_eq!(report["verdict"], "NOT_TESTED", "{report}");
    assert_eq!(report["report"]["violations"], json!([]));
}

/// A call that is never answered must not keep the pipe open that T5 breaks.
#[test]
fn t5_closes_the_pipe_at_once_while_another_call_is_under_way() {
    let mut agent = started(&["hang", "ok"], &["--scenario", "T5"]);
    book(&mut agent, 50, "Ada");
    book(&mut agent, 60, "Grace");
    let error = agent.answer(60, LIMIT / 2).unwrap_err();
    assert!(error.contains("closed"), "the end of the pipe, not a wait of {:?}: {error}", LIMIT / 2);
    assert!(agent.is_running(), "the work goes on");
    agent.kill();
    assert_eq!(agent.written()["create_booking"], 1);
    assert_ne!(agent.report().unwrap()["verdict"], "FAIL");
}
