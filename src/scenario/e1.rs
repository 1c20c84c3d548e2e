//! E1: the first write that the upstream executes is answered as if it had failed.

use super::Who::{Agent, Between, Server};
use super::{Answer, Entry, Execute, Plan, Story, Trigger, When, armed, texts};
use crate::trace::{Fault, Told};

const STORY: Story = Story {
    executed: "yes",
    gets: "an error that came after the work",
    know: "outcome_unknown, reconcile_first",
    timeline: &[
        (Agent, "calls a tool that writes"),
        (Between, "passes it on"),
        (Server, "carries it out and answers"),
        (Between, "puts an error in place of the answer"),
        (Agent, "reads the error"),
    ],
};

pub(super) const ENTRY: Entry = Entry {
    id: "E1",
    summary: "the first executed write: an error that looks like nothing was done",
    variants: &[
        ("500", "HTTP 500"),
        ("502", "HTTP 502"),
        ("success_false", "a success of the tool whose body says success: false"),
        ("rate_limited", "HTTP 429 on what the tool reads back after it has written"),
    ],
    story: STORY,
    stories: &[
        ("success_false", Story { know: "failed, safe, which is not true", ..STORY }),
        ("rate_limited", Story { know: "rejected, after, which is not true", ..STORY }),
    ],
    build: |_, variant| {
        armed(Plan {
            on: Trigger::WRITES,
            execute: Execute::Before,
            when: When::Now,
            answer: answer(variant),
            times: Some(1),
            fault: Fault::FailureAfterExecution,
        })
    },
};

fn answer(variant: &str) -> Answer {
    match variant {
        "502" => Answer::Status(502, None),
        "success_false" => {
            Answer::Text { text: texts::success_false().to_owned(), is_error: false, told: Told::Failed }
        }
        "rate_limited" => Answer::Status(429, None),
        _ => Answer::Status(500, None),
    }
}
