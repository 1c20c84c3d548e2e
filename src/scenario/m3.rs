//! M3: the first write that the upstream executes is answered with success and failure at once.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "M3",
    summary: "the first executed write: a success whose body is an error",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "a success with an error in its body",
        know: "malformed_response, reconcile_first: the answer contradicts itself",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "puts an error-shaped body in place of the answer, and leaves it a success"),
            (Agent, "reads a contradiction"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Text {
                text: texts::contradiction().to_owned(),
                is_error: false,
                told: Told::Contradiction,
            },
            times: Some(1),
            fault: Fault::Contradiction,
        })
    },
};
