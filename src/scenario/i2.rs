//! I2: connection and upstream are gone after the first write was begun.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed, i1};
use crate::trace::Fault;

pub(super) const ENTRY: Entry = Entry {
    id: "I2",
    summary: "the first write: connection and server are gone once it is begun",
    variants: &[],
    story: Story {
        executed: "partly: as far as it came",
        gets: "a broken connection",
        know: "outcome_unknown, reconcile_first: nobody knows how far it came",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "begins, and says so or has said nothing for 2 s"),
            (Between, "kills the server, and breaks the connection to the agent"),
            (Agent, "is told of a broken connection by its own client"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::After,
            when: When::Started(i1::START),
            answer: Answer::Cut { kill: true },
            times: Some(1),
            fault: Fault::Killed,
        })
    },
};
