//! M1: the identifier in the answer to the first write that the upstream executes has another type.

use super::Who::{Agent, Between, Server};
use super::{Answer, Becomes, Entry, Execute, Mutation, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "M1",
    summary: "the first executed write: its identifier becomes null, a number or an object",
    variants: &[
        ("null", "the identifier is null"),
        ("number", "the identifier is a number"),
        ("object", "the identifier is an empty object"),
    ],
    story: Story {
        executed: "yes",
        gets: "the answer with a broken identifier, as a success",
        know: "malformed_response, reconcile_first: it was done, and what it is called is not known",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers with an identifier"),
            (Between, "puts something else in its place"),
            (Agent, "reads a success whose identifier cannot be used"),
        ],
    },
    stories: &[],
    build: |_, variant| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Mutate(Mutation::Field { name: None, to: becomes(variant) }),
            times: Some(1),
            fault: Fault::Altered,
        })
    },
};

fn becomes(variant: &str) -> Becomes {
    match variant {
        "number" => Becomes::Number,
        "object" => Becomes::Object,
        _ => Becomes::Null,
    }
}
