//! M5: the first list that a read brings has its elements doubled or reordered.

use super::Who::{Agent, Between, Server};
use super::{Answer, Elements, Entry, Execute, Mutation, Plan, Story, Trigger, When, armed};
use crate::domain::ToolClass;
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "M5",
    summary: "the first list that a read brings: doubled or reordered",
    variants: &[("doubled", "every element stands twice"), ("reordered", "the last element comes first")],
    story: Story {
        executed: "it is a read",
        gets: "a list that misleads, as a success",
        know: "nothing: it looks like any other list",
        timeline: &[
            (Agent, "calls a tool that reads"),
            (Between, "passes it on"),
            (Server, "answers with a list"),
            (Between, "doubles or reorders its elements"),
            (Agent, "reads a list that misleads"),
        ],
    },
    stories: &[],
    build: |_, variant| {
        armed(Plan {
            on: Trigger { class: Some(ToolClass::Read), ..Trigger::WRITES },
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Mutate(Mutation::List(elements(variant))),
            times: Some(1),
            fault: Fault::Altered,
        })
    },
};

fn elements(variant: &str) -> Elements {
    match variant {
        "reordered" => Elements::Reordered,
        _ => Elements::Doubled,
    }
}
