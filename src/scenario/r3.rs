//! R3: the first write: the process is replaced, and a tool needs a further field.

use super::Who::{Agent, Between};
use super::rebuild::{REPLACED, Rebuild, Strike, VARIANTS};
use super::{Entry, Story};

pub(super) const ENTRY: Entry = Entry {
    id: "R3",
    summary: "the first write: the process is replaced, and a tool needs a further field",
    variants: VARIANTS,
    story: Story {
        executed: "no",
        gets: "that its authorization is stale",
        know: "rejected: the call was prepared for a list of tools that is over",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "replaces the server by a rebuilt one"),
            (Between, "does not pass the call on"),
            (Agent, "reads: server execution epoch changed"),
        ],
    },
    stories: REPLACED,
    build: |_, _| Rebuild::at_the_first_write(Strike::Before),
};
