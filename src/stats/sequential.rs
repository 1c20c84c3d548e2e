//! Looking while the runs come in, without fooling oneself.
//!
//! A Wilson interval that is looked at after every run excludes the truth in up to a third of
//! experiments. What is here holds at every number of runs at once.

use super::value::bisect;
use super::{Interval, Level, Proportion, StatsError};
use statrs::function::beta::ln_beta;

/// The weights of a beta mixture over the unknown rate. Both positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    a: f64,
    b: f64,
}

impl Mixture {
    /// Beta(½, ½): the mixture of every report.
    pub const JEFFREYS: Mixture = Mixture { a: 0.5, b: 0.5 };
    /// Beta(1, 1).
    pub const UNIFORM: Mixture = Mixture { a: 1.0, b: 1.0 };
}

/// The beta-binomial confidence sequence: all rates against which the mixture's likelihood ratio
/// stays below 1/α. With the chance `level` it holds the true rate at every number of runs, so one
/// may stop whenever one likes.
///
/// H. Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
/// Mathematical Statistics 41 (1970), 1397–1409, by the inequality of J. Ville (1939).
pub fn confidence_sequence(seen: Proportion, level: Level, mixture: Mixture) -> Interval {
    let Mixture { a, b } = mixture;
    let (k, n) = (f64::from(seen.k()), f64::from(seen.n()));
    let mixed = ln_beta(a + k, b + n - k) - ln_beta(a, b) + level.alpha().ln();
    let part = |events: f64, log: f64| if events == 0.0 { 0.0 } else { events * log };
    let excess = |p: f64| mixed - part(k, p.ln()) - part(n - k, (-p).ln_1p());
    let rate = seen.value();
    Interval {
        lo: if seen.k() == 0 { 0.0 } else { bisect(0.0, rate, excess) },
        hi: if seen.k() == seen.n() { 1.0 } else { bisect(rate, 1.0, excess) },
    }
}

/// The evidence of discordant pairs of interleaved runs against equal rates:
/// E = 2^(b+c)·B(b+½, c+½)/B(½, ½). Stop once E ≥ 1/α; min(1, 1/E) is a p-value at any time.
///
/// The pairs as in A. Wald, "Sequential analysis" (1947), double dichotomies; the mixture as in
/// A. Ramdas, P. Grünwald, V. Vovk and G. Shafer, "Game-theoretic statistics and safe anytime-valid
/// inference", Statistical Science 38 (2023), 576–601.
pub fn discordant_e_value(first_only: u32, second_only: u32) -> f64 {
    let (b, c) = (f64::from(first_only), f64::from(second_only));
    ((b + c) * std::f64::consts::LN_2 + ln_beta(b + 0.5, c + 0.5) - ln_beta(0.5, 0.5)).exp()
}

/// Wald's sequential test of a low against a high rate, as steps and bounds of the logarithm of the
/// likelihood ratio. For comparison: no command offers it, since it needs both rates in advance.
///
/// A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16
/// (1945), 117–186.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sprt {
    /// Step at a success.
    pub success: f64,
    /// Step at a failure, negative.
    pub failure: f64,
    /// At or above it the high rate is accepted.
    pub upper: f64,
    /// At or below it the low rate is accepted.
    pub lower: f64,
}

impl Sprt {
    /// The test of `low` against `high` with error chances `alpha` and `beta`.
    ///
    /// # Errors
    /// Where a number is not strictly between 0 and 1, or `low` is not below `high`.
    pub fn new(low: f64, high: f64, alpha: f64, beta: f64) -> Result<Sprt, StatsError> {
        for value in [low, high, alpha, beta] {
            if !(value > 0.0 && value < 1.0) {
                return Err(StatsError::Probability(value));
            }
        }
        if low >= high {
            return Err(StatsError::Probability(low));
        }
        Ok(Sprt {
            success: (high / low).ln(),
            failure: ((1.0 - high) / (1.0 - low)).ln(),
            upper: ((1.0 - beta) / alpha).ln(),
            lower: (beta / (1.0 - alpha)).ln(),
        })
    }

    /// The fewest successes in a row that accept the high rate.
    pub fn successes_to_accept(self) -> u32 {
        (self.upper / self.success - 1e-12).ceil() as u32
    }

    /// The fewest failures in a row that accept the low rate.
    pub fn failures_to_reject(self) -> u32 {
        (self.lower / self.failure - 1e-12).ceil() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_pairs_one_way_are_enough_at_95_percent() {
        assert!(discordant_e_value(6, 0) < 20.0);
        assert!(discordant_e_value(7, 0) >= 20.0);
        assert_eq!(discordant_e_value(7, 0), discordant_e_value(0, 7));
    }

    #[test]
    fn a_sequential_test_refuses_what_is_no_rate() {
        for (low, high) in [(0.0, 0.5), (0.5, 1.0), (0.9, 0.5), (0.5, 0.5), (f64::NAN, 0.5)] {
            assert!(Sprt::new(low, high, 0.05, 0.05).is_err());
        }
    }
}
