//! Which cells have had enough runs. Pure: results so far → cells that are done.
//!
//! The rule looks at the repeats of a cell in their order, and only at those before the first one
//! that has not ended. So the answer depends on the results alone and not on which run happened to
//! end first, a cell that is done stays done, and an interrupted matrix goes on as if it had not been.
//! Runs that were going on when a cell was done still count: the intervals of the report hold at any
//! number of runs.

use crate::domain::{Axis, CellId, CellKey, RunResult, Verdict};
use crate::stats::{Level, Mixture, Proportion, confidence_sequence, discordant_e_value};
use crate::suite::{Stopping, Until};
use std::collections::{BTreeMap, HashMap, HashSet};

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
