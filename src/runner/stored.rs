//! Results folders → what reports are made of.

pub use super::reports::{broken_traces, read_timelines};
use super::stopping;
use crate::domain::{CellId, RunId, RunResult};
use crate::report::{Fact, PlannedCell, Results, Source, SuiteInfo};
use crate::stats::Level;
use crate::store::{
    CellRecord, ChangeRecord, CheckRecord, ConditionRecord, FactRecord, GateRecord, MatrixRecord,
    PLAN_VERSION, PlanRecord, StoppingRecord, StoreError, SuiteRecord, UntilRecord, read_matrix, read_plan,
    read_runs,
};
use crate::suite::{Change, Filter, Gate, GateCheck, Stopping, Until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// A results folder that was read.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The folder, as it was given.
    pub name: String,
    /// What it is the result of.
    pub matrix: MatrixRecord,
    /// What was planned. Guessed from the runs where an old folder does not say.
    pub plan: PlanRecord,
    /// The finished runs.
    pub runs: Vec<RunResult>,
}

/// Reads a results folder.
///
/// # Errors
/// Where it is none, or a file of it cannot be read.
pub fn read(folder: &Path) -> Result<Stored, StoreError> {
    let matrix = read_matrix(folder)?;
    let runs = read_runs(folder)?;
    let plan = read_plan(folder)?.unwrap_or_else(|| guessed(&matrix, &runs));
    Ok(Stored { name: folder.to_string_lossy().into_owned(), matrix, plan, runs })
}

/// What a reader must know of a replay before any number of it.
const REPLAY: &str = "REPLAY, NOTHING MEASURED: every answer of a model comes from a recording. This tells \
                          of today's program, not of the model, whose answers count where they were recorded.";

/// The results of one folder.
pub fn results_of(folder: &Stored, generated_at: String) -> Results {
    let mut one = results(&folder.plan, &folder.runs, generated_at);
    one.marks = marks(&folder.matrix);
    one
}

/// What a reader must know before any number of a matrix.
pub(super) fn marks(matrix: &MatrixRecord) -> Vec<String> {
    matrix.replay.iter().map(|_| REPLAY.to_owned()).collect()
}

/// Runs that two folders have both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameRuns<'a> {
    /// The folders, as they were given.
    pub folders: [&'a str; 2],
    /// How many runs.
    pub runs: usize,
    /// One of them.
    pub example: &'a RunId,
}

/// The first two folders with the same runs: a folder that is given twice, or with its copy. A run is the
/// same where its trace ends alike, or where it has the same id and was started at the same moment.
pub fn same_runs(folders: &[Stored]) -> Option<SameRuns<'_>> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut found: Option<(usize, SameRuns<'_>)> = None;
    for (place, folder) in folders.iter().enumerate() {
        for run in &folder.runs {
            let end = run.trace_digest.as_deref().map(|end| ("", end));
            let start = (!run.started_at.is_empty()).then_some((run.run_id.0.as_str(), &*run.started_at));
            let keys: Vec<_> = end.into_iter().chain(start).collect();
            let other = keys.iter().find_map(|key| seen.get(key).copied()).filter(|other| *other != place);
            for key in keys {
                seen.entry(key).or_insert(place);
            }
            let Some(other) = other else { continue };
            match &mut found {
                Some((first, same)) if (*first, same.folders[1]) == (other, &*folder.name) => same.runs += 1,
                Some(_) => {}
                None => {
                    let names = [folders.get(other).map_or("", |one| &*one.name), &*folder.name];
                    found = Some((other, SameRuns { folders: names, runs: 1, example: &run.run_id }));
                }
            }
        }
    }
    found.map(|(_, same)| same)
}

/// What a reader must know where folders of different states of a suite are read as one; none where the
/// states are the same.
fn differing(folders: &[Stored]) -> Option<String> {
    let digests: BTreeSet<&str> = folders.iter().map(|folder| &*folder.plan.suite.digest).collect();
    if digests.len() < 2 {
        return None;
    }
    // Of each thing: what is kept of it in the folders that have it.
    let mut kept: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    let groups =
        [("prompts", "prompt"), ("patches", "patch"), ("agents", "agent"), ("upstreams", "upstream")];
    // A folder that does not say what it was measured with has no part in it.
    let environments = folders.iter().filter_map(|folder| {
        let bytes = std::fs::read(Path::new(&folder.name).join("environment.json")).ok()?;
        serde_json::from_slice::<Value>(&bytes).ok()
    });
    let environments: Vec<Value> = environments.collect();
    for environment in &environments {
        for (list, one) in groups {
            for thing in environment.get(list).and_then(Value::as_array).into_iter().flatten() {
                let Some(name) = thing.get("name").and_then(Value::as_str) else { continue };
                let value = thing.get("digest").or_else(|| thing.get("tools"));
                kept.entry((one, name)).or_default().insert(value.map(Value::to_string).unwrap_or_default());
            }
        }
    }
    let mut differ: Vec<String> = kept
        .into_iter()
        .filter(|(_, values)| values.len() > 1)
        .map(|((one, name), _)| format!("{one} `{name}`"))
        .collect();
    let repeats: BTreeSet<u32> = folders.iter().map(|folder| folder.plan.suite.repeats).collect();
    if repeats.len() > 1 {
        differ.push("the number of repeats".to_owned());
    }
    let what = match differ.is_empty() {
        true => "no prompt, patch, agent or tool differs, so another setting of the suite does".to_owned(),
        false => format!("what differs: {}", differ.join(", ")),
    };
    Some(format!(
        "DIFFERENT STATES OF THE SUITE are read as one: {what}. What stands here as one cell may have been measured \
         in different ways; `nochmal compare` sets two of the folders side by side."
    ))
}

/// The plan of a folder that has none: its cells are those that have runs.
fn guessed(matrix: &MatrixRecord, runs: &[RunResult]) -> PlanRecord {
    let seen = runs.iter().map(|run| run.repeat).max().unwrap_or(0);
    let repeats = matrix.repeats.unwrap_or(seen);
    let mut cells: Vec<CellRecord> = Vec::new();
    for run in runs {
        if cells.iter().all(|cell| cell.id != run.cell_id) {
            cells.push(CellRecord { id: run.cell_id.clone(), cell: run.key.clone(), repeats });
        }
    }
    cells.sort_by(|a, b| a.cell.cmp(&b.cell));
    PlanRecord {
        version: PLAN_VERSION,
        suite: SuiteRecord {
            name: matrix.suite.clone(),
            description: String::new(),
            digest: matrix.digest.clone(),
            repeats,
            harness_version: matrix.harness_version.clone(),
        },
        level: Level::P95.value(),
        stopping: None,
        environment: vec![FactRecord {
            name: "plan".to_owned(),
            value: "not stored in this folder; cells without a run are not known".to_owned(),
        }],
        cells,
        gates: Vec::new(),
    }
}

/// The results of one matrix.
pub fn results(plan: &PlanRecord, runs: &[RunResult], generated_at: String) -> Results {
    let rule = plan.stopping.map(stopping_rule);
    let level = Level::new(plan.level).unwrap_or_default();
    let cells = planned(plan, runs, rule, level);
    let all: u64 = cells.iter().map(|cell| u64::from(cell.repeats)).sum();
    Results {
        timelines: BTreeMap::new(),
        broken_traces: Vec::new(),
        marks: Vec::new(),
        suite: SuiteInfo {
            name: plan.suite.name.clone(),
            description: plan.suite.description.clone(),
            digest: plan.suite.digest.clone(),
            repeats: plan.suite.repeats,
            early_stop: rule.is_some(),
            version: plan.suite.harness_version.clone(),
        },
        environment: plan.environment.iter().map(fact).collect(),
        generated_at,
        cells,
        gates: plan.gates.iter().map(gate).collect(),
        sources: Vec::new(),
        interrupted: (runs.len() as u64) < all,
        runs: runs.to_vec(),
    }
}

fn fact(record: &FactRecord) -> Fact {
    Fact { name: record.name.clone(), value: record.value.clone() }
}

/// A cell that a rule ended early has all the runs that it needs.
fn planned(plan: &PlanRecord, runs: &[RunResult], rule: Option<Stopping>, level: Level) -> Vec<PlannedCell> {
    let mut ended: HashMap<&CellId, u32> = HashMap::new();
    for run in runs {
        *ended.entry(&run.cell_id).or_default() += 1;
    }
    let keys: Vec<_> = plan.cells.iter().map(|cell| (&cell.id, &cell.cell)).collect();
    let done = rule.map(|rule| stopping::done(rule, level, &keys, runs)).unwrap_or_default();
    let planned = plan.cells.iter().map(|cell| PlannedCell {
        id: cell.id.clone(),
        key: cell.cell.clone(),
        repeats: match done.contains(&cell.id) {
            true => ended.get(&cell.id).copied().unwrap_or(cell.repeats),
            false => cell.repeats,
        },
    });
    planned.collect()
}

/// The results of one folder, or of several as if they were one matrix with more repeats. The runs
/// of a second folder have its name before their id and trace, and repeats after those of the first.
pub fn merged(folders: &[Stored], generated_at: String) -> Option<Results> {
    let (first, others) = folders.split_first()?;
    let mut all = results_of(first, generated_at.clone());
    if others.is_empty() {
        return Some(all);
    }
    all.marks.extend(differing(folders));
    all.runs.clear();
    all.cells.clear();
    all.environment.clear();
    all.suite.repeats = 0;
    let mut last = 0;
    let mut facts: BTreeMap<Fact2, Vec<&str>> = BTreeMap::new();
    let mut order: Vec<Fact2> = Vec::new();
    let mut places: HashMap<CellId, usize> = HashMap::new();
    for folder in folders {
        let one = results(&folder.plan, &folder.runs, generated_at.clone());
        if one.suite.digest != all.suite.digest {
            all.suite.digest = "mixed".to_owned();
        }
        if !all.suite.name.split(" + ").any(|name| name == one.suite.name) {
            all.suite.name = format!("{} + {}", all.suite.name, one.suite.name);
        }
        all.suite.repeats = all.suite.repeats.saturating_add(one.suite.repeats);
        all.suite.early_stop |= one.suite.early_stop;
        all.interrupted |= one.interrupted;
        for fact in one.environment {
            let fact = (fact.name, fact.value);
            if !facts.contains_key(&fact) {
                order.push(fact.clone());
            }
            facts.entry(fact).or_default().push(&folder.name);
        }
        let mut most = 0;
        for cell in one.cells {
            most = most.max(cell.repeats);
            match places.get(&cell.id).and_then(|place| all.cells.get_mut(*place)) {
                Some(there) => there.repeats = there.repeats.saturating_add(cell.repeats),
                None => {
                    places.insert(cell.id.clone(), all.cells.len());
                    all.cells.push(cell);
                }
            }
        }
        most = one.runs.iter().map(|run| run.repeat).max().unwrap_or(0).max(most).max(1);
        for mut run in one.runs {
            run.repeat = run.repeat.saturating_add(last);
            run.run_id = RunId(format!("{}/{}", folder.name, run.run_id));
            let placed = |trace: String| format!("{}/{trace}", folder.name);
            run.trace = run.trace.map(placed);
            for spoiled in &mut run.agent.spoiled {
                spoiled.trace = spoiled.trace.take().map(placed);
            }
            all.runs.push(run);
        }
        for gate in one.gates {
            if !all.gates.contains(&gate) {
                all.gates.push(gate);
            }
        }
        all.sources.push(Source {
            name: folder.name.clone(),
            digest: folder.plan.suite.digest.clone(),
            started_at: folder.matrix.started_at.clone(),
            repeats: last + 1..=last.saturating_add(most),
        });
        last = last.saturating_add(most);
    }
    for fact in order {
        let by = facts.get(&fact).map(Vec::as_slice).unwrap_or_default();
        let (name, value) = fact;
        let name = if by.len() == folders.len() { name } else { format!("{name} in {}", by.join(", ")) };
        all.environment.push(Fact { name, value });
    }
    Some(all)
}

/// Name and value of a fact.
type Fact2 = (String, String);

/// The stored form of a rule.
pub(super) fn stopping_record(rule: Stopping) -> StoppingRecord {
    let until = match rule.until {
        Until::HalfWidth(width) => UntilRecord::HalfWidth(width),
        Until::Decided => UntilRecord::Decided,
    };
    StoppingRecord { min: rule.min, until }
}

fn stopping_rule(record: StoppingRecord) -> Stopping {
    let until = match record.until {
        UntilRecord::HalfWidth(width) => Until::HalfWidth(width),
        UntilRecord::Decided => Until::Decided,
    };
    Stopping { min: record.min, until }
}

/// The stored form of a gate; none of one that is about old and new results, which no matrix has.
pub(super) fn gate_record(gate: &Gate) -> Option<GateRecord> {
    let cells = gate.cells.conditions().map(|(axis, values, equal)| ConditionRecord {
        axis,
        values: values.to_vec(),
        equal,
    });
    let check = match &gate.check {
        GateCheck::FailRateUpper(most) => CheckRecord::FailRateUpper(*most),
        GateCheck::FailRateChange { axis, before, after, change } => CheckRecord::FailRateChange {
            axis: *axis,
            before: before.clone(),
            after: after.clone(),
            change: match change {
                Change::Decreases => ChangeRecord::Decreases,
                Change::DoesNotIncrease => ChangeRecord::DoesNotIncrease,
            },
        },
        GateCheck::MaxNotTested(most) => CheckRecord::MaxNotTested(*most),
        GateCheck::FailRateSince(_) => return None,
    };
    Some(GateRecord { cells: cells.collect(), check })
}

fn gate(record: &GateRecord) -> Gate {
    let check = match &record.check {
        CheckRecord::FailRateUpper(most) => GateCheck::FailRateUpper(*most),
        CheckRecord::FailRateChange { axis, before, after, change } => GateCheck::FailRateChange {
            axis: *axis,
            before: before.clone(),
            after: after.clone(),
            change: match change {
                ChangeRecord::Decreases => Change::Decreases,
                ChangeRecord::DoesNotIncrease => Change::DoesNotIncrease,
            },
        },
        CheckRecord::MaxNotTested(most) => GateCheck::MaxNotTested(*most),
    };
    let cells = record.cells.iter().map(|one| (one.axis, one.values.clone(), one.equal));
    Gate { cells: Filter::from_conditions(cells), check }
}
