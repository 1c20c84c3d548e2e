//! The approval that a call waits for (A3). Where its client can elicit, the client is asked first whether
//! the request goes to the approver: by `elicitation/create`, or, from MCP 2026-07-28 on, by an answer that
//! requires input. The approver is played here, and refuses whatever came of that.

use super::super::message::{Elicited, MetaParams, View, elicits};
use super::call::{Call, Due};
use super::words::{id_key, keep};
use super::{Action, Engine};
use crate::domain::words::clip;
use crate::domain::{CallId, ConnectionId, Micros, RawJson, digest};
use crate::scenario::{self, Injection, When};
use crate::trace::{ApprovalReply, AskedBy, Event, Told};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};

/// How much of a call's arguments a client is shown, in characters.
const SHOWN: usize = 500;

/// The key of our request among those that an answer requires.
const KEY: &str = "approval";

/// From this version of MCP on a server may elicit.
const ELICITATION: &str = "2025-06-18";

/// What clients were asked.
#[derive(Default)]
pub(super) struct Asked {
    /// Requests to clients, by connection and id.
    open: HashMap<(ConnectionId, String), CallId>,
    /// What calls come back with that go on after they were asked.
    states: HashSet<String>,
    /// Calls that were given up while their client was being asked: what it says still settles nothing.
    withdrawn: HashSet<CallId>,
}

impl Asked {
    /// What a client says by a call that goes on after it was asked; none where it was not asked.
    pub fn reply(&self, state: Option<&RawValue>, responses: Option<&RawValue>) -> Option<ApprovalReply> {
        let state: String = serde_json::from_str(state?.get()).ok()?;
        if !self.states.contains(&state) {
            return None;
        }
        let answers: HashMap<String, &RawValue> =
            responses.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        Some(read(answers.get(KEY).copied()))
    }
}

fn read(answer: Option<&RawValue>) -> ApprovalReply {
    let answer = answer.and_then(|raw| serde_json::from_str::<Elicited<'_>>(raw.get()).ok());
    match answer.and_then(|answer| answer.action).as_deref() {
        Some("accept") => ApprovalReply::Submitted,
        Some("decline") => ApprovalReply::Declined,
        Some("cancel") => ApprovalReply::Cancelled,
        _ => ApprovalReply::Failed,
    }
}

/// What a client is shown.
fn question(call: &Call) -> serde_json::Value {
    let arguments = call.arguments.as_ref().map_or("{}", RawJson::get);
    let shown = clip(arguments, SHOWN);
    let reason = serde_json::json!({
        "type": "string", "title": "Reason", "description": "Why it should be approved",
    });
    serde_json::json!({
        "message": scenario::approval_question(&call.tool, &shown),
        "requestedSchema": {"type": "object", "properties": {"reason": reason}},
    })
}

impl Engine {
    /// Asks for the approval of a call that arrived, and answers it with its refusal.
    pub(super) fn ask_approval(
        &mut self,
        number: CallId,
        call: Call,
        message: &str,
        mut injection: Injection,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let ask = |how| Action::Record(Event::ApprovalAsked { call: number, how });
        let connection = call.connection;
        if let Some(reply) = call.approval {
            actions.push(Action::Record(Event::ApprovalReplied { call: number, reply }));
        } else if !self.can_elicit(&call, message) {
            actions.push(ask(AskedBy::Call));
        } else if call.modern {
            actions.push(ask(AskedBy::InputRequired));
            self.require_input(number, &call, actions);
            return;
        } else {
            actions.push(ask(AskedBy::Elicitation));
            let id = RawJson::string(&self.own_id("approval", number));
            let request = question(&call);
            let message =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{request}}}"#);
            self.approvals.open.insert((connection, id_key(id.get())), number);
            injection.when = When::Replied(self.upstream_timeout);
            self.calls.insert(number, call);
            self.inject(number, injection, None, now, actions);
            actions.push(Action::ToClient { connection, message });
            return;
        }
        self.calls.insert(number, call);
        self.inject(number, injection, None, now, actions);
    }

    /// Whether the client of a call shows forms that a server asks for.
    fn can_elicit(&self, call: &Call, message: &str) -> bool {
        if call.modern {
            let params = View::parse(message).ok().and_then(|view| view.params);
            let meta = params.and_then(|raw| serde_json::from_str::<MetaParams<'_>>(raw.get()).ok());
            return elicits(meta.and_then(|meta| meta.meta).and_then(|meta| meta.capabilities));
        }
        self.connections.get(&call.connection).is_some_and(|state| {
            state.elicits && state.protocol.as_deref().is_some_and(|version| version >= ELICITATION)
        })
    }

    /// Something that a client cannot guess the meaning of, and that no other call has.
    fn own_id(&self, what: &str, number: CallId) -> String {
        let prefix = self.correlation.as_deref().unwrap_or_default();
        let mut id = digest(&format!("{prefix} {what} {}", number.0));
        id.truncate(32);
        id
    }

    fn require_input(&mut self, number: CallId, call: &Call, actions: &mut Vec<Action>) {
        let state = self.own_id("state", number);
        let result = serde_json::json!({
            "resultType": "input_required",
            "inputRequests": {KEY: {"method": "elicitation/create", "params": question(call)}},
            "requestState": state,
        });
        self.approvals.states.insert(state);
        let result = RawJson::of(&result).unwrap_or_else(|_| RawJson::null());
        let body = Some(keep(result.raw()));
        let told = Told::InputRequired;
        actions.push(Action::Record(Event::CallAnswered { call: number, told, injected: true, body }));
        let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, call.id);
        actions.push(Action::ToClient { connection: call.connection, message });
    }

    /// Whether a call waits for what its client says of a request for its approval.
    pub(super) fn in_dialog(&self, number: CallId) -> bool {
        let held = self.calls.get(&number).and_then(|call| call.held.as_ref());
        held.is_some_and(|held| matches!(held.injection.when, When::Replied(_)))
    }

    /// The client of a call gave it up, or is gone, before it said whether the approver is to be asked: nobody
    /// refused anything, and nobody is told anything.
    pub(super) fn withdraw(&mut self, number: CallId) {
        let Some(call) = self.calls.remove(&number) else { return };
        self.deadlines.remove(&(call.limit, number, Due::Limit));
        if let Some(held) = call.held {
            self.deadlines.remove(&(held.due, number, Due::Release));
        }
        if let Some(state) = self.connections.get_mut(&call.connection) {
            state.held.retain(|held| *held != number);
        }
        self.approvals.withdrawn.insert(number);
    }

    /// The stream of a request ended or was taken up again.
    pub(super) fn client_waits(&mut self, connection: ConnectionId, id: &RawJson, waits: bool) {
        let key = id_key(id.get());
        let held = self.connections.get(&connection).map(|state| state.held.clone()).unwrap_or_default();
        for number in held {
            if let Some(call) = self.calls.get_mut(&number)
                && id_key(call.id.get()) == key
            {
                call.deserted = !waits;
            }
        }
    }

    /// Takes an answer of a client, where it is one to a request for an approval.
    pub(super) fn replied(
        &mut self,
        connection: ConnectionId,
        id: &RawValue,
        view: &View<'_>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(number) = self.approvals.open.remove(&(connection, id_key(id.get()))) else { return false };
        if self.approvals.withdrawn.contains(&number) {
            return true;
        }
        let reply = read(view.result);
        actions.push(Action::Record(Event::ApprovalReplied { call: number, reply }));
        self.release(number, actions);
        true
    }
}
