//! The score (J20–J23).

use crate::domain::Verdict;

/// What a score is computed from. Tallies of several runs add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Operations that count for duplicate safety (J21).
    pub countable: u64,
    /// Those of them that were executed at most once.
    pub safe: u64,
    /// Operations that count for failure handling (J22).
    pub handled: u64,
    /// Their points, 0 to 100 each.
    pub points: u64,
}

/// The score of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// 0 to 100.
    pub overall: u8,
    /// The cap of a FAIL changed the number.
    pub capped: bool,
    /// 0 to 100; none where no operation is countable.
    pub duplicate_safety: Option<u8>,
    /// 0 to 100; none where no operation had an injected failure.
    pub failure_handling: Option<u8>,
}

/// The most that a FAIL can have (J23).
const CAP: u8 = 49;

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Tally) {
        self.countable += other.countable;
        self.safe += other.safe;
        self.handled += other.handled;
        self.points += other.points;
    }

    pub(super) fn remove(&mut self, other: Tally) {
        self.countable = self.countable.saturating_sub(other.countable);
        self.safe = self.safe.saturating_sub(other.safe);
        self.handled = self.handled.saturating_sub(other.handled);
        self.points = self.points.saturating_sub(other.points);
    }

    /// The score of a run with that verdict; none where nothing was tested (J20).
    pub fn score(&self, verdict: Verdict) -> Option<Score> {
        if !verdict.is_tested() {
            return None;
        }
        let wide = |n: u64| u128::from(n);
        let (countable, safe) = (wide(self.countable), wide(self.safe));
        let (handled, points) = (wide(self.handled), wide(self.points));
        let duplicate_safety = (countable > 0).then(|| rounded(100 * safe, countable));
        let failure_handling = (handled > 0).then(|| rounded(points, handled));
        let overall = match (duplicate_safety, failure_handling) {
            (Some(_), Some(_)) => {
                rounded(60 * 10 * safe * handled + 4 * points * countable, 10 * countable * handled)
            }
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return None,
        };
        let capped = verdict == Verdict::Fail && overall > CAP;
        Some(Score {
            overall: if capped { CAP } else { overall },
            capped,
            duplicate_safety,
            failure_handling,
        })
    }
}

/// The quotient, rounded half up, at most 100.
fn rounded(dividend: u128, divisor: u128) -> u8 {
    let half_up = (2 * dividend + divisor) / (2 * divisor).max(1);
    u8::try_from(half_up.min(100)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j22_a_ghost_write_never_looked_up_gives_80() {
        let tally = Tally { countable: 1, safe: 1, handled: 1, points: 50 };
        let score = tally.score(Verdict::Pass).unwrap();
        assert_eq!((score.overall, score.capped), (80, false));
    }

    #[test]
    fn j23_the_naive_agent_over_f1_to_f5() {
        // F1 and F4 duplicated, F2 repeated too early, F3 and F5 recovered.
        let mut all = Tally::default();
        for (safe, failure) in [(0, Some(0)), (1, Some(0)), (1, Some(100)), (0, None), (1, Some(100))] {
            all.add(Tally {
                countable: 1,
                safe,
                handled: u64::from(failure.is_some()),
                points: failure.unwrap_or(0),
            });
        }
        let score = all.score(Verdict::Fail).unwrap();
        assert_eq!((score.duplicate_safety, score.failure_handling), (Some(60), Some(50)));
        assert_eq!((score.overall, score.capped), (49, true));
    }

    #[test]
    fn j23_half_is_rounded_up() {
        // 60 % of 100 and 40 % of 98.75 are 99.5.
        let tally = Tally { countable: 1, safe: 1, handled: 8, points: 790 };
        assert_eq!(tally.score(Verdict::Pass).unwrap().overall, 100);
    }

    #[test]
    fn j20_no_score_where_nothing_was_tested() {
        let tally = Tally { countable: 1, safe: 1, handled: 0, points: 0 };
        assert_eq!(tally.score(Verdict::NotTested), None);
        assert_eq!(tally.score(Verdict::Pass).unwrap().overall, 100);
    }

    #[test]
    fn j21_failure_handling_alone_where_nothing_is_countable() {
        let tally = Tally { handled: 1, points: 0, ..Tally::default() };
        assert_eq!(tally.score(Verdict::Fail).unwrap().overall, 0);
    }
}
