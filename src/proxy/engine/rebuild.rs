//! The upstream is rebuilt while clients are connected: whose process answers, who must be told, which
//! call goes no further. The states are those of [`super::super::epoch`].

use super::super::epoch::{self, Gate, Listed, OnReplace};
use super::super::message::{CancelParams, ListParams, View};
use super::call::{Call, State as CallState};
use super::catalogue::{Found, Page, Pages};
use super::words::{id_key, keep, refuse};
use super::{Action, Engine, Pending, PendingKind};
use crate::domain::{CallId, ConnectionId, Micros, RawJson};
use crate::scenario::{self, Strike};
use crate::trace::{Answer, Event, Execution, RequiredFields, Told};
use serde_json::value::RawValue;
use std::collections::{HashMap, VecDeque};

/// The notification by which a server says that its tools may have changed.
const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// What a connection keeps for the day on which its process is replaced.
#[derive(Default)]
pub(super) struct State {
    /// How its client introduced itself, for the next process.
    pub introduction: Option<String>,
    /// Its open `subscriptions/listen`, by id.
    listens: Vec<(RawJson, String)>,
    /// The list of tools that its client is being given.
    pub(super) given: Pages,
    /// How its client asks for the first page of it.
    pub(super) list_request: Option<String>,
    /// The list of tools that the proxy itself asked for.
    pub(super) found: Found,
    replacing: Option<Replacing>,
}

/// A process is on its way out, and the next one is not there yet.
#[derive(Default)]
struct Replacing {
    /// What the old process was asked and may still answer.
    dying: HashMap<String, VecDeque<Pending>>,
    /// A call whose answer goes no further, should it come.
    swallowed: Option<CallId>,
    /// Calls whose clients are to be told that the process was replaced.
    interrupted: Vec<CallId>,
    /// Calls that arrived meanwhile.
    waiting: Vec<Waiting>,
    /// The epoch that is over.
    old: Option<String>,
    /// A scenario has it replaced which is about what the next process lists.
    scenario: bool,
}

struct Waiting {
    number: CallId,
    call: Call,
    message: String,
    /// It is the call at which the scenario had the upstream rebuilt.
    struck: bool,
}

impl State {
    /// The client asks for the tools: from the beginning, or for a further page.
    pub fn list_asked(&mut self, params: Option<&RawValue>, message: &str) {
        let params = params.and_then(|params| serde_json::from_str::<ListParams<'_>>(params.get()).ok());
        if params.and_then(|params| params.cursor).is_none_or(|cursor| cursor.get() == "null") {
            self.given = Pages::default();
            self.list_request = Some(message.to_owned());
        }
    }

    /// The client opens a stream of notifications.
    pub fn listens(&mut self, id: &RawValue, message: &str) {
        self.listens.push((RawJson::from_raw(id), message.to_owned()));
    }

    /// The client may be closing one.
    pub fn cancelled(&mut self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<CancelParams<'_>>(params.get()).ok());
        if let Some(id) = params.and_then(|params| params.request_id) {
            let id = id_key(id.get());
            self.listens.retain(|(listen, _)| id_key(listen.get()) != id);
        }
    }

    /// Requests that may still be answered.
    pub fn open_requests(&self) -> usize {
        let Some(replacing) = &self.replacing else { return 0 };
        replacing.dying.values().flatten().count() + replacing.waiting.len() + replacing.interrupted.len()
    }

    /// Whether a process is on its way whose list a scenario is about.
    pub fn awaits_the_next_process(&self) -> bool {
        self.replacing.as_ref().is_some_and(|replacing| replacing.scenario)
    }

    /// Where the answers of the process that runs now are looked for.
    pub fn dying(&mut self) -> Option<&mut HashMap<String, VecDeque<Pending>>> {
        self.replacing.as_mut().map(|replacing| &mut replacing.dying)
    }
}

impl Engine {
    /// How the client of a connection introduced itself.
    pub fn introduction_of(&self, connection: ConnectionId) -> Option<String> {
        self.connections.get(&connection)?.rebuild.introduction.clone()
    }

    /// The call where the code that would answer it is approved. While a process is replaced it waits.
    pub(super) fn past_the_gate(
        &mut self,
        number: CallId,
        call: Call,
        message: &str,
        actions: &mut Vec<Action>,
    ) -> Option<Call> {
        let state = self.connections.get_mut(&call.connection)?;
        if let Some(replacing) = &mut state.rebuild.replacing {
            let message = message.to_owned();
            replacing.waiting.push(Waiting { number, call, message, struck: false });
            return None;
        }
        match self.epochs.gate(call.connection) {
            Gate::Pass => Some(call),
            Gate::Refuse(text) => {
                tell(number, &call, Told::StaleEpoch, &text, false, actions);
                None
            }
        }
    }

    /// The scenario has the upstream rebuilt at this call.
    pub(super) fn struck(
        &mut self,
        strike: Strike,
        number: CallId,
        call: Call,
        message: &str,
        actions: &mut Vec<Action>,
    ) {
        let connection = call.connection;
        match strike {
            Strike::Aside => {
                self.rebuilt(false, Vec::new(), actions);
                self.send(number, call, message, actions);
            }
            Strike::Before => {
                self.rebuilt(true, Vec::new(), actions);
                let waiting = Waiting { number, call, message: message.to_owned(), struck: true };
                match self.replacing(connection) {
                    Some(replacing) => {
                        replacing.waiting.push(waiting);
                        replacing.scenario = true;
                    }
                    // There is no process that could be replaced.
                    None => self.send(waiting.number, waiting.call, &waiting.message, actions),
                }
            }
            Strike::During => {
                self.send(number, call, message, actions);
                self.rebuilt(true, Vec::new(), actions);
                if let Some(replacing) = self.replacing(connection) {
                    replacing.swallowed = Some(number);
                }
            }
        }
    }

    pub(super) fn is_replacing(&mut self, connection: ConnectionId) -> bool {
        self.replacing(connection).is_some()
    }

    fn replacing(&mut self, connection: ConnectionId) -> Option<&mut Replacing> {
        self.connections.get_mut(&connection)?.rebuild.replacing.as_mut()
    }

    /// The upstream was rebuilt; where it `replaces`, every process that runs is replaced.
    pub(super) fn rebuilt(&mut self, replaces: bool, paths: Vec<String>, actions: &mut Vec<Action>) {
        actions.push(Action::Record(Event::Rebuilt { replaces, paths }));
        if replaces || self.epochs.is_watched() {
            actions.push(Action::Rebuild);
        }
        if !replaces {
            return;
        }
        self.epochs.replaced();
        let mut connections: Vec<ConnectionId> = self.connections.keys().copied().collect();
        connections.sort();
        for connection in connections {
            let Some(binding) = self.epochs.binding(connection) else { continue };
            let Some(state) = self.connections.get_mut(&connection) else { continue };
            if state.rebuild.replacing.is_some() {
                continue;
            }
            let mut dying = std::mem::take(&mut state.pending);
            for queue in dying.values_mut() {
                queue.retain(|pending| pending.kind != PendingKind::Endless);
            }
            state.upstream_gone = false;
            state.rebuild.replacing =
                Some(Replacing { dying, old: Some(binding.epoch), ..Replacing::default() });
            actions.push(Action::Replace { connection });
        }
    }

    /// An answer to a call came whose client is not to get it.
    pub(super) fn swallows(&mut self, connection: ConnectionId, number: CallId) -> bool {
        self.replacing(connection).is_some_and(|replacing| replacing.swallowed == Some(number))
    }

    /// Keeps what a process that is being ended answered to a call whose client is told otherwise.
    pub(super) fn swallow(&mut self, number: CallId, view: &View<'_>, actions: &mut Vec<Action>) {
        let Some(call) = self.calls.get_mut(&number) else { return };
        let (kind, body) = super::words::answer_kind(view);
        call.at_upstream = false;
        self.deadlines.remove(&(call.limit, number, super::Due::Limit));
        let (connection, waits) = (call.connection, call.state == CallState::Waiting);
        let answer = Answer { kind, body: keep(body) };
        actions.push(Action::Record(Event::UpstreamAnswered { call: number, answer }));
        if !waits {
            self.calls.remove(&number);
        } else if let Some(replacing) = self.replacing(connection) {
            replacing.interrupted.push(number);
        }
    }

    /// The old process is gone: what it has not answered it never will.
    pub(super) fn upstream_stopped(
        &mut self,
        connection: ConnectionId,
        how: String,
        stderr: String,
        actions: &mut Vec<Action>,
    ) {
        actions.push(Action::Record(Event::UpstreamEnded { connection, how, expected: true, stderr }));
        let Some(replacing) = self.replacing(connection) else { return };
        let mut dying: Vec<Pending> = std::mem::take(&mut replacing.dying).into_values().flatten().collect();
        dying.sort_by(|a, b| (a.kind.number(), a.id.get()).cmp(&(b.kind.number(), b.id.get())));
        for pending in dying {
            if pending.kind == PendingKind::Catalogue {
                continue;
            }
            let PendingKind::Call(number) = pending.kind else {
                let reason = "the server was replaced";
                refuse(connection, Some(pending.id.raw()), -32000, reason, actions);
                continue;
            };
            let waits = self
                .calls
                .get(&number)
                .is_some_and(|call| call.state == CallState::Waiting && call.held.is_none());
            if !waits {
                self.lost_call(number, actions);
                continue;
            }
            if let Some(call) = self.calls.get_mut(&number) {
                call.at_upstream = false;
                self.deadlines.remove(&(call.limit, number, super::Due::Limit));
            }
            actions.push(Action::Record(Event::UpstreamLost { call: number }));
            if let Some(replacing) = self.replacing(connection) {
                replacing.interrupted.push(number);
            }
        }
    }

    /// A process runs: the first of a connection, or the one in place of another.
    pub(super) fn upstream_started(
        &mut self,
        connection: ConnectionId,
        command: Vec<String>,
        pid: Option<u32>,
        mut execution: Option<Box<Execution>>,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let replacing =
            self.connections.get_mut(&connection).and_then(|state| state.rebuild.replacing.take());
        if let (Some(execution), Some(replacing)) = (&mut execution, &replacing) {
            execution.replaces.clone_from(&replacing.old);
        }
        let decision = execution.as_deref().and_then(|execution| self.epochs.started(connection, execution));
        let epoch = execution.as_ref().map(|execution| execution.epoch.clone());
        actions.push(Action::Record(Event::UpstreamStarted { connection, command, pid, execution }));
        actions.extend(decision.map(|decision| Action::Record(Event::Approval { connection, decision })));
        let Some(replacing) = replacing else { return };
        let text = epoch::interrupted(replacing.old.as_deref(), epoch.as_deref());
        for number in replacing.interrupted {
            let Some(call) = self.calls.remove(&number) else { continue };
            if call.state == CallState::Waiting {
                tell(number, &call, Told::EpochChanged, &text, false, actions);
            }
        }
        if self.epochs.on_replace() == OnReplace::Close {
            for Waiting { number, call, struck, .. } in replacing.waiting {
                let text = match self.epochs.gate(connection) {
                    Gate::Refuse(text) => text,
                    Gate::Pass => text.clone(),
                };
                tell(number, &call, Told::StaleEpoch, &text, struck, actions);
            }
            actions.push(Action::Close { connection });
            return;
        }
        self.tell_of_the_change(connection, actions);
        if replacing.scenario {
            self.ask_for_the_catalogue(connection, actions);
        }
        for Waiting { number, call, message, struck } in replacing.waiting {
            match self.epochs.gate(connection) {
                Gate::Refuse(text) if struck => {
                    tell(number, &call, Told::StaleEpoch, &text, true, actions);
                }
                // The scenario has seen it already.
                Gate::Pass if struck => self.send(number, call, &message, actions),
                _ => self.admit(number, call, &message, now, actions),
            }
        }
    }

    /// No process came in place of the old one.
    pub(super) fn replacement_failed(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let taken = self.connections.get_mut(&connection).and_then(|state| state.rebuild.replacing.take());
        let Some(mut replacing) = taken else { return };
        let text = epoch::interrupted(replacing.old.as_deref(), None);
        for number in replacing.interrupted {
            let Some(call) = self.calls.remove(&number) else { continue };
            if call.state == CallState::Waiting {
                tell(number, &call, Told::EpochChanged, &text, false, actions);
            }
        }
        for Waiting { number, call, .. } in replacing.waiting {
            let text = scenario::unavailable();
            super::words::tell(number, &call, Told::Unavailable, text, self.present, actions);
        }
        if let Some(state) = self.connections.get_mut(&connection) {
            for (id, queue) in replacing.dying.drain() {
                state.pending.entry(id).or_default().extend(queue);
            }
        }
    }

    /// Opens the client's streams at the new process, and says to the client that the list of tools may
    /// have changed: by itself where its version of MCP knows that, else on those streams.
    fn tell_of_the_change(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let mut hints = Vec::new();
        for (id, message) in &state.rebuild.listens {
            actions.push(Action::ToUpstream { connection, message: message.clone() });
            let pending = Pending { id: id.clone(), kind: PendingKind::Endless };
            state.pending.entry(id_key(id.get())).or_default().push_back(pending);
            if asks_for_tools(message) {
                hints.push(format!(
                    r#"{{"jsonrpc":"2.0","method":"{LIST_CHANGED}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
                ));
            }
        }
        // A client that shook hands knows the notification; its name is older than every version here.
        if state.rebuild.introduction.is_some() {
            hints.push(format!(r#"{{"jsonrpc":"2.0","method":"{LIST_CHANGED}"}}"#));
        }
        for message in hints {
            actions.push(Action::Record(Event::CatalogueHint { connection, by_upstream: false }));
            actions.push(Action::ToClient { connection, message });
        }
    }

    /// The upstream said something by itself.
    pub(super) fn upstream_notified(
        &mut self,
        connection: ConnectionId,
        method: Option<&str>,
        actions: &mut Vec<Action>,
    ) {
        if method == Some(LIST_CHANGED) {
            actions.push(Action::Record(Event::CatalogueHint { connection, by_upstream: true }));
        }
    }

    /// A page of the list of tools goes to a client; with the last one it has the list.
    pub(super) fn page_seen(&mut self, connection: ConnectionId, view: &View<'_>, actions: &mut Vec<Action>) {
        let Some(state) = self.connections.get_mut(&connection) else { return };
        // The list of a process that is being ended is nobody's any more.
        if state.rebuild.replacing.is_some() {
            return;
        }
        let Some(page) = Page::of(view) else { return };
        state.rebuild.given.add(&page);
        if page.next.is_some() {
            return;
        }
        let list = std::mem::take(&mut state.rebuild.given);
        let revision = list.revision();
        let epoch = self.epochs.binding(connection).map(|binding| binding.epoch);
        let required = if self.epochs.is_watched() { list.required } else { RequiredFields::new() };
        let seen = Event::CatalogueSeen { connection, revision: revision.clone(), epoch, required };
        actions.push(Action::Record(seen));
        match self.epochs.listed(connection, revision, list.names) {
            Listed::Nothing => {}
            Listed::Decided(decision) => {
                actions.push(Action::Record(Event::Approval { connection, decision }));
            }
            Listed::Ask(decision) => actions.push(Action::Ask { connection, decision }),
        }
    }
}

/// Whether a `subscriptions/listen` asks for changes of the tools.
fn asks_for_tools(message: &str) -> bool {
    let value: serde_json::Value = serde_json::from_str(message).unwrap_or_default();
    value.pointer("/params/notifications/toolsListChanged") == Some(&serde_json::Value::Bool(true))
}

/// Answers a call with what has a form of its own, however failures are presented.
fn tell(number: CallId, call: &Call, told: Told, text: &str, injected: bool, actions: &mut Vec<Action>) {
    let result = scenario::error_result(text, call.modern);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, call.id, result);
    let body = Some(keep(result.raw()));
    actions.push(Action::Record(Event::CallAnswered { call: number, told, injected, body }));
    actions.push(Action::ToClient { connection: call.connection, message });
}
