//! Takes records and keeps what they say.

use super::epochs::Epochs;
use super::history::{Arrived, Call, Inconsistency, Role, index};
use super::operation::{Hold, Operation};
use super::reliance::{Given, breaks_contract};
use super::stamp::Stamp;
use super::tools::{Other, Repeat, Tool};
use super::totals::Totals;
use crate::domain::transitions::Watch;
use crate::domain::{CallId, ConnectionId, Micros};
use crate::trace::{AnswerKind, Event, Fault, Record, SecretPlace, Started, TRACE_VERSION, Told};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Judges a run while it happens, record by record.
#[derive(Debug, Default)]
pub struct Judge {
    pub(super) started: Option<Started>,
    pub(super) problem: Option<Inconsistency>,
    records: u64,
    last: Micros,
    closed: bool,
    pub(super) calls: Vec<Call>,
    pub(super) operations: Vec<Operation>,
    pub(super) by_arguments: HashMap<(usize, Arc<str>), usize>,
    /// Calls of tools that were no writes when they were called, by tool and arguments.
    pub(super) others: HashMap<(usize, Arc<str>), Other>,
    /// Those of them that were repeated, unclassified.
    pub(super) repeats: BTreeMap<usize, Repeat>,
    pub(super) repeated_calls: u64,
    pub(super) epochs: Epochs,
    pub(super) tools: Vec<Tool>,
    pub(super) by_name: HashMap<String, usize>,
    pub(super) connections: HashMap<ConnectionId, Connection>,
    /// Reads, writes and unclassified calls.
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) unclassified: u64,
    pub(super) fired: bool,
    /// The scenario did more than to watch.
    pub(super) struck: bool,
    /// Where the latest-sent of the successful reads was sent, of those that the agent saw.
    pub(super) read_seen: u64,
    /// Operations by the place after which a read would matter to them.
    pub(super) read_watch: BTreeSet<(u64, usize)>,
    /// Secrets that were seen (J30).
    pub(super) leaks: Vec<Leak>,
    pub(super) totals: Totals,
    /// Calls whose answer is held back until the client gives up (T4).
    pub(super) late: Vec<CallId>,
    /// Where the last turn of the agent ended.
    pub(super) turn_ended: u64,
    /// What the agent was given (J28).
    pub(super) given: Given,
    /// Operations whose answer broke its contract (J28).
    pub(super) broken: Vec<usize>,
    /// What must not follow what.
    pub(super) watch: Option<Watch>,
    dirty: Vec<usize>,
    touched: BTreeSet<usize>,
}

/// Secrets that were seen.
#[derive(Debug)]
pub(super) struct Leak {
    pub names: Vec<String>,
    pub place: SecretPlace,
    pub call: Option<CallId>,
    /// The tool of the call.
    pub tool: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Connection {
    pub ended: bool,
    pub protocol: Option<String>,
}

impl Judge {
    /// A judge of a run that has not begun.
    pub fn new() -> Judge {
        Judge::default()
    }

    /// Takes the next record. After a record that contradicts those before it, none counts.
    pub fn observe(&mut self, record: &Record) {
        if self.problem.is_some() {
            return;
        }
        if let Err(problem) = self.take(record) {
            self.problem = Some(problem);
        }
        while let Some(operation) = self.dirty.pop() {
            self.touched.insert(operation);
            self.refresh(operation);
        }
    }

    /// The operations, counted from 0, of which something may have changed since the last call
    /// of this function.
    pub fn take_touched(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.touched).into_iter().collect()
    }

    /// Rises with everything that [`Judge::repeat_observations`] says: where it has not, that says what
    /// it said.
    pub fn repeated_calls(&self) -> u64 {
        self.repeated_calls + self.epochs.changes
    }

    pub(super) fn touch(&mut self, operation: usize) {
        self.dirty.push(operation);
    }

    fn take(&mut self, record: &Record) -> Result<(), Inconsistency> {
        if record.seq != self.records {
            return Err(Inconsistency::Gap { wanted: self.records, found: record.seq });
        }
        if record.at < self.last {
            return Err(Inconsistency::Backwards(record.seq));
        }
        if self.closed {
            return Err(Inconsistency::End(self.records));
        }
        self.records += 1;
        self.last = record.at;
        let now = Stamp { seq: record.seq, at: record.at };
        if let Event::Started(started) = &record.event {
            return self.start(started);
        }
        if self.started.is_none() {
            return Err(Inconsistency::NotStarted);
        }
        match &record.event {
            Event::UpstreamStarted { connection, execution: Some(execution), .. }
                if execution.replaces.is_some() =>
            {
                self.epochs.changed(*connection);
                Ok(())
            }
            Event::CatalogueHint { connection, .. } => {
                self.epochs.changed(*connection);
                Ok(())
            }
            Event::CatalogueSeen { connection, .. } => {
                self.epochs.listed(*connection);
                Ok(())
            }
            Event::ToolsListed { tools } => {
                for info in tools {
                    let tool = self.tool(&info.tool);
                    if let Some(tool) = self.tools.get_mut(tool) {
                        tool.info = Some(info.clone());
                    }
                }
                Ok(())
            }
            Event::ClientReady { connection, client } => {
                self.connections.entry(*connection).or_default().protocol.clone_from(&client.protocol);
                Ok(())
            }
            Event::ClientDisconnected { connection } => {
                self.connections.entry(*connection).or_default().ended = true;
                self.gave_up();
                Ok(())
            }
            Event::CallReceived {
                call, connection, rpc_id, tool, class, arguments, continuation, ..
            } => {
                let arrived = Arrived {
                    connection: *connection,
                    rpc_id,
                    arguments: arguments.as_ref(),
                    continuation: *continuation,
                    now,
                };
                self.received(*call, tool, *class, &arrived)
            }
            Event::ScenarioFired { call, fault, field } => {
                let known = self.known(*call, "the scenario acted on it")?;
                known.fired = true;
                known.fault = Some(*fault);
                known.field.clone_from(field);
                if *fault == Fault::LateAnswer {
                    // A client that waits long enough gets its answer as ever.
                    self.late.push(*call);
                    return Ok(());
                }
                if *fault == Fault::ApprovalRefused {
                    // Its client may give the call up before anything was refused.
                    self.touch_call(*call);
                    return Ok(());
                }
                self.fired = true;
                self.struck |= *fault != Fault::PassThrough;
                Ok(())
            }
            Event::ApprovalReplied { call, reply } => {
                self.known(*call, "its client was asked for an approval")?.approval = Some(*reply);
                self.touch_call(*call);
                Ok(())
            }
            Event::CallSent { call, correlation } => {
                self.known(*call, "it was sent upstream")?.correlation.clone_from(correlation);
                self.sent(*call)
            }
            Event::UpstreamAnswered { call, answer } => {
                let reads = self.reads_answers();
                let known = self.known(*call, "the upstream answered it")?;
                known.body = answer.body.json.clone().filter(|_| reads);
                self.answered(*call, answer.kind, &answer.body.digest)
            }
            Event::UpstreamTimedOut { call } => {
                let known = self.at_upstream(*call, "timed out")?;
                if known.timed_out || known.told.is_some() {
                    return Err(Inconsistency::Impossible(call.0, "timed out after it was answered"));
                }
                known.timed_out = true;
                self.touch_call(*call);
                Ok(())
            }
            Event::UpstreamLost { call } => {
                let known = self.at_upstream(*call, "lost its upstream")?;
                known.lost = true;
                self.touch_call(*call);
                Ok(())
            }
            Event::CallCancelled { call } => {
                let known = self.known(*call, "it was cancelled")?;
                // What was answered already is settled.
                if known.told.is_none() && known.cancelled.is_none() {
                    known.cancelled = Some(now);
                    if self.late.contains(call) {
                        self.gave_up();
                    }
                    self.mark_failed(*call);
                    self.touch_call(*call);
                }
                Ok(())
            }
            Event::SecretSeen { names, place, call } => {
                let tool = call.and_then(|call| Some(self.calls.get(index(call)?)?.tool));
                self.leaks.push(Leak { names: names.clone(), place: *place, call: *call, tool });
                Ok(())
            }
            Event::CallAnswered { call, told, injected, body } => {
                self.told(*call, *told, *injected, now)?;
                self.late.retain(|late| late != call);
                self.read_answer(*call, *told, *injected, body.as_ref().and_then(|body| body.json.as_ref()));
                Ok(())
            }
            Event::Given { body } => {
                match &body.json {
                    Some(json) => self.given.words(json.get()),
                    None => self.given.is_cut = true,
                }
                self.given.knows_beside = true;
                Ok(())
            }
            Event::TurnStarted { text, .. } => {
                self.given.knows_user = true;
                if self.reads_answers() {
                    self.given.text(text);
                }
                Ok(())
            }
            Event::TurnEnded { .. } => {
                self.turn_ended = now.seq;
                self.gave_up();
                Ok(())
            }
            Event::Closed { records } => {
                self.closed = true;
                if *records == record.seq { Ok(()) } else { Err(Inconsistency::End(*records)) }
            }
            Event::Started(_)
            | Event::UpstreamStarted { .. }
            | Event::Rebuilt { .. }
            | Event::Approval { .. }
            | Event::CatalogueFound { .. }
            | Event::UpstreamReady { .. }
            | Event::UpstreamEnded { .. }
            | Event::ClientConnected { .. }
            | Event::ToolsRequested { .. }
            | Event::Accounted { .. }
            | Event::ApprovalAsked { .. }
            | Event::Log { .. } => Ok(()),
        }
    }

    fn start(&mut self, started: &Started) -> Result<(), Inconsistency> {
        if self.started.is_some() {
            return Err(Inconsistency::StartedTwice);
        }
        if self.records != 1 {
            return Err(Inconsistency::NotStarted);
        }
        if started.version != TRACE_VERSION {
            return Err(Inconsistency::UnknownVersion(started.version));
        }
        self.watch = started.expect.as_ref().map(Watch::new).filter(|watch| !watch.is_idle());
        self.started = Some(started.clone());
        Ok(())
    }

    pub(super) fn tool(&mut self, name: &str) -> usize {
        if let Some(tool) = self.by_name.get(name) {
            return *tool;
        }
        let tool = self.tools.len();
        self.by_name.insert(name.to_owned(), tool);
        self.tools.push(Tool { name: name.to_owned(), ..Tool::default() });
        tool
    }

    fn known(&mut self, call: CallId, what: &'static str) -> Result<&mut Call, Inconsistency> {
        let unknown = Inconsistency::UnknownCall(call.0, what);
        index(call).and_then(|at| self.calls.get_mut(at)).ok_or(unknown)
    }

    /// A call that is at the upstream.
    fn at_upstream(&mut self, call: CallId, what: &'static str) -> Result<&mut Call, Inconsistency> {
        let known = self.known(call, what)?;
        if !known.sent {
            return Err(Inconsistency::Impossible(
                call.0,
                "was never sent upstream, but something came back",
            ));
        }
        if known.answer.is_some() || known.lost {
            return Err(Inconsistency::Impossible(call.0, "was settled upstream twice"));
        }
        Ok(known)
    }

    fn touch_call(&mut self, call: CallId) {
        if let Some(Role::Write { operation, .. }) =
            index(call).and_then(|at| self.calls.get(at)).map(|c| c.role)
        {
            self.touch(operation);
        }
    }

    fn attempt_of(&mut self, call: CallId) -> Option<(usize, usize, &mut Operation)> {
        match index(call).and_then(|at| self.calls.get(at))?.role {
            Role::Write { operation, attempt } => {
                self.operations.get_mut(operation).map(|found| (operation, attempt, found))
            }
            Role::Read | Role::Unclassified => None,
        }
    }

    fn mark_failed(&mut self, call: CallId) {
        if let Some((_, attempt, operation)) = self.attempt_of(call)
            && let Some(attempt) = operation.attempts.get_mut(attempt)
        {
            attempt.failed = true;
        }
    }

    fn sent(&mut self, call: CallId) -> Result<(), Inconsistency> {
        let known = self.known(call, "it was sent upstream")?;
        if known.sent || known.told.is_some() {
            return Err(Inconsistency::Impossible(
                call.0,
                "was sent upstream twice, or after it was answered",
            ));
        }
        known.sent = true;
        let (tool, seq) = (known.tool, known.received.seq);
        let Role::Write { operation, .. } = known.role else { return Ok(()) };
        self.touch(operation);
        self.compare_with_uncertain(tool, operation, seq);
        Ok(())
    }

    fn answered(&mut self, call: CallId, kind: AnswerKind, digest: &str) -> Result<(), Inconsistency> {
        let known = self.at_upstream(call, "the upstream answered it")?;
        known.answer = Some(kind);
        // An agent that was told of a timeout has no state to continue with.
        let can_continue = kind == AnswerKind::InputRequired && !known.timed_out;
        if let Some((_, number, operation)) = self.attempt_of(call) {
            if kind == AnswerKind::Result {
                operation.executed(number, digest);
            }
            if can_continue && let Some(attempt) = operation.attempts.get_mut(number) {
                attempt.waiting = true;
                operation.waiting.insert(number);
            }
        }
        self.touch_call(call);
        Ok(())
    }

    fn told(&mut self, call: CallId, told: Told, injected: bool, now: Stamp) -> Result<(), Inconsistency> {
        let known = self.known(call, "it was answered")?;
        if let Some(problem) = known.contradiction(told, injected) {
            return Err(Inconsistency::Impossible(call.0, problem));
        }
        known.told = Some((told, now));
        known.injected = injected;
        let asked = known.fault == Some(Fault::ApprovalRefused);
        let (role, sent, tool) = (known.role, known.sent, known.tool);
        let (connection, received) = (known.connection, known.received);
        let unseen = self.connections.get(&connection).is_some_and(|connection| connection.ended);
        let known = self.known(call, "it was answered")?;
        known.unseen = unseen;
        let heard = known.is_heard();
        if asked && injected && heard && told != Told::InputRequired {
            self.fired = true;
            self.struck = true;
        }
        match (told, role) {
            (Told::StaleEpoch, _) => self.epochs.refused(tool),
            (Told::EpochChanged, Role::Write { operation, .. }) => self.epochs.interrupted(operation, tool),
            _ => {}
        }
        match role {
            Role::Read if told == Told::Result && !injected && !unseen => self.read_succeeded(received.seq),
            Role::Read | Role::Unclassified => {}
            Role::Write { operation: number, attempt } => {
                let Some(operation) = self.operations.get_mut(number) else { return Ok(()) };
                let hold = match told {
                    Told::RateLimited { retry_after_ms } => {
                        let required = Duration::from_millis(retry_after_ms);
                        let until = now.at + required;
                        let required = Micros::from_duration(required);
                        Some(Hold { answered: now, required, until })
                    }
                    _ => None,
                };
                if let Some(hold) = hold
                    && operation.hold.is_none_or(|earlier| earlier.until < hold.until)
                {
                    operation.hold = Some(hold);
                }
                if let Some(attempt_found) = operation.attempts.get_mut(attempt) {
                    attempt_found.failed |= super::history::is_failure(told);
                    attempt_found.injected |= injected;
                    let is_asked = injected && told == Told::InputRequired;
                    attempt_found.asked |= is_asked;
                    // A continuation that did not reach the upstream leaves the attempt waiting.
                    let is_left = !sent && attempt_found.received.seq != received.seq && !attempt_found.asked;
                    if is_asked || is_left {
                        attempt_found.waiting = true;
                        operation.waiting.insert(attempt);
                    }
                }
                if let (Some(hold), Some(tool)) = (hold, self.tools.get_mut(tool)) {
                    tool.holds.push((number, hold));
                }
                if injected && heard && told.is_refusal() {
                    self.refused(number);
                }
                let known = self.known(call, "it was answered")?;
                if injected && breaks_contract(known.fault, told) {
                    let field = known.field.clone();
                    self.broke(number, field, now);
                }
                self.touch(number);
            }
        }
        Ok(())
    }

    /// J24: the agent saw a successful read that was sent at that place.
    fn read_succeeded(&mut self, sent: u64) {
        self.read_seen = self.read_seen.max(sent);
        while let Some((after, operation)) = self.read_watch.first().copied() {
            if after >= sent {
                break;
            }
            self.read_watch.pop_first();
            if let Some(operation) = self.operations.get_mut(operation) {
                operation.read_watch = None;
            }
            self.touch(operation);
        }
    }
}
