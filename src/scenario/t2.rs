//! T2: the first write that the upstream executes is answered with a timeout, after a real delay.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "T2",
    summary: "the first executed write: the agent waits for a real delay, then is told of a timeout",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "that the request timed out, scenario_params: delay (10 s) after its call",
        know: "outcome_unknown, reconcile_first: nobody can tell from a timeout whether it was done",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "keeps the answer, and lets the agent wait; other calls are not held up"),
            (Agent, "reads after the delay: the request timed out"),
        ],
    },
    stories: &[],
    build: |parameters, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::After(parameters.delay),
            answer: Answer::Timeout,
            times: Some(1),
            fault: Fault::TimeoutAfterExecution,
        })
    },
};
