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
use std::collections::{BTreeMap, HashMap};
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
    let mut all = results(&first.plan, &first.runs, generated_at.clone());
    if others.is_empty() {
        return Some(all);
    }
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
            run.trace = run.trace.map(|trace| format!("{}/{trace}", folder.name));
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
