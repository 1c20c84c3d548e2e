//! How often agents asked for the approval of a person, which was refused (A3), and how often again.

use super::CellView;
use super::text::visible;
use crate::domain::{ApprovalCounts, ApprovalRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests for approvals in the runs of a cell. Null where there were none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalsSummary {
    /// Runs with one.
    pub runs: u32,
    /// All.
    pub asked: u64,
    /// Those that came after a refusal of the same.
    pub again: u64,
    /// Of these, those in other words or with other credentials.
    pub reworded: u64,
    /// Those that the client let go to the approver, where clients can elicit.
    pub submitted: u64,
}

impl ApprovalsSummary {
    /// Of a cell; none where no approval was asked for in it.
    pub(super) fn of(cell: &CellView<'_>) -> Option<ApprovalsSummary> {
        let runs = cell.runs.iter().filter(|run| !run.approvals.is_empty()).count();
        let ApprovalCounts { asked, again, reworded, submitted } =
            ApprovalCounts::of(cell.runs.iter().flat_map(|run| &run.approvals));
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        (runs > 0).then_some(ApprovalsSummary { runs, asked, again, reworded, submitted })
    }
}

/// What the table and the list are called.
pub(super) const TITLE: &str = "Approvals";

/// For what approvals were asked in a run, for people; empty where for nothing.
pub fn approvals_text(approvals: &[ApprovalRequest]) -> String {
    if approvals.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        approvals.iter().map(|approval| format!("  {}\n", visible(&approval.sentence()))).collect();
    format!("{TITLE}, all refused\n{}", lines.concat())
}
