//! Several cells behind one number: strata are compared within themselves, never pooled.

use super::proportion::wilson_of;
use super::{Interval, Level, Proportion, wilson};
use statrs::function::erf::erfc;

/// One pair of arms that differ in nothing but what is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stratum {
    /// The first arm.
    pub one: Proportion,
    /// The second arm.
    pub two: Proportion,
}

impl Stratum {
    /// (events, runs) of the first arm and of the second.
    fn numbers(self) -> (f64, f64, f64, f64) {
        let number = f64::from;
        (number(self.one.k()), number(self.one.n()), number(self.two.k()), number(self.two.n()))
    }
}

/// A difference of rates over strata, first arm minus second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RiskDifference {
    /// The weighted difference.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The Mantel–Haenszel risk difference with Sato's variance; `None` without a stratum.
///
/// S. Greenland and J. M. Robins, "Estimation of a common effect parameter from sparse follow-up data",
/// Biometrics 41 (1985), 55–68; T. Sato, "On the variance estimator for the Mantel–Haenszel risk
/// difference", Biometrics 45 (1989), 1323–1324.
pub fn mantel_haenszel(strata: &[Stratum], level: Level) -> Option<RiskDifference> {
    let sum = |part: &dyn Fn(f64, f64, f64, f64) -> f64| -> f64 {
        strata
            .iter()
            .map(|stratum| {
                let (x, a, y, b) = stratum.numbers();
                part(x, a, y, b)
            })
            .sum()
    };
    let weight = sum(&|_, a, _, b| a * b / (a + b));
    if weight == 0.0 {
        return None;
    }
    let estimate = sum(&|x, a, y, b| (x * b - y * a) / (a + b)) / weight;
    let skew = sum(&|x, a, y, b| (a * a * y - b * b * x + a * b * (b - a) / 2.0) / (a + b).powi(2));
    let spread = sum(&|x, a, y, b| (x * (b - y) + y * (a - x)) / (2.0 * (a + b)));
    let standard_error = ((estimate * skew + spread).max(0.0) / (weight * weight)).sqrt();
    let half = level.z() * standard_error;
    let interval = Interval { lo: estimate - half, hi: estimate + half }.clamped(-1.0, 1.0);
    Some(RiskDifference { estimate, standard_error, interval })
}

/// The p-value of the Cochran–Mantel–Haenszel test of no difference in any stratum, with or without
/// the continuity correction of ½; `None` where no stratum can tell anything.
///
/// W. G. Cochran, "Some methods for strengthening the common χ² tests", Biometrics 10 (1954), 417–451;
/// N. Mantel and W. Haenszel, "Statistical aspects of the analysis of data from retrospective studies of
/// disease", Journal of the National Cancer Institute 22 (1959), 719–748.
pub fn cmh(strata: &[Stratum], corrected: bool) -> Option<f64> {
    let (mut distance, mut variance) = (0.0, 0.0);
    for stratum in strata {
        let (x, a, y, b) = stratum.numbers();
        let (events, runs) = (x + y, a + b);
        distance += x - a * events / runs;
        variance += a * b * events * (runs - events) / (runs * runs * (runs - 1.0));
    }
    if variance <= 0.0 {
        return None;
    }
    let distance = distance.abs() - if corrected { 0.5 } else { 0.0 };
    // The upper tail of χ² with one degree of freedom.
    Some(erfc(distance.max(0.0) / (2.0 * variance).sqrt()))
}

/// One rate over cells that differ: the error that comes from the cells, beside the one that would
/// hold if all runs were alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clustered {
    /// Events of all over runs of all.
    pub rate: f64,
    /// Standard error if all runs were alike.
    pub naive_error: f64,
    /// Standard error from the spread of the cells.
    pub cluster_error: f64,
    /// The same times √(G/(G − 1)) for G cells; 0 for a single cell.
    pub adjusted_error: f64,
    /// The design effect (adjusted over naive error, squared); `None` where all runs ended alike.
    pub design_effect: Option<f64>,
    /// The number of runs that is left after a design effect of at least 1.
    pub effective_runs: f64,
    /// Wilson's interval as if all runs were alike: too narrow.
    pub naive: Interval,
    /// Wilson's interval on the effective runs: the one to show.
    pub interval: Interval,
}

impl Clustered {
    /// The rate over cells; `None` without a cell.
    ///
    /// L. Kish, "Survey sampling" (1965), the design effect; J. N. K. Rao and A. J. Scott, "A simple method
    /// for the analysis of clustered binary data", Biometrics 48 (1992), 577–585.
    pub fn of(cells: &[Proportion], level: Level) -> Option<Clustered> {
        let sum = |part: fn(Proportion) -> u32| cells.iter().map(|cell| u64::from(part(*cell))).sum::<u64>();
        let (events, runs) = (sum(Proportion::k), sum(Proportion::n));
        if runs == 0 {
            return None;
        }
        let (count, rate, n) = (cells.len() as f64, events as f64 / runs as f64, runs as f64);
        let naive_error = (rate * (1.0 - rate) / n).sqrt();
        let squares: f64 =
            cells.iter().map(|cell| (f64::from(cell.k()) - f64::from(cell.n()) * rate).powi(2)).sum();
        let cluster_error = squares.sqrt() / n;
        let adjusted_error = if count > 1.0 { cluster_error * (count / (count - 1.0)).sqrt() } else { 0.0 };
        let design_effect = (naive_error > 0.0).then(|| (adjusted_error / naive_error).powi(2));
        let effective_runs = n / design_effect.unwrap_or(1.0).max(1.0);
        let exact_ends = |interval: Interval| Interval {
            lo: if events == 0 { 0.0 } else { interval.lo },
            hi: if events == runs { 1.0 } else { interval.hi },
        };
        let whole = u32::try_from(events).ok().zip(u32::try_from(runs).ok());
        let naive = whole.and_then(|(k, n)| Proportion::new(k, n).ok()).map(|all| wilson(all, level));
        Some(Clustered {
            rate,
            naive_error,
            cluster_error,
            adjusted_error,
            design_effect,
            effective_runs,
            naive: naive.unwrap_or_else(|| exact_ends(wilson_of(rate, n, level))),
            interval: exact_ends(wilson_of(rate, effective_runs, level)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(k: u32, n: u32) -> Proportion {
        Proportion::new(k, n).unwrap()
    }

    #[test]
    fn without_a_stratum_there_is_nothing_to_say() {
        assert_eq!(mantel_haenszel(&[], Level::P95), None);
        assert_eq!(cmh(&[], true), None);
        assert_eq!(Clustered::of(&[], Level::P95), None);
    }

    #[test]
    fn strata_that_are_all_alike_have_no_test() {
        let alike = Stratum { one: of(10, 10), two: of(10, 10) };
        assert_eq!(cmh(&[alike], false), None);
        let difference = mantel_haenszel(&[alike], Level::P95).unwrap();
        assert_eq!((difference.estimate, difference.standard_error), (0.0, 0.0));
    }

    #[test]
    fn a_design_effect_never_narrows() {
        let cells = [of(7, 10), of(7, 10)];
        let clustered = Clustered::of(&cells, Level::P95).unwrap();
        assert_eq!(clustered.design_effect, Some(0.0));
        assert_eq!(clustered.effective_runs, 20.0);
    }
}
