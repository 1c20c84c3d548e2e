//! Takes records and keeps what they say.

use super::history::{Attempt, Call, Inconsistency, Role, Stamp, index};
use super::lookalikes::Lookalikes;
use super::operation::{Hold, KeySet, Operation, OtherDuringHold, Share, TooEarly};
use super::refresh::prepare;
use super::respelling::Relation;
use super::score::Tally;
use super::sender::{Before, attribute};
use crate::domain::json::{canonical, split_keys};
use crate::domain::{CallId, ConnectionId, Micros, RawJson, ToolClass, ToolInfo};
use crate::trace::{AnswerKind, Event, Fault, Record, Started, TRACE_VERSION, Told};
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
    by_arguments: HashMap<(usize, Arc<str>), usize>,
    /// Calls of tools that were no writes when they were called, by tool and arguments.
    others: HashMap<(usize, Arc<str>), Other>,
    /// Those of them that were repeated, unclassified.
    pub(super) repeats: BTreeMap<usize, Repeat>,
    pub(super) tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    connections: HashMap<ConnectionId, Connection>,
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
    pub(super) totals: Totals,
    dirty: Vec<usize>,
    touched: BTreeSet<usize>,
}

/// A tool that was listed or called.
#[derive(Debug)]
pub(super) struct Tool {
    pub name: String,
    pub info: Option<ToolInfo>,
    pub called_unclassified: bool,
    /// Its operations by the place of their latest call.
    pub latest: BTreeMap<u64, usize>,
    latest_of: HashMap<usize, u64>,
    /// Its uncertain operations (J25).
    pub lookalikes: Lookalikes,
    /// Uncertain or rejected operations that no other operation has followed yet.
    pub awaiting_other: BTreeSet<usize>,
    /// Operations that a 429 holds off, and how long.
    holds: Vec<(usize, Hold)>,
}

#[derive(Debug, Default)]
struct Other {
    calls: u64,
    unclassified: u64,
    arguments: Option<RawJson>,
    number: usize,
}

/// An unclassified tool that was called more than once with equal arguments.
#[derive(Debug)]
pub(super) struct Repeat {
    pub tool: usize,
    pub arguments: RawJson,
    pub calls: u64,
}

#[derive(Debug, Default)]
struct Connection {
    ended: bool,
    protocol: Option<String>,
}

/// Sums over the operations.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub executions: u64,
    pub duplicates: u64,
    pub too_early: u64,
    pub possible_duplicates: u64,
    pub respelled: u64,
    pub settled: u64,
    pub tally: Tally,
    pub patches: [u64; 4],
}

impl Totals {
    pub fn replace(&mut self, old: Share, new: Share) {
        let swap = |total: &mut u64, old: u64, new: u64| *total = (*total + new).saturating_sub(old);
        swap(&mut self.executions, old.executions, new.executions);
        swap(&mut self.duplicates, old.duplicate.into(), new.duplicate.into());
        swap(&mut self.too_early, old.too_early.into(), new.too_early.into());
        swap(&mut self.possible_duplicates, old.possible_duplicate.into(), new.possible_duplicate.into());
        swap(&mut self.respelled, old.respelled.into(), new.respelled.into());
        swap(&mut self.settled, old.settled.into(), new.settled.into());
        for ((total, old), new) in self.patches.iter_mut().zip(old.patches).zip(new.patches) {
            swap(total, old, new);
        }
        self.tally.add(new.tally);
        self.tally.remove(old.tally);
    }
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
                Ok(())
            }
            Event::CallReceived { call, connection, rpc_id, tool, class, arguments, continuation } => {
                let arrived = Arrived {
                    connection: *connection,
                    rpc_id,
                    arguments: arguments.as_ref(),
                    continuation: *continuation,
                    now,
                };
                self.received(*call, tool, *class, &arrived)
            }
            Event::ScenarioFired { call, fault } => {
                let known = self.known(*call, "the scenario acted on it")?;
                known.fired = true;
                self.fired = true;
                self.struck |= *fault != Fault::PassThrough;
                Ok(())
            }
            Event::CallSent { call } => self.sent(*call),
            Event::UpstreamAnswered { call, answer } => {
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
                    self.mark_failed(*call);
                    self.touch_call(*call);
                }
                Ok(())
            }
            Event::CallAnswered { call, told, injected, .. } => self.told(*call, *told, *injected, now),
            Event::Closed { records } => {
                self.closed = true;
                if *records == record.seq { Ok(()) } else { Err(Inconsistency::End(*records)) }
            }
            Event::Started(_)
            | Event::UpstreamStarted { .. }
            | Event::UpstreamReady { .. }
            | Event::UpstreamEnded { .. }
            | Event::ClientConnected { .. }
            | Event::ToolsRequested { .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
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
        self.started = Some(started.clone());
        Ok(())
    }

    fn tool(&mut self, name: &str) -> usize {
        if let Some(tool) = self.by_name.get(name) {
            return *tool;
        }
        let tool = self.tools.len();
        self.by_name.insert(name.to_owned(), tool);
        self.tools.push(Tool {
            name: name.to_owned(),
            info: None,
            called_unclassified: false,
            latest: BTreeMap::new(),
            latest_of: HashMap::new(),
            lookalikes: Lookalikes::default(),
            awaiting_other: BTreeSet::new(),
            holds: Vec::new(),
        });
        tool
    }

    fn received(
        &mut self,
        call: CallId,
        name: &str,
        class: ToolClass,
        arrived: &Arrived<'_>,
    ) -> Result<(), Inconsistency> {
        let wanted = self.calls.len() as u64 + 1;
        if call.0 != wanted {
            return Err(Inconsistency::CallNumber { wanted, found: call.0 });
        }
        let tool = self.tool(name);
        let key_fields = self.started.as_ref().map_or(&[][..], |started| &started.key_fields);
        let split = split_keys(arrived.arguments, key_fields);
        let role = match class {
            ToolClass::Write => {
                self.writes += 1;
                let operation = self.operation_of(tool, split.operation, split.rest);
                let attempt = self.attempt(operation, split.keys, arrived);
                Role::Write { operation, attempt }
            }
            ToolClass::Read => {
                self.reads += 1;
                self.other(tool, split.operation, split.rest, class);
                Role::Read
            }
            ToolClass::Unclassified => {
                self.unclassified += 1;
                self.other(tool, split.operation, split.rest, class);
                Role::Unclassified
            }
        };
        self.calls.push(Call::new(role, tool, arrived.connection, arrived.now));
        if let Role::Write { operation, .. } = role {
            self.note_latest(tool, operation, arrived.now);
            self.touch(operation);
        }
        Ok(())
    }

    /// The operation with these arguments, new where there is none.
    fn operation_of(&mut self, tool: usize, canonical: String, arguments: RawJson) -> usize {
        let next = self.operations.len();
        let key: (usize, Arc<str>) = (tool, canonical.into());
        let foreign = self.others.get(&key).map_or(0, |other| other.calls);
        let canonical = key.1.clone();
        let operation = *self.by_arguments.entry(key).or_insert(next);
        if operation == next {
            let mut new = Operation::new(tool, arguments, canonical);
            new.foreign = foreign;
            self.operations.push(new);
        }
        operation
    }

    /// The attempt that a call of an operation is, or continues.
    fn attempt(&mut self, number: usize, keys: Vec<(String, String)>, arrived: &Arrived<'_>) -> usize {
        let call = self.calls.len();
        let now = arrived.now;
        let protocol = self.connections.get(&arrived.connection).and_then(|c| c.protocol.clone());
        let Some(operation) = self.operations.get_mut(number) else { return 0 };
        if arrived.continuation
            && let Some(waiting) = operation.waiting.pop_first()
            && let Some(attempt) = operation.attempts.get_mut(waiting)
        {
            attempt.waiting = false;
            attempt.current = call;
            return waiting;
        }

        let next = operation.attempts.len();
        if operation.too_early.is_none()
            && let Some(hold) = operation.hold.filter(|hold| now.at < hold.until)
        {
            let waited = now.at - hold.answered.at;
            operation.too_early = Some(TooEarly { required: hold.required, waited, attempt: next });
        }
        let declared = self.tools.get(operation.tool).and_then(|tool| tool.info.as_ref());
        let keys = key_set(keys);
        operation.without_key |= keys.is_empty() && declared.is_some_and(|info| !info.key_fields.is_empty());
        let texts = keys.clone();
        let key = operation.key_number(keys, || key_text(&texts));
        let rpc_id = canonical(arrived.rpc_id.get());
        let sender = operation.attempts.last().and_then(|last| {
            let before = self.calls.get(last.current)?;
            let ended = self.connections.get(&before.connection).is_some_and(|c| c.ended);
            let before = Before {
                rpc_id: &last.rpc_id,
                connection: before.connection,
                sent: last.received,
                settled: before.settled(),
                stream_broke: before.unseen || (before.told.is_none() && ended),
            };
            Some(attribute(&before, &rpc_id, arrived.connection, now, protocol))
        });
        operation.attempts.push(Attempt {
            current: call,
            received: now,
            waiting: false,
            failed: false,
            injected: false,
            read_before: self.read_seen,
            key,
            rpc_id,
            sender,
        });
        next
    }

    /// Keeps a call of a tool that is no write now.
    fn other(&mut self, tool: usize, canonical: String, arguments: RawJson, class: ToolClass) {
        let key: (usize, Arc<str>) = (tool, canonical.into());
        if let Some(operation) = self.by_arguments.get(&key).copied() {
            if let Some(operation) = self.operations.get_mut(operation) {
                operation.foreign += 1;
            }
            self.touch(operation);
        }
        if class == ToolClass::Unclassified
            && let Some(tool) = self.tools.get_mut(tool)
        {
            tool.called_unclassified = true;
        }
        let next = self.others.len();
        let other = self.others.entry(key).or_insert_with(|| Other { number: next, ..Other::default() });
        other.calls += 1;
        if class != ToolClass::Unclassified {
            return;
        }
        other.unclassified += 1;
        let calls = other.unclassified;
        if calls == 1 {
            other.arguments = Some(arguments);
            return;
        }
        if let Some(arguments) = other.arguments.take() {
            self.repeats.insert(other.number, Repeat { tool, arguments, calls });
        } else if let Some(repeat) = self.repeats.get_mut(&other.number) {
            repeat.calls = calls;
        }
    }

    /// Notes a call of a write tool for the other operations of that tool.
    fn note_latest(&mut self, number: usize, operation: usize, now: Stamp) {
        let Some(tool) = self.tools.get_mut(number) else { return };
        if let Some(before) = tool.latest_of.insert(operation, now.seq) {
            tool.latest.remove(&before);
        }
        tool.latest.insert(now.seq, operation);
        tool.holds.retain(|(_, hold)| now.at < hold.until);
        let mut others: Vec<usize> = tool.awaiting_other.iter().copied().collect();
        for (held, hold) in &tool.holds {
            let Some(held_operation) = self.operations.get_mut(*held).filter(|_| *held != operation) else {
                continue;
            };
            let first = OtherDuringHold {
                operation,
                waited: now.at - hold.answered.at,
                required: hold.required,
                calls: 0,
            };
            held_operation.other_during_hold.get_or_insert(first).calls += 1;
            others.push(*held);
        }
        for other in others {
            if other != operation {
                self.touch(other);
            }
        }
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

    /// J25: the operations that are uncertain now and that this call may respell.
    fn compare_with_uncertain(&mut self, tool: usize, operation: usize, seq: u64) {
        let Some(found) = self.operations.get_mut(operation) else { return };
        // The call itself is open, hence prepared for comparisons; it is put back below.
        let prepared = found.spelling.take();
        let was_prepared = prepared.is_some();
        let (arguments, coarse) = prepared.unwrap_or_else(|| prepare(&found.canonical));
        let lookalikes = self.tools.get_mut(tool).map(|tool| &mut tool.lookalikes);
        let candidates = lookalikes.map(|found| found.candidates(&coarse)).unwrap_or_default();
        for candidate in candidates {
            let Some(found) = self.operations.get_mut(candidate).filter(|_| candidate != operation) else {
                continue;
            };
            if let Some(latest) = found.respelled_by.get_mut(&operation) {
                *latest = seq;
            } else if let Some((earlier, _)) = &found.spelling
                && earlier.relation(&arguments) == Relation::Respelled
            {
                found.respelled_by.insert(operation, seq);
            } else {
                continue;
            }
            self.touch(candidate);
        }
        if let Some(found) = self.operations.get_mut(operation).filter(|_| was_prepared) {
            found.spelling = Some((arguments, coarse));
        }
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
        let (role, sent, tool) = (known.role, known.sent, known.tool);
        let (connection, received) = (known.connection, known.received);
        let unseen = self.connections.get(&connection).is_some_and(|connection| connection.ended);
        self.known(call, "it was answered")?.unseen = unseen;
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
                    // A continuation that did not reach the upstream leaves the attempt waiting.
                    if !sent && attempt_found.received.seq != received.seq {
                        attempt_found.waiting = true;
                        operation.waiting.insert(attempt);
                    }
                }
                if let (Some(hold), Some(tool)) = (hold, self.tools.get_mut(tool)) {
                    tool.holds.push((number, hold));
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

/// A call, as it arrived.
struct Arrived<'a> {
    connection: ConnectionId,
    rpc_id: &'a RawJson,
    arguments: Option<&'a RawJson>,
    continuation: bool,
    now: Stamp,
}

/// What of a call's keys is compared: `null` is no key, and names are folded as in J2.
fn key_set(keys: Vec<(String, String)>) -> KeySet {
    let mut set: KeySet = keys
        .into_iter()
        .filter(|(_, value)| value != "null")
        .map(|(name, value)| {
            let name = name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase);
            (name.collect(), value)
        })
        .collect();
    set.sort();
    set
}

fn key_text(keys: &KeySet) -> String {
    let texts: Vec<String> = keys
        .iter()
        .map(|(_, value)| serde_json::from_str::<String>(value).unwrap_or_else(|_| value.clone()))
        .collect();
    texts.join(" ")
}
