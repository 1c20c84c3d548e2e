//! A2: the agent is not permitted to write.

use super::Who::{Agent, Between};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "A2",
    summary: "every write: not executed, HTTP 403",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "HTTP 403, for every write",
        know: "rejected, never: who it is was accepted, what it wants was not",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: HTTP 403; the same again for every further write"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::No,
            when: When::Now,
            answer: Answer::Status(403, None),
            times: None,
            fault: Fault::Forbidden,
        })
    },
};
