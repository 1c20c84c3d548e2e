//! What really happened, for reports: effects by the upstream's own account, completion, where judge
//! and account differ, and the layers in which runs failed.

use super::IntervalMethod;
use crate::domain::{Account, Confidence, DisagreementKind, EffectCounts, Layer, RunResult, Verdict};
use crate::stats::{Interval, Level, Proportion};

/// What is known of the effects and the completion of one cell. Runs that ended with an error are not
/// in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellTruth {
    /// Effects by what became of them, over the runs of which they are known.
    pub counts: EffectCounts,
    /// Runs of which they are known.
    pub known: u32,
    /// Runs of which they could not be learned.
    pub unknown: u32,
    /// Completed of those that it is known of; `None` is "no data".
    pub completed: Option<Completed>,
    /// Runs of which it is not known whether they completed.
    pub open: u32,
}

/// Completed of those of which it is known, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completed {
    /// Completed of known.
    pub runs: Proportion,
    /// Its interval.
    pub interval: Interval,
}

/// A way in which judge and account differ, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct DisagreementView<'a> {
    /// Why.
    pub kind: DisagreementKind,
    /// Runs with it.
    pub runs: u32,
    /// One of the runs.
    pub example: &'a RunResult,
    /// What is said of that run.
    pub sentence: &'a str,
}

/// A layer in which runs failed, over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerView<'a> {
    /// The layer.
    pub layer: Layer,
    /// Runs by verdict: FAIL, NOT_TESTED, ERROR.
    pub runs: [u32; 3],
    /// Runs by confidence: high, medium, low.
    pub confidence: [u32; 3],
    /// One of the runs, of those with the highest confidence.
    pub example: &'a RunResult,
    /// What speaks for it in that run.
    pub evidence: &'a str,
}

impl LayerView<'_> {
    /// All of its runs.
    pub fn total(&self) -> u32 {
        self.runs.iter().sum()
    }
}

impl CellTruth {
    pub(super) fn of(runs: &[&RunResult], method: IntervalMethod, level: Level) -> CellTruth {
        let mut truth = CellTruth::default();
        let (mut done, mut told) = (0, 0);
        for run in runs.iter().filter(|run| run.verdict != Verdict::Error) {
            match run.effects.as_ref().map(|effects| (&effects.account, effects.counts())) {
                Some((_, Some(counts))) => {
                    truth.known += 1;
                    truth.counts += counts;
                }
                Some((Account::Unknown { .. }, None)) => truth.unknown += 1,
                _ => {}
            }
            match run.completion.as_ref().map(|completion| completion.completed()) {
                Some(Some(completed)) => {
                    told += 1;
                    done += u32::from(completed);
                }
                Some(None) => truth.open += 1,
                None => {}
            }
        }
        let runs = Proportion::new(done, told).ok();
        truth.completed = runs.map(|runs| Completed { runs, interval: method.interval(runs, level) });
        truth
    }

    /// Whether there is anything to show.
    pub(super) fn says_something(&self) -> bool {
        self.known + self.unknown + self.open > 0 || self.completed.is_some()
    }
}

/// Where judge and account differ in these runs, the most frequent first.
pub(super) fn disagreements<'a>(runs: impl Iterator<Item = &'a RunResult>) -> Vec<DisagreementView<'a>> {
    let mut found: Vec<DisagreementView<'a>> = Vec::new();
    for run in runs {
        let mut seen = Vec::new();
        for one in &run.disagreements {
            if seen.contains(&one.kind) {
                continue;
            }
            seen.push(one.kind);
            match found.iter_mut().find(|other| other.kind == one.kind) {
                Some(other) => other.runs += 1,
                None => found.push(DisagreementView {
                    kind: one.kind,
                    runs: 1,
                    example: run,
                    sentence: &one.sentence,
                }),
            }
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.runs), one.kind));
    found
}

/// The layers in which these runs failed, the most frequent first.
pub(super) fn layers<'a>(runs: impl Iterator<Item = &'a RunResult>) -> Vec<LayerView<'a>> {
    let mut found: Vec<(LayerView<'a>, Confidence)> = Vec::new();
    for run in runs {
        let Some(attribution) = &run.attribution else { continue };
        let place = match found.iter().position(|(other, _)| other.layer == attribution.layer) {
            Some(place) => place,
            None => {
                let layer = LayerView {
                    layer: attribution.layer,
                    runs: [0; 3],
                    confidence: [0; 3],
                    example: run,
                    evidence: &attribution.evidence,
                };
                found.push((layer, attribution.confidence));
                found.len() - 1
            }
        };
        let Some((layer, best)) = found.get_mut(place) else { continue };
        let [fail, not_tested, error] = &mut layer.runs;
        match run.verdict {
            Verdict::Fail => *fail += 1,
            Verdict::NotTested => *not_tested += 1,
            _ => *error += 1,
        }
        let [high, medium, low] = &mut layer.confidence;
        match attribution.confidence {
            Confidence::High => *high += 1,
            Confidence::Medium => *medium += 1,
            Confidence::Low => *low += 1,
        }
        if attribution.confidence > *best {
            *best = attribution.confidence;
            layer.example = run;
            layer.evidence = &attribution.evidence;
        }
    }
    let mut layers: Vec<LayerView<'a>> = found.into_iter().map(|(layer, _)| layer).collect();
    layers.sort_by_key(|layer| (std::cmp::Reverse(layer.total()), layer.layer));
    layers
}
