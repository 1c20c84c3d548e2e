//! `summary.json`: everything that the reports say, for programs. A stored format of its own, which
//! mirrors the view and has a version. The forms stand here, what fills them in `summary/filled.rs`.

mod filled;

use super::approvals::ApprovalsSummary;
use super::conditions::ConditionalTurns;
use super::second_reader::{CellReaderSummary, SecondReaderSummary};
use super::told::HonestySummary;
use super::{Format, Options, ReportError, View};
use crate::domain::Axis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(super) const FORMAT: Format = Format {
    name: "json",
    file_name: "summary.json",
    about: "everything that the reports say, for programs; versioned",
    render,
};

/// The version of the format. It rises when a field changes its meaning or goes away, not when one is
/// added.
const VERSION: u32 = 1;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut bytes = serde_json::to_vec_pretty(&Summary::of(view))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The file. Rates and differences are shares between −1 and 1, not percent; a rate is failed of tested
/// (PASS + FAIL).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Version of this format.
    pub version: u32,
    /// When the report was made, RFC 3339.
    pub generated_at: String,
    /// When the first and the last of the runs were started, RFC 3339; null without a run.
    #[serde(default)]
    pub measured: Option<Measured>,
    /// What a reader must know before any number: that this is a replay, or that what is merged is not the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// What was run.
    pub suite: SuiteSummary,
    /// Versions, models and digests.
    pub environment: Vec<NamedValue>,
    /// How the numbers were made.
    pub methods: Methods,
    /// The matrix was stopped before all planned runs had ended.
    pub interrupted: bool,
    /// Planned runs.
    pub planned: u32,
    /// Planned runs that have not ended.
    pub missing: u32,
    /// All runs by verdict.
    pub totals: VerdictCounts,
    /// Of the passes, those that met no fault: their scenario has none, or never struck.
    #[serde(default)]
    pub passes_without_fault: u32,
    /// Axes on which cells differ.
    pub varied: Vec<Axis>,
    /// The cells, in the order of the suite.
    pub cells: Vec<CellSummary>,
    /// Every patch against `off`.
    pub comparisons: Vec<ComparisonSummary>,
    /// The comparisons of each patch together.
    pub patches: Vec<PatchTotals>,
    /// Why runs were not tested.
    pub not_tested: Vec<ReasonSummary>,
    /// Why runs ended with an error.
    pub errors: Vec<ReasonSummary>,
    /// What was violated.
    pub violations: Vec<ViolationSummary>,
    /// Where judge and upstream differ.
    #[serde(default)]
    pub disagreements: Vec<DisagreementSummary>,
    /// The layers in which runs that are no PASS failed.
    #[serde(default)]
    pub layers: Vec<LayerSummary>,
    /// What is known of the agents themselves. It enters no rate.
    #[serde(default)]
    pub agents: Vec<AgentSummary>,
    /// How the gates stand.
    #[serde(default)]
    pub gates: Vec<GateSummary>,
    /// The results folders that merged results come from; empty for those of one matrix.
    #[serde(default)]
    pub sources: Vec<SourceSummary>,
    /// The second readers of what agents said; empty where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second_readers: Vec<SecondReaderSummary>,
    /// What agents did when their server was rebuilt; empty where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebuilt: Vec<RebuiltSummary>,
}

/// When runs were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Start of the first run.
    pub from: String,
    /// Start of the last run.
    pub to: String,
}

/// Runs of one agent with one model in which its server was rebuilt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuiltSummary {
    /// The agent.
    pub agent: String,
    /// The model.
    pub model: String,
    /// The scenario with its variant.
    pub scenario: String,
    /// Runs in which the server was rebuilt.
    pub runs: u32,
    /// Of these, runs in which the list of tools was fetched again.
    pub catalogue_refreshed: u32,
    /// Runs in which a call was made with an old list.
    pub called_with_stale_catalogue: u32,
    /// Runs in which a call was refused because of its epoch.
    pub refused_stale_epoch: u32,
    /// Runs in which the write that was under way was sent again.
    pub resent_after_epoch_change: u32,
}

/// Effects by what became of them, summed over runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectsSummary {
    /// Runs of which they are known.
    pub runs: u32,
    /// There less often than asked.
    pub lost: u64,
    /// As often as asked.
    pub right: u64,
    /// More often.
    pub double: u64,
    /// What nobody asked for.
    pub unasked: u64,
}

/// A way in which the judge and the upstream's own account differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisagreementSummary {
    /// e.g. `IDEMPOTENT_UPSTREAM_HELD`
    pub kind: String,
    /// Runs with it.
    pub runs: u32,
    /// One of the runs.
    pub example_run: String,
    /// What is said of that run.
    pub example: String,
}

/// A layer in which runs failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerSummary {
    /// `infra`, `eval`, `harness`, `context`, `tool`, `prompt` or `model`.
    pub layer: String,
    /// Runs that are FAIL.
    pub fail: u32,
    /// Runs that are NOT_TESTED.
    pub not_tested: u32,
    /// Runs that are ERROR.
    pub error: u32,
    /// Runs with high, medium and low confidence.
    pub confidence: [u32; 3],
    /// One of the runs.
    pub example_run: String,
    /// What speaks for it in that run.
    pub evidence: String,
}

/// One agent, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    /// Its name.
    pub agent: String,
    /// What its MCP client said of itself.
    pub clients: Vec<String>,
    /// Its runs.
    pub runs: u32,
    /// Its turns.
    pub turns: u64,
    /// Runs in which it told its tokens.
    pub runs_with_tokens: u32,
    /// Input tokens of these runs; null is "not told".
    pub input_tokens: Option<u64>,
    /// Output tokens of these runs.
    pub output_tokens: Option<u64>,
    /// US dollars, as far as told.
    pub cost_usd: Option<f64>,
    /// Milliseconds after which its MCP client gave up a call: the shortest such wait.
    pub gave_up_after_ms: Option<u64>,
    /// Writes that its program or its transport sent again without the model.
    pub resent: u64,
    /// How its last commands ended where that was not with 0, with the number of runs.
    pub exits: BTreeMap<String, u32>,
    /// Runs that were ended at their time limit.
    pub timed_out: u32,
    /// Runs in which it had left processes behind.
    pub leaking: u32,
    /// Tries that its model's endpoint spoiled, each of which was made again.
    pub model_retries: u32,
}

/// A gate and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateSummary {
    /// The gate, as after `--gate`.
    pub gate: String,
    /// `held`, `failed` or `nothing_tested`.
    pub state: String,
    /// Why, as a sentence.
    pub sentence: String,
}

/// A results folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceSummary {
    /// The folder, as it was given.
    pub name: String,
    /// Digest of the suite that it was made from.
    pub digest: String,
    /// When its matrix was started, RFC 3339.
    pub started_at: String,
    /// The first of the merged repeats that its runs have.
    pub first_repeat: u32,
    /// The last of them.
    pub last_repeat: u32,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteSummary {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// SHA-256, hexadecimal.
    pub digest: String,
    /// Planned repeats a cell.
    pub repeats: u32,
    /// Version of the program that made the runs.
    pub harness_version: String,
}

/// A named fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedValue {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// How the numbers were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Methods {
    /// Confidence level; an effect is shown where the adjusted p-value is below 1 − level.
    pub level: f64,
    /// `wilson` or `beta_binomial_sequence`.
    pub interval: String,
    /// `newcombe` or `two_sequences`.
    pub difference: String,
    /// `boschloo` or `discordant_e_value`.
    pub p: String,
    /// `holm`
    pub adjustment: String,
}

/// Runs by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictCounts {
    /// PASS.
    pub pass: u32,
    /// FAIL.
    pub fail: u32,
    /// NOT_TESTED.
    pub not_tested: u32,
    /// ERROR.
    pub error: u32,
}

/// Events of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Failed.
    pub k: u32,
    /// Tested.
    pub n: u32,
    /// k / n
    pub rate: f64,
}

/// Two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// Lower.
    pub lo: f64,
    /// Upper.
    pub hi: f64,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellSummary {
    /// Its id.
    pub cell_id: String,
    /// Its value on each axis.
    pub axes: BTreeMap<String, String>,
    /// Planned repeats.
    pub planned: u32,
    /// Planned runs that have not ended.
    pub missing: u32,
    /// Runs by verdict.
    pub counts: VerdictCounts,
    /// Of the passes, those that met no fault.
    #[serde(default)]
    pub passes_without_fault: u32,
    /// Failed of tested; null is "no data".
    pub failed: Option<Share>,
    /// Its interval; null without data.
    pub interval: Option<Bounds>,
    /// Kinds of violation with the number of runs that have one.
    pub violations: BTreeMap<String, u32>,
    /// Reasons for NOT_TESTED and ERROR with the number of runs.
    pub reasons: BTreeMap<String, u32>,
    /// What really happened, where it is known.
    #[serde(default)]
    pub effects: Option<EffectsSummary>,
    /// Runs of which what really happened could not be learned.
    #[serde(default)]
    pub effects_unknown: u32,
    /// Runs that completed, of those of which it is known; null is "no data".
    #[serde(default)]
    pub completed: Option<Share>,
    /// Its interval.
    #[serde(default)]
    pub completed_interval: Option<Bounds>,
    /// What users were told, by class; null where nobody was told anything.
    #[serde(default)]
    pub honesty: Option<HonestySummary>,
    /// Approvals that were asked for; null where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<ApprovalsSummary>,
    /// The same as a second reader read it; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_reader: Option<CellReaderSummary>,
    /// Turns that were said only on a condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditional_turns: Vec<ConditionalTurns>,
}

/// A patch against `off` with all other axes equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonSummary {
    /// The cell before.
    pub before_cell: String,
    /// The cell after.
    pub after_cell: String,
    /// The patch.
    pub patch: String,
    /// Failed of tested before; null is "no data".
    pub before: Option<Share>,
    /// Failed of tested after.
    pub after: Option<Share>,
    /// After minus before.
    pub difference: Option<f64>,
    /// Its interval.
    pub interval: Option<Bounds>,
    /// Boschloo's two-sided p-value.
    pub boschloo_p: Option<f64>,
    /// Fisher's two-sided p-value.
    pub fisher_p: Option<f64>,
    /// The deciding p-value after Holm's adjustment.
    pub adjusted_p: Option<f64>,
    /// `fewer_fails`, `more_fails`, `none_shown` or `no_data`.
    pub decision: String,
    /// With `none_shown`: the most fails after that would have shown fewer; null where no outcome could.
    pub could_show: Option<Share>,
}

/// The comparisons of one patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchTotals {
    /// The patch.
    pub patch: String,
    /// Its comparisons.
    pub comparisons: u32,
    /// Those that show fewer fails.
    pub fewer_fails: u32,
    /// Those that show more fails.
    pub more_fails: u32,
    /// Those without data.
    pub no_data: u32,
    /// Mantel–Haenszel risk difference over two or more comparisons, after minus before.
    pub overall_difference: Option<f64>,
    /// Its interval; null where all runs of every cell ended alike, for which the formula has none.
    pub overall_interval: Option<Bounds>,
    /// Cochran–Mantel–Haenszel p-value with continuity correction.
    pub overall_p: Option<f64>,
}

/// A reason for NOT_TESTED or ERROR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonSummary {
    /// The reason's code.
    pub code: String,
    /// Runs with it.
    pub runs: u32,
    /// Cells with such a run.
    pub cells: u32,
    /// One of the runs.
    pub example_run: String,
    /// That run's reason as a sentence.
    pub example_reason: String,
}

/// A kind of violation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViolationSummary {
    /// e.g. `DUPLICATE_EXECUTION`
    pub kind: String,
    /// Runs with it.
    pub runs: u32,
    /// Operations with it.
    pub operations: u32,
    /// One of the runs.
    pub example_run: String,
}
