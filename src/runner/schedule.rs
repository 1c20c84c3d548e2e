//! Which run is next. Pure.

use crate::domain::{CellId, RunId};
use crate::suite::{Cell, Suite, Trial};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The value of the patch axis that uses what the runs without a patch yielded.
pub const OBSERVED: &str = "observed";

/// The runs that are left, and those that are going on.
#[derive(Debug)]
pub struct Schedule {
    waiting: Vec<Trial>,
    running: BTreeMap<RunId, Trial>,
    room: Room,
}

/// How many runs may go on at a time.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// In all; 0 counts as 1.
    pub parallel: usize,
    /// With one model.
    pub per_model: Option<usize>,
    /// With the models of a provider.
    pub per_provider: BTreeMap<String, usize>,
    /// The provider of a cell, where it has a limit.
    pub providers: HashMap<CellId, String>,
}

impl Room {
    /// What a suite allows.
    pub fn of(suite: &Suite) -> Room {
        let provider =
            |cell: &Arc<Cell>| Some((cell.id.clone(), suite.limited_provider(&cell.key)?.to_owned()));
        let limits = &suite.limits;
        let many = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Room {
            parallel: many(limits.parallel),
            per_model: limits.per_model.map(many),
            per_provider: limits
                .per_provider
                .iter()
                .map(|(name, most)| (name.clone(), many(*most)))
                .collect(),
            providers: suite.cells.iter().filter_map(provider).collect(),
        }
    }
}

impl Schedule {
    /// `trials` in the order of the suite, without those that are `finished`.
    pub fn new(trials: Vec<Trial>, finished: &HashSet<RunId>, room: Room) -> Schedule {
        let waiting = trials.into_iter().filter(|trial| !finished.contains(&trial.run_id)).collect();
        Schedule { waiting, running: BTreeMap::new(), room }
    }

    /// Runs that are left to start.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Runs that are going on.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// The next run, now marked as going on; `None` where nothing may start at the moment.
    pub fn start_next(&mut self) -> Option<Trial> {
        if self.running.len() >= self.room.parallel.max(1) {
            return None;
        }
        let index = self.waiting.iter().position(|trial| self.may_start(trial))?;
        let trial = self.waiting.remove(index);
        self.running.insert(trial.run_id.clone(), trial.clone());
        Some(trial)
    }

    /// A run is over.
    pub fn ended(&mut self, run: &RunId) {
        self.running.remove(run);
    }

    /// Leaves out what is waiting of these cells; gives the number of runs that are left out.
    pub fn leave_out(&mut self, done: &HashSet<CellId>) -> usize {
        let before = self.waiting.len();
        self.waiting.retain(|trial| !done.contains(&trial.cell.id));
        before - self.waiting.len()
    }

    fn may_start(&self, trial: &Trial) -> bool {
        let running = |alike: &dyn Fn(&Trial) -> bool| self.running.values().filter(|run| alike(run)).count();
        let model = &trial.cell.key.model;
        if self.room.per_model.is_some_and(|most| running(&|other| &other.cell.key.model == model) >= most) {
            return false;
        }
        let provider = |trial: &Trial| self.room.providers.get(&trial.cell.id);
        if let Some(name) = provider(trial)
            && let Some(most) = self.room.per_provider.get(name)
            && running(&|other| provider(other) == Some(name)) >= *most
        {
            return false;
        }
        trial.cell.key.patch != OBSERVED || !self.partner_left(trial)
    }

    /// Whether a run without the patch, whose misbehaviour the patch comes from, is not over yet.
    fn partner_left(&self, trial: &Trial) -> bool {
        let partner = trial.cell.key.with(crate::domain::Axis::Patch, "off");
        let mut others = self.waiting.iter().chain(self.running.values());
        others.any(|other| other.cell.key == partner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CellKey;

    fn trial(model: &str, patch: &str, repeat: u32) -> Trial {
        let value = |text: &str| text.to_owned();
        let key = CellKey {
            agent: value("a"),
            model: value(model),
            prompt: value("p"),
            conversation: value("c"),
            upstream: value("u"),
            scenario: value("F1"),
            patch: value(patch),
            present: "plain".to_owned(),
        };
        let id = CellId::of(&key);
        Trial { run_id: RunId::of(&id, repeat), cell: Arc::new(Cell { id, key }), repeat, seed: 0 }
    }

    fn schedule(trials: &[Trial], parallel: usize, per_model: Option<usize>) -> Schedule {
        Schedule::new(trials.to_vec(), &HashSet::new(), Room { parallel, per_model, ..Room::default() })
    }

    #[test]
    fn no_finished_run_is_repeated() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2)];
        let finished = HashSet::from([trials[0].run_id.clone()]);
        let mut schedule = Schedule::new(trials.clone(), &finished, Room { parallel: 9, ..Room::default() });
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
        assert_eq!(schedule.start_next(), None);
    }

    #[test]
    fn a_busy_model_lets_another_one_pass() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2), trial("n", "off", 1)];
        let mut schedule = schedule(&trials, 9, Some(1));
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
        assert_eq!(schedule.start_next(), Some(trials[2].clone()));
        assert_eq!(schedule.start_next(), None);
        schedule.ended(&trials[0].run_id);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
    }

    #[test]
    fn a_provider_has_no_more_runs_at_a_time_than_it_may() {
        let trials = vec![trial("a:m", "off", 1), trial("a:n", "off", 1), trial("b:m", "off", 1)];
        let providers =
            trials.iter().map(|trial| (trial.cell.id.clone(), trial.cell.key.model[..1].to_owned()));
        let room = Room {
            parallel: 9,
            per_provider: BTreeMap::from([("a".to_owned(), 1)]),
            providers: providers.collect(),
            ..Room::default()
        };
        let mut schedule = Schedule::new(trials.clone(), &HashSet::new(), room);
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
        assert_eq!(schedule.start_next(), Some(trials[2].clone()), "another provider's");
        assert_eq!(schedule.start_next(), None);
        schedule.ended(&trials[0].run_id);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
    }

    #[test]
    fn a_cell_that_is_done_is_not_run_again_and_frees_what_waits_for_it() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2), trial("m", OBSERVED, 1)];
        let mut schedule = schedule(&trials, 9, None);
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
        schedule.ended(&trials[0].run_id);
        assert_eq!(schedule.leave_out(&HashSet::from([trials[0].cell.id.clone()])), 1);
        assert_eq!(schedule.start_next(), Some(trials[2].clone()));
        assert_eq!(schedule.waiting(), 0);
    }

    #[test]
    fn an_observed_patch_waits_for_all_runs_that_it_is_observed_in() {
        let trials =
            vec![trial("m", OBSERVED, 1), trial("m", "off", 1), trial("m", "off", 2), trial("n", "off", 1)];
        let mut schedule = schedule(&trials, 2, None);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
        assert_eq!(schedule.start_next(), Some(trials[2].clone()));
        schedule.ended(&trials[1].run_id);
        assert_eq!(schedule.start_next(), Some(trials[3].clone()), "the other one is still going on");
        schedule.ended(&trials[2].run_id);
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
    }
}
