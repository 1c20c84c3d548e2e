//! What a run shows of each call that a fault struck: what the agent was told and advised, what it
//! did next, what became of the work, and by which id all of it can be found.

use super::remote::{Books, Work};
use super::{Accounted, AnswerKind, Answered, Category, Event, Fault, Record, Remote, Retry, Told};
use crate::domain::{AccountSource, CallId, RawJson, ToolClass};
use std::collections::HashMap;

/// A call that a fault struck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The call.
    pub call: CallId,
    /// Its tool.
    pub tool: String,
    /// What was done to it.
    pub fault: Fault,
    /// What the agent was told; none where it was told nothing.
    pub told: Option<Told>,
    /// What it did next.
    pub next: Next,
    /// What became of the work; none of a call that has none to do, a read.
    pub remote: Option<Remote>,
    /// It was sent to the server.
    pub sent: bool,
    /// The id that the attempt had at the server; none where it was not sent with one.
    pub correlation: Option<String>,
}

/// What an agent did after it was told of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It called the same tool with the same arguments.
    SameCall(CallId),
    /// It called something else.
    OtherCall(CallId, String),
    /// It ended its turn.
    Turn,
    /// Nothing more.
    Nothing,
}

impl Assertion {
    /// The category of what the agent was told, and the advice that goes with it.
    pub fn advice(&self) -> Option<(Category, Retry)> {
        self.told.and_then(Told::advice)
    }

    /// The four of them, for people.
    pub fn lines(&self) -> [String; 4] {
        let told = match (self.told, self.advice()) {
            (_, Some((category, retry))) => format!("told: {}, retry {}", category.name(), retry.name()),
            (Some(_), None) => "told: no failure".to_owned(),
            (None, None) => "told: nothing".to_owned(),
        };
        let next = match &self.next {
            Next::SameCall(call) => format!("next: the same again (call {})", call.0),
            Next::OtherCall(call, tool) => format!("next: {tool} (call {})", call.0),
            Next::Turn => "next: it ended its turn".to_owned(),
            Next::Nothing => "next: nothing".to_owned(),
        };
        let server = self
            .remote
            .as_ref()
            .map_or_else(|| "a read, which leaves nothing behind".to_owned(), Remote::words);
        let id = match (&self.correlation, self.sent) {
            (Some(id), _) => format!("correlation id: {id}"),
            (None, false) => "correlation id: none, it was not sent".to_owned(),
            (None, true) => "correlation id: none, it was sent without".to_owned(),
        };
        [told, next, format!("server: {server}"), id]
    }
}

#[derive(Default)]
struct Call {
    tool: String,
    is_read: bool,
    arguments: Option<RawJson>,
    sent: bool,
    correlation: Option<String>,
    answer: Option<AnswerKind>,
    fault: Option<Fault>,
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
pub fn assertions(records: &[Record]) -> Vec<Assertion> {
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
                known(call, &mut |known| known.fault = Some(*fault));
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
        Some(Assertion {
            call: number,
            tool: call.tool.clone(),
            fault: call.fault?,
            told: call.told,
            next: next(call, records, &calls),
            remote: (!call.is_read).then_some(Remote { answer, account }),
            sent: call.sent,
            correlation: call.correlation.clone(),
        })
    };
    struck.into_iter().filter_map(one).collect()
}

fn next(call: &Call, records: &[Record], calls: &HashMap<CallId, Call>) -> Next {
    let after = call.settled.map_or(&[][..], |at| records.get(at + 1..).unwrap_or_default());
    for record in after {
        match &record.event {
            Event::TurnEnded { .. } => return Next::Turn,
            Event::CallReceived { call: number, tool, .. } => {
                let canonical = |call: &Call| {
                    call.arguments.as_ref().map(|sent| crate::domain::json::canonical(sent.get()))
                };
                let same = calls
                    .get(number)
                    .is_some_and(|other| other.tool == call.tool && canonical(other) == canonical(call));
                return if same { Next::SameCall(*number) } else { Next::OtherCall(*number, tool.clone()) };
            }
            _ => {}
        }
    }
    Next::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ConnectionId, Micros, ToolClass};
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
        assertions(&records).iter().map(Assertion::lines).collect()
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
