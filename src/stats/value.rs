//! The checked inputs and the output that all formulas share.

use statrs::distribution::{ContinuousCDF, Normal};

/// What a formula cannot take.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A rate without a denominator.
    #[error("no tested run, so there is no rate")]
    NoRuns,
    /// More events than runs.
    #[error("{k} of {n} is not a proportion")]
    MoreThanAll {
        /// Events.
        k: u32,
        /// Runs.
        n: u32,
    },
    /// A confidence level outside (0, 1).
    #[error("a confidence level lies between 0 and 1, for example 0.95; {0} does not")]
    Level(f64),
    /// A probability outside [0, 1].
    #[error("a probability lies between 0 and 1; {0} does not")]
    Probability(f64),
    /// An arm that is too large for an unconditional exact test.
    #[error("{n} runs in one arm: the unconditional exact tests go up to {max}")]
    TooManyRuns {
        /// Runs in the larger arm.
        n: u32,
        /// The largest number that is computed.
        max: u32,
    },
}

/// `k` events in `n` runs, with `k ≤ n` and `n ≥ 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Proportion {
    k: u32,
    n: u32,
}

impl Proportion {
    /// `k` of `n`.
    ///
    /// # Errors
    /// Where `n` is 0 or `k` exceeds it.
    pub fn new(k: u32, n: u32) -> Result<Proportion, StatsError> {
        if n == 0 {
            Err(StatsError::NoRuns)
        } else if k > n {
            Err(StatsError::MoreThanAll { k, n })
        } else {
            Ok(Proportion { k, n })
        }
    }

    /// Events.
    pub fn k(self) -> u32 {
        self.k
    }

    /// Runs, at least 1.
    pub fn n(self) -> u32 {
        self.n
    }

    /// `k / n`
    pub fn value(self) -> f64 {
        f64::from(self.k) / f64::from(self.n)
    }

    /// The runs without the event.
    #[must_use]
    pub fn complement(self) -> Proportion {
        Proportion { k: self.n - self.k, n: self.n }
    }
}

/// Two bounds, the lower first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub lo: f64,
    /// Upper bound.
    pub hi: f64,
}

impl Interval {
    /// Whether `value` lies inside or on a bound.
    pub fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Half of the width.
    pub fn half_width(self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    pub(super) fn clamped(self, lo: f64, hi: f64) -> Interval {
        Interval { lo: self.lo.clamp(lo, hi), hi: self.hi.clamp(lo, hi) }
    }
}

/// A two-sided confidence level, strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// 95 %, the default of every report.
    pub const P95: Level = Level(0.95);

    /// A level such as 0.95.
    ///
    /// # Errors
    /// Where it is not strictly between 0 and 1.
    pub fn new(level: f64) -> Result<Level, StatsError> {
        if level > 0.0 && level < 1.0 { Ok(Level(level)) } else { Err(StatsError::Level(level)) }
    }

    /// e.g. 0.95
    pub fn value(self) -> f64 {
        self.0
    }

    /// The error that is left: 1 − level.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The normal quantile at 1 − α/2, e.g. 1.959964.
    pub fn z(self) -> f64 {
        // From the lower tail: 1 − α/2 would round to 1 for levels next to 1.
        -Normal::standard().inverse_cdf(self.alpha() / 2.0)
    }

    /// The level as people write it, e.g. `95 %` or `99.9 %`.
    pub fn percent(self) -> String {
        let text = format!("{:.6}", self.0 * 100.0);
        format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Default for Level {
    fn default() -> Level {
        Level::P95
    }
}

/// The root of `f` between `lo` and `hi`, where `f(lo)` and `f(hi)` have different signs, by
/// bisection down to neighbouring numbers: slower than Brent, and cannot leave the bracket.
pub(super) fn bisect(mut lo: f64, mut hi: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rising = f(lo) < 0.0;
    for _ in 0..200 {
        let mid = lo + (hi - lo) / 2.0;
        if mid <= lo || mid >= hi {
            break;
        }
        if (f(mid) < 0.0) == rising {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    lo + (hi - lo) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proportion_needs_runs_and_at_most_that_many_events() {
        assert_eq!(Proportion::new(0, 0), Err(StatsError::NoRuns));
        assert_eq!(Proportion::new(3, 2), Err(StatsError::MoreThanAll { k: 3, n: 2 }));
        assert_eq!(Proportion::new(2, 2).unwrap().complement(), Proportion::new(0, 2).unwrap());
    }

    #[test]
    fn a_level_lies_strictly_between_0_and_1() {
        for bad in [0.0, 1.0, -0.1, 95.0, f64::NAN, f64::INFINITY] {
            assert!(Level::new(bad).is_err(), "{bad}");
        }
        assert!(Level::new(1.0 - f64::EPSILON).unwrap().z().is_finite());
    }

    #[test]
    fn a_level_is_written_without_idle_digits() {
        let written = |level| Level::new(level).unwrap().percent();
        assert_eq!(written(0.95), "95 %");
        assert_eq!(written(0.999), "99.9 %");
        assert_eq!(written(0.5), "50 %");
        assert_eq!(written(0.1), "10 %");
    }
}
