//! T1: the first write is answered with a timeout and not sent upstream.

use super::Who::{Agent, Between};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "T1",
    summary: "the first write: not executed, the agent is told of a timeout",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "that the request timed out",
        know: "outcome_unknown, reconcile_first: it reads exactly like F1, where the work was done",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: the request timed out"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::No,
            when: When::Now,
            answer: Answer::Timeout,
            times: Some(1),
            fault: Fault::TimeoutBeforeDispatch,
        })
    },
};
