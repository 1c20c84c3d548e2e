//! Intervals for the difference of two independent rates, first minus second.

use super::value::bisect;
use super::{Interval, Level, Proportion, wilson};

/// Newcombe's hybrid score interval, made of the two Wilson intervals: the interval of every
/// before/after comparison.
///
/// R. G. Newcombe, "Interval estimation for the difference between independent proportions:
/// comparison of eleven methods", Statistics in Medicine 17 (1998), 873–890, method 10.
pub fn newcombe(one: Proportion, two: Proportion, level: Level) -> Interval {
    let (p, q) = (one.value(), two.value());
    let (first, second) = (wilson(one, level), wilson(two, level));
    let below = (p - first.lo).hypot(second.hi - q);
    let above = (first.hi - p).hypot(q - second.lo);
    Interval { lo: p - q - below, hi: p - q + above }.clamped(-1.0, 1.0)
}

/// The score interval of Miettinen and Nurminen: all differences that their test, with its factor
/// N/(N − 1), does not reject.
///
/// O. Miettinen and M. Nurminen, "Comparative analysis of two rates", Statistics in Medicine 4 (1985),
/// 213–226.
pub fn miettinen_nurminen(one: Proportion, two: Proportion, level: Level) -> Interval {
    let z = level.z();
    let seen = one.value() - two.value();
    let statistic = |difference: f64| score(one, two, difference);
    Interval {
        lo: if seen <= -1.0 { -1.0 } else { bisect(-1.0, seen, |d| z - statistic(d)) },
        hi: if seen >= 1.0 { 1.0 } else { bisect(seen, 1.0, |d| -z - statistic(d)) },
    }
}

/// The score statistic against a given difference; its variance is that of the most likely pair of
/// rates with that difference.
fn score(one: Proportion, two: Proportion, difference: f64) -> f64 {
    let (x, a) = (f64::from(one.k()), f64::from(one.n()));
    let (y, b) = (f64::from(two.k()), f64::from(two.n()));
    let (lowest, highest) = ((-difference).max(0.0), (1.0 - difference).min(1.0));
    // The slope of the logarithm of the likelihood falls with the second rate.
    let part = |events: f64, rate: f64| if events == 0.0 { 0.0 } else { events / rate };
    let q = bisect(lowest, highest, |q| {
        let p = q + difference;
        part(x, p) - part(a - x, 1.0 - p) + part(y, q) - part(b - y, 1.0 - q)
    });
    let p = (q + difference).clamp(0.0, 1.0);
    let variance = (p * (1.0 - p) / a + q * (1.0 - q) / b) * (a + b) / (a + b - 1.0);
    let distance = x / a - y / b - difference;
    if distance == 0.0 { 0.0 } else { distance / variance.max(0.0).sqrt() }
}

/// Wald's interval after one event and one other run were added to each arm.
///
/// A. Agresti and B. Caffo, "Simple and effective confidence intervals for proportions and differences
/// of proportions", The American Statistician 54 (2000), 280–288.
pub fn agresti_caffo(one: Proportion, two: Proportion, level: Level) -> Interval {
    let padded = |seen: Proportion| {
        let n = f64::from(seen.n()) + 2.0;
        let p = (f64::from(seen.k()) + 1.0) / n;
        (p, p * (1.0 - p) / n)
    };
    let ((p, v), (q, w)) = (padded(one), padded(two));
    let half = level.z() * (v + w).sqrt();
    Interval { lo: p - q - half, hi: p - q + half }.clamped(-1.0, 1.0)
}
