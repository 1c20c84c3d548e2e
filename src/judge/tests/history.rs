//! Writes a trace in a few readable lines.

use crate::domain::{CallId, ConnectionId, Micros, RawJson, ToolClass, ToolInfo};
use crate::judge::{Judgement, judge};
use crate::trace::{Answer, AnswerKind, Body, Event, Fault, Record, Started, TRACE_VERSION, Told};

pub(super) struct History {
    pub events: Vec<(Micros, Event)>,
    now_ms: u64,
    calls: u64,
    connection: u32,
}

/// `{"guest":"Ada","room":12}`, the usual booking.
pub(super) const ADA: &str = r#"{"guest":"Ada","room":12}"#;
pub(super) const BOB: &str = r#"{"guest":"Bob","room":12}"#;

impl History {
    pub fn new(scenario: Option<&str>) -> History {
        let mut history = History { events: Vec::new(), now_ms: 0, calls: 0, connection: 1 };
        history.event(Event::Started(Started {
            version: TRACE_VERSION,
            harness_version: "test".to_owned(),
            run_id: None,
            kind: "proxy".to_owned(),
            scenario: scenario.map(str::to_owned),
            error_rate: None,
            retry_after_ms: 60_000,
            seed: 0,
            key_fields: vec!["idempotency_key".to_owned()],
            upstream_timeout_ms: 60_000,
            started_at: String::new(),
            expect: None,
            present: Default::default(),
        }));
        history
    }

    pub fn event(&mut self, event: Event) -> &mut History {
        self.events.push((Micros(self.now_ms * 1_000), event));
        self
    }

    pub fn wait(&mut self, ms: u64) -> &mut History {
        self.now_ms += ms;
        self
    }

    /// A call arrives and goes no further yet.
    pub fn arrives(&mut self, tool: &str, arguments: &str, rpc_id: &str, continuation: bool) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        let class = match tool {
            "create_booking" => ToolClass::Write,
            "find_bookings" => ToolClass::Read,
            _ => ToolClass::Unclassified,
        };
        self.event(Event::CallReceived {
            call,
            connection: ConnectionId(self.connection),
            rpc_id: RawJson::parse(rpc_id).unwrap(),
            tool: tool.to_owned(),
            class,
            arguments: Some(RawJson::parse(arguments).unwrap()),
            continuation,
            binding: None,
        });
        call
    }

    /// A booking is sent upstream.
    pub fn book(&mut self, arguments: &str) -> CallId {
        let id = (self.calls + 1).to_string();
        self.book_as(arguments, &id)
    }

    pub fn book_as(&mut self, arguments: &str, rpc_id: &str) -> CallId {
        let call = self.arrives("create_booking", arguments, rpc_id, false);
        self.event(Event::CallSent { call, correlation: None });
        call
    }

    pub fn goes_on(&mut self, arguments: &str) -> CallId {
        let call = self.arrives("create_booking", arguments, "99", true);
        self.event(Event::CallSent { call, correlation: None });
        call
    }

    pub fn upstream(&mut self, call: CallId, kind: AnswerKind, digest: &str) -> &mut History {
        let body = Body { json: None, bytes: 1, digest: digest.to_owned() };
        self.event(Event::UpstreamAnswered { call, answer: Answer { kind, body } })
    }

    pub fn told(&mut self, call: CallId, told: Told, injected: bool) -> &mut History {
        self.event(Event::CallAnswered { call, told, injected, body: None })
    }

    pub fn succeeds(&mut self, call: CallId) -> &mut History {
        self.upstream(call, AnswerKind::Result, &call.0.to_string()).told(call, Told::Result, false)
    }

    pub fn is_refused(&mut self, call: CallId) -> &mut History {
        self.upstream(call, AnswerKind::ErrorResult, "no").told(call, Told::ErrorResult, false)
    }

    pub fn throws(&mut self, call: CallId) -> &mut History {
        self.upstream(call, AnswerKind::ProtocolError, "e").told(call, Told::ProtocolError, false)
    }

    pub fn asks(&mut self, call: CallId) -> &mut History {
        self.upstream(call, AnswerKind::InputRequired, "?").told(call, Told::InputRequired, false)
    }

    pub fn times_out(&mut self, call: CallId) -> &mut History {
        self.event(Event::UpstreamTimedOut { call }).told(call, Told::Timeout, false)
    }

    /// F1.
    pub fn becomes_a_ghost(&mut self, call: CallId) -> &mut History {
        self.upstream(call, AnswerKind::Result, &call.0.to_string())
            .event(Event::ScenarioFired { call, fault: Fault::TimeoutAfterExecution, field: None })
            .told(call, Told::Timeout, true)
    }

    /// A booking that the scenario answers.
    pub fn book_in_vain(&mut self, arguments: &str, fault: Fault, told: Told) -> CallId {
        let call = self.arrives("create_booking", arguments, "7", false);
        self.event(Event::ScenarioFired { call, fault, field: None }).told(call, told, true);
        call
    }

    pub fn book_limited(&mut self, arguments: &str, seconds: u64) -> CallId {
        self.book_in_vain(
            arguments,
            Fault::RateLimited,
            Told::RateLimited { retry_after_ms: seconds * 1_000 },
        )
    }

    pub fn book_unavailable(&mut self, arguments: &str) -> CallId {
        let call = self.arrives("create_booking", arguments, "8", false);
        self.told(call, Told::Unavailable, false);
        call
    }

    pub fn looks(&mut self) -> &mut History {
        let call = self.arrives("find_bookings", "{}", "55", false);
        self.event(Event::CallSent { call, correlation: None }).succeeds(call)
    }

    pub fn reconnects(&mut self) -> &mut History {
        self.event(Event::ClientDisconnected { connection: ConnectionId(self.connection) });
        self.connection += 1;
        self
    }

    pub fn lists_a_key(&mut self) -> &mut History {
        let tools = vec![ToolInfo {
            tool: "create_booking".to_owned(),
            class: ToolClass::Write,
            reason: String::new(),
            key_fields: vec!["idempotency_key".to_owned()],
        }];
        self.event(Event::ToolsListed { tools })
    }

    pub fn records(&self) -> Vec<Record> {
        let numbered = self.events.iter().cloned().enumerate();
        numbered.map(|(seq, (at, event))| Record { seq: seq as u64, at, event }).collect()
    }

    pub fn judged(&self) -> Judgement {
        judge(&self.records())
    }
}

impl Judgement {
    /// Kinds of violations and observations.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        let violations = self.violations.iter().map(|violation| violation.kind);
        violations.chain(self.observations.iter().map(|observation| observation.kind)).collect()
    }

    pub(super) fn patch_ids(&self) -> Vec<&str> {
        self.patches.iter().map(|patch| patch.id.as_str()).collect()
    }
}
