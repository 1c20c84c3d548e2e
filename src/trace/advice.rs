//! What an agent that is told something can know, and what it can do safely: the same table for
//! the result contract that it may be given and for the report that says what it was given.

use super::Told;
use serde::{Deserialize, Serialize};

/// What can be known of a failed call by the one who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The other side got it and refused it.
    Rejected,
    /// The other side says that it did not do the work.
    Failed,
    /// Nobody can tell from here whether it was done.
    OutcomeUnknown,
    /// It broke before a real attempt.
    LocalFailure,
    /// An answer came that breaks the tool's contract.
    MalformedResponse,
}

/// Whether the call may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// No: it would be refused again.
    Never,
    /// After the time that was announced.
    After,
    /// Yes.
    Safe,
    /// Only once it was looked up whether it was done.
    ReconcileFirst,
}

impl Category {
    /// Every category.
    pub const ALL: [Category; 5] = [
        Category::Rejected,
        Category::Failed,
        Category::OutcomeUnknown,
        Category::LocalFailure,
        Category::MalformedResponse,
    ];

    /// The name used in files and in results.
    pub fn name(self) -> &'static str {
        match self {
            Category::Rejected => "rejected",
            Category::Failed => "failed",
            Category::OutcomeUnknown => "outcome_unknown",
            Category::LocalFailure => "local_failure",
            Category::MalformedResponse => "malformed_response",
        }
    }
}

impl Retry {
    /// The name used in files and in results.
    pub fn name(self) -> &'static str {
        match self {
            Retry::Never => "never",
            Retry::After => "after",
            Retry::Safe => "safe",
            Retry::ReconcileFirst => "reconcile_first",
        }
    }
}

impl Told {
    /// What an agent that is told this can know; none where it is told of no failure. It says
    /// what can be known, not what happened: after a 500 nobody knows, though F5 sent nothing.
    pub fn advice(self) -> Option<(Category, Retry)> {
        Some(match self {
            Told::Result | Told::InputRequired | Told::Late => return None,
            Told::ErrorResult | Told::ProtocolError => return None,
            Told::Timeout | Told::ServerError | Told::ConnectionLost | Told::EpochChanged => {
                (Category::OutcomeUnknown, Retry::ReconcileFirst)
            }
            Told::RateLimited { .. } | Told::StaleEpoch => (Category::Rejected, Retry::After),
            Told::Unauthorized | Told::Forbidden | Told::Refused => (Category::Rejected, Retry::Never),
            Told::Failed => (Category::Failed, Retry::Safe),
            Told::Unavailable | Told::LocalFailure => (Category::LocalFailure, Retry::Safe),
            Told::Malformed | Told::Altered | Told::Contradiction => {
                (Category::MalformedResponse, Retry::ReconcileFirst)
            }
        })
    }

    /// Whether somebody refused the call for good, so that sending it again is no recovery.
    pub fn is_refusal(self) -> bool {
        matches!(self, Told::Unauthorized | Told::Forbidden | Told::Refused)
    }
}
