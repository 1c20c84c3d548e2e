//! A rehearsal that is about the programs' MCP clients: how long does each wait for a tool, and what does it
//! send again by itself? Pure.

use crate::domain::{Axis, CellId, CellKey};
use crate::suite::parts::ALONE;
use crate::suite::{Cell, Suite};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A booking is made, and its answer is held back until the client gives up.
const SCENARIO: &str = "T4";

/// What a run takes beside the wait: two starts of a slow program.
const BESIDE: Duration = Duration::from_secs(120);

/// Programs that wait at the same time: waiting takes nothing.
const AT_A_TIME: u32 = 16;

/// Of each agent its first cell among `cells`, in which the answer to its first write is held back for
/// `longest`, at most.
pub fn probe(suite: &mut Suite, cells: &[Arc<Cell>], longest: Duration) {
    let mut agents: BTreeSet<&str> = BTreeSet::new();
    let firsts = cells.iter().filter(|cell| agents.insert(&cell.key.agent));
    let probed: Vec<Arc<Cell>> = firsts.map(|cell| probed(&cell.key)).collect();
    suite.cells = probed;
    suite.gates.clear();
    suite.stopping = None;
    suite.scenario_params.late = longest;
    let limits = &mut suite.limits;
    limits.run_timeout = limits.run_timeout.max(longest + BESIDE);
    (limits.per_model, limits.per_provider) = (None, Default::default());
    limits.parallel = limits.parallel.max(AT_A_TIME);
}

fn probed(key: &CellKey) -> Arc<Cell> {
    let key = [(Axis::Scenario, SCENARIO), (Axis::Conversation, ALONE), (Axis::Patch, "off")]
        .iter()
        .fold(key.clone(), |key, (axis, value)| key.with(*axis, value));
    let key = key.with(Axis::Present, "plain");
    Arc::new(Cell { id: CellId::of(&key), key })
}
