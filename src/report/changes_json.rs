//! Changes for programs: a stored format of its own, with a version.

use super::changes::{Changes, ChangesFormat};
use super::summary::{
    Bounds, CellSummary, ComparisonSummary, GateSummary, Methods, SuiteSummary, VerdictCounts,
};
use super::{IntervalMethod, Options, ReportError, Side};
use crate::domain::Axis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const JSON: ChangesFormat = ChangesFormat {
    name: "json",
    file_name: Some("comparison.json"),
    about: "for programs; versioned",
    render,
};

/// Rises when a field changes its meaning or goes away, not when one is added.
const VERSION: u32 = 1;

/// What `nochmal compare --format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesSummary {
    /// Version of this format.
    pub version: u32,
    /// The results before.
    pub before: SideSummary,
    /// The results after.
    pub after: SideSummary,
    /// The axis whose values are compared, where both sides are of one result.
    pub axis: Option<Axis>,
    /// How the numbers were made.
    pub methods: Methods,
    /// Cells that are on both sides.
    pub cells: Vec<ChangeSummary>,
    /// Pairs that show fewer fails.
    pub fewer_fails: u32,
    /// Pairs that show more fails.
    pub more_fails: u32,
    /// Pairs without a tested run on a side.
    pub no_data: u32,
    /// Mantel–Haenszel risk difference over two or more pairs, after minus before.
    pub overall_difference: Option<f64>,
    /// Its interval; null where all runs of every cell ended alike, for which the formula has none.
    pub overall_interval: Option<Bounds>,
    /// Cochran–Mantel–Haenszel p-value with continuity correction.
    pub overall_p: Option<f64>,
    /// Cells that are only there before.
    pub only_before: Vec<CellSummary>,
    /// Cells that are only there after.
    pub only_after: Vec<CellSummary>,
    /// What a reader should know before the numbers.
    pub notes: Vec<String>,
    /// How the gates stand.
    pub gates: Vec<GateSummary>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideSummary {
    /// A folder, or a value of the axis.
    pub name: String,
    /// What was run.
    pub suite: SuiteSummary,
    /// All runs of these results by verdict.
    pub totals: VerdictCounts,
    /// Planned runs that have not ended.
    pub missing: u32,
}

/// A cell on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSummary {
    /// Its value on each axis, those of the side after.
    pub axes: BTreeMap<String, String>,
    /// Both sides and their difference.
    #[serde(flatten)]
    pub comparison: ComparisonSummary,
}

fn render(changes: &Changes<'_, '_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(&ChangesSummary::of(changes))?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl ChangesSummary {
    /// The stored form.
    pub fn of(changes: &Changes<'_, '_>) -> ChangesSummary {
        let view = changes.after.view;
        let side = |side: &Side<'_, '_>| SideSummary {
            name: side.name.clone(),
            suite: SuiteSummary::from(&side.view.results.suite),
            totals: side.view.totals.into(),
            missing: side.view.missing,
        };
        let mut methods = Methods::of(view);
        if changes.axis.is_none() && view.method == IntervalMethod::ConfidenceSequence {
            methods.p = "two_sequences".to_owned();
        }
        let pair = |pair: &super::Comparison| ChangeSummary {
            axes: Axis::ALL.map(|axis| (axis.name().to_owned(), pair.key.get(axis).to_owned())).into(),
            comparison: ComparisonSummary::from(pair),
        };
        ChangesSummary {
            version: VERSION,
            before: side(&changes.before),
            after: side(&changes.after),
            axis: changes.axis.as_ref().map(|(axis, ..)| *axis),
            methods,
            cells: changes.pairs.iter().map(pair).collect(),
            fewer_fails: changes.together.fewer_fails,
            more_fails: changes.together.more_fails,
            no_data: changes.together.no_data,
            overall_difference: changes.together.overall.map(|overall| overall.estimate),
            overall_interval: changes.together.overall_interval().map(Bounds::from),
            overall_p: changes.together.overall_p,
            only_before: changes.only_before.iter().map(|cell| CellSummary::from(*cell)).collect(),
            only_after: changes.only_after.iter().map(|cell| CellSummary::from(*cell)).collect(),
            notes: changes.notes(),
            gates: changes.gates.iter().map(GateSummary::from).collect(),
        }
    }
}
