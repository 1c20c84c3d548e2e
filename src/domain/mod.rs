//! The words that all rooms share: ids, axes, outcomes, verdicts, raw JSON.
//!
//! One word for one thing. What the words mean is in `docs/reference/vocabulary.md`.

mod axis;
pub mod classify;
mod digest;
mod ids;
pub mod json;
mod present;
mod raw_json;
mod result;
mod time;
mod tool;
mod usage;
mod verdict;

pub use axis::{Axis, CellKey};
pub use digest::{digest, digest_all, hex};
pub use ids::{CallId, CellId, ConnectionId, RunId};
pub use present::Present;
pub use raw_json::RawJson;
pub use result::{AgentFacts, OfferedPatch, RunResult, TurnResult};
pub use time::Micros;
pub use tool::{ToolClass, ToolInfo};
pub use usage::Usage;
pub use verdict::{ReasonCode, Verdict};
