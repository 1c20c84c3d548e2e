//! The stored form of a request for an approval: part of a line of `runs.jsonl`.

use crate::domain::{ApprovalRequest, Reform};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ApprovalRecord {
    operation: String,
    tool: String,
    digest: String,
    asked: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again_of: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reform: Option<Reform>,
    #[serde(default)]
    submitted: u64,
    #[serde(default)]
    withdrawn: u64,
}

impl From<ApprovalRequest> for ApprovalRecord {
    fn from(approval: ApprovalRequest) -> ApprovalRecord {
        let ApprovalRequest { operation, tool, digest, asked, again, submitted, withdrawn } = approval;
        let (again_of, reform) = again.unzip();
        ApprovalRecord { operation, tool, digest, asked, again_of, reform, submitted, withdrawn }
    }
}

impl From<ApprovalRecord> for ApprovalRequest {
    fn from(record: ApprovalRecord) -> ApprovalRequest {
        let ApprovalRecord { operation, tool, digest, asked, again_of, reform, submitted, withdrawn } =
            record;
        ApprovalRequest { operation, tool, digest, asked, again: again_of.zip(reform), submitted, withdrawn }
    }
}
