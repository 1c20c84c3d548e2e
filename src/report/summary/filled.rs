//! What the view says → the forms of `summary.json`.

use super::super::approvals::ApprovalsSummary;
use super::super::second_reader::CellReaderSummary;
use super::super::told::HonestySummary;
use super::super::{
    AgentView, CellTruth, CellView, Comparison, Decision, DisagreementView, Fact, GateResult, LayerView,
    PatchSummary, Reason, Rebuilt, Source, SuiteInfo, View, ViolationKind,
};
use super::{
    AgentSummary, Bounds, CellSummary, ComparisonSummary, DisagreementSummary, EffectsSummary, GateSummary,
    LayerSummary, Measured, Methods, NamedValue, PatchTotals, ReasonSummary, RebuiltSummary, Share,
    SourceSummary, SuiteSummary, Summary, VERSION, VerdictCounts, ViolationSummary,
};
use crate::domain::{Axis, EffectCounts};
use crate::stats::{Counts, Interval, Proportion};

impl Summary {
    /// The stored form of a view.
    pub fn of(view: &View<'_>) -> Summary {
        let results = view.results;
        let fact = |fact: &Fact| NamedValue { name: fact.name.clone(), value: fact.value.clone() };
        Summary {
            version: VERSION,
            generated_at: results.generated_at.clone(),
            measured: view.measured.map(|(from, to)| Measured { from: from.to_string(), to: to.to_string() }),
            marks: results.marks.clone(),
            suite: SuiteSummary::from(&results.suite),
            environment: results.environment.iter().map(fact).collect(),
            methods: Methods::of(view),
            interrupted: results.interrupted,
            planned: view.planned,
            missing: view.missing,
            totals: view.totals.into(),
            passes_without_fault: view.cells.iter().fold(0, |sum, cell| sum + cell.unstruck),
            varied: view.varied.clone(),
            cells: view.cells.iter().map(CellSummary::from).collect(),
            comparisons: view.comparisons.iter().map(ComparisonSummary::from).collect(),
            patches: view.patches.iter().map(PatchTotals::from).collect(),
            not_tested: view.not_tested.iter().map(ReasonSummary::from).collect(),
            errors: view.errors.iter().map(ReasonSummary::from).collect(),
            violations: view.violations.iter().map(ViolationSummary::from).collect(),
            disagreements: view.disagreements.iter().map(DisagreementSummary::from).collect(),
            layers: view.layers.iter().map(LayerSummary::from).collect(),
            agents: view.agents.iter().map(AgentSummary::from).collect(),
            gates: view.gates.iter().map(GateSummary::from).collect(),
            sources: results.sources.iter().map(SourceSummary::from).collect(),
            second_readers: view.readers.clone(),
            rebuilt: view.rebuilt.iter().map(RebuiltSummary::from).collect(),
        }
    }
}

impl Methods {
    pub(in crate::report) fn of(view: &View<'_>) -> Methods {
        let early = view.results.suite.early_stop;
        Methods {
            level: view.level.value(),
            interval: view.method.name().to_owned(),
            difference: if early { "two_sequences" } else { "newcombe" }.to_owned(),
            p: if early { "discordant_e_value" } else { "boschloo" }.to_owned(),
            adjustment: "holm".to_owned(),
        }
    }
}

impl From<&SuiteInfo> for SuiteSummary {
    fn from(suite: &SuiteInfo) -> SuiteSummary {
        SuiteSummary {
            name: suite.name.clone(),
            description: suite.description.clone(),
            digest: suite.digest.clone(),
            repeats: suite.repeats,
            harness_version: suite.version.clone(),
        }
    }
}

impl From<&AgentView<'_>> for AgentSummary {
    fn from(agent: &AgentView<'_>) -> AgentSummary {
        let AgentView {
            agent,
            clients,
            runs,
            turns,
            told_tokens,
            input_tokens,
            output_tokens,
            cost_usd,
            gave_up_after_ms,
            resent,
            exits,
            timed_out,
            leaking,
            model_retries,
        } = agent.clone();
        AgentSummary {
            agent: agent.to_owned(),
            clients: clients.into_iter().map(str::to_owned).collect(),
            runs,
            turns,
            runs_with_tokens: told_tokens,
            input_tokens,
            output_tokens,
            cost_usd,
            gave_up_after_ms,
            resent,
            exits,
            timed_out,
            leaking,
            model_retries,
        }
    }
}

impl From<&Rebuilt<'_>> for RebuiltSummary {
    fn from(row: &Rebuilt<'_>) -> RebuiltSummary {
        let [refreshed, stale, refused, resent] = row.seen;
        RebuiltSummary {
            agent: row.agent.to_owned(),
            model: row.model.to_owned(),
            scenario: row.scenario.to_owned(),
            runs: row.runs,
            catalogue_refreshed: refreshed,
            called_with_stale_catalogue: stale,
            refused_stale_epoch: refused,
            resent_after_epoch_change: resent,
        }
    }
}

impl From<&GateResult> for GateSummary {
    fn from(result: &GateResult) -> GateSummary {
        let GateResult { gate, state, sentence } = result;
        GateSummary { gate: gate.clone(), state: state.name().to_owned(), sentence: sentence.clone() }
    }
}

impl From<&Source> for SourceSummary {
    fn from(source: &Source) -> SourceSummary {
        SourceSummary {
            name: source.name.clone(),
            digest: source.digest.clone(),
            started_at: source.started_at.clone(),
            first_repeat: *source.repeats.start(),
            last_repeat: *source.repeats.end(),
        }
    }
}

impl From<Counts> for VerdictCounts {
    fn from(counts: Counts) -> VerdictCounts {
        let Counts { pass, fail, not_tested, error } = counts;
        VerdictCounts { pass, fail, not_tested, error }
    }
}

impl From<Proportion> for Share {
    fn from(seen: Proportion) -> Share {
        Share { k: seen.k(), n: seen.n(), rate: seen.value() }
    }
}

impl From<Interval> for Bounds {
    fn from(interval: Interval) -> Bounds {
        Bounds { lo: interval.lo, hi: interval.hi }
    }
}

impl From<&CellView<'_>> for CellSummary {
    fn from(cell: &CellView<'_>) -> CellSummary {
        let axes = Axis::ALL.map(|axis| (axis.name().to_owned(), cell.key.get(axis).to_owned()));
        CellSummary {
            cell_id: cell.id.0.clone(),
            axes: axes.into_iter().collect(),
            planned: cell.planned,
            missing: cell.missing,
            counts: cell.counts.into(),
            passes_without_fault: cell.unstruck,
            failed: cell.rate.map(|rate| rate.failed.into()),
            interval: cell.rate.map(|rate| rate.interval.into()),
            violations: cell.violations.iter().map(|(kind, runs)| ((*kind).to_owned(), *runs)).collect(),
            reasons: cell.reasons.iter().map(|(code, runs)| (code.name().to_owned(), *runs)).collect(),
            effects: EffectsSummary::of(&cell.truth),
            effects_unknown: cell.truth.unknown,
            completed: cell.truth.completed.map(|seen| seen.runs.into()),
            completed_interval: cell.truth.completed.map(|seen| seen.interval.into()),
            honesty: HonestySummary::of(cell.told),
            approvals: ApprovalsSummary::of(cell),
            second_reader: CellReaderSummary::of(&cell.reader),
            conditional_turns: cell.conditions.clone(),
        }
    }
}

impl EffectsSummary {
    fn of(truth: &CellTruth) -> Option<EffectsSummary> {
        let EffectCounts { lost, right, double, unasked } = truth.counts;
        (truth.known > 0).then_some(EffectsSummary { runs: truth.known, lost, right, double, unasked })
    }
}

impl From<&DisagreementView<'_>> for DisagreementSummary {
    fn from(one: &DisagreementView<'_>) -> DisagreementSummary {
        DisagreementSummary {
            kind: one.kind.name().to_owned(),
            runs: one.runs,
            example_run: one.example.run_id.0.clone(),
            example: one.sentence.to_owned(),
        }
    }
}

impl From<&LayerView<'_>> for LayerSummary {
    fn from(layer: &LayerView<'_>) -> LayerSummary {
        let [fail, not_tested, error] = layer.runs;
        LayerSummary {
            layer: layer.layer.name().to_owned(),
            fail,
            not_tested,
            error,
            confidence: layer.confidence,
            example_run: layer.example.run_id.0.clone(),
            evidence: layer.evidence.to_owned(),
        }
    }
}

impl From<&Comparison> for ComparisonSummary {
    fn from(pair: &Comparison) -> ComparisonSummary {
        let difference = pair.difference;
        let could_show = match pair.decision {
            Decision::NoneShown(most) => most.map(Share::from),
            _ => None,
        };
        ComparisonSummary {
            before_cell: pair.before_id.0.clone(),
            after_cell: pair.after_id.0.clone(),
            patch: pair.key.patch.clone(),
            before: pair.before.map(Share::from),
            after: pair.after.map(Share::from),
            difference: difference.map(|difference| difference.estimate),
            interval: difference.map(|difference| difference.interval.into()),
            boschloo_p: difference.and_then(|difference| difference.boschloo),
            fisher_p: difference.and_then(|difference| difference.fisher),
            adjusted_p: difference.map(|difference| difference.adjusted),
            decision: pair.decision.name().to_owned(),
            could_show,
        }
    }
}

impl From<&PatchSummary> for PatchTotals {
    fn from(patch: &PatchSummary) -> PatchTotals {
        PatchTotals {
            patch: patch.patch.clone(),
            comparisons: patch.comparisons,
            fewer_fails: patch.fewer_fails,
            more_fails: patch.more_fails,
            no_data: patch.no_data,
            overall_difference: patch.overall.map(|overall| overall.estimate),
            overall_interval: patch.overall_interval().map(Bounds::from),
            overall_p: patch.overall_p,
        }
    }
}

impl From<&Reason<'_>> for ReasonSummary {
    fn from(reason: &Reason<'_>) -> ReasonSummary {
        ReasonSummary {
            code: reason.code.name().to_owned(),
            runs: reason.runs,
            cells: reason.cells,
            example_run: reason.example.run_id.0.clone(),
            example_reason: reason.example.reason.clone(),
        }
    }
}

impl From<&ViolationKind<'_>> for ViolationSummary {
    fn from(violation: &ViolationKind<'_>) -> ViolationSummary {
        ViolationSummary {
            kind: violation.kind.to_owned(),
            runs: violation.runs,
            operations: violation.operations,
            example_run: violation.example.run_id.0.clone(),
        }
    }
}
