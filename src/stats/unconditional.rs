//! Unconditional exact tests: Boschloo's and Barnard's. Only the numbers of runs are taken as
//! given; the p-value is the largest that any common rate could give.

use super::binomial::{cumulate, pmf};
use super::hypergeometric::Hypergeometric;
use super::{Proportion, StatsError};

/// The largest arm that is computed: beyond it the search would take seconds, and no test that
/// conditions on nothing is needed any more.
pub(super) const MAX_ARM: u32 = 5_000;
/// Barnard's region is no staircase, so that its search costs the product of the arms.
const MAX_ARM_BARNARD: u32 = 500;
/// Statistics that are equal on paper differ in their last digits.
const TIE: f64 = 1e-9;

/// The p-values of an unconditional exact test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnconditionalTest {
    /// Either arm may have the higher rate.
    pub two_sided: f64,
    /// The first arm has the higher rate.
    pub greater: f64,
    /// The first arm has the lower rate.
    pub less: f64,
}

/// Boschloo's exact test of equal rates: Fisher's one-sided p-value is the statistic, and its
/// distribution is taken at the common rate that is worst. Uniformly more powerful than Fisher's
/// test. The two-sided p-value is twice the smaller one-sided one. All alike: p = 1.
///
/// R. D. Boschloo, "Raised conditional level of significance for the 2×2-table when testing the
/// equality of two probabilities", Statistica Neerlandica 24 (1970), 1–9.
///
/// # Errors
/// Beyond 5,000 runs in an arm.
pub fn boschloo(one: Proportion, two: Proportion) -> Result<UnconditionalTest, StatsError> {
    check_size(one, two, MAX_ARM)?;
    let greater = boschloo_greater(one, two);
    let less = boschloo_greater(two, one);
    Ok(UnconditionalTest { two_sided: (2.0 * greater.min(less)).min(1.0), greater, less })
}

fn boschloo_greater(one: Proportion, two: Proportion) -> f64 {
    let seen = Hypergeometric::of(one, two).at_least(one.k());
    let limit = seen * (1.0 + TIE);
    let (n1, n2) = (one.n(), two.n());
    // Fisher's p falls with x and rises with y, so the region is a staircase: for each x, all y
    // below a bound that never falls. Walking along it takes n1 + n2 looks.
    let mut bounds = Vec::with_capacity(n1 as usize + 1);
    let mut bound = 0;
    for x in 0..=n1 {
        while bound <= n2 && Hypergeometric::new(n1, n2, u64::from(x + bound)).at_least(x) <= limit {
            bound += 1;
        }
        bounds.push(bound);
    }
    staircase_size(n1, n2, &bounds)
}

/// The largest probability, over all common rates, of a region that holds for each `x` the `y`
/// below `bounds[x]`.
pub(super) fn staircase_size(n1: u32, n2: u32, bounds: &[u32]) -> f64 {
    largest(n1, n2, |p| {
        let below = cumulate(pmf(n2, p));
        let inside = |bound: u32| match bound {
            0 => 0.0,
            _ => below.get(bound as usize - 1).copied().unwrap_or(1.0),
        };
        pmf(n1, p).iter().zip(bounds).map(|(weight, bound)| weight * inside(*bound)).sum()
    })
}

/// How Barnard's statistic estimates the variance of the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variance {
    /// From the rate of both arms together.
    Pooled,
    /// From each arm's own rate.
    Unpooled,
}

/// Barnard's exact test of equal rates, with Wald's statistic.
///
/// G. A. Barnard, "Significance tests for 2×2 tables", Biometrika 34 (1947), 123–138; the statistic
/// as in S. Suissa and J. J. Shuster, Journal of the Royal Statistical Society A 148 (1985), 317–327.
///
/// # Errors
/// Beyond 500 runs in an arm.
pub fn barnard(
    one: Proportion,
    two: Proportion,
    variance: Variance,
) -> Result<UnconditionalTest, StatsError> {
    check_size(one, two, MAX_ARM_BARNARD)?;
    let (n1, n2) = (one.n(), two.n());
    let statistic = |x: u32, y: u32| {
        let (a, b) = (f64::from(n1), f64::from(n2));
        let (p, q) = (f64::from(x) / a, f64::from(y) / b);
        if x * n2 == y * n1 {
            return 0.0;
        }
        let spread = match variance {
            Variance::Pooled => {
                let all = f64::from(x + y) / (a + b);
                all * (1.0 - all) * (1.0 / a + 1.0 / b)
            }
            Variance::Unpooled => p * (1.0 - p) / a + q * (1.0 - q) / b,
        };
        (p - q) / spread.sqrt()
    };
    let seen = statistic(one.k(), two.k());
    let slack = if seen.is_finite() { TIE * seen.abs() } else { 0.0 };
    let size = |extreme: &dyn Fn(f64) -> bool| {
        let region: Vec<Vec<bool>> =
            (0..=n1).map(|x| (0..=n2).map(|y| extreme(statistic(x, y))).collect()).collect();
        largest(n1, n2, |p| {
            let other = pmf(n2, p);
            let inside = |row: &[bool]| -> f64 {
                row.iter().zip(&other).filter(|(inside, _)| **inside).map(|(_, weight)| weight).sum()
            };
            pmf(n1, p).iter().zip(&region).map(|(weight, row)| weight * inside(row)).sum()
        })
    };
    Ok(UnconditionalTest {
        two_sided: size(&|t| t.abs() >= seen.abs() - slack),
        greater: size(&|t| t >= seen - slack),
        less: size(&|t| t <= seen + slack),
    })
}

fn check_size(one: Proportion, two: Proportion, max: u32) -> Result<(), StatsError> {
    let n = one.n().max(two.n());
    if n > max { Err(StatsError::TooManyRuns { n, max }) } else { Ok(()) }
}

/// The largest value of `probability` over all rates.
///
/// The probability of a region is a polynomial in the rate whose features are about 1/√(n1 + n2)
/// wide on the arcsine scale; the grid has about twelve points on each, and every local peak is
/// then narrowed by golden section.
fn largest(n1: u32, n2: u32, probability: impl Fn(f64) -> f64) -> f64 {
    let at = |angle: f64| probability(angle.sin().powi(2));
    let steps = 64 + (18.0 * (f64::from(n1) + f64::from(n2)).sqrt()) as usize;
    let width = std::f64::consts::FRAC_PI_2 / steps as f64;
    let grid: Vec<f64> = (0..=steps).map(|step| at(step as f64 * width)).collect();
    let mut best = grid.iter().copied().fold(0.0, f64::max);
    // A peak between two points of the grid exceeds them by little: others need no narrowing.
    let worth = best * 0.9;
    for step in 0..=steps {
        let (before, after) = (step.saturating_sub(1), (step + 1).min(steps));
        if grid[step] >= worth && grid[step] >= grid[before] && grid[step] >= grid[after] {
            best = best.max(golden(before as f64 * width, after as f64 * width, &at));
        }
    }
    best.min(1.0)
}

fn golden(mut lo: f64, mut hi: f64, f: &impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (hi - RATIO * (hi - lo), lo + RATIO * (hi - lo));
    let (mut at_a, mut at_b) = (f(a), f(b));
    let mut best = at_a.max(at_b);
    // The curve is flat at its peak: 1e−7 in the angle is far below 1e−12 in the probability.
    while hi - lo > 1e-7 {
        if at_a < at_b {
            lo = a;
            (a, at_a) = (b, at_b);
            b = lo + RATIO * (hi - lo);
            at_b = f(b);
        } else {
            hi = b;
            (b, at_b) = (a, at_a);
            a = hi - RATIO * (hi - lo);
            at_a = f(a);
        }
        best = best.max(at_a).max(at_b);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(k: u32, n: u32) -> Proportion {
        Proportion::new(k, n).unwrap()
    }

    #[test]
    fn all_alike_is_certain() {
        for (one, two) in [(of(0, 10), of(0, 7)), (of(10, 10), of(3, 3))] {
            let test = boschloo(one, two).unwrap();
            assert_eq!(test.two_sided, 1.0);
            assert!((test.greater - 1.0).abs() < 1e-12);
            assert_eq!(barnard(one, two, Variance::Pooled).unwrap().two_sided, 1.0);
        }
    }

    #[test]
    fn an_arm_beyond_the_limit_is_an_error_and_not_a_wait() {
        let large = of(1, 6_000);
        assert_eq!(boschloo(large, of(1, 2)), Err(StatsError::TooManyRuns { n: 6_000, max: 5_000 }));
        assert!(barnard(of(1, 2), of(0, 501), Variance::Pooled).is_err());
    }
}
