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
    /// Why the account cannot tell whether one is, as a sentence.
    pub blurred: Option<String>,
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

    /// `strangers`: calls of unclassified tools were made, so no server is said to have doubled a single
    /// call: one of those may have done it.
    fn kind(&self, strangers: bool) -> Option<DisagreementKind> {
        match () {
            () if self.found == self.executed => None,
            () if self.found < self.executed && self.found >= self.operations => {
                Some(DisagreementKind::IdempotentUpstreamHeld)
            }
            () if self.found < self.executed => Some(DisagreementKind::AnsweredWithoutEffect),
            () if self.found <= self.reached => Some(DisagreementKind::ExecutedThoughAnsweredAsError),
            () if self.reached == 1 && !strangers => Some(DisagreementKind::ServerDoubledSingleCall),
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
            DisagreementKind::MoreThanJudged if *reached == 1 => format!(
                "{name}: one call, and by the {source} it is there {found}; tools of no known class were called, too: \
                 say of them whether they write"
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
/// that are no part of an operation (J2); `strangers` says that tools of no known class were called, too.
pub fn compare(
    operations: &[Operation],
    asked: Option<&[Effect]>,
    came_to_be: &CameToBe,
    key_fields: &[String],
    source: AccountSource,
    strangers: bool,
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
    let mut compared = Compared { blurred: blurred(operations, asked, came_to_be), ..Compared::default() };
    for group in groups {
        let Some(kind) = group.kind(strangers) else { continue };
        let sentence = group.sentence(kind, source);
        if group.found > group.asked && group.found > group.executed && compared.doubled.is_none() {
            compared.doubled = Some(sentence.clone());
        }
        compared.disagreements.push(Disagreement { kind, sentence });
    }
    if compared.doubled.is_none()
        && let CameToBe::Effects(found) = came_to_be
        && let Some(sentence) = beyond_the_calls(operations, found, source)
    {
        compared.doubled = Some(sentence.clone());
        compared.disagreements.push(Disagreement { kind: DisagreementKind::MoreThanJudged, sentence });
    }
    compared
}

/// Whether there is more than all calls can have brought about, whatever the stated effects mean: more
/// records than calls, or one record more often than any operation was sent. What one effect lacks must
/// not make up for what another has too much.
fn beyond_the_calls(operations: &[Operation], found: &[Found], source: AccountSource) -> Option<String> {
    let source = source.title();
    let reached: u64 = operations.iter().map(|operation| operation.reached).sum();
    let there = found.len() as u64;
    if there > reached.max(1) {
        return Some(format!(
            "all writes: {reached} calls reached the upstream, and by the {source} {there} records are new"
        ));
    }
    let most = operations.iter().map(|operation| operation.reached).max().unwrap_or(0).max(1);
    let times = |record: &Value| found.iter().filter(|other| other.record == *record).count() as u64;
    let same =
        found.iter().map(|found| (&found.record, times(&found.record))).max_by_key(|(_, times)| *times)?;
    (same.1 > most && same.0.is_object()).then(|| {
        format!(
            "{}: by the {source} it is there {}, and no operation reached the upstream that often",
            words::json(same.0),
            self::times(same.1)
        )
    })
}

/// A number is a net count: what one tool takes away hides what another brought twice.
fn blurred(operations: &[Operation], asked: Option<&[Effect]>, came_to_be: &CameToBe) -> Option<String> {
    let CameToBe::Number(_) = came_to_be else { return None };
    let first = asked.and_then(<[Effect]>::first);
    let usual = match first {
        Some(effect) => meant(operations, effect).map(|operation| operation.tool.as_str()).next(),
        None => {
            operations.iter().find(|operation| operation.reached > 0).map(|operation| operation.tool.as_str())
        }
    };
    let other = operations
        .iter()
        .find(|operation| operation.reached > 0 && Some(operation.tool.as_str()) != usual)?;
    Some(format!(
        "a number cannot tell what `{}` did from what other calls did; give a list of records",
        other.tool
    ))
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
        let compared = compare(&[operation], None, came, &keys, AccountSource::Ledger, false);
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
        let compared = compare(&[], None, &booked(12, 1), &[], AccountSource::Ledger, false);
        assert_eq!(compared.disagreements[0].kind, DisagreementKind::MoreThanJudged);
        assert_eq!(compared.doubled, None);
        assert!(compare(&[], None, &booked(12, 2), &[], AccountSource::Ledger, false).doubled.is_some());
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
        let compared = compare(
            &operations,
            Some(&[effect(1, 1), effect(2, 1)]),
            &came,
            &[],
            AccountSource::Command,
            false,
        );
        let kinds: Vec<_> = compared.disagreements.iter().map(|one| one.kind).collect();
        assert_eq!(
            kinds,
            [DisagreementKind::ServerDoubledSingleCall, DisagreementKind::AnsweredWithoutEffect]
        );
        let two = CameToBe::Effects(vec![record(1), record(1)]);
        let held =
            compare(&[operation(1, 2, 2)], Some(&[effect(1, 2)]), &two, &[], AccountSource::Command, false);
        assert_eq!(held, Compared::default());
    }

    #[test]
    fn without_effects_all_writes_are_counted_together() {
        let operations = [operation(1, 1, 1), operation(2, 2, 2)];
        let of =
            |number| compare(&operations, None, &CameToBe::Number(number), &[], AccountSource::Sqlite, false);
        assert_eq!(of(3), Compared::default());
        assert_eq!(of(2).disagreements[0].kind, DisagreementKind::IdempotentUpstreamHeld);
        assert!(of(4).doubled.is_some());
    }

    fn effect(room: u64) -> Effect {
        let args = vec![("room".to_owned(), Wanted::Text(room.to_string()))];
        Effect { which: Which { tool: "create_booking".to_owned(), args, record: vec![] }, count: 1 }
    }

    fn record(room: u64) -> Found {
        Found { call: None, record: json!({"room": room}) }
    }

    #[test]
    fn what_is_too_much_counts_though_no_stated_effect_means_it() {
        let of = |operations: &[Operation], effects: &[Effect], found: Vec<Found>| {
            compare(operations, Some(effects), &CameToBe::Effects(found), &[], AccountSource::Command, false)
                .doubled
        };
        // The second booking is there twice, and nobody asked for it.
        let two = [operation(1, 1, 1), operation(2, 1, 1)];
        assert!(of(&two, &[effect(1)], vec![record(1), record(2), record(2)]).is_some());
        // The effect is spelt so that it means no record.
        assert!(of(&[operation(1, 1, 1)], &[effect(9)], vec![record(1), record(1)]).is_some());
        assert_eq!(of(&two, &[effect(1)], vec![record(1), record(2)]), None);
    }

    #[test]
    fn a_loss_does_not_make_up_for_a_double() {
        let came = CameToBe::Effects(vec![record(1), record(1)]);
        let operations = [operation(1, 1, 1), operation(2, 1, 1)];
        assert!(compare(&operations, None, &came, &[], AccountSource::Command, false).doubled.is_some());
    }

    #[test]
    fn a_number_says_nothing_where_several_tools_wrote() {
        let cancelled = Operation { tool: "cancel_booking".to_owned(), ..operation(7, 1, 1) };
        let of = |operations: &[Operation], asked: Option<&[Effect]>| {
            compare(operations, asked, &CameToBe::Number(1), &[], AccountSource::Command, false).blurred
        };
        assert!(of(&[cancelled.clone(), operation(1, 1, 1)], Some(&[effect(1)])).is_some());
        assert!(of(&[operation(1, 1, 1), cancelled], None).is_some());
        assert_eq!(of(&[operation(1, 2, 2)], Some(&[effect(1)])), None);
    }

    #[test]
    fn no_server_is_blamed_where_tools_of_no_known_class_were_called() {
        let keys = ["idempotency_key".to_owned()];
        let of = |strangers| {
            compare(&[operation(1, 1, 1)], None, &booked(1, 2), &keys, AccountSource::Ledger, strangers)
        };
        assert_eq!(of(false).disagreements[0].kind, DisagreementKind::ServerDoubledSingleCall);
        let compared = of(true);
        assert_eq!(compared.disagreements[0].kind, DisagreementKind::MoreThanJudged);
        assert!(compared.doubled.unwrap().contains("no known class"));
    }
}
