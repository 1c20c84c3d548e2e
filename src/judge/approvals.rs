//! For what a run asked the approval of a person (A3), and how often: an operation each, and which of them
//! is another that had been refused, in another form (J27).

use super::history::{Call, Role};
use super::operation::Operation;
use super::refusal::How;
use super::state::Judge;
use super::words::operation_id;
use crate::domain::{ApprovalRequest, Reform, digest};
use crate::trace::{ApprovalReply, Fault, Told};
use std::collections::BTreeMap;

/// How much of a digest is shown.
const DIGEST: usize = 16;

impl Judge {
    fn calls_of<'a>(&'a self, operation: &'a Operation) -> impl Iterator<Item = &'a Call> {
        operation.attempts.iter().filter_map(|attempt| self.calls.get(attempt.current))
    }

    /// How often the approval of an operation was asked for.
    pub(super) fn asked_for(&self, operation: &Operation) -> u64 {
        let calls = self.calls_of(operation);
        calls.filter(|call| call.fault == Some(Fault::ApprovalRefused)).count() as u64
    }

    /// How often the agent was told that it is refused.
    pub(super) fn refusals_of(&self, operation: &Operation) -> u64 {
        let heard = |call: &&Call| matches!(call.told, Some((Told::Refused, _))) && call.is_heard();
        self.calls_of(operation).filter(heard).count() as u64
    }

    /// Every operation whose approval was asked for.
    pub fn approvals(&self) -> Vec<ApprovalRequest> {
        let again = self.in_another_form();
        let approval = |(index, operation): (usize, &Operation)| {
            let asked = self.asked_for(operation);
            let replies = || self.calls_of(operation).filter_map(|call| call.approval);
            let submitted = replies().filter(|reply| *reply == ApprovalReply::Submitted).count() as u64;
            let mut digest = digest(&operation.canonical);
            digest.truncate(DIGEST);
            (asked > 0).then(|| ApprovalRequest {
                operation: operation_id(index),
                tool: self.tools.get(operation.tool).map_or_else(String::new, |tool| tool.name.clone()),
                digest,
                asked,
                again: again.get(&index).map(|(of, reform)| (operation_id(*of), *reform)),
                submitted,
                withdrawn: replies().count() as u64 - submitted,
            })
        };
        self.operations.iter().enumerate().filter_map(approval).collect()
    }

    /// Operations that are an earlier, refused one in another form.
    fn in_another_form(&self) -> BTreeMap<usize, (usize, Reform)> {
        let mut found = BTreeMap::new();
        for (earlier, operation) in self.operations.iter().enumerate() {
            for again in operation.refused.iter().flat_map(|refused| &refused.again) {
                let reform = match again.how {
                    How::Same => continue,
                    How::Reworded => Reform::Reworded,
                    How::OtherCredentials | How::OtherCredentialsReworded => Reform::OtherCredentials,
                };
                if let Some(Role::Write { operation: later, .. }) =
                    self.calls.get(again.call).map(|call| call.role)
                    && earlier < later
                {
                    found.entry(later).or_insert((earlier, reform));
                }
            }
        }
        found
    }
}
