//! Before and after: pairs of cells that differ on one axis alone.

use super::cell::CellView;
use super::interval::IntervalMethod;
use crate::domain::{Axis, CellId, CellKey, Verdict};
use crate::stats::{
    Interval, Level, Proportion, RiskDifference, Stratum, boschloo, cmh, discordant_e_value, fisher, holm,
    mantel_haenszel, newcombe,
};
use std::collections::{BTreeMap, HashMap};

/// A difference of fail rates, after minus before: negative is fewer fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// After minus before.
    pub estimate: f64,
    /// Its interval.
    pub interval: Interval,
    /// Boschloo's two-sided p-value, unadjusted. Absent where repeats ended early, or where an arm is too
    /// large for it.
    pub boschloo: Option<f64>,
    /// Fisher's two-sided p-value, unadjusted. Absent where repeats ended early.
    pub fisher: Option<f64>,
    /// The p-value that decides, unadjusted: Boschloo's; where repeats ended early, 1/E of the
    /// discordant pairs.
    pub p: f64,
    /// The same after Holm's adjustment over all comparisons of the table.
    pub adjusted: f64,
}

/// What a comparison shows, by a rule that is fixed in advance: the adjusted p-value is below 1 − level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The fail rate fell.
    FewerFails,
    /// The fail rate rose.
    MoreFails,
    /// No effect shown. With the most fails after that would have shown one, all else being equal;
    /// `None` where no outcome of these repeats could have shown fewer fails.
    NoneShown(Option<Proportion>),
    /// An arm without a tested run.
    NoData,
}

impl Decision {
    /// Whether an effect was shown, in either direction.
    pub fn is_shown(self) -> bool {
        matches!(self, Decision::FewerFails | Decision::MoreFails)
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Decision::FewerFails => "fewer_fails",
            Decision::MoreFails => "more_fails",
            Decision::NoneShown(_) => "none_shown",
            Decision::NoData => "no_data",
        }
    }
}

/// One pair of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The cell before.
    pub before_id: CellId,
    /// The cell after.
    pub after_id: CellId,
    /// The values of the cell after.
    pub key: CellKey,
    /// Failed of tested before.
    pub before: Option<Proportion>,
    /// Failed of tested after.
    pub after: Option<Proportion>,
    /// The difference; `None` where an arm has no tested run.
    pub difference: Option<Difference>,
    /// What it shows.
    pub decision: Decision,
}

/// All comparisons of one patch.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchSummary {
    /// The patch.
    pub patch: String,
    /// Its comparisons.
    pub comparisons: u32,
    /// Those that show fewer fails.
    pub fewer_fails: u32,
    /// Those that show more fails.
    pub more_fails: u32,
    /// Those without a tested run in an arm.
    pub no_data: u32,
    /// The weighted difference over two or more comparisons, after minus before (Mantel–Haenszel).
    pub overall: Option<RiskDifference>,
    /// The Cochran–Mantel–Haenszel p-value with continuity correction.
    pub overall_p: Option<f64>,
}

impl PatchSummary {
    /// The interval of the weighted difference. `None` where all runs of every cell ended alike: the
    /// formula then sees no chance at all and would give an interval without width, which is not true of
    /// any number of runs.
    pub fn overall_interval(&self) -> Option<Interval> {
        wide(self.overall?.interval)
    }
}

/// The interval, where it has a width.
pub(super) fn wide(interval: Interval) -> Option<Interval> {
    if interval.half_width() > 1e-12 { Some(interval) } else { None }
}

/// Every value of `axis` against `base`, with all other axes equal, in the order of the cells.
pub(super) fn comparisons(
    cells: &[CellView<'_>],
    axis: Axis,
    base: &str,
    method: IntervalMethod,
    level: Level,
) -> Vec<Comparison> {
    let by_key: HashMap<&CellKey, &CellView<'_>> = cells.iter().map(|cell| (cell.key, cell)).collect();
    let mut pairs = Vec::new();
    for after in cells.iter().filter(|cell| cell.key.get(axis) != base) {
        if let Some(before) = by_key.get(&after.key.with(axis, base)) {
            pairs.push(((*before), after));
        }
    }
    decide(&pairs, Arms::along(axis), method, level)
}

/// How the runs of two arms were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arms {
    /// Repeat by repeat in one matrix, so that equal repeats make a pair.
    InTurn,
    /// In matrices of their own, or one after the other.
    Apart,
}

impl Arms {
    /// Of one matrix, which may run model by model.
    pub(super) fn along(axis: Axis) -> Arms {
        if axis == Axis::Model { Arms::Apart } else { Arms::InTurn }
    }

    /// The runs of an observed patch come after all of those that it is observed in.
    fn of(self, before: &CellKey, after: &CellKey) -> Arms {
        let late = [before, after].iter().filter(|key| key.patch == "observed").count() == 1;
        if late { Arms::Apart } else { self }
    }
}

/// What pairs of cells show, with Holm's adjustment over all of them.
pub(super) fn decide(
    pairs: &[(&CellView<'_>, &CellView<'_>)],
    arms: Arms,
    method: IntervalMethod,
    level: Level,
) -> Vec<Comparison> {
    let mut found: Vec<Comparison> =
        pairs.iter().map(|(before, after)| compare(before, after, arms, method, level)).collect();
    let tested: Vec<usize> = (0..found.len()).filter(|i| found[*i].difference.is_some()).collect();
    let p_values: Vec<f64> =
        found.iter().filter_map(|pair| pair.difference).map(|difference| difference.p).collect();
    for ((place, index), adjusted) in tested.into_iter().enumerate().zip(holm(&p_values)) {
        let pair = &mut found[index];
        let Some(difference) = &mut pair.difference else { continue };
        difference.adjusted = adjusted;
        pair.decision = if adjusted >= level.alpha() {
            Decision::NoneShown(could_show(pair, place, &p_values, method, level))
        } else if difference.estimate < 0.0 {
            Decision::FewerFails
        } else {
            Decision::MoreFails
        };
    }
    found
}

fn compare(
    before: &CellView<'_>,
    after: &CellView<'_>,
    arms: Arms,
    method: IntervalMethod,
    level: Level,
) -> Comparison {
    let (old, new) = (before.counts.failed(), after.counts.failed());
    let difference = old.zip(new).map(|(old, new)| {
        let estimate = new.value() - old.value();
        match method {
            IntervalMethod::Wilson => {
                let exact = boschloo(new, old).ok().map(|test| test.two_sided);
                let fisher = fisher(new, old).two_sided;
                Difference {
                    estimate,
                    interval: newcombe(new, old, level),
                    boschloo: exact,
                    fisher: Some(fisher),
                    p: exact.unwrap_or(fisher),
                    adjusted: 1.0,
                }
            }
            IntervalMethod::ConfidenceSequence => Difference {
                estimate,
                interval: sequences_apart(new, old, method, level),
                boschloo: None,
                fisher: None,
                p: match arms.of(before.key, after.key) {
                    Arms::InTurn => p_of_pairs(before, after),
                    Arms::Apart => p_of_sequences(new, old, method),
                },
                adjusted: 1.0,
            },
        }
    });
    Comparison {
        before_id: before.id.clone(),
        after_id: after.id.clone(),
        key: after.key.clone(),
        before: old,
        after: new,
        difference,
        decision: Decision::NoData,
    }
}

/// Two sequences, each with half of the error, hold both rates at any number of runs, and so their
/// difference.
fn sequences_apart(one: Proportion, two: Proportion, method: IntervalMethod, level: Level) -> Interval {
    let half = Level::new(1.0 - level.alpha() / 2.0).unwrap_or(level);
    let (one, two) = (method.interval(one, half), method.interval(two, half));
    Interval { lo: one.lo - two.hi, hi: one.hi - two.lo }
}

/// The smallest error at which two sequences, each with half of it, hold no rate in common.
fn p_of_sequences(one: Proportion, two: Proportion, method: IntervalMethod) -> f64 {
    let apart = |alpha: f64| {
        let Ok(half) = Level::new(1.0 - alpha / 2.0) else { return false };
        let (one, two) = (method.interval(one, half), method.interval(two, half));
        one.lo > two.hi || two.lo > one.hi
    };
    // The intervals shrink as the error grows.
    let (mut not, mut yes) = (-36.0_f64, 0.0_f64);
    if !apart(0.999_999) {
        return 1.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(not, yes);
        if apart(middle.exp()) { yes = middle } else { not = middle }
    }
    yes.exp()
}

/// Repeat i before and repeat i after were run in turn, so that under equal rates each discordant pair
/// goes either way alike.
fn p_of_pairs(before: &CellView<'_>, after: &CellView<'_>) -> f64 {
    let old: BTreeMap<u32, Verdict> = before.runs.iter().map(|run| (run.repeat, run.verdict)).collect();
    let (mut better, mut worse) = (0, 0);
    for run in &after.runs {
        match (old.get(&run.repeat), run.verdict) {
            (Some(Verdict::Fail), Verdict::Pass) => better += 1,
            (Some(Verdict::Pass), Verdict::Fail) => worse += 1,
            _ => {}
        }
    }
    (1.0 / discordant_e_value(better, worse)).min(1.0)
}

/// The most fails after that would have shown fewer fails, everything else in the table being equal.
fn could_show(
    pair: &Comparison,
    place: usize,
    p_values: &[f64],
    method: IntervalMethod,
    level: Level,
) -> Option<Proportion> {
    let (before, after) = pair.before.zip(pair.after)?;
    if method == IntervalMethod::ConfidenceSequence {
        return None;
    }
    let shows = |k: u32| {
        let Ok(new) = Proportion::new(k, after.n()) else { return false };
        let mut others = p_values.to_vec();
        others[place] = match boschloo(new, before) {
            Ok(test) => test.two_sided,
            Err(_) => fisher(new, before).two_sided,
        };
        holm(&others)[place] < level.alpha()
    };
    // The p-value rises with the fails after, up to the rate before.
    let equal = (before.value() * f64::from(after.n())) as u32;
    let (mut shown, mut not_shown) = (0, equal);
    if equal == 0 || !shows(0) {
        return None;
    }
    while not_shown - shown > 1 {
        let middle = shown + (not_shown - shown) / 2;
        if shows(middle) { shown = middle } else { not_shown = middle }
    }
    Proportion::new(shown, after.n()).ok()
}

/// The comparisons, patch by patch, in the order in which patches first appear.
pub(super) fn patches(comparisons: &[Comparison], level: Level) -> Vec<PatchSummary> {
    let mut names: Vec<&str> = Vec::new();
    for pair in comparisons {
        if !names.contains(&pair.key.patch.as_str()) {
            names.push(&pair.key.patch);
        }
    }
    let of = |name: &str| comparisons.iter().filter(|pair| pair.key.patch == name).collect::<Vec<_>>();
    names.into_iter().map(|name| together(name, &of(name), level)).collect()
}

/// Several comparisons in one row.
pub(super) fn together(name: &str, pairs: &[&Comparison], level: Level) -> PatchSummary {
    let count =
        |decides: fn(Decision) -> bool| pairs.iter().filter(|pair| decides(pair.decision)).count() as u32;
    let strata: Vec<Stratum> = pairs
        .iter()
        .filter_map(|pair| pair.after.zip(pair.before))
        .map(|(one, two)| Stratum { one, two })
        .collect();
    let several =
        strata.len() > 1 && pairs.iter().all(|pair| pair.difference.is_none_or(|d| d.fisher.is_some()));
    PatchSummary {
        patch: name.to_owned(),
        comparisons: pairs.len() as u32,
        fewer_fails: count(|decision| decision == Decision::FewerFails),
        more_fails: count(|decision| decision == Decision::MoreFails),
        no_data: count(|decision| decision == Decision::NoData),
        overall: if several { mantel_haenszel(&strata, level) } else { None },
        overall_p: if several { cmh(&strata, true) } else { None },
    }
}
