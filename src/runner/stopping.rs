//! Which cells have had enough runs. Pure: results so far → cells that are done.
//!
//! The rule looks at the repeats of a cell in their order, and only at those before the first one
//! that has not ended. So the answer depends on the results alone and not on which run happened to
//! end first, a cell that is done stays done, and an interrupted matrix goes on as if it had not been.
//! Runs that were going on when a cell was done still count: the intervals of the report hold at any
//! number of runs.

use crate::domain::{Axis, CellId, CellKey, RunResult, Verdict};
use crate::stats::{Level, Mixture, Proportion, confidence_sequence, discordant_e_value};
use crate::suite::{Cell, Stopping, Until};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The rule that ends the repeats of a cell, and the cells that it is about.
pub(super) struct Early {
    pub rule: Stopping,
    pub level: Level,
    pub cells: Vec<Arc<Cell>>,
}

impl Early {
    pub fn done(&self, results: &[RunResult]) -> HashSet<CellId> {
        let cells: Vec<_> = self.cells.iter().map(|cell| (&cell.id, &cell.key)).collect();
        done(self.rule, self.level, &cells, results)
    }

    /// The cells that are done now that a run of `key` has ended: none but those that it is compared with.
    pub fn done_after(&self, key: &CellKey, results: &[RunResult]) -> HashSet<CellId> {
        let group = key.with(Axis::Patch, "");
        let near = results.iter().filter(|run| run.key.with(Axis::Patch, "") == group);
        self.done(&near.cloned().collect::<Vec<_>>())
    }
}

/// The cells that need no more runs.
pub fn done(
    rule: Stopping,
    level: Level,
    cells: &[(&CellId, &CellKey)],
    runs: &[RunResult],
) -> HashSet<CellId> {
    let verdicts = in_order(runs);
    let none = Vec::new();
    let of = |id: &CellId| verdicts.get(id).unwrap_or(&none);
    match rule.until {
        Until::HalfWidth(width) => cells
            .iter()
            .filter(|(id, _)| narrow(of(id), rule.min, width, level))
            .map(|(id, _)| (*id).clone())
            .collect(),
        Until::Decided => {
            let by_key: HashMap<&CellKey, &CellId> = cells.iter().map(|(id, key)| (*key, *id)).collect();
            let pairs: Vec<(&CellId, &CellId)> = cells
                .iter()
                .filter(|(_, key)| key.patch != "off")
                .filter_map(|(after, key)| Some((*by_key.get(&key.with(Axis::Patch, "off"))?, *after)))
                .collect();
            // Each comparison pays for all of them, so that each stays decided after Holm's adjustment.
            let bound = pairs.len() as f64 / level.alpha();
            let mut open: HashSet<&CellId> = cells.iter().map(|(id, _)| *id).collect();
            for (before, after) in &pairs {
                open.remove(before);
                open.remove(after);
            }
            for (before, after) in &pairs {
                if !decided(of(before), of(after), rule.min, bound) {
                    open.insert(before);
                    open.insert(after);
                }
            }
            cells.iter().filter(|(id, _)| !open.contains(id)).map(|(id, _)| (*id).clone()).collect()
        }
    }
}

/// The verdicts of each cell from repeat 1 to the one before the first that is missing.
fn in_order(runs: &[RunResult]) -> HashMap<&CellId, Vec<Verdict>> {
    let mut by_repeat: HashMap<&CellId, BTreeMap<u32, Verdict>> = HashMap::new();
    for run in runs {
        by_repeat.entry(&run.cell_id).or_default().insert(run.repeat, run.verdict);
    }
    let whole = |repeats: BTreeMap<u32, Verdict>| {
        repeats.into_iter().zip(1..).take_while(|((repeat, _), n)| repeat == n).map(|((_, v), _)| v).collect()
    };
    by_repeat.into_iter().map(|(id, repeats)| (id, whole(repeats))).collect()
}

fn narrow(verdicts: &[Verdict], min: u32, width: f64, level: Level) -> bool {
    let (mut failed, mut tested) = (0, 0);
    for (verdict, n) in verdicts.iter().zip(1_u32..) {
        failed += u32::from(*verdict == Verdict::Fail);
        tested += u32::from(verdict.is_tested());
        let Ok(seen) = Proportion::new(failed, tested) else { continue };
        if n >= min && confidence_sequence(seen, level, Mixture::JEFFREYS).half_width() <= width {
            return true;
        }
    }
    false
}

fn decided(before: &[Verdict], after: &[Verdict], min: u32, bound: f64) -> bool {
    let (mut better, mut worse) = (0, 0);
    for ((old, new), n) in before.iter().zip(after).zip(1_u32..) {
        match (old, new) {
            (Verdict::Fail, Verdict::Pass) => better += 1,
            (Verdict::Pass, Verdict::Fail) => worse += 1,
            _ => {}
        }
        if n >= min && discordant_e_value(better, worse) > bound {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ReasonCode;
    use proptest::prelude::*;

    fn key(patch: &str) -> CellKey {
        let value = |text: &str| text.to_owned();
        CellKey {
            agent: value("a"),
            model: value("m"),
            prompt: value("p"),
            conversation: value("c"),
            upstream: value("u"),
            scenario: value("F1"),
            patch: value(patch),
            present: "plain".to_owned(),
        }
    }

    fn run(key: &CellKey, repeat: u32, verdict: Verdict) -> RunResult {
        RunResult {
            verdict,
            reason_code: ReasonCode::NoViolation,
            ..RunResult::blank(CellId::of(key), key.clone(), repeat)
        }
    }

    fn runs(key: &CellKey, verdicts: &[Verdict]) -> Vec<RunResult> {
        verdicts.iter().zip(1..).map(|(verdict, repeat)| run(key, repeat, *verdict)).collect()
    }

    /// How many of the cells with these patches are done.
    fn number(until: Until, min: u32, patches: &[&str], runs: &[RunResult]) -> usize {
        let keys: Vec<CellKey> = patches.iter().map(|patch| key(patch)).collect();
        let ids: Vec<CellId> = keys.iter().map(CellId::of).collect();
        let cells: Vec<_> = ids.iter().zip(&keys).collect();
        done(Stopping { min, until }, Level::P95, &cells, runs).len()
    }

    #[test]
    fn a_rate_that_is_narrow_enough_ends_a_cell_and_not_before_the_least_number() {
        let off = key("off");
        let alike = |n| runs(&off, &vec![Verdict::Pass; n]);
        // 0 of 10: [0, 0.377], half of it 0.189.
        assert_eq!(number(Until::HalfWidth(0.18), 5, &["off"], &alike(10)), 0);
        assert_eq!(number(Until::HalfWidth(0.19), 5, &["off"], &alike(10)), 1);
        assert_eq!(number(Until::HalfWidth(0.19), 11, &["off"], &alike(10)), 0);
        let untested = runs(&off, &[Verdict::NotTested; 50]);
        assert_eq!(number(Until::HalfWidth(0.4), 5, &["off"], &untested), 0);
    }

    #[test]
    fn one_comparison_is_decided_by_seven_pairs_and_two_need_more() {
        let arms = |n: usize, patches: &[&str]| {
            let mut all = runs(&key("off"), &vec![Verdict::Fail; n]);
            for patch in patches {
                all.extend(runs(&key(patch), &vec![Verdict::Pass; n]));
            }
            all
        };
        assert_eq!(number(Until::Decided, 5, &["off", "A"], &arms(6, &["A"])), 0);
        assert_eq!(number(Until::Decided, 5, &["off", "A"], &arms(7, &["A"])), 2);
        assert_eq!(number(Until::Decided, 9, &["off", "A"], &arms(8, &["A"])), 0);
        assert_eq!(number(Until::Decided, 5, &["off", "A", "B"], &arms(7, &["A", "B"])), 0);
        assert_eq!(number(Until::Decided, 5, &["off", "A", "B"], &arms(8, &["A", "B"])), 3);
        // The arm without a patch goes on as long as one of its partners needs it.
        assert_eq!(number(Until::Decided, 5, &["off", "A", "B"], &arms(8, &["A"])), 1);
        assert_eq!(number(Until::Decided, 5, &["off"], &arms(50, &[])), 0, "nothing to decide");
    }

    #[test]
    fn a_run_that_is_missing_hides_those_after_it() {
        let off = key("off");
        let mut some = runs(&off, &[Verdict::Pass; 12]);
        some.remove(4);
        assert_eq!(number(Until::HalfWidth(0.19), 5, &["off"], &some), 0);
        some.push(run(&off, 5, Verdict::Pass));
        assert_eq!(number(Until::HalfWidth(0.19), 5, &["off"], &some), 1);
    }

    proptest! {
        #[test]
        fn what_is_done_stays_done_and_depends_on_no_order(
            pairs in prop::collection::vec((0..4_usize, 0..4_usize), 1..30),
            decided in any::<bool>(),
        ) {
            let verdicts = [Verdict::Pass, Verdict::Fail, Verdict::NotTested, Verdict::Error];
            let until = if decided { Until::Decided } else { Until::HalfWidth(0.25) };
            let (off, on) = (key("off"), key("A"));
            let mut all = Vec::new();
            let mut before = 0;
            for ((old, new), repeat) in pairs.iter().zip(1..) {
                all.push(run(&off, repeat, verdicts[*old]));
                all.insert(0, run(&on, repeat, verdicts[*new]));
                let now = number(until, 3, &["off", "A"], &all);
                prop_assert!(now >= before);
                let mut turned = all.clone();
                turned.reverse();
                prop_assert_eq!(number(until, 3, &["off", "A"], &turned), now);
                before = now;
            }
        }
    }
}
