//! What came to be × what the prompt asks for → lost, right, double, unasked.

use super::matching::is_meant;
use super::reading::{CameToBe, Found};
use super::words;
use crate::domain::{Account, ExpectedEffect, UnaskedEffect};
use crate::suite::Effect;

/// The account of a run. `asked` are the prompt's effects, their templates rendered; none where the
/// suite does not say what the prompt should bring about.
pub fn account(asked: Option<&[Effect]>, came_to_be: &CameToBe) -> Account {
    let Some(asked) = asked else {
        let found = match came_to_be {
            CameToBe::Effects(found) => found.len() as u64,
            CameToBe::Number(number) => *number,
        };
        return Account::NotStated { found };
    };
    match came_to_be {
        CameToBe::Effects(found) => by_effect(asked, found),
        CameToBe::Number(number) => by_number(asked, *number),
    }
}

fn expected(effect: &Effect, found: u64) -> ExpectedEffect {
    ExpectedEffect { effect: words::which(&effect.which), asked: effect.count, found }
}

fn by_effect(asked: &[Effect], found: &[Found]) -> Account {
    let mut counts = vec![0_u64; asked.len()];
    let mut unasked: Vec<UnaskedEffect> = Vec::new();
    for effect in found {
        let meant: Vec<usize> = (0..asked.len())
            .filter(|index| asked.get(*index).is_some_and(|asked| is_meant(&asked.which, effect)))
            .collect();
        match meant.as_slice() {
            [] => {
                let effect = in_words(effect);
                match unasked.iter_mut().find(|other| other.effect == effect) {
                    Some(other) => other.found += 1,
                    None => unasked.push(UnaskedEffect { effect, found: 1 }),
                }
            }
            [one] => {
                if let Some(count) = counts.get_mut(*one) {
                    *count += 1;
                }
            }
            _ => {
                let reason = format!("{} could be more than one of the effects", in_words(effect));
                return Account::Unknown { reason };
            }
        }
    }
    Account::Known {
        expected: asked.iter().zip(counts).map(|(effect, found)| expected(effect, found)).collect(),
        unasked,
    }
}

/// A number says how often one effect is there, and nothing of several.
fn by_number(asked: &[Effect], number: u64) -> Account {
    match asked {
        [] => {
            let unasked = UnaskedEffect { effect: "a record".to_owned(), found: number };
            Account::Known {
                expected: Vec::new(),
                unasked: [unasked].into_iter().filter(|_| number > 0).collect(),
            }
        }
        [only] => Account::Known { expected: vec![expected(only, number)], unasked: Vec::new() },
        several => Account::Unknown {
            reason: format!(
                "the oracle gives a number ({number}), which does not tell {} effects apart",
                several.len()
            ),
        },
    }
}

fn in_words(found: &Found) -> String {
    match &found.call {
        Some((tool, arguments)) => format!("{tool} {}", words::json(arguments)),
        None => words::json(&found.record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AccountSource, EffectCounts, Effects};
    use crate::suite::{Wanted, Which};
    use proptest::prelude::*;
    use serde_json::json;

    fn room(room: u64, count: u64) -> Effect {
        let args = vec![("room".to_owned(), Wanted::Text(room.to_string()))];
        Effect { which: Which { tool: "create_booking".to_owned(), args, record: vec![] }, count }
    }

    fn booked(room: u64) -> Found {
        Found { call: Some(("create_booking".to_owned(), json!({"room": room}))), record: json!({}) }
    }

    fn counts(asked: &[Effect], came: CameToBe) -> EffectCounts {
        let account = account(Some(asked), &came);
        Effects { source: AccountSource::Ledger, account }.counts().unwrap()
    }

    #[test]
    fn an_effect_is_lost_right_or_double_and_the_rest_was_not_asked_for() {
        let asked = [room(1, 1), room(2, 1), room(3, 2)];
        let found = [1, 1, 3, 3, 4, 4, 5].map(booked).to_vec();
        let seen = counts(&asked, CameToBe::Effects(found));
        assert_eq!(seen, EffectCounts { lost: 1, right: 1, double: 1, unasked: 3 });
    }

    #[test]
    fn a_record_that_could_be_two_effects_leaves_all_unknown() {
        let any = Effect { which: Which { tool: "*".to_owned(), args: vec![], record: vec![] }, count: 1 };
        let account = account(Some(&[room(1, 1), any]), &CameToBe::Effects(vec![booked(1)]));
        assert!(matches!(account, Account::Unknown { .. }), "{account:?}");
    }

    #[test]
    fn a_number_says_nothing_of_two_effects() {
        let two = account(Some(&[room(1, 1), room(2, 1)]), &CameToBe::Number(2));
        assert!(matches!(two, Account::Unknown { .. }), "{two:?}");
        assert_eq!(counts(&[room(1, 1)], CameToBe::Number(2)).double, 1);
        assert_eq!(counts(&[], CameToBe::Number(2)).unasked, 2);
        assert_eq!(counts(&[], CameToBe::Number(0)), EffectCounts::default());
    }

    proptest! {
        #[test]
        fn every_effect_is_counted_once_and_never_netted(
            wanted in proptest::collection::vec(1_u64..4, 0..5),
            rooms in proptest::collection::vec(0_u64..8, 0..20),
        ) {
            let asked: Vec<Effect> = (0..).zip(&wanted).map(|(room_no, count)| room(room_no, *count)).collect();
            let found: Vec<Found> = rooms.iter().map(|room| booked(*room)).collect();
            let Account::Known { expected, unasked } = account(Some(&asked), &CameToBe::Effects(found)) else {
                panic!()
            };
            for (room_no, effect) in (0_u64..).zip(&expected) {
                prop_assert_eq!(effect.found, rooms.iter().filter(|room| **room == room_no).count() as u64);
            }
            let all = expected.iter().map(|effect| effect.found).chain(unasked.iter().map(|other| other.found));
            prop_assert_eq!(all.sum::<u64>(), rooms.len() as u64);
        }
    }
}
