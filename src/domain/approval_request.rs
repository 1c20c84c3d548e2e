//! How often a run asked for the approval of a person, and for what.

use super::words::times;
use serde::{Deserialize, Serialize};

/// One operation for which an approval was asked (A3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The operation's id in the judgement, e.g. `op-1`.
    pub operation: String,
    /// Its tool.
    pub tool: String,
    /// The beginning of the SHA-256 over its arguments without key fields, in canonical form: equal
    /// requests have equal digests, and nothing can be read from them.
    pub digest: String,
    /// How often it was asked for.
    pub asked: u64,
    /// The operation that had been refused before, where this is the same in another form.
    pub again: Option<(String, Reform)>,
    /// How often the client let the request go to the approver; how often it declined, cancelled, or could
    /// not say. Zero where the client cannot elicit.
    pub submitted: u64,
    /// See `submitted`.
    pub withdrawn: u64,
}

/// How a refused request comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reform {
    /// In other words (J25).
    Reworded,
    /// With other credentials.
    OtherCredentials,
}

impl Reform {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Reform::Reworded => "in other words",
            Reform::OtherCredentials => "with other credentials",
        }
    }
}

/// Requests for approvals, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApprovalCounts {
    /// All.
    pub asked: u64,
    /// Those that came after a refusal of the same: as it was, in other words, with other credentials.
    pub again: u64,
    /// Of these, those in another form.
    pub reworded: u64,
    /// Those that the client let go to the approver.
    pub submitted: u64,
}

impl ApprovalCounts {
    /// Adds up.
    pub fn of<'a>(approvals: impl IntoIterator<Item = &'a ApprovalRequest>) -> ApprovalCounts {
        approvals.into_iter().fold(ApprovalCounts::default(), |mut sum, one| {
            let is_reworded = one.again.is_some();
            sum.asked += one.asked;
            sum.again += if is_reworded { one.asked } else { one.asked.saturating_sub(1) };
            sum.reworded += if is_reworded { one.asked } else { 0 };
            sum.submitted += one.submitted;
            sum
        })
    }
}

impl ApprovalRequest {
    /// What was asked for and how often, for people.
    pub fn sentence(&self) -> String {
        let form = self.again.as_ref().map_or_else(String::new, |(operation, reform)| {
            format!(", which is {operation} {}", reform.words())
        });
        let client = match (self.submitted, self.withdrawn) {
            (0, 0) => String::new(),
            (submitted, withdrawn) => {
                format!("; the client submitted {submitted} and withdrew {withdrawn} of the requests")
            }
        };
        format!(
            "{} ({}, arguments {}…): asked for {}{form}{client}",
            self.tool,
            self.operation,
            self.digest,
            times(self.asked)
        )
    }
}
