//! L1: the first write meets a refused connection.

use super::Who::{Agent, Between};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "L1",
    summary: "the first write: not executed, the connection was refused",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "that the connection was refused",
        know: "local_failure, safe: it broke before anything was sent",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: connection refused, not sent"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::No,
            when: When::Now,
            answer: Answer::Text {
                text: texts::connection_refused().to_owned(),
                is_error: true,
                told: Told::LocalFailure,
            },
            times: Some(1),
            fault: Fault::ConnectionRefused,
        })
    },
};
