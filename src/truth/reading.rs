//! What an upstream holds before and after a run, and what came to be in between.

use crate::domain::json::canonical;
use serde_json::Value;
use std::collections::HashMap;

/// What an oracle read at one time.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// The records that there are.
    Records(Vec<Value>),
    /// How many there are.
    Number(u64),
}

/// One effect that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The tool that did it, and the arguments of its call; an oracle does not know them.
    pub call: Option<(String, Value)>,
    /// The record.
    pub record: Value,
}

/// What came to be during a run.
#[derive(Debug, Clone, PartialEq)]
pub enum CameToBe {
    /// Effect by effect.
    Effects(Vec<Found>),
    /// Only their number.
    Number(u64),
}

/// Why two readings cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// One is a list and the other a number.
    #[error("it gave a list of records at one time and a number at the other")]
    Mixed,
    /// There is less than before.
    #[error(
        "there were {before} before the run and {after} after it: a number does not tell what came to be"
    )]
    Fewer {
        /// Before the run.
        before: u64,
        /// After it.
        after: u64,
    },
}

/// What is in the second reading beyond the first. A record that was changed counts as one that came
/// to be, in its new form; a record that is gone leaves no effect.
///
/// # Errors
/// Where the two are no readings of one thing.
pub fn came_to_be(before: &Reading, after: Reading) -> Result<CameToBe, ReadingError> {
    match (before, after) {
        (Reading::Records(before), Reading::Records(after)) => {
            let mut left: HashMap<String, u64> = HashMap::new();
            for record in before {
                *left.entry(canonical(&record.to_string())).or_default() += 1;
            }
            let is_new = |record: &Value| match left.get_mut(&canonical(&record.to_string())) {
                Some(count @ 1..) => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            let mut after = after;
            after.retain(is_new);
            Ok(CameToBe::Effects(after.into_iter().map(|record| Found { call: None, record }).collect()))
        }
        (Reading::Number(before), Reading::Number(after)) => match after.checked_sub(*before) {
            Some(more) => Ok(CameToBe::Number(more)),
            None => Err(ReadingError::Fewer { before: *before, after }),
        },
        _ => Err(ReadingError::Mixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records(values: &[Value]) -> Reading {
        Reading::Records(values.to_vec())
    }

    #[test]
    fn records_are_compared_as_values_and_counted() {
        let (one, two) = (json!({"a": 1, "b": 2}), json!({"a": 2}));
        let before = records(std::slice::from_ref(&one));
        let after = records(&[json!({"b": 2, "a": 1.0}), one.clone(), two.clone()]);
        let found = |record: &Value| Found { call: None, record: record.clone() };
        assert_eq!(came_to_be(&before, after), Ok(CameToBe::Effects(vec![found(&one), found(&two)])));
    }

    #[test]
    fn a_changed_record_came_to_be_and_one_that_is_gone_did_not() {
        let before = records(&[json!({"id": 1, "status": "open"}), json!({"id": 2})]);
        let after = records(&[json!({"id": 1, "status": "cancelled"})]);
        let Ok(CameToBe::Effects(found)) = came_to_be(&before, after) else { panic!() };
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].record["status"], "cancelled");
    }

    #[test]
    fn numbers_are_subtracted_and_never_below_nothing() {
        assert_eq!(came_to_be(&Reading::Number(3), Reading::Number(5)), Ok(CameToBe::Number(2)));
        let fewer = came_to_be(&Reading::Number(3), Reading::Number(2));
        assert_eq!(fewer, Err(ReadingError::Fewer { before: 3, after: 2 }));
        assert_eq!(came_to_be(&Reading::Number(3), records(&[])), Err(ReadingError::Mixed));
    }
}
