//! What a number of repeats can tell apart, by counting all outcomes.

use super::binomial::pmf;
use super::hypergeometric::Hypergeometric;
use super::unconditional::{MAX_ARM, staircase_size};
use super::{Level, Proportion, StatsError, newcombe, wilson};

/// The largest arm for which all outcomes of both arms are listed.
const MAX_LISTED: u32 = 400;

/// A rule that says "effect shown".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Fisher's two-sided p is at most α.
    Fisher,
    /// Boschloo's two-sided p is at most α: the rule of the reports.
    Boschloo,
    /// Newcombe's interval leaves out 0.
    Newcombe,
}

/// For which outcomes of two arms a test says "effect shown".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    n1: u32,
    n2: u32,
    rejected: Vec<bool>,
}

impl Rejection {
    /// The outcomes that `test` rejects at `level` with `n1` and `n2` runs.
    ///
    /// # Errors
    /// Without runs in an arm, or with more than 400.
    pub fn new(test: Test, n1: u32, n2: u32, level: Level) -> Result<Rejection, StatsError> {
        let largest = n1.max(n2);
        if largest > MAX_LISTED.min(MAX_ARM) {
            return Err(StatsError::TooManyRuns { n: largest, max: MAX_LISTED });
        }
        if n1 == 0 || n2 == 0 {
            return Err(StatsError::NoRuns);
        }
        let alpha = level.alpha();
        let rejected = match test {
            Test::Fisher => listed(n1, n2, |x, y| {
                Hypergeometric::new(n1, n2, u64::from(x + y)).no_more_likely(x) <= alpha
            }),
            Test::Boschloo => {
                let greater = boschloo_region(n1, n2, alpha / 2.0);
                let less = boschloo_region(n2, n1, alpha / 2.0);
                listed(n1, n2, |x, y| y < greater[x as usize] || x < less[y as usize])
            }
            Test::Newcombe => {
                let mut rejected = Vec::with_capacity((n1 as usize + 1) * (n2 as usize + 1));
                for x in 0..=n1 {
                    for y in 0..=n2 {
                        let difference = newcombe(Proportion::new(x, n1)?, Proportion::new(y, n2)?, level);
                        rejected.push(difference.lo > 0.0 || difference.hi < 0.0);
                    }
                }
                rejected
            }
        };
        Ok(Rejection { n1, n2, rejected })
    }

    /// Whether `x` events in the first arm and `y` in the second are "effect shown".
    pub fn contains(&self, x: u32, y: u32) -> bool {
        x <= self.n1 && y <= self.n2 && self.rejected[x as usize * (self.n2 as usize + 1) + y as usize]
    }

    /// The chance of "effect shown" where the true rates are `p1` and `p2`: the power, or with equal
    /// rates the error. A rate outside [0, 1] counts as the nearer end.
    pub fn chance(&self, p1: f64, p2: f64) -> f64 {
        let (first, second) = (pmf(self.n1, p1), pmf(self.n2, p2));
        let rows = self.rejected.chunks(self.n2 as usize + 1);
        let inside = |row: &[bool]| -> f64 {
            row.iter().zip(&second).filter(|(inside, _)| **inside).map(|(_, weight)| weight).sum()
        };
        let chance: f64 = first.iter().zip(rows).map(|(weight, row)| weight * inside(row)).sum();
        chance.min(1.0)
    }
}

/// The fewest repeats an arm with which `test` tells `p1` from `p2` with the chance `power`, and with
/// which the next two numbers do so too (exact power is a saw). `None` up to `most`.
pub fn repeats_for_power(test: Test, p1: f64, p2: f64, level: Level, power: f64, most: u32) -> Option<u32> {
    let most = most.min(MAX_LISTED);
    let mut first = None;
    for n in 2..=most {
        let enough = Rejection::new(test, n, n, level).is_ok_and(|all| all.chance(p1, p2) >= power);
        match first {
            Some(start) if enough && n == start + 2 => return first,
            None if enough => first = Some(n),
            Some(_) if !enough => first = None,
            _ => {}
        }
    }
    first
}

/// The fewest runs that, all passing, bring the upper end of Wilson's interval for the fail rate to
/// `upper` or below. `None` where `upper` is 0 or less.
pub fn runs_for_bound(upper: f64, level: Level) -> Option<u32> {
    // Without a fail the upper end is z²/(n + z²), and the ceiling may be off by rounding.
    let z2 = level.z().powi(2);
    let guess = (z2 * (1.0 - upper) / upper).ceil();
    if upper.is_nan() || upper <= 0.0 || guess >= f64::from(u32::MAX) {
        return None;
    }
    let holds = |n: u32| Proportion::new(0, n).is_ok_and(|seen| wilson(seen, level).hi <= upper);
    let guess = guess as u32;
    (guess.saturating_sub(1).max(1)..=guess.saturating_add(2)).find(|n| holds(*n))
}

fn listed(n1: u32, n2: u32, rejects: impl Fn(u32, u32) -> bool) -> Vec<bool> {
    (0..=n1).flat_map(|x| (0..=n2).map(move |y| (x, y))).map(|(x, y)| rejects(x, y)).collect()
}

/// For each `x` the number of `y` that Boschloo's one-sided test rejects at `alpha`, as the largest
/// region that Fisher's p bounds and whose size stays within `alpha`.
fn boschloo_region(n1: u32, n2: u32, alpha: f64) -> Vec<u32> {
    let row = n2 as usize + 1;
    let mut statistic = vec![1.0; (n1 as usize + 1) * row];
    for events in 0..=n1 + n2 {
        let tables = Hypergeometric::new(n1, n2, u64::from(events));
        for x in events.saturating_sub(n2)..=events.min(n1) {
            statistic[x as usize * row + (events - x) as usize] = tables.at_least(x);
        }
    }
    let mut limits = statistic.clone();
    limits.sort_by(f64::total_cmp);
    limits.dedup_by(|next, kept| *next <= *kept * (1.0 + 1e-9));
    let region = |limit: f64| -> Vec<u32> {
        let limit = limit * (1.0 + 1e-9);
        statistic.chunks(row).map(|row| row.iter().take_while(|p| **p <= limit).count() as u32).collect()
    };
    // The size grows with the limit, so that halving finds the last one within alpha.
    let within = limits.partition_point(|limit| staircase_size(n1, n2, &region(*limit)) <= alpha);
    match within.checked_sub(1) {
        Some(last) => region(limits[last]),
        None => vec![0; n1 as usize + 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_passing_runs_bound_the_fail_rate() {
        let runs = |upper| runs_for_bound(upper, Level::P95);
        assert_eq!([runs(0.2), runs(0.1), runs(0.05)], [Some(16), Some(35), Some(73)]);
        assert_eq!([runs(0.0), runs(-1.0), runs(f64::NAN)], [None, None, None]);
        assert_eq!(runs(1.0), Some(1));
    }

    #[test]
    fn the_region_is_where_the_test_rejects() {
        let region = Rejection::new(Test::Boschloo, 7, 5, Level::P95).unwrap();
        for x in 0..=7 {
            for y in 0..=5 {
                let (one, two) = (Proportion::new(x, 7).unwrap(), Proportion::new(y, 5).unwrap());
                let rejected = super::super::boschloo(one, two).unwrap().two_sided <= 0.05;
                assert_eq!(region.contains(x, y), rejected, "{x} of 7 against {y} of 5");
            }
        }
        assert!(!region.contains(8, 0));
    }

    #[test]
    fn arms_that_cannot_be_listed_are_errors() {
        assert_eq!(Rejection::new(Test::Fisher, 0, 3, Level::P95), Err(StatsError::NoRuns));
        assert!(Rejection::new(Test::Fisher, 401, 3, Level::P95).is_err());
    }
}
