//! Hypergeometric weights by a recurrence from the mode: Fisher's and Boschloo's statistic.
//!
//! Factorials of large tables overflow, and differences of their logarithms lose digits; ratios of
//! neighbours do neither.

use super::Proportion;

/// Below it a weight counts as 0. Next to the smallest number a product with a ratio below 1 rounds
/// back to itself, and the recurrence would not end.
const NEGLIGIBLE: f64 = 1e-300;

/// How the events of two arms can be distributed once their total is fixed. Only the places whose
/// weight is not negligible are kept, so that size grows with the root of the runs.
pub(super) struct Hypergeometric {
    first: u64,
    weights: Vec<f64>,
    total: f64,
}

impl Hypergeometric {
    /// `events` in arms of `n1` and `n2` runs; `events ≤ n1 + n2`.
    pub(super) fn new(n1: u32, n2: u32, events: u64) -> Hypergeometric {
        let (n1, n2) = (u64::from(n1), u64::from(n2));
        let (lowest, highest) = (events.saturating_sub(n2), events.min(n1));
        let (a, b, t) = (n1 as f64, n2 as f64, events as f64);
        // The ratio of the weight at x + 1 to that at x.
        let ratio = |x: u64| {
            let x = x as f64;
            (a - x) * (t - x) / ((x + 1.0) * (b - t + x + 1.0))
        };
        let mode = (((t + 1.0) * (a + 1.0) / (a + b + 2.0)) as u64).clamp(lowest, highest);
        let mut weights = Vec::new();
        let mut weight = 1.0;
        let mut first = mode;
        while first > lowest && weight > NEGLIGIBLE {
            first -= 1;
            weight /= ratio(first);
            weights.push(weight);
        }
        weights.reverse();
        weights.push(1.0);
        weight = 1.0;
        for x in mode..highest {
            weight *= ratio(x);
            if weight < NEGLIGIBLE {
                break;
            }
            weights.push(weight);
        }
        let total = weights.iter().sum();
        Hypergeometric { first, weights, total }
    }

    /// The distribution for two arms as they were seen.
    pub(super) fn of(one: Proportion, two: Proportion) -> Hypergeometric {
        Hypergeometric::new(one.n(), two.n(), u64::from(one.k()) + u64::from(two.k()))
    }

    /// The probability of `x` or more events in the first arm.
    pub(super) fn at_least(&self, x: u32) -> f64 {
        let skipped = u64::from(x).saturating_sub(self.first) as usize;
        // From the far end inwards, so that a small tail keeps its digits.
        let tail: f64 = self.weights.iter().skip(skipped).rev().sum();
        (tail / self.total).min(1.0)
    }

    /// The probability of `x` or fewer events in the first arm.
    pub(super) fn at_most(&self, x: u32) -> f64 {
        let taken = (u64::from(x) + 1).saturating_sub(self.first) as usize;
        let tail: f64 = self.weights.iter().take(taken).sum();
        (tail / self.total).min(1.0)
    }

    /// The probability of all numbers of events that are no more likely than `x`.
    pub(super) fn no_more_likely(&self, x: u32) -> f64 {
        let place = u64::from(x).checked_sub(self.first);
        let seen = place.and_then(|place| self.weights.get(place as usize)).copied().unwrap_or(0.0);
        // Equal probabilities differ in their last digits; R allows the same slack.
        let limit = seen * (1.0 + 1e-7);
        let tail: f64 = self.weights.iter().filter(|weight| **weight <= limit).sum();
        (tail / self.total).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_closed_form() {
        // 3 of 5 events in arms of 4 and 6: C(4,x)·C(6,5−x)/C(10,5).
        let seen = Hypergeometric::new(4, 6, 5);
        assert!((seen.at_least(3) - (4.0 * 15.0 + 6.0) / 252.0).abs() < 1e-15);
        assert!((seen.at_most(0) - 6.0 / 252.0).abs() < 1e-15);
    }

    #[test]
    fn a_very_large_table_stays_small() {
        let seen = Hypergeometric::new(u32::MAX, u32::MAX, u64::from(u32::MAX));
        assert!(seen.weights.len() < 10_000_000);
        assert!((seen.at_least(u32::MAX / 2 + 1) - 0.5).abs() < 1e-4);
    }
}
