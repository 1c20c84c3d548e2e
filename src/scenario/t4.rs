//! T4: the answer to the first write that the upstream executes comes when the client no longer waits.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "T4",
    summary: "the first executed write: the answer comes after the client has given up",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "its own client's timeout; the answer comes after that, scenario_params: late (150 s) after the call at the latest",
        know: "outcome_unknown, reconcile_first: a timeout of its own is no different from any other",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "keeps the answer until the client cancels, or scenario_params: late has passed"),
            (Agent, "is told of a timeout by its own client"),
            (Between, "sends the answer after all"),
        ],
    },
    stories: &[],
    build: |parameters, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::GivenUp(parameters.late),
            answer: Answer::Late,
            times: Some(1),
            fault: Fault::LateAnswer,
        })
    },
};
