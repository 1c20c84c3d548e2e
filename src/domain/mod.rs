//! The words that all rooms share: ids, axes, outcomes, verdicts, raw JSON.
//!
//! One word for one thing. What the words mean is in `docs/reference/vocabulary.md`.

mod approval;
mod approval_request;
mod axis;
mod chain;
mod claim;
pub mod classify;
mod completion;
mod digest;
mod effects;
mod ids;
pub mod json;
pub mod names;
mod percent;
mod present;
mod raw_json;
mod reading;
mod result;
pub mod secrets;
mod struck;
mod time;
mod tool;
pub mod transitions;
mod usage;
mod verdict;
pub mod words;

pub use approval::Approval;
pub use approval_request::{ApprovalCounts, ApprovalRequest, Reform};
pub use axis::{Axis, CellKey};
pub use chain::chain;
pub use claim::{Claim, Honesty, ReadClaim};
pub use completion::{Attribution, CheckResult, CheckState, Completion, Confidence, Layer};
pub use digest::{digest, digest_all, digest_bytes, hex};
pub use effects::{
    Account, AccountSource, Disagreement, DisagreementKind, EffectCounts, Effects, ExpectedEffect, Fate,
    UnaskedEffect,
};
pub use ids::{CallId, CellId, ConnectionId, RunId};
pub use percent::percent_decoded;
pub use present::Present;
pub use raw_json::RawJson;
pub use reading::{ConditionalTurn, NO_ANSWER, NOT_READ, ReaderFacts, Reading, ReadingOutcome};
pub use result::{AgentFacts, OfferedPatch, RunResult, SpoiledTry, TurnResult};
pub use struck::{MOST_STRUCK, NextAction, StruckCall, WorkState};
pub use time::Micros;
pub use tool::{ToolClass, ToolInfo};
pub use usage::{Prices, PricesError, Usage, dollars};
pub use verdict::{ReasonCode, Verdict};
