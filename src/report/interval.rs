//! A rate with its interval, and how intervals of cells are made.

use crate::stats::{Interval, Level, Mixture, Proportion, confidence_sequence, wilson};

/// How the interval of one cell was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalMethod {
    /// Wilson's score interval, for a number of runs that was fixed in advance.
    Wilson,
    /// The beta-binomial confidence sequence, which holds at any number of runs.
    ConfidenceSequence,
}

impl IntervalMethod {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            IntervalMethod::Wilson => "wilson",
            IntervalMethod::ConfidenceSequence => "beta_binomial_sequence",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            IntervalMethod::Wilson => "Wilson score interval",
            IntervalMethod::ConfidenceSequence => "beta-binomial confidence sequence",
        }
    }

    pub(super) fn interval(self, seen: Proportion, level: Level) -> Interval {
        match self {
            IntervalMethod::Wilson => wilson(seen, level),
            IntervalMethod::ConfidenceSequence => confidence_sequence(seen, level, Mixture::JEFFREYS),
        }
    }
}

/// Failed of tested, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Failed of tested.
    pub failed: Proportion,
    /// Its interval.
    pub interval: Interval,
}
