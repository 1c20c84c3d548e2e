//! What a person sees while a matrix runs: [`RunEvent`]s in, a terminal or plain lines out.

mod state;
mod view;

pub use state::State;
pub use view::View;

use crate::domain::{CellKey, RunId, RunResult};
use std::time::Duration;

/// Something that the runner tells.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// The matrix starts.
    Started {
        /// All runs of the matrix.
        total: usize,
        /// Those that an earlier, interrupted session finished.
        finished_before: usize,
        /// The cells, to name runs by what differs between them.
        cells: Vec<CellKey>,
    },
    /// A run starts.
    RunStarted {
        /// Which.
        run_id: RunId,
        /// Its cell.
        key: CellKey,
        /// From 1.
        repeat: u32,
    },
    /// A run is finished and kept.
    RunFinished {
        /// Its result.
        result: Box<RunResult>,
        /// Since the matrix started.
        elapsed: Duration,
    },
    /// A run was given up because the matrix was interrupted; it does not count.
    RunDropped {
        /// Which.
        run_id: RunId,
    },
    /// Runs are not needed, since their cell is known well enough.
    LeftOut {
        /// How many.
        runs: usize,
    },
    /// Something worth reading that is no run.
    Note(String),
    /// Everything is over.
    Finished,
}
