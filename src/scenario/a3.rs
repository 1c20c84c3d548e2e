//! A3: every write needs the approval of a person, who refuses it.

use super::Who::{Agent, Between};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "A3",
    summary: "every write: not executed, a person refuses the approval",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "that the approver declined, for every write",
        know: "rejected, never: a person said no; asking again does not change that",
        timeline: &[
            (Agent, "calls a tool that writes, which asks for an approval"),
            (Between, "refuses it, and does not pass it on"),
            (Agent, "reads: declined; the same again for every further write"),
        ],
    },
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::No,
            when: When::Now,
            answer: Answer::Refusal,
            times: None,
            fault: Fault::ApprovalRefused,
        })
    },
};
