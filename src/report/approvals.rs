//! How often agents asked for the approval of a person, which was refused (A3), and how often again.

use super::{CellView, View};
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

/// The table's title in every format.
pub(super) const TITLE: &str = "Approvals";

/// What the columns are.
pub(super) const ABOUT: &str = "how often an approval was asked for, which a person refuses (A3); again: after a \
     refusal of the same; in other words: of these, in another spelling or with other credentials; submitted: let go to \
     the approver by a client that can elicit. For what it was asked stands with each run.";

/// Whether an approval was asked for anywhere.
pub(super) fn is_known(view: &View<'_>) -> bool {
    view.cells.iter().any(|cell| ApprovalsSummary::of(cell).is_some())
}

/// Header and rows: the axes on which cells differ, and the counts.
pub(super) fn table(view: &View<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut header: Vec<String> = view.varied.iter().map(|axis| axis.name().to_owned()).collect();
    header.extend(["runs", "asked", "again", "in other words", "submitted"].map(str::to_owned));
    let rows = view.cells.iter().filter_map(|cell| {
        let counts = ApprovalsSummary::of(cell)?;
        let mut row: Vec<String> = view.varied.iter().map(|axis| cell.key.get(*axis).to_owned()).collect();
        row.push(counts.runs.to_string());
        row.extend(
            [counts.asked, counts.again, counts.reworded, counts.submitted].map(|count| count.to_string()),
        );
        Some(row)
    });
    (header, rows.collect())
}

/// For what approvals were asked in a run, for people; empty where for nothing.
pub fn approvals_text(approvals: &[ApprovalRequest]) -> String {
    if approvals.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = approvals
        .iter()
        .map(|approval| format!("  {}\n", super::text::visible(&approval.sentence())))
        .collect();
    format!("{TITLE}, all refused\n{}", lines.concat())
}
