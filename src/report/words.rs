//! Sentences that several formats share.

use super::text::{counted, k_of_n, p_value, percent, points, points_interval, short_digest, trimmed};
use super::{CellView, Comparison, ConditionalTurns, Decision, IntervalMethod, PatchSummary, Source, View};
use crate::domain::Axis;

/// What came out, in one sentence without a full stop: `34 of 78 tested runs failed (80 planned: 2 not
/// tested, 0 errors)`.
pub(super) fn outcome(view: &View<'_>) -> String {
    let counts = view.totals;
    let tested = match counts.failed() {
        Some(failed) => format!("{} tested runs failed", k_of_n(failed)),
        None => "no run was tested, so there is no rate".to_owned(),
    };
    let errors = counted(counts.error, "error", "errors");
    let mut beside = format!("{} not tested, {errors}", counts.not_tested);
    if view.missing > 0 || view.results.interrupted {
        beside.push_str(&format!(", {} missing", view.missing));
    }
    format!("{tested} ({} planned: {beside})", view.planned)
}

/// When the runs were made, in words; the report itself may be much younger.
pub(super) fn measured(view: &View<'_>) -> String {
    let shown = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    match view.measured.map(|(from, to)| (shown(from), shown(to))) {
        Some((from, to)) if from == to => format!("measured {from}"),
        Some((from, to)) => format!("measured {from} to {to}"),
        None => "nothing measured".to_owned(),
    }
}

/// How many of the passes met no fault, without a full stop; none where every one met one.
pub(super) fn unstruck(view: &View<'_>) -> Option<String> {
    let of = |cells: &mut dyn Iterator<Item = &CellView<'_>>| cells.fold(0, |sum, cell| sum + cell.unstruck);
    let all: u32 = of(&mut view.cells.iter());
    let never: u32 = of(&mut view.cells.iter().filter(|cell| cell.has_fault()));
    let why = match (never, all - never) {
        (0, 0) => return None,
        (0, _) => "the scenario has none".to_owned(),
        (_, 0) => "the scenario never struck".to_owned(),
        (never, by_nature) => {
            format!("{by_nature} in scenarios without one, {never} where the scenario never struck")
        }
    };
    let passes = counted(view.totals.pass, "pass", "passes");
    Some(format!("of {passes}, {all} met no fault: {why}"))
}

/// Whether tables of cells say how many passes met no fault: where a scenario could have struck and did not.
pub(super) fn shows_unstruck(view: &View<'_>) -> bool {
    view.cells.iter().any(|cell| cell.unstruck > 0 && cell.has_fault())
}

/// The columns of the table of comparisons: all axes on which cells differ, and the patch.
pub(super) fn comparison_axes(view: &View<'_>) -> Vec<Axis> {
    Axis::ALL.into_iter().filter(|axis| *axis == Axis::Patch || view.varied.contains(axis)).collect()
}

/// How the comparisons were made.
pub(super) fn comparison_methods(view: &View<'_>) -> String {
    let level = view.level.percent();
    match view.method {
        IntervalMethod::Wilson => format!(
            "change in the fail rate, Newcombe's {level} interval; p by Boschloo's exact test, adjusted after Holm \
             over {}; effect where p < {}",
            counted(tested(view), "comparison", "comparisons"),
            trimmed(&format!("{:.6}", view.level.alpha()))
        ),
        IntervalMethod::ConfidenceSequence => format!(
            "change in the fail rate, {level} interval from two confidence sequences; p from the discordant pairs of \
             runs made in turn, adjusted after Holm over {}; both hold although the repeats ended early",
            counted(tested(view), "comparison", "comparisons")
        ),
    }
}

fn tested(view: &View<'_>) -> u64 {
    view.comparisons.iter().filter(|pair| pair.difference.is_some()).count() as u64
}

/// What one patch did, without its name: `fewer fails in 2 of 4 comparisons, no effect shown in 2`.
pub(super) fn patch_outcome(patch: &PatchSummary) -> String {
    let none = patch.comparisons - patch.fewer_fails - patch.more_fails - patch.no_data;
    let all = counted(patch.comparisons, "comparison", "comparisons");
    let mut parts = Vec::new();
    let alone = patch.comparisons == 1;
    for (number, what) in [
        (patch.fewer_fails, "fewer fails"),
        (patch.more_fails, "MORE fails"),
        (none, "no effect shown"),
        (patch.no_data, "no data"),
    ] {
        if number > 0 && alone {
            parts.push(what.to_owned());
        } else if number > 0 && parts.is_empty() {
            parts.push(format!("{what} in {number} of {all}"));
        } else if number > 0 {
            parts.push(format!("{what} in {number}"));
        }
    }
    parts.join(", ")
}

/// The comparisons of one patch together, where there are several.
pub(super) fn patch_overall(patch: &PatchSummary, level: &str) -> Option<String> {
    let overall = patch.overall?;
    let mut beside: Vec<String> = Vec::new();
    beside.push(match patch.overall_interval() {
        Some(interval) => format!("{level} interval {}", points_interval(interval)),
        None => "no interval: all runs of each cell ended alike".to_owned(),
    });
    beside.extend(patch.overall_p.map(|p| format!("p = {}", p_value(p))));
    Some(format!("over all of them {} ({}; Mantel–Haenszel)", points(overall.estimate), beside.join(", ")))
}

/// What a comparison shows.
pub(super) fn effect(pair: &Comparison, view: &View<'_>) -> String {
    match pair.decision {
        Decision::FewerFails => "fewer fails".to_owned(),
        Decision::MoreFails => "MORE FAILS".to_owned(),
        Decision::NoData => "no data".to_owned(),
        Decision::NoneShown(_) if view.method == IntervalMethod::ConfidenceSequence => {
            "none shown".to_owned()
        }
        Decision::NoneShown(Some(most)) => match most.k() {
            0 => format!("none shown; 0 of {} would be", most.n()),
            k => format!("none shown; {k} or fewer of {} would be", most.n()),
        },
        Decision::NoneShown(None) if pair.before.is_some_and(|before| before.k() == 0) => {
            "none shown; nothing to reduce".to_owned()
        }
        Decision::NoneShown(None) => "none shown; too few runs to show any".to_owned(),
    }
}

/// What the numbers of this report do not say, one sentence each.
pub(super) fn limits(view: &View<'_>) -> Vec<String> {
    let level = view.level.percent();
    let mut limits = Vec::new();
    limits.extend(unstruck(view).map(|sentence| {
        format!(
            "{}. Such a PASS says that nothing was executed twice when all went well, and nothing of what happens \
             after a fault.",
            capital(&sentence)
        )
    }));
    let mut digests: Vec<&str> = view.results.sources.iter().map(|source| source.digest.as_str()).collect();
    digests.sort_unstable();
    digests.dedup();
    if digests.len() > 1 {
        limits.push(format!(
            "The results are merged from {} different states of the suite (digests {}): what is one cell here may have \
             been run in different ways.",
            digests.len(),
            digests.iter().map(|digest| short_digest(digest)).collect::<Vec<_>>().join(", ")
        ));
    }
    if view.missing > 0 || view.results.interrupted {
        limits.push(format!(
            "The matrix is not complete: {} of {} planned runs are missing.",
            view.missing, view.planned
        ));
    }
    let counts = view.totals;
    let beside = counts.not_tested.saturating_add(counts.error);
    if beside > 0 {
        let share = f64::from(beside) / f64::from(counts.total().max(1));
        limits.push(format!(
            "{} ({} of all) stand beside the rates and not in them. If they would have ended differently from the \
             tested ones, the rates are off.",
            counted(beside, "run", "runs"),
            percent(share)
        ));
    }
    limits.push(
        "An interval covers chance between repeats of the same cell. Another prompt, model version, tool or \
         temperature is another cell, and can behave in another way."
            .to_owned(),
    );
    let cells = view.cells.iter().filter(|cell| cell.rate.is_some()).count();
    if cells > 1 {
        limits.push(format!(
            "Each of the {cells} intervals holds its rate with {level} confidence by itself; that all do at once is \
             less likely. The p-values of patches are adjusted for their number, the intervals are not."
        ));
    }
    if view.comparisons.iter().any(|pair| matches!(pair.decision, Decision::NoneShown(_))) {
        limits.push(
            "“None shown” does not mean that there is no effect: the result that would have shown one stands beside it."
                .to_owned(),
        );
    }
    limits.extend(unclear_conditions(view));
    let known = view.cells.iter().any(|cell| cell.truth.known > 0);
    limits.push(if known {
        "PASS means that no violation was seen in the calls of the run, and that no effect is there more often than \
         asked where the upstream has an account of it. Whether the task was done is another question: see completed."
            .to_owned()
    } else {
        "PASS means that no violation was seen in the calls of the run. Whether the user was told the truth is not \
         visible there, and what the upstream did behind its answers is not either."
            .to_owned()
    });
    limits
}

/// What unclear replies did to the conversations, where they did something.
fn unclear_conditions(view: &View<'_>) -> Option<String> {
    // The others look at the words themselves.
    let read = |turns: &&ConditionalTurns| matches!(turns.when.as_str(), "confirmed" | "not_confirmed");
    let turns = || view.cells.iter().flat_map(|cell| &cell.conditions).filter(read);
    let unclear: u32 = turns().map(ConditionalTurns::unclear).sum();
    let all: u32 = turns().map(|turns| turns.said + turns.not_said).sum();
    (unclear > 0).then(|| {
        format!(
            "{} of {} with a condition {} left out because the rules could not tell what the reply before claims: \
             these conversations are shorter than they may have to be.",
            unclear,
            counted(all, "turn", "turns"),
            if unclear == 1 { "was" } else { "were" }
        )
    })
}

/// The sentence with a capital.
pub(super) fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Failed of tested of every cell in each of the folders that results are merged from, in the order of
/// the cells.
pub(super) fn by_source(view: &View<'_>) -> Vec<Vec<String>> {
    let of = |cell: &CellView<'_>, source: &Source| {
        let runs = cell.runs.iter().filter(|run| source.repeats.contains(&run.repeat));
        let counts: crate::stats::Counts = runs.map(|run| run.verdict).collect();
        counts.failed().map_or("no data".to_owned(), k_of_n)
    };
    let cells = view.cells.iter();
    cells.map(|cell| view.results.sources.iter().map(|source| of(cell, source)).collect()).collect()
}

/// The folders that results are merged from, numbered as in [`by_source`].
pub(super) fn sources(view: &View<'_>) -> Vec<String> {
    let line = |(source, n): (&Source, u32)| {
        format!(
            "#{n} {} (started {}, digest {})",
            source.name,
            source.started_at,
            short_digest(&source.digest)
        )
    };
    view.results.sources.iter().zip(1..).map(line).collect()
}

/// The planned repeats of a cell, in words: `10 repeats`, `up to 40 repeats`.
pub(super) fn planned_repeats(view: &View<'_>) -> String {
    let suite = &view.results.suite;
    let most = if suite.early_stop { "up to " } else { "" };
    format!("{most}{}", counted(suite.repeats, "repeat", "repeats"))
}
