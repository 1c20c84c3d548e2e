//! I1: the connection breaks after the first write was begun, and the work is completed.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "I1",
    summary: "the first write: the connection breaks once it is begun, and the work is completed",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "a broken connection",
        know: "outcome_unknown, reconcile_first: a lost connection does not stop what was begun",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "begins, and says so or has said nothing for 2 s"),
            (Between, "breaks the connection to the agent"),
            (Server, "completes the work"),
            (Agent, "is told of a broken connection by its own client"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::After,
            when: When::Started(START),
            answer: Answer::Cut { kill: false },
            times: Some(1),
            fault: Fault::Interrupted,
        })
    },
};

/// How long a sign of the upstream is waited for.
pub(super) const START: std::time::Duration = std::time::Duration::from_secs(2);
