//! Before any run: what a number of repeats can tell apart, and what it would take.

use super::interval::IntervalMethod;
use super::text::{counted, percent, percent_interval, trimmed};
use crate::domain::{Axis, CellKey, RunResult, Usage, Verdict};
use crate::stats::{
    Interval, Level, Proportion, Rejection, Test, discordant_e_value, repeats_for_power, runs_for_bound,
};
use crate::suite::{Cell, Gate, GateCheck, Stopping, Until};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// The chance with which an effect is to be shown.
const POWER: f64 = 0.8;
/// Rates that a reader may have in mind, and the pairs of which the fewest repeats are told.
const RATES: [f64; 6] = [1.0, 0.9, 0.8, 0.7, 0.5, 0.3];
const PAIRS: [(f64, f64); 4] = [(1.0, 0.0), (0.8, 0.2), (0.9, 0.5), (0.95, 0.7)];
/// Beyond this many repeats nobody wants to know the exact number.
const MOST: u32 = 120;

/// What is planned.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// The cells.
    pub cells: &'a [Arc<Cell>],
    /// Runs of each, at most.
    pub repeats: u32,
    /// The rule that may end them earlier.
    pub stopping: Option<Stopping>,
    /// Conditions on the results.
    pub gates: &'a [Gate],
    /// Runs at a time.
    pub parallel: u32,
    /// Runs at a time with the same model.
    pub per_model: Option<u32>,
    /// The provider whose limit each cell counts for, with the runs at a time; one entry a cell.
    pub providers: &'a [Option<(&'a str, u32)>],
    /// Confidence level.
    pub level: Level,
}

impl Planned<'_> {
    fn comparisons(&self) -> u32 {
        let keys: HashSet<&CellKey> = self.cells.iter().map(|cell| &cell.key).collect();
        let after =
            keys.iter().filter(|key| key.patch != "off" && keys.contains(&key.with(Axis::Patch, "off")));
        u32::try_from(after.count()).unwrap_or(u32::MAX)
    }

    /// The level at which one of several comparisons is surely decided after Holm's adjustment.
    fn shared(&self, comparisons: u32) -> Level {
        Level::new(1.0 - self.level.alpha() / f64::from(comparisons.max(1))).unwrap_or(self.level)
    }

    fn method(&self) -> IntervalMethod {
        match self.stopping {
            Some(_) => IntervalMethod::ConfidenceSequence,
            None => IntervalMethod::Wilson,
        }
    }

    fn interval(&self, failed: u32, of: u32) -> Option<Interval> {
        Proportion::new(failed, of).ok().map(|seen| self.method().interval(seen, self.level))
    }
}

/// What the planned repeats can show.
pub fn text(planned: &Planned<'_>) -> String {
    let mut out = one_cell(planned);
    let comparisons = planned.comparisons();
    if comparisons == 0 {
        out.push_str("\nNo cell is there with and without a patch, so no patch is compared.\n");
    } else if planned.stopping.is_none() {
        out.push('\n');
        out.push_str(&fixed(planned, comparisons));
    }
    if let Some(rule) = planned.stopping {
        out.push('\n');
        out.push_str(&early(planned, rule, comparisons));
    }
    out.push_str(&gates(planned));
    out
}

fn one_cell(planned: &Planned<'_>) -> String {
    let n = planned.repeats;
    let level = planned.level.percent();
    let mut out = format!(
        "What a cell of {} shows ({level} {})\n",
        counted(n, "run", "runs"),
        planned.method().title()
    );
    for failed in [0, n / 2] {
        if let Some(interval) = planned.interval(failed, n) {
            let _ = writeln!(out, "  {failed} of {n} failed: fail rate {}", percent_interval(interval));
        }
        if n < 2 {
            break;
        }
    }
    if planned.stopping.is_none() {
        let runs =
            |upper| runs_for_bound(upper, planned.level).map_or("–".to_owned(), |runs| runs.to_string());
        let _ = writeln!(
            out,
            "  to show a fail rate of at most 20 / 10 / 5 %: {} / {} / {} runs without a fail",
            runs(0.2),
            runs(0.1),
            runs(0.05)
        );
    }
    out
}

fn fixed(planned: &Planned<'_>, comparisons: u32) -> String {
    let n = planned.repeats;
    let alpha = trimmed(&format!("{:.6}", planned.level.alpha()));
    let shared = planned.shared(comparisons);
    let mut out = format!(
        "What {} an arm tell apart in {} of a patch with off\n(Boschloo's exact test, p < {alpha}, {} power; ",
        counted(n, "run", "runs"),
        counted(comparisons, "comparison", "comparisons"),
        percent(POWER)
    );
    out.push_str("all of them: after Holm's adjustment, for the one with the smallest p)\n");
    let levels = [planned.level, shared];
    let regions = levels.map(|level| Rejection::new(Test::Boschloo, n, n, level).ok());
    if regions.iter().any(Option::is_none) {
        out.push_str("  so many runs tell apart all that matters; exact numbers end at 400\n");
        return out;
    }
    let _ = writeln!(
        out,
        "  {:>16}   {:>20}   {:>20}",
        "fail rate before", "after, one alone", "after, all of them"
    );
    for before in RATES {
        let shown =
            regions.each_ref().map(|region| match region.as_ref().and_then(|all| most_after(all, before)) {
                Some(after) => format!("{} or less", percent(after)),
                None => "nothing".to_owned(),
            });
        let _ = writeln!(out, "  {:>16}   {:>20}   {:>20}", percent(before), shown[0], shown[1]);
    }
    let _ = writeln!(out, "\nFewest runs an arm for that");
    let _ = writeln!(out, "  {:>16}   {:>20}   {:>20}", "before → after", "one alone", "all of them");
    for (before, after) in PAIRS {
        let needed = levels.map(|level| {
            let runs = repeats_for_power(Test::Boschloo, before, after, level, POWER, MOST);
            runs.map_or(format!("more than {MOST}"), |runs| runs.to_string())
        });
        let pair = format!("{} → {}", percent(before), percent(after));
        let _ = writeln!(out, "  {pair:>16}   {:>20}   {:>20}", needed[0], needed[1]);
    }
    out
}

/// The highest rate after, in whole percents, that is told from the one before.
fn most_after(region: &Rejection, before: f64) -> Option<f64> {
    let shown = |percents: u32| region.chance(before, f64::from(percents) / 100.0) >= POWER;
    // The chance falls as the rate after comes nearer to the one before.
    let (mut yes, mut no) = (0, (before * 100.0) as u32);
    if no == 0 || !shown(0) {
        return None;
    }
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if shown(middle) { yes = middle } else { no = middle }
    }
    Some(f64::from(yes) / 100.0)
}

fn early(planned: &Planned<'_>, rule: Stopping, comparisons: u32) -> String {
    let (min, max) = (rule.min, planned.repeats);
    match rule.until {
        Until::HalfWidth(width) => {
            let needed = |share: f64| {
                (min..=max).find(|n| {
                    let failed = (f64::from(*n) * share).round() as u32;
                    planned.interval(failed, *n).is_some_and(|interval| interval.half_width() <= width)
                })
            };
            let told = |runs: Option<u32>| {
                runs.map_or(format!("not within {max} runs"), |n| format!("after {n} runs"))
            };
            format!(
                "Each cell ends between {min} and {max} runs, where its fail rate is known to ±{} points:\n  all alike: {}; \
                 half of them fail: {}\n",
                trimmed(&format!("{:.1}", width * 100.0)),
                told(needed(0.0)),
                told(needed(0.5))
            )
        }
        Until::Decided => {
            let bound = f64::from(comparisons) / planned.level.alpha();
            let pairs = (1..=max).find(|n| discordant_e_value(*n, 0) > bound);
            let told = match pairs {
                Some(pairs) => format!("{} pairs that all fail before and pass after decide", pairs.max(min)),
                None => format!("{max} pairs can decide nothing; raise `max`"),
            };
            format!(
                "Each comparison ends between {min} and {max} runs an arm, where it shows an effect:\n  {told}; without \
                 an effect all {max} are run\n"
            )
        }
    }
}

/// Gates that these repeats cannot meet.
fn gates(planned: &Planned<'_>) -> String {
    let mut out = String::new();
    for gate in planned.gates {
        let GateCheck::FailRateUpper(most) = gate.check else { continue };
        if planned.interval(0, planned.repeats).is_some_and(|best| best.hi > most) {
            let needed = (planned.repeats..=100_000)
                .find(|n| planned.interval(0, *n).is_some_and(|best| best.hi <= most));
            let needed = needed.map_or("no number of runs is enough".to_owned(), |n| format!("it needs {n}"));
            let _ = writeln!(
                out,
                "\nThe gate `{gate}` cannot hold with {}, even where none fails: {needed}.",
                counted(planned.repeats, "run", "runs")
            );
        }
    }
    out
}

/// Time, tokens and cost, from earlier runs: those of the same cell, else of the same agent and model,
/// else all.
pub fn estimate(planned: &Planned<'_>, from: &str, earlier: &[RunResult]) -> String {
    // A run that could not be made says nothing on what a run takes.
    let earlier: Vec<&RunResult> = earlier.iter().filter(|run| run.verdict != Verdict::Error).collect();
    if earlier.is_empty() {
        return format!("No estimate: `{from}` has no run that was carried out.\n");
    }
    let (mut seconds, mut unlike, mut unknown) = (0.0, 0, 0);
    let (mut by_model, mut by_provider) = (BTreeMap::new(), BTreeMap::new());
    let mut sums: [Option<f64>; 3] = [Some(0.0); 3];
    let read = earlier.iter().any(|run| run.reader.is_some());
    let mut reader: [Option<f64>; 4] = [Some(0.0); 4];
    for (at, cell) in planned.cells.iter().enumerate() {
        let same: Vec<&&RunResult> = earlier.iter().filter(|run| run.cell_id == cell.id).collect();
        let near: Vec<&&RunResult> = earlier
            .iter()
            .filter(|run| run.key.agent == cell.key.agent && run.key.model == cell.key.model)
            .collect();
        let used = match (same.is_empty(), near.is_empty()) {
            (false, _) => same,
            (true, false) => {
                unlike += 1;
                near
            }
            (true, true) => {
                unknown += 1;
                earlier.iter().collect()
            }
        };
        let repeats = f64::from(planned.repeats);
        let time =
            mean(used.iter().map(|run| Some(run.duration_ms as f64))).unwrap_or(0.0) / 1000.0 * repeats;
        seconds += time;
        *by_model.entry(cell.key.model.as_str()).or_insert(0.0) += time;
        if let Some((provider, most)) = planned.providers.get(at).copied().flatten() {
            *by_provider.entry((provider, most)).or_insert(0.0) += time;
        }
        let usage = [
            mean(used.iter().map(|run| run.usage.input_tokens.map(|tokens| tokens as f64))),
            mean(used.iter().map(|run| run.usage.output_tokens.map(|tokens| tokens as f64))),
            mean(used.iter().map(|run| run.usage.cost_usd)),
        ];
        let of_reader = |part: fn(&Usage) -> Option<f64>| {
            mean(used.iter().filter_map(|run| run.reader.as_ref()).map(|reader| part(&reader.usage)))
        };
        let by_reader = [
            of_reader(|usage| usage.answers.map(|answers| answers as f64)),
            of_reader(|usage| usage.input_tokens.map(|tokens| tokens as f64)),
            of_reader(|usage| usage.output_tokens.map(|tokens| tokens as f64)),
            of_reader(|usage| usage.cost_usd),
        ];
        for (sum, one) in sums.iter_mut().zip(usage).chain(reader.iter_mut().zip(by_reader)) {
            *sum = sum.zip(one).map(|(sum, one)| sum + one * repeats);
        }
    }
    let at_a_time = |most: u32| format!("{} at a time", counted(most, "run", "runs"));
    let share = |time: f64, most: u32| time / f64::from(most.max(1));
    let models = by_model.iter().filter_map(|(model, time)| {
        let most = planned.per_model?;
        Some((share(*time, most), format!("{} of {model}, by per_model", at_a_time(most))))
    });
    let providers = by_provider.iter().map(|((provider, most), time)| {
        (share(*time, *most), format!("{} of {provider}, by per_provider", at_a_time(*most)))
    });
    // What is scarcest decides.
    let all = (share(seconds, planned.parallel), at_a_time(planned.parallel));
    let (longest, with) =
        models.chain(providers).fold(all, |longest, other| if other.0 > longest.0 { other } else { longest });
    let runs = planned.cells.len() as u64 * u64::from(planned.repeats);
    let most = if planned.stopping.is_some() { "at most " } else { "" };
    let mut out = format!(
        "Estimate from {} of `{from}`: {most}{}\n",
        counted(earlier.len() as u64, "run", "runs"),
        counted(runs, "run", "runs")
    );
    let _ = writeln!(
        out,
        "  time    {} with {with} ({} one after the other)",
        duration(longest),
        duration(seconds)
    );
    let told = |sum: Option<f64>| sum.map_or("not known".to_owned(), rounded);
    let _ = writeln!(out, "  tokens  input {}, output {}", told(sums[0]), told(sums[1]));
    let cost =
        sums[2].map_or("not known: the agents do not tell it".to_owned(), |cost| format!("{cost:.2} USD"));
    let _ = writeln!(out, "  cost    {cost}");
    if read {
        let [answers, input, output, cost] = reader;
        let _ = writeln!(
            out,
            "  second reader, beside that: {} answers, input {}, output {}, cost {}",
            told(answers),
            told(input),
            told(output),
            cost.map_or("not known".to_owned(), |cost| format!("{cost:.2} USD"))
        );
    }
    if unlike > 0 {
        let _ = writeln!(
            out,
            "  {} taken from other cells of the same agent and model",
            counted(unlike as u64, "cell", "cells")
        );
    }
    if unknown > 0 {
        let _ = writeln!(
            out,
            "  {} taken from all earlier runs: its agent and model have none",
            counted(unknown as u64, "cell", "cells")
        );
    }
    out
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    if known.is_empty() { None } else { Some(known.iter().sum::<f64>() / known.len() as f64) }
}

fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{short:.0} s"),
        medium if medium < 90.0 * 60.0 => format!("{:.0} min", medium / 60.0),
        long => format!("{:.1} h", long / 3600.0),
    }
}

fn rounded(number: f64) -> String {
    match number {
        small if small < 10_000.0 => format!("{small:.0}"),
        medium if medium < 1e6 => format!("{:.0} thousand", medium / 1e3),
        large => format!("{:.1} million", large / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CellId;

    fn cells(patches: &[&str]) -> Vec<Arc<Cell>> {
        let key = |patch: &&str| CellKey {
            agent: "a".to_owned(),
            model: "m".to_owned(),
            prompt: "p".to_owned(),
            conversation: "c".to_owned(),
            upstream: "u".to_owned(),
            scenario: "F1".to_owned(),
            patch: (*patch).to_owned(),
            present: "plain".to_owned(),
        };
        patches.iter().map(key).map(|key| Arc::new(Cell { id: CellId::of(&key), key })).collect()
    }

    fn planned(cells: &[Arc<Cell>], repeats: u32) -> Planned<'_> {
        let level = Level::P95;
        Planned {
            cells,
            repeats,
            stopping: None,
            gates: &[],
            parallel: 2,
            per_model: None,
            providers: &[],
            level,
        }
    }

    #[test]
    fn the_fewest_repeats_are_the_published_ones() {
        let needed = PAIRS
            .map(|(before, after)| repeats_for_power(Test::Boschloo, before, after, Level::P95, POWER, MOST));
        assert_eq!(needed, [Some(3), Some(10), Some(20), Some(36)]);
    }

    #[test]
    fn what_is_said_to_be_told_apart_is() {
        let region = Rejection::new(Test::Boschloo, 10, 10, Level::P95).unwrap();
        for before in RATES {
            let Some(after) = most_after(&region, before) else { continue };
            assert!(region.chance(before, after) >= POWER, "{before} → {after}");
            assert!(region.chance(before, after + 0.01) < POWER, "{before} → {after}");
        }
        assert_eq!(most_after(&region, 0.0), None);
    }

    #[test]
    fn a_plan_of_one_comparison_reads_well() {
        let cells = cells(&["off", "GHOST_WRITE"]);
        insta::assert_snapshot!(text(&planned(&cells, 10)));
    }

    #[test]
    fn what_is_scarcest_decides_how_long_it_takes() {
        let cells = cells(&["off", "GHOST_WRITE"]);
        let run = |cell: &Arc<Cell>| RunResult {
            verdict: Verdict::Pass,
            duration_ms: 60_000,
            ..RunResult::blank(cell.id.clone(), cell.key.clone(), 1)
        };
        let earlier: Vec<RunResult> = cells.iter().map(run).collect();
        let time = |per_model: Option<u32>, providers: &[Option<(&str, u32)>]| {
            let planned = Planned { parallel: 8, per_model, providers, ..planned(&cells, 10) };
            let text = estimate(&planned, "out", &earlier);
            let line = text.lines().find(|line| line.starts_with("  time")).unwrap();
            line.trim_start_matches("  time    ").to_owned()
        };
        // Twenty minutes of runs.
        assert_eq!(time(None, &[]), "2 min with 8 runs at a time (20 min one after the other)");
        assert_eq!(
            time(Some(4), &[]),
            "5 min with 4 runs at a time of m, by per_model (20 min one after the other)"
        );
        assert_eq!(
            time(Some(4), &[Some(("acme", 2)); 2]),
            "10 min with 2 runs at a time of acme, by per_provider (20 min one after the other)"
        );
        // Half of the runs are another provider's, which has a limit of its own.
        assert_eq!(
            time(None, &[Some(("acme", 2)), Some(("other", 4))]),
            "5 min with 2 runs at a time of acme, by per_provider (20 min one after the other)"
        );
        assert_eq!(time(Some(16), &[None; 2]), "2 min with 8 runs at a time (20 min one after the other)");
    }

    #[test]
    fn a_plan_that_ends_early_says_when() {
        let cells = cells(&["off", "GHOST_WRITE"]);
        let text_of = |until| {
            let stopping = Some(Stopping { min: 5, until });
            text(&Planned { stopping, ..planned(&cells, 40) })
        };
        insta::assert_snapshot!(format!("{}\n{}", text_of(Until::HalfWidth(0.15)), text_of(Until::Decided)));
    }

    #[test]
    fn a_second_reader_is_estimated_beside_the_agents() {
        let cells = cells(&["off"]);
        let used = Usage { input_tokens: Some(300), answers: Some(2), ..Usage::default() };
        let run = |reader: Option<Usage>| RunResult {
            verdict: Verdict::Pass,
            usage: Usage { input_tokens: Some(1000), ..Usage::default() },
            reader: reader.map(|usage| crate::domain::ReaderFacts { model: "m".into(), usage }),
            ..RunResult::blank(cells[0].id.clone(), cells[0].key.clone(), 1)
        };
        let told = estimate(&planned(&cells, 10), "out", &[run(Some(used)), run(Some(used))]);
        assert!(told.contains("tokens  input 10 thousand, output not known"), "{told}");
        let line = "second reader, beside that: 20 answers, input 3000, output not known, cost not known";
        assert!(told.contains(line), "{told}");
        assert!(!estimate(&planned(&cells, 10), "out", &[run(None)]).contains("second reader"));
    }
}
