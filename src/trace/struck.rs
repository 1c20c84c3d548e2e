//! What a run shows of each call that a fault struck: what the agent was told and advised, what it
//! did next, what became of the work, and by which id all of it can be found.

use super::remote::{Answered, Books, Remote, Work};
use super::{Accounted, AnswerKind, Event, Fault, Record, Told};
use crate::domain::{AccountSource, CallId, NextAction, RawJson, StruckCall, ToolClass, WorkState};
use std::collections::HashMap;

#[derive(Default)]
struct Call {
    tool: String,
    is_read: bool,
    arguments: Option<RawJson>,
    sent: bool,
    correlation: Option<String>,
    answer: Option<AnswerKind>,
    told: Option<Told>,
    /// Where the agent no longer waited.
    settled: Option<usize>,
}

impl Call {
    fn work(&self) -> Work<'_> {
        Work::new(&self.tool, self.arguments.as_ref(), self.correlation.as_deref(), self.sent)
    }
}

/// The calls that a fault struck, in their order.
pub fn struck_calls(records: &[Record]) -> Vec<StruckCall> {
    let mut calls: HashMap<CallId, Call> = HashMap::new();
    let mut struck = Vec::new();
    let mut account: Option<(AccountSource, &Accounted)> = None;
    for (at, record) in records.iter().enumerate() {
        let mut known =
            |call: &CallId, change: &mut dyn FnMut(&mut Call)| change(calls.entry(*call).or_default());
        match &record.event {
            Event::Accounted { source, account: found } => account = Some((*source, found)),
            Event::CallReceived { call, tool, arguments, class, .. } => known(call, &mut |known| {
                known.tool.clone_from(tool);
                known.is_read = *class == ToolClass::Read;
                known.arguments.clone_from(arguments);
            }),
            Event::CallSent { call, correlation } => known(call, &mut |known| {
                known.sent = true;
                known.correlation.clone_from(correlation);
            }),
            Event::UpstreamAnswered { call, answer } => {
                known(call, &mut |known| known.answer = Some(answer.kind))
            }
            Event::ScenarioFired { call, fault, .. } if *fault != Fault::PassThrough => {
                struck.push(*call);
            }
            Event::CallCancelled { call } => {
                known(call, &mut |known| known.settled = known.settled.or(Some(at)))
            }
            Event::CallAnswered { call, told, .. } => known(call, &mut |known| {
                known.told = Some(*told);
                known.settled = known.settled.or(Some(at));
            }),
            _ => {}
        }
    }
    let writes: Vec<Work<'_>> = calls.values().filter(|call| !call.is_read).map(Call::work).collect();
    let books = account.map(|(source, account)| (source, Books::new(account, &writes)));
    let one = |number: CallId| {
        let call = calls.get(&number)?;
        let answer = match (call.sent, call.answer) {
            (false, _) => Answered::NotSent,
            (true, Some(AnswerKind::Result)) => Answered::Executed,
            (true, Some(_)) => Answered::NotConfirmed,
            (true, None) => Answered::Unknown,
        };
        let account = books.as_ref().map(|(source, books)| (*source, books.say(&call.work())));
        let remote = Remote { answer, account };
        let (work, evidence) =
            if call.is_read { (WorkState::Read, String::new()) } else { (remote.state(), remote.evidence()) };
        let advice = call.told.and_then(Told::advice);
        Some(StruckCall {
            call: number,
            tool: call.tool.clone(),
            answered: call.told.is_some(),
            advice: advice.map(|(category, retry)| (category.name().to_owned(), retry.name().to_owned())),
            next: next(call, records, &calls),
            work,
            evidence,
            sent: call.sent,
            correlation: call.correlation.clone(),
        })
    };
    struck.into_iter().filter_map(one).collect()
}

fn next(call: &Call, records: &[Record], calls: &HashMap<CallId, Call>) -> NextAction {
    let after = call.settled.map_or(&[][..], |at| records.get(at + 1..).unwrap_or_default());
    for record in after {
        match &record.event {
            Event::TurnEnded { .. } => return NextAction::TurnEnded,
            Event::CallReceived { call: number, tool, .. } => {
                let canonical = |call: &Call| {
                    call.arguments.as_ref().map(|sent| crate::domain::json::canonical(sent.get()))
                };
                let same = calls
                    .get(number)
                    .is_some_and(|other| other.tool == call.tool && canonical(other) == canonical(call));
                return if same {
                    NextAction::SameCall(*number)
                } else {
                    NextAction::OtherCall(*number, tool.clone())
                };
            }
            _ => {}
        }
    }
    NextAction::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ConnectionId, Micros};
    use crate::trace::{AccountedCall, AccountedEffect, Answer, Body};

    fn call(number: u64, tool: &str, arguments: &str) -> Event {
        Event::CallReceived {
            call: CallId(number),
            connection: ConnectionId(1),
            rpc_id: RawJson::null(),
            tool: tool.to_owned(),
            class: ToolClass::Write,
            arguments: Some(RawJson::parse(arguments).unwrap()),
            continuation: false,
            binding: None,
        }
    }

    fn told(number: u64, told: Told) -> Event {
        Event::CallAnswered { call: CallId(number), told, injected: true, body: None }
    }

    fn lines(events: Vec<Event>) -> Vec<[String; 4]> {
        let records = events.into_iter().enumerate();
        let records: Vec<Record> =
            records.map(|(seq, event)| Record { seq: seq as u64, at: Micros(0), event }).collect();
        struck_calls(&records).iter().map(StruckCall::lines).collect()
    }

    #[test]
    fn an_executed_call_shows_its_id_and_what_came_next() {
        let first = CallId(1);
        let body = Body { json: None, bytes: 1, digest: String::new() };
        let events = vec![
            call(1, "pay", r#"{"n":1}"#),
            Event::CallSent { call: first, correlation: Some("run-1".into()) },
            Event::UpstreamAnswered { call: first, answer: Answer { kind: AnswerKind::Result, body } },
            Event::ScenarioFired { call: first, fault: Fault::TimeoutAfterExecution, field: None },
            told(1, Told::Timeout),
            call(2, "pay", r#"{ "n": 1.0 }"#),
        ];
        assert_eq!(
            lines(events),
            [[
                "told: outcome_unknown, retry reconcile_first",
                "next: the same again (call 2)",
                "server: executed: the server answered it",
                "correlation id: run-1",
            ]
            .map(str::to_owned)]
        );
    }

    #[test]
    fn the_ledger_has_the_last_word_on_what_became_of_the_work() {
        let first = CallId(1);
        let line = AccountedEffect {
            call: Some(AccountedCall {
                tool: "pay".into(),
                arguments: RawJson::parse(r#"{"n":1}"#).unwrap(),
                correlation: Some("run-1".into()),
            }),
            record: RawJson::null(),
        };
        let account = Accounted::Effects(vec![line]);
        let events = vec![
            call(1, "pay", r#"{"n":1}"#),
            Event::CallSent { call: first, correlation: Some("run-1".into()) },
            Event::ScenarioFired { call: first, fault: Fault::Killed, field: None },
            told(1, Told::ConnectionLost),
            Event::Accounted { source: AccountSource::Ledger, account },
        ];
        assert_eq!(
            lines(events)[0][2],
            "server: executed: its ledger has it once; the server never answered it"
        );
    }

    #[test]
    fn a_call_that_was_not_sent_has_no_id_and_every_unknown_says_why() {
        let mut events = vec![
            call(1, "pay", "{}"),
            Event::ScenarioFired { call: CallId(1), fault: Fault::Forbidden, field: None },
            told(1, Told::Forbidden),
            Event::TurnEnded { turn: 0, reply: None },
            call(2, "pay", "{}"),
            Event::ScenarioFired { call: CallId(2), fault: Fault::Interrupted, field: None },
            Event::CallSent { call: CallId(2), correlation: Some("run-2".into()) },
            told(2, Told::ConnectionLost),
        ];
        let found = lines(events.clone());
        assert_eq!(
            found[0],
            [
                "told: rejected, retry never",
                "next: it ended its turn",
                "server: not executed: it was not sent",
                "correlation id: none, it was not sent",
            ]
        );
        assert_eq!(
            found[1][1..3],
            [
                "next: nothing",
                "server: unknown: the server never answered it, and it has neither ledger nor oracle"
            ]
        );
        events.push(call(3, "look", "{}"));
        assert_eq!(lines(events)[1][1], "next: look (call 3)");
    }
}
