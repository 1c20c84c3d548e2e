//! Intervals for one rate.

use super::{Interval, Level, Proportion};
use statrs::distribution::{Beta, ContinuousCDF};

/// Wilson's score interval: the interval of every cell with a fixed number of runs. Exactly 0
/// without an event and exactly 1 without anything else.
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
/// the American Statistical Association 22 (1927), 209–212.
pub fn wilson(seen: Proportion, level: Level) -> Interval {
    let interval = wilson_of(seen.value(), f64::from(seen.n()), level);
    Interval {
        lo: if seen.k() == 0 { 0.0 } else { interval.lo },
        hi: if seen.k() == seen.n() { 1.0 } else { interval.hi },
    }
}

/// Wilson's interval for a rate on a number of runs that need not be whole, as a design effect
/// leaves it.
pub(super) fn wilson_of(p: f64, n: f64, level: Level) -> Interval {
    let z = level.z();
    let shrink = 1.0 + z * z / n;
    let center = (p + z * z / (2.0 * n)) / shrink;
    let half = z / shrink * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    Interval { lo: center - half, hi: center + half }.clamped(0.0, 1.0)
}

/// Wilson's interval with continuity correction: never covers less than its level, and is wider.
///
/// R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven
/// methods", Statistics in Medicine 17 (1998), 857–872, method 4.
pub fn wilson_corrected(seen: Proportion, level: Level) -> Interval {
    let (p, n, z) = (seen.value(), f64::from(seen.n()), level.z());
    let divisor = 2.0 * (n + z * z);
    let center = (2.0 * n * p + z * z) / divisor;
    let below = z * z - 2.0 - 1.0 / n + 4.0 * p * (n * (1.0 - p) + 1.0);
    let above = z * z + 2.0 - 1.0 / n + 4.0 * p * (n * (1.0 - p) - 1.0);
    let lo = center - (1.0 + z * below.max(0.0).sqrt()) / divisor;
    let hi = center + (1.0 + z * above.max(0.0).sqrt()) / divisor;
    Interval { lo: if seen.k() == 0 { 0.0 } else { lo }, hi: if seen.k() == seen.n() { 1.0 } else { hi } }
        .clamped(0.0, 1.0)
}

/// The exact interval from the tails of the binomial distribution: never covers less than its
/// level, and is the widest.
///
/// C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case
/// of the binomial", Biometrika 26 (1934), 404–413.
pub fn clopper_pearson(seen: Proportion, level: Level) -> Interval {
    let (k, n) = (f64::from(seen.k()), f64::from(seen.n()));
    let half = level.alpha() / 2.0;
    Interval {
        lo: if seen.k() == 0 { 0.0 } else { beta_quantile(k, n - k + 1.0, half) },
        hi: if seen.k() == seen.n() { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - half) },
    }
}

/// The equal-tailed interval of the posterior under Jeffreys' prior Beta(½, ½), unchanged at the
/// ends.
///
/// L. D. Brown, T. T. Cai and A. DasGupta, "Interval estimation for a binomial proportion",
/// Statistical Science 16 (2001), 101–133.
pub fn jeffreys(seen: Proportion, level: Level) -> Interval {
    let (k, n) = (f64::from(seen.k()), f64::from(seen.n()));
    let half = level.alpha() / 2.0;
    Interval {
        lo: beta_quantile(k + 0.5, n - k + 0.5, half),
        hi: beta_quantile(k + 0.5, n - k + 0.5, 1.0 - half),
    }
}

/// Wald's interval around a rate with z²/2 events and z²/2 other runs added.
///
/// A. Agresti and B. A. Coull, "Approximate is better than 'exact' for interval estimation of binomial
/// proportions", The American Statistician 52 (1998), 119–126.
pub fn agresti_coull(seen: Proportion, level: Level) -> Interval {
    let z = level.z();
    let n = f64::from(seen.n()) + z * z;
    let p = (f64::from(seen.k()) + z * z / 2.0) / n;
    let half = z * (p * (1.0 - p) / n).sqrt();
    Interval { lo: p - half, hi: p + half }.clamped(0.0, 1.0)
}

/// Wald's interval, for comparison only: it has no width at 0 and 1.
///
/// As criticised by Brown, Cai and DasGupta, Statistical Science 16 (2001), 101–133.
pub fn wald(seen: Proportion, level: Level) -> Interval {
    let p = seen.value();
    let half = level.z() * (p * (1.0 - p) / f64::from(seen.n())).sqrt();
    Interval { lo: p - half, hi: p + half }.clamped(0.0, 1.0)
}

fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    match Beta::new(a, b) {
        Ok(beta) => super::value::bisect(0.0, 1.0, |x| beta.cdf(x) - probability),
        Err(_) => f64::NAN,
    }
}
