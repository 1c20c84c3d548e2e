//! `--filter`: which cells are run.
//!
//! `model=gemma4,patch=off|GHOST_WRITE` keeps the cells with that model and one of these
//! patches; `scenario!=none` keeps all others. Several filters must all hold.

use super::Suite;
use super::diagnostics::{shown, suggestion};
use crate::domain::{Axis, CellKey};
use std::fmt;

/// Which cells are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    axis: Axis,
    values: Vec<String>,
    equal: bool,
}

/// Why a filter cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A part is not `axis=value`.
    #[error(
        "{part} in the filter {filter} is no condition: write `axis=value`, `axis=value|value` or `axis!=value`"
    )]
    NoCondition {
        /// The filter.
        filter: String,
        /// The part.
        part: String,
    },
    /// A part names no axis.
    #[error("unknown axis {axis} in the filter {filter}: {help}")]
    Axis {
        /// The filter.
        filter: String,
        /// What stands where an axis should.
        axis: String,
        /// What was probably meant.
        help: String,
    },
    /// No cell has that value.
    #[error("no cell has the {axis} {value}: {help}")]
    Value {
        /// The axis.
        axis: Axis,
        /// The value.
        value: String,
        /// What was probably meant.
        help: String,
    },
    /// Nothing is left.
    #[error("no cell is kept by {filter}")]
    Nothing {
        /// The filters.
        filter: String,
    },
}

impl Filter {
    /// Keeps every cell.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Reads one filter; its values must occur in the suite.
    ///
    /// # Errors
    /// When it is malformed, or names an axis or a value that no cell has.
    pub fn parse(text: &str, suite: &Suite) -> Result<Filter, FilterError> {
        let values = |axis| suite.values(axis).into_iter().map(str::to_owned).collect();
        Filter::parse_among(text, &values)
    }

    /// Reads one filter; `there` gives the values that cells have on an axis.
    ///
    /// # Errors
    /// When it is malformed, or names an axis or a value that no cell has.
    pub fn parse_among(text: &str, there: &dyn Fn(Axis) -> Vec<String>) -> Result<Filter, FilterError> {
        let axes: Vec<&str> = Axis::ALL.iter().map(|axis| axis.name()).collect();
        let mut conditions = Vec::new();
        for part in text.split(',') {
            let no_condition = || FilterError::NoCondition { filter: shown(text), part: shown(part.trim()) };
            let (name, values) = part.split_once('=').ok_or_else(no_condition)?;
            let (name, equal) = match name.strip_suffix('!') {
                Some(name) => (name.trim(), false),
                None => (name.trim(), true),
            };
            let axis = Axis::from_name(name).ok_or_else(|| FilterError::Axis {
                filter: shown(text),
                axis: shown(name),
                help: suggestion(name, &axes),
            })?;
            let there = there(axis);
            let values: Vec<String> = values.split('|').map(|value| value.trim().to_owned()).collect();
            for value in &values {
                if value.is_empty() {
                    return Err(no_condition());
                }
                if !there.contains(value) {
                    let there: Vec<&str> = there.iter().map(String::as_str).collect();
                    return Err(FilterError::Value {
                        axis,
                        value: shown(value),
                        help: suggestion(value, &there),
                    });
                }
            }
            conditions.push(Condition { axis, values, equal });
        }
        Ok(Filter { conditions })
    }

    /// Reads several filters that must all hold.
    ///
    /// # Errors
    /// When one of them cannot be read, or together they keep no cell.
    pub fn parse_all<S: AsRef<str>>(texts: &[S], suite: &Suite) -> Result<Filter, FilterError> {
        let mut filter = Filter::all();
        for text in texts {
            filter.conditions.extend(Filter::parse(text.as_ref(), suite)?.conditions);
        }
        if suite.cells.iter().any(|cell| filter.keeps(&cell.key)) {
            return Ok(filter);
        }
        let all: Vec<String> = texts.iter().map(|text| shown(text.as_ref())).collect();
        Err(FilterError::Nothing { filter: all.join(" and ") })
    }

    /// Keeps the cells that have one of these values on each of these axes.
    pub fn of(values: impl IntoIterator<Item = (Axis, Vec<String>)>) -> Filter {
        Filter::from_conditions(values.into_iter().map(|(axis, values)| (axis, values, true)))
    }

    /// Keeps the cells for which all conditions hold: an axis, values, and whether one of these values is
    /// there, or none.
    pub fn from_conditions(conditions: impl IntoIterator<Item = (Axis, Vec<String>, bool)>) -> Filter {
        let condition = |(axis, values, equal)| Condition { axis, values, equal };
        Filter { conditions: conditions.into_iter().map(condition).collect() }
    }

    /// The conditions, as in [`Filter::from_conditions`].
    pub fn conditions(&self) -> impl Iterator<Item = (Axis, &[String], bool)> {
        self.conditions.iter().map(|condition| (condition.axis, &condition.values[..], condition.equal))
    }

    /// The axis, value before and value after, where the filter is `axis=before|after`.
    pub fn pair(&self) -> Option<(Axis, String, String)> {
        let [Condition { axis, values, equal: true }] = &self.conditions[..] else { return None };
        match &values[..] {
            [before, after] if before != after => Some((*axis, before.clone(), after.clone())),
            _ => None,
        }
    }

    /// Whether a cell is kept.
    pub fn keeps(&self, key: &CellKey) -> bool {
        self.conditions.iter().all(|condition| {
            condition.values.iter().any(|value| value == key.get(condition.axis)) == condition.equal
        })
    }
}

impl fmt::Display for Filter {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Condition { axis, values, equal }) in self.conditions.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let sign = if *equal { "=" } else { "!=" };
            write!(f, "{comma}{axis}{sign}{}", values.join("|"))?;
        }
        Ok(())
    }
}

impl Suite {
    /// The values that cells have on an axis, in the order of the cells.
    pub fn values(&self, axis: Axis) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        self.cells.iter().map(|cell| cell.key.get(axis)).filter(|value| seen.insert(*value)).collect()
    }
}
