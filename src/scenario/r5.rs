//! R5: the first write: the same program is started anew on other dependencies.

use super::Who::{Agent, Between};
use super::rebuild::{REPLACED, Rebuild, Strike, VARIANTS};
use super::{Entry, Story};

pub(super) const ENTRY: Entry = Entry {
    id: "R5",
    summary: "the first write: the same program is started anew on other dependencies",
    variants: VARIANTS,
    story: Story {
        executed: "no",
        gets: "that its authorization is stale",
        know: "rejected: the path is the same, the code behind it is not",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "starts the server anew on other dependencies"),
            (Between, "does not pass the call on"),
            (Agent, "reads: server execution epoch changed"),
        ],
    },
    stories: REPLACED,
    build: |_, _| Rebuild::at_the_first_write(Strike::Before),
};
