//! Pairs of runs that share something real, such as the seed of a seeded model.

use super::value::bisect;
use super::{Interval, Level, Proportion, StatsError, wilson};
use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

/// How pairs of runs ended: `(a, b, c, d)` = event in both, in the first only, in the second only,
/// in neither. At least one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairs {
    /// The event in both.
    a: u32,
    /// In the first only.
    b: u32,
    /// In the second only.
    c: u32,
    /// In neither.
    d: u32,
    first: Proportion,
    second: Proportion,
}

impl Pairs {
    /// Pairs with the event in both, the first only, the second only, neither.
    ///
    /// # Errors
    /// Without a pair, or with more than fit into 32 bits.
    pub fn new(both: u32, first_only: u32, second_only: u32, neither: u32) -> Result<Pairs, StatsError> {
        let sum = u64::from(both) + u64::from(first_only) + u64::from(second_only) + u64::from(neither);
        let n = u32::try_from(sum).map_err(|_| StatsError::TooManyRuns { n: u32::MAX, max: u32::MAX })?;
        Ok(Pairs {
            a: both,
            b: first_only,
            c: second_only,
            d: neither,
            first: Proportion::new(both + first_only, n)?,
            second: Proportion::new(both + second_only, n)?,
        })
    }

    /// Rate of the first minus rate of the second.
    pub fn difference(self) -> f64 {
        (f64::from(self.b) - f64::from(self.c)) / f64::from(self.first.n())
    }
}

/// The exact test on the discordant pairs, two-sided.
///
/// Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
/// percentages", Psychometrika 12 (1947), 153–157, in its binomial form.
pub fn mcnemar_exact(pairs: Pairs) -> f64 {
    if pairs.b + pairs.c == 0 { 1.0 } else { (2.0 * smaller_tail(pairs)).min(1.0) }
}

/// The same with half of the probability of what was seen: less conservative.
///
/// M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs data: mid-p and
/// asymptotic are better than exact conditional", BMC Medical Research Methodology 13 (2013), 91.
pub fn mcnemar_mid_p(pairs: Pairs) -> f64 {
    let (few, all) = (pairs.b.min(pairs.c), pairs.b + pairs.c);
    if all == 0 {
        return 1.0;
    }
    let point = (ln_binomial(u64::from(all), u64::from(few)) - f64::from(all) * std::f64::consts::LN_2).exp();
    (2.0 * smaller_tail(pairs) - point).min(1.0)
}

/// The probability of at most the smaller discordant count among fair coins.
fn smaller_tail(pairs: Pairs) -> f64 {
    let (few, many) = (f64::from(pairs.b.min(pairs.c)), f64::from(pairs.b.max(pairs.c)));
    if few == many { 1.0 } else { beta_reg(many, few + 1.0, 0.5) }
}

/// Newcombe's score interval for the difference of paired rates.
///
/// R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based
/// on paired data", Statistics in Medicine 17 (1998), 2635–2650, method 10.
pub fn newcombe_paired(pairs: Pairs, level: Level) -> Interval {
    let (a, b, c, d) = (f64::from(pairs.a), f64::from(pairs.b), f64::from(pairs.c), f64::from(pairs.d));
    let n = a + b + c + d;
    let (p, q) = (pairs.first.value(), pairs.second.value());
    let (first, second) = (wilson(pairs.first, level), wilson(pairs.second, level));
    let margins = (a + b) * (c + d) * (a + c) * (b + d);
    let product = a * d - b * c;
    let corrected = if product > n / 2.0 { product - n / 2.0 } else { product.min(0.0) };
    let phi = if margins == 0.0 { 0.0 } else { corrected / margins.sqrt() };
    let reach = |one: f64, two: f64| (one * one - 2.0 * phi * one * two + two * two).max(0.0).sqrt();
    let difference = pairs.difference();
    Interval {
        lo: difference - reach(p - first.lo, second.hi - q),
        hi: difference + reach(first.hi - p, q - second.lo),
    }
    .clamped(-1.0, 1.0)
}

/// Tango's score interval for the difference of paired rates.
///
/// T. Tango, "Equivalence test and confidence interval for the difference in proportions for the
/// paired-sample design", Statistics in Medicine 17 (1998), 891–908.
pub fn tango(pairs: Pairs, level: Level) -> Interval {
    let (b, c, n) = (f64::from(pairs.b), f64::from(pairs.c), f64::from(pairs.first.n()));
    let (z, seen) = (level.z(), pairs.difference());
    let statistic = |difference: f64| {
        let linear = -b - c + (2.0 * n - b + c) * difference;
        let constant = -c * difference * (1.0 - difference);
        let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
        let off_diagonal = (root - linear) / (4.0 * n);
        let variance = n * (2.0 * off_diagonal + difference * (1.0 - difference));
        let distance = b - c - n * difference;
        if variance > 0.0 {
            distance / variance.sqrt()
        } else if distance > 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        }
    };
    // At the very ends, and at a difference of 0 without discordant pairs, the variance vanishes.
    let edge = 1e-12;
    let (lowest, highest) = (edge - 1.0, 1.0 - edge);
    Interval {
        lo: if statistic(lowest) < z { -1.0 } else { bisect(lowest, seen - edge, |d| z - statistic(d)) },
        hi: if statistic(highest) > -z { 1.0 } else { bisect(seen + edge, highest, |d| -z - statistic(d)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_pair_there_is_no_difference() {
        assert_eq!(Pairs::new(0, 0, 0, 0), Err(StatsError::NoRuns));
        assert!(Pairs::new(u32::MAX, 1, 0, 0).is_err());
    }

    #[test]
    fn as_many_one_way_as_the_other_shows_nothing() {
        let even = Pairs::new(1, 4, 4, 1).unwrap();
        assert_eq!(mcnemar_exact(even), 1.0);
        assert!(newcombe_paired(even, Level::P95).contains(0.0));
        assert!(tango(even, Level::P95).contains(0.0));
    }
}
