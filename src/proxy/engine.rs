//! The proxy without its wires: (message, now) → actions. Pure.
//!
//! A connection of an MCP client has an upstream connection of its own, so ids pass unchanged.
//! What the proxy remembers of a run belongs to the run, not to a connection: some agents start
//! their server anew for every call.

mod approval;
mod audit;
mod call;
mod calls;
mod catalogue;
mod given;
mod noise;
mod rebuild;
mod wires;
mod words;

pub(super) use audit::answer as audit_answer;
pub use audit::{Format, Question};
pub use wires::{Action, Classify, Input, Settings};

use super::epoch::{Epochs, Rules};
use super::message::{ToolsResult, View, batch, elicits};
use crate::domain::{CallId, ConnectionId, Micros, Present, RawJson, ToolClass, ToolInfo};
use crate::scenario::Scenario;
use crate::trace::{Event, LogKind};
use call::{Arrived, Call, Due};
use given::Given;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;
pub(super) use words::introduction;
use words::{id_key, introduce_modern, peer, refuse};

/// The only version of MCP that has batches (R9).
pub(super) const BATCH_VERSION: &str = "2025-03-26";

/// The proxy of one run.
pub struct Engine {
    scenario: Box<dyn Scenario>,
    classify: Classify,
    upstream_timeout: Duration,
    present: Present,
    correlation: Option<String>,
    classes: HashMap<String, ToolClass>,
    connections: HashMap<ConnectionId, Connection>,
    calls: HashMap<CallId, Call>,
    deadlines: BTreeSet<(Micros, CallId, Due)>,
    last_call: u64,
    audit_tools: bool,
    given: Option<Given>,
    epochs: Epochs,
    approvals: approval::Asked,
}

#[derive(Default)]
struct Connection {
    /// Requests that the upstream has not answered, by the id that the client gave them. A client
    /// that gives an id twice gets its answers in the order of its requests.
    pending: HashMap<String, VecDeque<Pending>>,
    /// Calls whose answer is held back, in the order of their arrival.
    held: Vec<CallId>,
    protocol: Option<String>,
    /// Its client shows forms that a server asks for.
    elicits: bool,
    introduced: bool,
    upstream_gone: bool,
    rebuild: rebuild::State,
    /// What is no message, of its client and of the upstream that it has now.
    noise: [noise::Noise; 2],
}

struct Pending {
    id: RawJson,
    kind: PendingKind,
}

#[derive(Clone, Copy, PartialEq)]
enum PendingKind {
    Introduction,
    ToolsList,
    Call(CallId),
    /// A subscription, which ends with its connection.
    Endless,
    /// A page of the list of tools that nobody but the proxy asked for.
    Catalogue,
    Other,
}

impl Engine {
    /// An engine for one run.
    pub fn new(settings: Settings) -> Engine {
        Engine {
            scenario: settings.scenario,
            classify: settings.classify,
            upstream_timeout: settings.upstream_timeout,
            present: settings.present,
            correlation: settings.correlation,
            classes: HashMap::new(),
            connections: HashMap::new(),
            calls: HashMap::new(),
            deadlines: BTreeSet::new(),
            last_call: 0,
            audit_tools: false,
            given: None,
            epochs: Epochs::default(),
            approvals: approval::Asked::default(),
        }
    }

    /// Offers the two tools that read the report, where the upstream has none of that name.
    pub fn with_audit_tools(mut self) -> Engine {
        self.audit_tools = true;
        self
    }

    /// Keeps what the agent is told beside calls.
    pub fn keeping_given(mut self, keeps: bool) -> Engine {
        self.given = keeps.then(Given::default);
        self
    }

    fn given(&mut self, view: &View<'_>, actions: &mut Vec<Action>) {
        let is_progress = view.method.as_deref() == Some("notifications/progress");
        if let Some(told) = view.result.or(view.error).or(view.params)
            && let Some(given) = &mut self.given
            && !is_progress
        {
            actions.extend(given.hear(told).map(|body| Action::Record(Event::Given { body })));
        }
    }

    /// Expects the upstream to be rebuilt.
    pub fn with_rebuilds(mut self, rules: Rules) -> Engine {
        self.epochs = Epochs::new(rules);
        self
    }

    /// Makes tools known that were listed before any client came.
    pub fn know_tools(&mut self, tools: Vec<ToolInfo>) -> Action {
        for tool in &tools {
            // A tool that was a write once stays one for the run: taken for a read, its second
            // execution would go unseen.
            let class = self.classes.entry(tool.tool.clone()).or_insert(tool.class);
            if *class != ToolClass::Write {
                *class = tool.class;
            }
        }
        Action::Record(Event::ToolsListed { tools })
    }

    /// When [`Input::Tick`] is wanted next.
    pub fn next_deadline(&self) -> Option<Micros> {
        self.deadlines.first().map(|(at, ..)| *at)
    }

    /// Requests of a connection that are not answered yet and may still be.
    pub fn open_requests(&self, connection: ConnectionId) -> usize {
        let Some(state) = self.connections.get(&connection) else { return 0 };
        let pending = state.pending.values().flatten();
        pending.filter(|pending| pending.kind != PendingKind::Endless).count()
            + state.held.len()
            + state.rebuild.open_requests()
    }

    /// Whether a process that took the place of another, or is to, still owes the proxy its list of tools.
    pub fn awaits_catalogue(&self, connection: ConnectionId) -> bool {
        let Some(state) = self.connections.get(&connection) else { return false };
        state.rebuild.awaits_the_next_process()
            || state.pending.values().flatten().any(|pending| pending.kind == PendingKind::Catalogue)
    }

    /// Takes one input and says what is to be done.
    pub fn handle(&mut self, input: Input, now: Micros) -> Vec<Action> {
        let mut actions = Vec::with_capacity(4);
        match input {
            Input::ClientConnected { connection, transport } => {
                self.connections.insert(connection, Connection::default());
                actions.push(Action::Record(Event::ClientConnected {
                    connection,
                    transport: transport.to_owned(),
                }));
            }
            Input::FromClient { connection, message } => {
                self.client_message(connection, message, now, &mut actions);
            }
            Input::NotText { connection, by_client, head } => {
                let text =
                    |who: &str| format!("{who} sent a line that is not UTF-8, which was dropped: {head}");
                self.no_message(connection, by_client, text, &mut actions);
            }
            Input::ClientDisconnected { connection } => {
                self.noise_over(connection, true, &mut actions);
                actions.push(Action::Record(Event::ClientDisconnected { connection }));
                self.epochs.ended(connection);
                self.release_all(connection, &mut actions);
            }
            Input::UpstreamStarted { connection, command, pid, execution } => {
                self.upstream_started(connection, command, pid, execution, now, &mut actions);
            }
            Input::Rebuilt { replaces, paths } => self.rebuilt(replaces, paths, &mut actions),
            Input::UpstreamStopped { connection, how, stderr } => {
                self.noise_over(connection, false, &mut actions);
                self.upstream_stopped(connection, how, stderr, &mut actions);
            }
            Input::Decided { connection, decision } => {
                self.epochs.decided(connection, &decision);
                actions.push(Action::Record(Event::Approval { connection, decision }));
            }
            Input::FromUpstream { connection, message } => {
                self.upstream_message(connection, message, now, &mut actions);
            }
            Input::UpstreamEnded { connection, how, expected, stderr } => {
                self.noise_over(connection, false, &mut actions);
                actions.push(Action::Record(Event::UpstreamEnded { connection, how, expected, stderr }));
                self.upstream_ended(connection, &mut actions);
            }
            Input::RequestLost { connection, id } => {
                if let Some(pending) = self.take_pending(connection, id.raw()) {
                    self.lost(connection, pending, &mut actions);
                }
            }
            Input::ClientWaits { connection, id, waits } => self.client_waits(connection, &id, waits),
            Input::Tick => self.tick(now, &mut actions),
        }
        actions
    }

    fn client_message(
        &mut self,
        connection: ConnectionId,
        message: String,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        if let Some(parts) = batch(&message) {
            let allowed =
                self.connections.get(&connection).and_then(|c| c.protocol.as_deref()) == Some(BATCH_VERSION);
            if !allowed || parts.is_empty() {
                let reason = "Invalid Request: batches are not supported by this protocol version";
                refuse(connection, None, -32600, reason, actions);
                return;
            }
            for part in parts {
                self.one_client_message(connection, part.get().to_owned(), now, actions);
            }
            return;
        }
        self.one_client_message(connection, message, now, actions);
    }

    fn one_client_message(
        &mut self,
        connection: ConnectionId,
        message: String,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let view = match View::parse(&message) {
            Ok(view) => view,
            Err(error) => {
                let text =
                    |_: &str| format!("a message of the client is not JSON-RPC and was refused: {error}");
                self.no_message(connection, true, text, actions);
                let (code, reason) = match error.classify() {
                    serde_json::error::Category::Data => (-32600, "Invalid Request"),
                    _ => (-32700, "Parse error"),
                };
                refuse(connection, None, code, reason, actions);
                return;
            }
        };
        if let (Some(id), None) = (view.id, &view.method)
            && self.replied(connection, id, &view, actions)
        {
            return;
        }
        let Some(state) = self.connections.get_mut(&connection) else { return };
        let modern = introduce_modern(connection, state, &view, actions);
        let gone = state.upstream_gone;
        match (view.id, view.method.as_deref()) {
            (Some(id), Some("tools/call")) => {
                let arrived = Arrived { connection, id: RawJson::from_raw(id), modern, now };
                self.call(arrived, &view, &message, actions);
            }
            (None, Some("tools/call")) => {
                let text =
                    "a tools/call without an id was dropped: nobody could learn its outcome".to_owned();
                actions.push(Action::Record(Event::Log { kind: LogKind::Proxy, text }));
            }
            (Some(id), Some(_)) if gone => {
                refuse(connection, Some(id), -32000, "the server is not available", actions);
            }
            (Some(id), Some(method)) => {
                let kind = match method {
                    "initialize" => {
                        let params = introduction(view.params);
                        state.protocol = params.protocol_version.as_deref().map(str::to_owned);
                        let client = peer(params.client_info, params.protocol_version.as_deref());
                        state.introduced = true;
                        state.elicits = elicits(params.capabilities);
                        state.rebuild.introduction = Some(message.clone());
                        actions.push(Action::Record(Event::ClientReady { connection, client }));
                        PendingKind::Introduction
                    }
                    "server/discover" => PendingKind::Introduction,
                    "tools/list" => {
                        actions.push(Action::Record(Event::ToolsRequested { connection }));
                        state.rebuild.list_asked(view.params, &message);
                        PendingKind::ToolsList
                    }
                    "subscriptions/listen" => {
                        state.rebuild.listens(id, &message);
                        PendingKind::Endless
                    }
                    _ => PendingKind::Other,
                };
                self.awaits(connection, Pending { id: RawJson::from_raw(id), kind });
                actions.push(Action::ToUpstream { connection, message });
            }
            (None, Some("notifications/cancelled")) => {
                state.rebuild.cancelled(view.params);
                self.cancelled(connection, view.params, now, actions);
                self.pass_on(connection, message, actions);
            }
            _ => self.pass_on(connection, message, actions),
        }
    }

    fn pass_on(&self, connection: ConnectionId, message: String, actions: &mut Vec<Action>) {
        if self.connections.get(&connection).is_some_and(|state| !state.upstream_gone) {
            actions.push(Action::ToUpstream { connection, message });
        }
    }

    fn upstream_message(
        &mut self,
        connection: ConnectionId,
        message: String,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        if let Some(parts) = batch(&message) {
            for part in parts {
                self.one_upstream_message(connection, part.get().to_owned(), now, actions);
            }
            return;
        }
        self.one_upstream_message(connection, message, now, actions);
    }

    fn one_upstream_message(
        &mut self,
        connection: ConnectionId,
        message: String,
        now: Micros,
        actions: &mut Vec<Action>,
    ) {
        let view = match View::parse(&message) {
            Ok(view) => view,
            Err(error) => {
                let head = || message.chars().take(200).collect::<String>();
                let text =
                    |_| format!("the upstream wrote something that is not JSON-RPC ({error}): {}", head());
                self.no_message(connection, false, text, actions);
                return;
            }
        };
        let answered = if view.method.is_none() { view.id } else { None };
        let pending = answered.and_then(|id| self.take_pending(connection, id));
        let kind = pending.map(|pending| pending.kind);
        if !matches!(kind, Some(PendingKind::Call(_) | PendingKind::Catalogue)) {
            self.given(&view, actions);
        }
        match kind {
            Some(PendingKind::Call(number)) if self.swallows(connection, number) => {
                self.swallow(number, &view, actions);
            }
            Some(PendingKind::Call(number)) => self.answered(number, &view, &message, now, actions),
            Some(PendingKind::ToolsList) => {
                self.page_seen(connection, &view, actions);
                let longer = self.listed(&view, &message, actions);
                actions.push(Action::ToClient { connection, message: longer.unwrap_or(message) });
            }
            Some(PendingKind::Introduction) => {
                if view.result.is_some() {
                    let result = introduction(view.result);
                    let version = result.protocol_version.as_deref();
                    if let (Some(state), Some(version)) = (self.connections.get_mut(&connection), version) {
                        state.protocol = Some(version.to_owned());
                    }
                    let server = peer(result.server_info, version);
                    actions.push(Action::Record(Event::UpstreamReady { connection, server }));
                }
                actions.push(Action::ToClient { connection, message });
            }
            Some(PendingKind::Catalogue) => self.catalogue_page(connection, &view, actions),
            Some(PendingKind::Other | PendingKind::Endless) | None => {
                self.upstream_notified(connection, view.method.as_deref(), actions);
                let is_sign = matches!(
                    view.method.as_deref(),
                    Some("notifications/progress" | "notifications/message")
                );
                actions.push(Action::ToClient { connection, message });
                if is_sign {
                    self.release_started(connection, actions);
                }
            }
        }
    }

    fn take_pending(&mut self, connection: ConnectionId, id: &RawValue) -> Option<Pending> {
        let state = self.connections.get_mut(&connection)?;
        let key = id_key(id.get());
        // What is on its way out answers what it was asked, and nothing that is for its successor.
        let waiting = state.rebuild.dying().unwrap_or(&mut state.pending);
        let queue = waiting.get_mut(&key)?;
        let pending = queue.pop_front();
        if queue.is_empty() {
            waiting.remove(&key);
        }
        pending
    }

    /// Learns the tools of a page; gives its text anew where it is the last one and ours come after.
    fn listed(&mut self, view: &View<'_>, message: &str, actions: &mut Vec<Action>) -> Option<String> {
        let result: ToolsResult<'_> = serde_json::from_str(view.result?.get()).ok()?;
        let tools: Vec<&RawValue> = serde_json::from_str(result.tools?.get()).ok()?;
        let tools: Vec<ToolInfo> = tools.into_iter().filter_map(|tool| (self.classify)(tool)).collect();
        actions.push(self.know_tools(tools));
        let is_last = result.next_cursor.is_none_or(|cursor| cursor.get() == "null");
        let is_taken = |name: &str| self.classes.contains_key(name);
        (self.audit_tools && is_last).then(|| audit::listed(message, result.tools?, is_taken)).flatten()
    }

    fn upstream_ended(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        self.replacement_failed(connection, actions);
        let Some(state) = self.connections.get_mut(&connection) else { return };
        if state.upstream_gone {
            return;
        }
        state.upstream_gone = true;
        let mut pending: Vec<Pending> = std::mem::take(&mut state.pending).into_values().flatten().collect();
        // The map has no order of its own, and two runs must not differ by it.
        pending.sort_by(|a, b| (a.kind.number(), a.id.get()).cmp(&(b.kind.number(), b.id.get())));
        for pending in pending {
            self.lost(connection, pending, actions);
        }
    }

    fn lost(&mut self, connection: ConnectionId, pending: Pending, actions: &mut Vec<Action>) {
        if pending.kind == PendingKind::Catalogue {
            return;
        }
        let PendingKind::Call(number) = pending.kind else {
            let reason = "the connection to the server was lost";
            refuse(connection, Some(pending.id.raw()), -32000, reason, actions);
            return;
        };
        self.lost_call(number, actions);
    }
}

impl PendingKind {
    fn number(self) -> u64 {
        match self {
            PendingKind::Call(CallId(number)) => number,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
