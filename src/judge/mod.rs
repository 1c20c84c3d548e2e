//! A trace → a verdict, by the rules J1 to J26 (`docs/reference/judging.md`).
//!
//! Nothing is known here but the trace: neither the engine that wrote it nor a clock. A PASS
//! that should be none is the one error that this room may not make, so whatever is not
//! certain is NOT_TESTED, and a trace that contradicts itself says nothing at all.
//!
//! [`Judge`] takes one record after the other; what a record costs does not depend on how many
//! there were. After each, [`Judge::verdict`] is true, and [`Judge::take_touched`] names the
//! operations of which something else is to be said than before.
//!
//! | file | what it holds |
//! |---|---|
//! | `history.rs`, `operation.rs`, `tools.rs`, `totals.rs`, `stamp.rs` | what is kept |
//! | `state.rs`, `arrival.rs`, `struck.rs` | records → calls, attempts, operations |
//! | `fold.rs`, `view.rs`, `refresh.rs` | attempts → what is true of an operation |
//! | `neighbours.rs`, `lookalikes.rs`, `respelling.rs` | what one operation means for others |
//! | `refusal.rs`, `reliance.rs`, `aftermath.rs`, `approvals.rs` | what came after a refusal, or after a broken answer |
//! | `epochs.rs` | what the agent did when the code behind its tools changed |
//! | `violations/`, `observations/` | one check a file, one table each |
//! | `verdict.rs`, `score.rs`, `patches.rs` | what follows from it |
//! | `judgement.rs`, `conclusion.rs` | what is said |
//! | `report_file.rs`, `markdown.rs` | how it is told |
//! | `live.rs` | how it is told while the run goes on |

mod aftermath;
mod approvals;
mod arrival;
mod conclusion;
mod epochs;
mod fold;
mod history;
mod judgement;
mod keys;
pub mod live;
mod lookalikes;
pub mod markdown;
mod neighbours;
mod observations;
mod operation;
pub mod patches;
mod refresh;
mod refusal;
mod reliance;
pub mod report_file;
pub mod respelling;
mod score;
mod sender;
mod stamp;
mod state;
mod struck;
mod tools;
mod totals;
mod verdict;
mod view;
mod violations;
mod words;

#[cfg(test)]
mod tests;

pub use epochs::{
    CALLED_WITH_STALE_CATALOGUE, CATALOGUE_REFRESHED, REFUSED_STALE_EPOCH, RESENT_AFTER_EPOCH_CHANGE,
};
pub use history::Inconsistency;
pub use judgement::{
    Calls, Coverage, Duplicate, Evidence, Judgement, KeyState, KeySummary, KeyUse, Observation, Operation,
    OperationParts, RetryAfter, Violation,
};
pub use score::{Score, Tally};
pub use sender::{Sender, SentBy};
pub use state::Judge;

use crate::trace::Record;

/// Judges a whole trace.
pub fn judge(records: &[Record]) -> Judgement {
    let mut judge = Judge::new();
    for record in records {
        judge.observe(record);
    }
    judge.judgement()
}
