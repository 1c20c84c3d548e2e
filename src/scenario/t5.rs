//! T5: the connection breaks in place of the answer to the first write that the upstream executes.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "T5",
    summary: "the first executed write: the connection breaks in place of the answer",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "a broken connection: the response stream is cut (HTTP), the pipe closes (stdio)",
        know: "outcome_unknown, reconcile_first; MCP 2026-07-28 lets clients send the request again by themselves",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "breaks the connection in place of the answer"),
            (Agent, "is told of a broken connection by its own client"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: Answer::Cut { kill: false },
            times: Some(1),
            fault: Fault::ConnectionCut,
        })
    },
};
