//! How often agents asked for the approval of a person, which was refused (A3), and how often again.

use super::grid::{self, Entry, Grid, Row, number};
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

const TITLE: &str = "Approvals";

/// The table of approvals; none where none was asked for.
pub(super) fn grid<'a>(view: &View<'a>) -> Option<Grid<'a>> {
    let rows: Vec<Row<'a>> = view
        .cells
        .iter()
        .filter_map(|cell| {
            let counts = ApprovalsSummary::of(cell)?;
            let mut entries = grid::values(&view.varied, cell.key);
            entries.push(Entry::count(counts.runs));
            entries.extend([counts.asked, counts.again, counts.reworded, counts.submitted].map(Entry::count));
            Some(Row { cell: Some(cell.key), entries })
        })
        .collect();
    let mut columns = grid::axes(view);
    columns.extend(["runs", "asked", "again", "in other words", "submitted"].map(number));
    (!rows.is_empty()).then(|| Grid {
        title: TITLE,
        columns,
        rows,
        caption: "how often an approval was asked for, which a person refuses (A3); again: after a refusal of the \
                  same; in other words: of these, in another spelling or with other credentials; submitted: let go to \
                  the approver by a client that can elicit. For what it was asked stands with each run"
            .to_owned(),
    })
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
