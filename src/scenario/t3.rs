//! T3: the first write that the upstream executes is answered with half of its answer.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "T3",
    summary: "the first executed write: the agent gets half of the answer",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "the first half of the answer's text, as an error",
        know: "malformed_response, reconcile_first: it was answered, so somebody worked on it",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "loses the second half of the text"),
            (Agent, "reads the first half"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Half,
            times: Some(1),
            fault: Fault::HalfAnswer,
        })
    },
};
