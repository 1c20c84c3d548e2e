//! Which run is next. Pure.

use crate::domain::{CellId, RunId};
use crate::suite::Trial;
use std::collections::{BTreeMap, HashSet};

/// The value of the patch axis that uses what the runs without a patch yielded.
pub const OBSERVED: &str = "observed";

/// The runs that are left, and those that are going on.
#[derive(Debug)]
pub struct Schedule {
    waiting: Vec<Trial>,
    running: BTreeMap<RunId, Trial>,
    parallel: usize,
    per_model: Option<usize>,
}

impl Schedule {
    /// `trials` in the order of the suite, without those that are `finished`.
    pub fn new(
        trials: Vec<Trial>,
        finished: &HashSet<RunId>,
        parallel: usize,
        per_model: Option<usize>,
    ) -> Schedule {
        let waiting = trials.into_iter().filter(|trial| !finished.contains(&trial.run_id)).collect();
        Schedule { waiting, running: BTreeMap::new(), parallel: parallel.max(1), per_model }
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
        if self.running.len() >= self.parallel {
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
        let model = &trial.cell.key.model;
        let busy = self.running.values().filter(|other| &other.cell.key.model == model).count();
        if self.per_model.is_some_and(|most| busy >= most) {
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
    use crate::suite::Cell;
    use std::sync::Arc;

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

    fn none() -> HashSet<RunId> {
        HashSet::new()
    }

    #[test]
    fn no_finished_run_is_repeated() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2)];
        let finished = HashSet::from([trials[0].run_id.clone()]);
        let mut schedule = Schedule::new(trials.clone(), &finished, 9, None);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
        assert_eq!(schedule.start_next(), None);
    }

    #[test]
    fn a_busy_model_lets_another_one_pass() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2), trial("n", "off", 1)];
        let mut schedule = Schedule::new(trials.clone(), &none(), 9, Some(1));
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
        assert_eq!(schedule.start_next(), Some(trials[2].clone()));
        assert_eq!(schedule.start_next(), None);
        schedule.ended(&trials[0].run_id);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
    }

    #[test]
    fn a_cell_that_is_done_is_not_run_again_and_frees_what_waits_for_it() {
        let trials = vec![trial("m", "off", 1), trial("m", "off", 2), trial("m", OBSERVED, 1)];
        let mut schedule = Schedule::new(trials.clone(), &none(), 9, None);
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
        let mut schedule = Schedule::new(trials.clone(), &none(), 2, None);
        assert_eq!(schedule.start_next(), Some(trials[1].clone()));
        assert_eq!(schedule.start_next(), Some(trials[2].clone()));
        schedule.ended(&trials[1].run_id);
        assert_eq!(schedule.start_next(), Some(trials[3].clone()), "the other one is still going on");
        schedule.ended(&trials[2].run_id);
        assert_eq!(schedule.start_next(), Some(trials[0].clone()));
    }
}
