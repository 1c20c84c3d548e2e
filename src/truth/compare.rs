//! What came to be × the judge's operations → where the two differ, and why.
//!
//! Where the account knows the calls, operation by operation; else effect by effect, as the suite
//! states them; else all together.

use super::matching::{is_called, is_meant};
use super::reading::{CameToBe, Found};
use super::words::{self, times};
use crate::domain::json::split_keys;
use crate::domain::{AccountSource, Disagreement, DisagreementKind, RawJson};
use crate::judge::Operation;
use crate::suite::Effect;
use serde_json::Value;

/// Where judge and account differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// One for every operation or effect on which they do.
    pub disagreements: Vec<Disagreement>,
    /// An effect that is there several times though the judge saw no operation executed twice, as a
    /// sentence.
    pub doubled: Option<String>,
}

/// What is held against each other: calls of the judge, and effects of the account.
#[derive(Debug, Default)]
struct Group {
    name: String,
    /// Operations that were executed, by the answers.
    operations: u64,
    /// Executions by the answers (J4).
    executed: u64,
    /// Calls that reached the upstream.
    reached: u64,
    /// Effects that are there.
    found: u64,
    /// How many there may be without a double.
    asked: u64,
}

impl Group {
    fn named(name: String) -> Group {
        Group { name, asked: 1, ..Group::default() }
    }

    fn add(&mut self, operation: &Operation) {
        self.operations += u64::from(operation.executions > 0);
        self.executed += operation.executions;
        self.reached += operation.reached;
    }

    fn kind(&self) -> Option<DisagreementKind> {
        match () {
            () if self.found == self.executed => None,
            () if self.found < self.executed && self.found >= self.operations => {
                Some(DisagreementKind::IdempotentUpstreamHeld)
            }
            () if self.found < self.executed => Some(DisagreementKind::AnsweredWithoutEffect),
            () if self.found <= self.reached => Some(DisagreementKind::ExecutedThoughAnsweredAsError),
            () if self.reached == 1 => Some(DisagreementKind::ServerDoubledSingleCall),
            () => Some(DisagreementKind::MoreThanJudged),
        }
    }

    fn sentence(&self, kind: DisagreementKind, source: AccountSource) -> String {
        let Group { name, executed, reached, found, .. } = self;
        let (found, source) = (times(*found), source.title());
        match kind {
            DisagreementKind::IdempotentUpstreamHeld => format!(
                "{name}: answered as done {}, and by the {source} it is there {found}: the upstream dropped the \
                 repetition",
                times(*executed)
            ),
            DisagreementKind::AnsweredWithoutEffect => format!(
                "{name}: answered as done {}, and by the {source} it is there {found}",
                times(*executed)
            ),
            DisagreementKind::ExecutedThoughAnsweredAsError => format!(
                "{name}: of {reached} {} that reached the upstream, {executed} answered as done; by the {source} it is \
                 there {found}: it was executed though the answer was an error, or none",
                if *reached == 1 { "call" } else { "calls" }
            ),
            DisagreementKind::ServerDoubledSingleCall => format!(
                "{name}: one call, and by the {source} it is there {found}: the server doubled it, the agent is not \
                 to blame"
            ),
            DisagreementKind::MoreThanJudged => format!(
                "{name}: {} reached the upstream, and by the {source} it is there {found}",
                match reached {
                    0 => "no call of a write tool".to_owned(),
                    reached => format!("{reached} calls"),
                }
            ),
        }
    }
}

/// Compares what came to be with the judge's operations. `key_fields` are the names of arguments
/// that are no part of an operation (J2).
pub fn compare(
    operations: &[Operation],
    asked: Option<&[Effect]>,
    came_to_be: &CameToBe,
    key_fields: &[String],
    source: AccountSource,
) -> Compared {
    let groups = match (came_to_be, asked) {
        (CameToBe::Effects(found), _) if found.iter().any(|found| found.call.is_some()) => {
            by_operation(operations, found, key_fields)
        }
        // A ledger without a line knows calls too.
        (CameToBe::Effects(found), _) if source == AccountSource::Ledger => {
            by_operation(operations, found, key_fields)
        }
        (CameToBe::Effects(found), Some(asked)) if !asked.is_empty() => by_effect(operations, found, asked),
        (CameToBe::Number(number), Some([only])) => {
            let mut group =
                Group { found: *number, asked: only.count, ..Group::named(words::which(&only.which)) };
            meant(operations, only).for_each(|operation| group.add(operation));
            vec![group]
        }
        (CameToBe::Effects(found), _) => vec![all(operations, found.len() as u64)],
        (CameToBe::Number(number), _) => vec![all(operations, *number)],
    };
    let mut compared = Compared::default();
    for group in groups {
        let Some(kind) = group.kind() else { continue };
        let sentence = group.sentence(kind, source);
        if group.found > group.asked && group.found > group.executed && compared.doubled.is_none() {
            compared.doubled = Some(sentence.clone());
        }
        compared.disagreements.push(Disagreement { kind, sentence });
    }
    compared
}

/// All calls against all that is there, for want of anything to tell effects apart by.
fn all(operations: &[Operation], found: u64) -> Group {
    let mut group = Group::named("all writes".to_owned());
    operations.iter().for_each(|operation| group.add(operation));
    Group { found, asked: group.operations.max(1), ..group }
}

fn meant<'a>(operations: &'a [Operation], effect: &'a Effect) -> impl Iterator<Item = &'a Operation> {
    operations.iter().filter(|operation| {
        let arguments = serde_json::from_str(operation.arguments.get()).unwrap_or(Value::Null);
        is_called(&effect.which, &operation.tool, &arguments)
    })
}

/// What no effect means is not compared: it is among the unasked effects.
fn by_effect(operations: &[Operation], found: &[Found], asked: &[Effect]) -> Vec<Group> {
    let group = |effect: &Effect| {
        let mut group = Group {
            found: found.iter().filter(|found| is_meant(&effect.which, found)).count() as u64,
            asked: effect.count,
            ..Group::named(words::which(&effect.which))
        };
        meant(operations, effect).for_each(|operation| group.add(operation));
        group
    };
    asked.iter().map(group).collect()
}

fn by_operation(operations: &[Operation], found: &[Found], key_fields: &[String]) -> Vec<Group> {
    let identity = |tool: &str, arguments: &Value| {
        let text = arguments.to_string();
        (tool.to_owned(), split_keys(RawJson::parse(&text).ok().as_ref(), key_fields).operation)
    };
    let mut groups: Vec<((String, String), Group)> = Vec::new();
    let mut place = |tool: &str, arguments: &Value, change: &mut dyn FnMut(&mut Group)| {
        let id = identity(tool, arguments);
        let known = groups.iter_mut().find(|(other, _)| *other == id);
        match known {
            Some((_, group)) => change(group),
            None => {
                let mut group = Group::named(format!("{tool} {}", words::json(arguments)));
                change(&mut group);
                groups.push((id, group));
            }
        }
    };
    for operation in operations {
        // Both sides have passed through the same parser, so that both lost the same digits.
        let arguments = serde_json::from_str(operation.arguments.get()).unwrap_or(Value::Null);
        place(&operation.tool, &arguments, &mut |group| group.add(operation));
    }
    for effect in found {
        if let Some((tool, arguments)) = &effect.call {
            place(tool, arguments, &mut |group| group.found += 1);
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Wanted, Which};
    use serde_json::json;

    fn operation(room: u64, reached: u64, executions: u64) -> Operation {
        Operation {
            id: "op-1".to_owned(),
            tool: "create_booking".to_owned(),
            arguments: RawJson::parse(&json!({"room": room}).to_string()).unwrap(),
            attempts: reached,
            reached,
            executions,
            failed_attempts: 0,
            keys: vec![],
            outcome: "",
        }
    }

    fn booked(room: u64, times: usize) -> CameToBe {
        let call = Some(("create_booking".to_owned(), json!({"room": room, "idempotency_key": "k"})));
        CameToBe::Effects(vec![Found { call, record: json!({"room": room}) }; times])
    }

    fn ledger(operation: Operation, came: &CameToBe) -> (Option<DisagreementKind>, bool) {
        let keys = ["idempotency_key".to_owned()];
        let compared = compare(&[operation], None, came, &keys, AccountSource::Ledger);
        assert!(compared.disagreements.len() < 2, "{compared:?}");
        (compared.disagreements.first().map(|one| one.kind), compared.doubled.is_some())
    }

    #[test]
    fn every_way_to_differ_has_its_reason() {
        use DisagreementKind::*;
        for (reached, executions, there, kind, doubled) in [
            (1, 1, 1, None, false),
            (2, 2, 2, None, false),
            (2, 2, 1, Some(IdempotentUpstreamHeld), false),
            (1, 1, 0, Some(AnsweredWithoutEffect), false),
            (1, 0, 1, Some(ExecutedThoughAnsweredAsError), false),
            (2, 1, 2, Some(ExecutedThoughAnsweredAsError), true),
            (2, 0, 2, Some(ExecutedThoughAnsweredAsError), true),
            (1, 1, 2, Some(ServerDoubledSingleCall), true),
            (1, 0, 2, Some(ServerDoubledSingleCall), true),
            (2, 2, 3, Some(MoreThanJudged), true),
            (1, 0, 0, None, false),
        ] {
            let seen = ledger(operation(12, reached, executions), &booked(12, there));
            assert_eq!(seen, (kind, doubled), "{reached} {executions} {there}");
        }
    }

    #[test]
    fn an_effect_of_a_tool_that_is_no_write_is_seen() {
        let compared = compare(&[], None, &booked(12, 1), &[], AccountSource::Ledger);
        assert_eq!(compared.disagreements[0].kind, DisagreementKind::MoreThanJudged);
        assert_eq!(compared.doubled, None);
        assert!(compare(&[], None, &booked(12, 2), &[], AccountSource::Ledger).doubled.is_some());
    }

    #[test]
    fn without_calls_the_stated_effects_tell_records_apart() {
        let effect = |room: u64, count| Effect {
            which: Which {
                tool: "create_booking".to_owned(),
                args: vec![("room".to_owned(), Wanted::Text(room.to_string()))],
                record: vec![],
            },
            count,
        };
        let record = |room: u64| Found { call: None, record: json!({"room": room}) };
        // The first is there twice, the second not at all: the net count looks right.
        let came = CameToBe::Effects(vec![record(1), record(1)]);
        let operations = [operation(1, 1, 1), operation(2, 1, 1)];
        let compared =
            compare(&operations, Some(&[effect(1, 1), effect(2, 1)]), &came, &[], AccountSource::Command);
        let kinds: Vec<_> = compared.disagreements.iter().map(|one| one.kind).collect();
        assert_eq!(
            kinds,
            [DisagreementKind::ServerDoubledSingleCall, DisagreementKind::AnsweredWithoutEffect]
        );
        let two = CameToBe::Effects(vec![record(1), record(1)]);
        let held = compare(&[operation(1, 2, 2)], Some(&[effect(1, 2)]), &two, &[], AccountSource::Command);
        assert_eq!(held, Compared::default());
    }

    #[test]
    fn without_effects_all_writes_are_counted_together() {
        let operations = [operation(1, 1, 1), operation(2, 2, 2)];
        let of = |number| compare(&operations, None, &CameToBe::Number(number), &[], AccountSource::Sqlite);
        assert_eq!(of(3), Compared::default());
        assert_eq!(of(2).disagreements[0].kind, DisagreementKind::IdempotentUpstreamHeld);
        assert!(of(4).doubled.is_some());
    }
}
