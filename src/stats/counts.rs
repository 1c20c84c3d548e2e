//! Denominators that never shrink quietly.

use super::Proportion;
use crate::domain::Verdict;
use std::iter::Sum;
use std::ops::Add;

/// How many runs ended with each verdict. A rate is made of PASS and FAIL alone; NOT_TESTED and
/// ERROR stay beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// PASS.
    pub pass: u32,
    /// FAIL.
    pub fail: u32,
    /// NOT_TESTED.
    pub not_tested: u32,
    /// ERROR.
    pub error: u32,
}

impl Counts {
    /// Counts one more run.
    pub fn count(&mut self, verdict: Verdict) {
        let slot = match verdict {
            Verdict::Pass => &mut self.pass,
            Verdict::Fail => &mut self.fail,
            Verdict::NotTested => &mut self.not_tested,
            Verdict::Error => &mut self.error,
        };
        *slot = slot.saturating_add(1);
    }

    /// Runs that enter the rate: PASS and FAIL.
    pub fn tested(self) -> u32 {
        self.pass.saturating_add(self.fail)
    }

    /// All runs.
    pub fn total(self) -> u32 {
        self.tested().saturating_add(self.not_tested).saturating_add(self.error)
    }

    /// Failed of tested; `None` is "no data", which is not 0 %.
    pub fn failed(self) -> Option<Proportion> {
        Proportion::new(self.fail, self.tested()).ok()
    }

    /// Passed of tested.
    pub fn passed(self) -> Option<Proportion> {
        self.failed().map(Proportion::complement)
    }
}

impl Add for Counts {
    type Output = Counts;
    fn add(self, other: Counts) -> Counts {
        Counts {
            pass: self.pass.saturating_add(other.pass),
            fail: self.fail.saturating_add(other.fail),
            not_tested: self.not_tested.saturating_add(other.not_tested),
            error: self.error.saturating_add(other.error),
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(counts: I) -> Counts {
        counts.fold(Counts::default(), |sum, one| sum + one)
    }
}

impl FromIterator<Verdict> for Counts {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            counts.count(verdict);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_tested_run_there_is_no_rate() {
        let counts: Counts = [Verdict::NotTested, Verdict::Error].into_iter().collect();
        assert_eq!(counts.failed(), None);
        assert_eq!(counts.passed(), None);
        assert_eq!(counts.total(), 2);
    }

    #[test]
    fn not_tested_and_error_stay_out_of_the_rate() {
        let verdicts = [Verdict::Fail, Verdict::NotTested, Verdict::Pass, Verdict::Pass, Verdict::Error];
        let counts: Counts = verdicts.into_iter().collect();
        assert_eq!(counts.failed(), Proportion::new(1, 3).ok());
        assert_eq!(counts.passed(), Proportion::new(2, 3).ok());
        assert_eq!(counts.total(), 5);
    }

    #[test]
    fn sums_do_not_overflow() {
        let many = Counts { pass: u32::MAX, fail: u32::MAX, not_tested: u32::MAX, error: 1 };
        assert_eq!([many, many].into_iter().sum::<Counts>().total(), u32::MAX);
        assert!(many.failed().is_some());
    }
}
