//! A call arrives: which operation it is, and which attempt of it.

use super::history::{Arrived, Attempt, Call, Inconsistency, Role};
use super::operation::{KeySet, Operation, TooEarly};
use super::sender::{Before, attribute};
use super::stamp::Stamp;
use super::state::Judge;
use crate::domain::json::{canonical, split_keys};
use crate::domain::transitions::Happened;
use crate::domain::{CallId, RawJson, ToolClass};
use crate::trace::Told;
use std::sync::Arc;

impl Judge {
    pub(super) fn received(
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
        let number = self.calls.len();
        let operation = match role {
            Role::Write { operation, .. } => Some(operation),
            Role::Read | Role::Unclassified => None,
        };
        self.epochs.called(arrived.connection, tool, operation);
        self.calls.push(Call::new(role, tool, arrived.connection, arrived.now));
        if let Some(watch) = &mut self.watch {
            let arguments = arrived.arguments.map(RawJson::get);
            watch.saw(call.0, Happened::Call { tool: name, class, arguments });
        }
        if let Role::Write { operation, .. } = role {
            self.compare_with_refused(tool, operation, number);
            self.compare_with_broken(operation, number);
            if self.late.iter().any(|late| self.role_of(*late).is_some_and(|other| other == operation)) {
                self.gave_up();
            }
            if let Some(arguments) =
                arrived.arguments.filter(|_| self.reads_answers() && self.broken.is_empty())
            {
                self.given.text(arguments.get());
            }
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
        let (last_call, turn_ended) = (self.calls.last().map(|call| call.received), self.turn_ended);
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
                stream_broke: before.unseen
                    || (before.told.is_none() && ended)
                    || resent(before, last_call, turn_ended, protocol.as_deref()),
            };
            Some(attribute(&before, &rpc_id, arrived.connection, now, protocol))
        });
        operation.attempts.push(Attempt {
            current: call,
            received: now,
            waiting: false,
            failed: false,
            injected: false,
            asked: false,
            read_before: self.read_seen,
            key,
            rpc_id,
            sender,
        });
        next
    }
}

/// From MCP 2026-07-28 on a client sends a request again by itself where the stream of its answer
/// broke: the next call after that is its own doing, unless a turn of the agent ended in between.
fn resent(before: &Call, last: Option<Stamp>, turn_ended: u64, protocol: Option<&str>) -> bool {
    let Some((Told::ConnectionLost, told)) = before.told.filter(|_| before.injected) else { return false };
    last == Some(before.received)
        && turn_ended < told.seq
        && protocol.is_some_and(|version| version >= "2026-07-28")
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
