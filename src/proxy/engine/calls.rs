//! `tools/call` on its way through the engine: sent, held back, answered, cancelled, lost.

use super::super::message::{CallParams, CancelParams, View};
use super::super::splice::Gap;
use super::call::{Arrived, Call, Due, Held, State};
use super::words::{answer_kind, compose, id_key, keep, refuse, tell};
use super::{Action, Engine, Pending, PendingKind, audit};
use crate::domain::json::canonical;
use crate::domain::{CallId, ConnectionId, Micros, RawJson, ToolClass};
use crate::scenario::{self, AnswerView, Injection, OnAnswer, OnCall, Reply, When};
use crate::trace::{Answer, AnswerKind, Event, Fault, LogKind, Told};
use serde_json::value::RawValue;
use std::time::Duration;

/// How long after a client has given up its answer comes after all.
const TOO_LATE: Duration = Duration::from_millis(100);

impl Engine {
    /// A call arrived.
    pub(super) fn call(
        &mut self,
        arrived: Arrived,
        view: &View<'_>,
        message: &str,
        actions: &mut Vec<Action>,
    ) {
        let Arrived { connection, id, modern, now } = arrived;
        let params = view.params.and_then(|params| serde_json::from_str::<CallParams<'_>>(params.get()).ok());
        let Some(params) = params else {
            refuse(connection, Some(id.raw()), -32602, "Invalid params", actions);
            return;
        };
        if self.audit_tools && !self.classes.contains_key(params.name.as_ref()) {
            match audit::question(&params.name, params.arguments) {
                None => {}
                Some(Ok(question)) => {
                    actions.push(Action::Tell { connection, id, question, modern });
                    return;
                }
                Some(Err(reason)) => {
                    let result = scenario::error_result(&reason, modern);
                    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                    actions.push(Action::ToClient { connection, message });
                    return;
                }
            }
        }
        let gap = view.params.and_then(|raw| Gap::in_call(message, raw, params.meta));
        self.last_call += 1;
        let number = CallId(self.last_call);
        let tool = params.name.into_owned();
        let class = self.classes.get(&tool).copied().unwrap_or(ToolClass::Unclassified);
        let call = Call {
            connection,
            id,
            class,
            arguments: params.arguments.map(RawJson::from_raw),
            continuation: carries(params.input_responses) || carries(params.request_state),
            modern,
            deserted: false,
            approval: self.approvals.reply(params.request_state, params.input_responses),
            correlation: self
                .correlation
                .as_ref()
                .map(|prefix| format!("{prefix}-{number}", number = number.0)),
            gap,
            received: now,
            limit: now + self.upstream_timeout,
            state: State::Waiting,
            at_upstream: false,
            shares_id: false,
            held: None,
            tool,
        };
        actions.push(Action::Record(Event::CallReceived {
            call: number,
            connection,
            rpc_id: call.id.clone(),
            tool: call.tool.clone(),
            class,
            arguments: call.arguments.clone(),
            continuation: call.continuation,
            binding: self.epochs.binding(connection),
        }));
        self.admit(number, call, message, now, actions);
    }

    /// What becomes of a call that arrived.
    pub(super) fn admit(
        &mut self,
        number: CallId,
        call: Call,
        message: &str,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        if self.connections.get(&call.connection).is_none_or(|state| state.upstream_gone) {
            tell(number, &call, Told::Unavailable, scenario::unavailable(), self.present, actions);
            return;
        }
        let Some(call) = self.past_the_gate(number, call, message, actions) else { return };
        match self.scenario.on_call(&call.view()) {
            OnCall::Rebuild(strike) => {
                fired(number, Fault::Rebuilt, None, actions);
                self.struck(strike, number, call, message, actions);
            }
            OnCall::Forward => self.send(number, call, message, actions),
            OnCall::ForwardFired => {
                fired(number, Fault::PassThrough, None, actions);
                self.send(number, call, message, actions);
            }
            OnCall::Answer(injection) => {
                fired(number, injection.fault, injection.field.clone(), actions);
                self.calls.insert(number, call);
                self.inject(number, injection, None, now, actions);
            }
            OnCall::Ask(injection) => {
                fired(number, injection.fault, None, actions);
                self.ask_approval(number, call, message, injection, now, actions);
            }
            OnCall::ForwardThen(injection) => {
                fired(number, injection.fault, injection.field.clone(), actions);
                self.send(number, call, message, actions);
                self.inject(number, injection, None, now, actions);
            }
        }
    }

    pub(super) fn send(&mut self, number: CallId, mut call: Call, message: &str, actions: &mut Vec<Action>) {
        let correlated = call.correlation.as_ref().zip(call.gap).map(|(id, gap)| gap.filled(message, id));
        // A message that cannot carry the id goes without, and the trace does not claim it.
        call.correlation = call.correlation.filter(|_| correlated.is_some());
        let correlation = call.correlation.clone();
        actions.push(Action::Record(Event::CallSent { call: number, correlation }));
        let message = correlated.unwrap_or_else(|| message.to_owned());
        actions.push(Action::ToUpstream { connection: call.connection, message });
        let (connection, id) = (call.connection, call.id.clone());
        call.at_upstream = true;
        self.deadlines.insert((call.limit, number, Due::Limit));
        self.calls.insert(number, call);
        self.awaits(connection, Pending { id, kind: PendingKind::Call(number) });
    }

    /// A request goes to the upstream. Where others are there with its id, and one of them does not ask for the
    /// same, nobody can say whose an answer is: MCP forbids it, and some upstreams answer all the same.
    pub(super) fn awaits(&mut self, connection: ConnectionId, pending: Pending) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let queue = state.pending.entry(id_key(pending.id.get())).or_default();
        queue.push_back(pending);
        if queue.len() == 1 {
            return;
        }
        let kinds: Vec<PendingKind> = queue.iter().map(|pending| pending.kind).collect();
        let asked = |kind: &PendingKind| match kind {
            PendingKind::Call(number) => self.calls.get(number).map(|call| {
                let arguments = call.arguments.as_ref().map_or("{}", RawJson::get);
                (call.tool.as_str(), canonical(arguments), call.continuation)
            }),
            _ => None,
        };
        let mut all = kinds.iter().map(asked);
        let first = all.next().flatten();
        if first.is_some() && all.all(|other| other == first) {
            return;
        }
        for kind in kinds {
            if let PendingKind::Call(number) = kind
                && let Some(call) = self.calls.get_mut(&number)
            {
                call.shares_id = true;
            }
        }
    }

    /// Gives the agent an answer of the scenario, now or later.
    pub(super) fn inject(
        &mut self,
        number: CallId,
        injection: Injection,
        own: Option<String>,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let due = call.due(injection.when, now);
        call.held = Some(Held { injection, own, due: due.unwrap_or(now) });
        match due {
            None => self.release(number, actions),
            Some(due) => {
                self.deadlines.insert((due, number, Due::Release));
                let connection = call.connection;
                if let Some(state) = self.connections.get_mut(&connection) {
                    state.held.push(number);
                }
            }
        }
    }

    /// Gives the agent what was held back.
    pub(super) fn release(&mut self, number: CallId, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let Some(held) = call.held.take() else { return };
        call.state = State::Answered;
        self.deadlines.remove(&(held.due, number, Due::Release));
        self.deadlines.remove(&(call.limit, number, Due::Limit));
        if let Some(state) = self.connections.get_mut(&call.connection) {
            state.held.retain(|held| *held != number);
        }
        let composed = compose(call, &held.injection, held.own, self.present);
        let (told, body) = (held.injection.told, composed.body);
        actions.push(Action::Record(Event::CallAnswered { call: number, told, injected: true, body }));
        let connection = call.connection;
        if let Some(message) = composed.message {
            actions.push(Action::ToClient { connection, message });
        }
        if let Reply::Cut { kill } = held.injection.reply {
            actions.push(Action::Cut { connection, id: call.id.clone() });
            if kill {
                actions.push(Action::Kill { connection });
            }
        }
        if !call.at_upstream {
            self.calls.remove(&number);
        }
    }

    /// The client of a connection is gone: nothing is held back from it any longer.
    pub(super) fn release_all(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let held = self.connections.get(&connection).map(|state| state.held.clone()).unwrap_or_default();
        for number in held {
            match self.in_dialog(number) {
                true => self.withdraw(number),
                false => self.release(number, actions),
            }
        }
    }

    /// The upstream of a connection gave a sign that it works.
    pub(super) fn release_started(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let held = self.connections.get(&connection).map(|state| state.held.clone()).unwrap_or_default();
        for number in held {
            let waits = self
                .calls
                .get(&number)
                .and_then(|call| call.held.as_ref())
                .is_some_and(|held| matches!(held.injection.when, When::Started(_)));
            if waits {
                self.release(number, actions);
            }
        }
    }

    /// A client cancels a request. It may cancel a call that was answered already (OpenCode does,
    /// after every call): that settles nothing.
    pub(super) fn cancelled(
        &mut self,
        connection: ConnectionId,
        params: Option<&RawValue>,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let Some(number) = self.cancelled_call(connection, params) else { return };
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.state = State::Cancelled;
        actions.push(Action::Record(Event::CallCancelled { call: number }));
        self.deadlines.remove(&(call.limit, number, Due::Limit));
        if self.in_dialog(number) {
            self.withdraw(number);
            return;
        }
        let Some(held) = self.calls.get_mut(&number).and_then(|call| call.held.as_mut()) else { return };
        if matches!(held.injection.when, When::GivenUp(_)) {
            self.deadlines.remove(&(held.due, number, Due::Release));
            held.due = now + TOO_LATE;
            self.deadlines.insert((held.due, number, Due::Release));
        } else {
            self.release(number, actions);
        }
    }

    /// The call that a cancellation is for, where it still waits.
    fn cancelled_call(&mut self, connection: ConnectionId, params: Option<&RawValue>) -> Option<CallId> {
        let params: CancelParams<'_> = serde_json::from_str(params?.get()).ok()?;
        let key = id_key(params.request_id?.get());
        let state = self.connections.get_mut(&connection)?;
        let waits = |number: &CallId| {
            let call = self.calls.get(number);
            call.is_some_and(|call| call.state == State::Waiting)
        };
        if let Some(queue) = state.pending.get_mut(&key) {
            let mut calls = queue.iter().filter_map(|pending| match pending.kind {
                PendingKind::Call(number) => Some(number),
                _ => None,
            });
            if let Some(number) = calls.find(waits) {
                return Some(number);
            }
        }
        let is_meant = |number: &&CallId| {
            waits(number) && self.calls.get(number).is_some_and(|call| id_key(call.id.get()) == key)
        };
        if let Some(number) = state.held.iter().find(is_meant) {
            return Some(*number);
        }
        // Nobody waits for anything else that was cancelled; should it be answered, that passes.
        let queue = state.pending.get_mut(&key)?;
        if let Some(place) = queue.iter().position(|waiting| !matches!(waiting.kind, PendingKind::Call(_))) {
            queue.remove(place);
        }
        if queue.is_empty() {
            state.pending.remove(&key);
        }
        None
    }

    /// The upstream answered a call.
    pub(super) fn answered(
        &mut self,
        number: CallId,
        view: &View<'_>,
        message: &str,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.at_upstream = false;
        self.deadlines.remove(&(call.limit, number, Due::Limit));
        let (kind, body) = match call.shares_id {
            // Counts as what cannot be read (J7).
            true => (AnswerKind::ProtocolError, answer_kind(view).1),
            false => answer_kind(view),
        };
        if call.shares_id {
            let text = format!(
                "another request had the id of call {}: whose this answer is cannot be told",
                number.0
            );
            actions.push(Action::Record(Event::Log { kind: LogKind::Proxy, text }));
        }
        actions.push(Action::Record(Event::UpstreamAnswered {
            call: number,
            answer: Answer { kind, body: keep(body) },
        }));
        if let Some(held) = &mut call.held {
            held.own = Some(message.to_owned());
            if matches!(held.injection.when, When::Started(_)) {
                self.release(number, actions);
            }
            return;
        }
        let deliver = Action::ToClient { connection: call.connection, message: message.to_owned() };
        match call.state {
            // The agent has been told something; a second answer to one id would confuse it.
            State::Answered => {}
            // The client is free to ignore it, as it would without a proxy.
            State::Cancelled => actions.push(deliver),
            State::Waiting if call.shares_id => {
                let told = Told::ProtocolError;
                let event = Event::CallAnswered { call: number, told, injected: false, body: None };
                actions.push(Action::Record(event));
                actions.push(deliver);
            }
            State::Waiting => match self.scenario.on_answer(&call.view(), &AnswerView { kind, body }) {
                passed @ (OnAnswer::Deliver | OnAnswer::Left(_)) => {
                    if let OnAnswer::Left(why) = passed {
                        let text = format!("the answer to call {} was not changed: {why}", number.0);
                        actions.push(Action::Record(Event::Log { kind: LogKind::Proxy, text }));
                    }
                    let told = match kind {
                        AnswerKind::Result => Told::Result,
                        AnswerKind::ErrorResult => Told::ErrorResult,
                        AnswerKind::ProtocolError => Told::ProtocolError,
                        AnswerKind::InputRequired => Told::InputRequired,
                    };
                    let event = Event::CallAnswered { call: number, told, injected: false, body: None };
                    actions.push(Action::Record(event));
                    actions.push(deliver);
                }
                OnAnswer::Replace(injection) => {
                    fired(number, injection.fault, injection.field.clone(), actions);
                    self.inject(number, injection, Some(message.to_owned()), now, actions);
                    return;
                }
            },
        }
        self.calls.remove(&number);
    }

    /// The upstream will not answer a call any more.
    pub(super) fn lost_call(&mut self, number: CallId, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        call.at_upstream = false;
        self.deadlines.remove(&(call.limit, number, Due::Limit));
        actions.push(Action::Record(Event::UpstreamLost { call: number }));
        if call.held.is_some() {
            self.release(number, actions);
            return;
        }
        if call.state == State::Waiting {
            tell(number, call, Told::ConnectionLost, scenario::connection_lost(), self.present, actions);
        }
        self.calls.remove(&number);
    }

    /// Time passed.
    pub(super) fn tick(&mut self, now: Micros, actions: &mut Vec<Action>) {
        while let Some(&(at, number, due)) = self.deadlines.first() {
            if at > now {
                break;
            }
            self.deadlines.pop_first();
            let deserted = self.calls.get(&number).is_some_and(|call| call.deserted);
            if deserted && self.in_dialog(number) {
                actions.push(Action::Record(Event::CallCancelled { call: number }));
                self.withdraw(number);
                continue;
            }
            let Some(call) = self.calls.get_mut(&number) else { continue };
            // An answer that is held back is due before the limit, or in place of it.
            if due == Due::Release || call.held.is_some() {
                self.release(number, actions);
                continue;
            }
            call.state = State::Answered;
            actions.push(Action::Record(Event::UpstreamTimedOut { call: number }));
            tell(number, call, Told::Timeout, scenario::timeout(), self.present, actions);
        }
    }
}

/// Whether a member says anything: some clients send `null` for every one that they do not use.
fn carries(member: Option<&RawValue>) -> bool {
    member.is_some_and(|raw| raw.get() != "null")
}

/// Records that the scenario struck.
fn fired(number: CallId, fault: Fault, field: Option<String>, actions: &mut Vec<Action>) {
    actions.push(Action::Record(Event::ScenarioFired { call: number, fault, field }));
}
