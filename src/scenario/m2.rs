//! M2: the identifier is missing in the answer to the first write that the upstream executes.

use super::Who::{Agent, Between, Server};
use super::{Answer, Becomes, Entry, Execute, Mutation, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "M2",
    summary: "the first executed write: a field that later calls need is missing",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "the answer without its identifier, as a success",
        know: "malformed_response, reconcile_first: it was done, and what it is called is not known",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers with an identifier"),
            (Between, "takes the identifier out"),
            (Agent, "reads a success that promises less than it should"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Mutate(Mutation::Field { name: None, to: Becomes::Missing }),
            times: Some(1),
            fault: Fault::Altered,
        })
    },
};
