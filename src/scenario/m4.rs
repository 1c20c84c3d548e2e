//! M4: the first write is answered with an error status and a page.

use super::Who::{Agent, Between};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "M4",
    summary: "the first write: not executed, an error status with an HTML body",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "HTTP 503 with a page",
        know: "malformed_response, reconcile_first: a page says nothing about the work",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: HTTP 503, and a page"),
        ],
    },
    stories: &[],
    build: |_, _| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::No,
            when: When::Now,
            answer: Answer::Text { text: texts::page().to_owned(), is_error: true, told: Told::Malformed },
            times: Some(1),
            fault: Fault::NoContract,
        })
    },
};
