//! Time as data.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// Microseconds since the start of a run's trace, by one monotonic clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// A duration in microseconds; what does not fit is the largest value.
    pub fn from_duration(duration: Duration) -> Micros {
        Micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    /// Whole milliseconds, rounded down.
    pub fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// As a duration since the start of the trace.
    pub fn as_duration(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

impl Add<Duration> for Micros {
    type Output = Micros;
    fn add(self, duration: Duration) -> Micros {
        Micros(self.0.saturating_add(Micros::from_duration(duration).0))
    }
}

impl Sub for Micros {
    type Output = Micros;
    fn sub(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}
