//! The runs of a suite, and their order.
//!
//! Every cell is run once before any is run twice, so that the arms of a comparison share the
//! day's conditions. Within one repeat the order is shuffled: by the digest of seed, repeat and
//! cell, so that it depends on nothing but these, and a cell that is added moves no other.
//! Cells with `patch: observed` come after all runs of their partners. Where `per_model` is set,
//! all of this happens model by model, since loading a model takes longer than running it.

use super::{Cell, Filter, Suite};
use crate::domain::RunId;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One planned run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Stable: from the cell and the repeat.
    pub run_id: RunId,
    /// Which cell.
    pub cell: Arc<Cell>,
    /// From 1.
    pub repeat: u32,
    /// Its own seed, from the suite's and the run's id.
    pub seed: u64,
}

impl Suite {
    /// The runs that the filter keeps, in the order in which they start. `repeats` replaces the
    /// suite's. A filter that keeps `patch: observed` without `off` leaves nothing to observe.
    pub fn trials(&self, filter: &Filter, repeats: Option<u32>) -> Vec<Trial> {
        let cells: Vec<&Arc<Cell>> = self.cells.iter().filter(|cell| filter.keeps(&cell.key)).collect();
        let mut models: BTreeMap<&str, usize> = BTreeMap::new();
        for cell in &self.cells {
            let next = models.len();
            models.entry(&cell.key.model).or_insert(next);
        }
        let mut order = Vec::new();
        for repeat in 1..=repeats.unwrap_or(self.repeats) {
            for cell in &cells {
                let model = match self.limits.per_model {
                    Some(_) => models.get(cell.key.model.as_str()).copied().unwrap_or_default(),
                    None => 0,
                };
                let observed = cell.key.patch == "observed";
                order.push(((model, observed, repeat, shuffle(self.seed, repeat, cell)), *cell));
            }
        }
        order.sort_by_key(|(place, _)| *place);
        order.into_iter().map(|((_, _, repeat, _), cell)| trial(self.seed, cell, repeat)).collect()
    }
}

fn trial(seed: u64, cell: &Arc<Cell>, repeat: u32) -> Trial {
    let run_id = RunId::of(&cell.id, repeat);
    let mut hash = Sha256::new();
    hash.update(b"trial");
    hash.update(seed.to_le_bytes());
    hash.update(run_id.0.as_bytes());
    Trial { seed: first_eight(hash), run_id, cell: cell.clone(), repeat }
}

fn shuffle(seed: u64, repeat: u32, cell: &Cell) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"order");
    hash.update(seed.to_le_bytes());
    hash.update(repeat.to_le_bytes());
    hash.update(cell.id.0.as_bytes());
    first_eight(hash)
}

fn first_eight(hash: Sha256) -> u64 {
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}
