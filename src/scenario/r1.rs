//! R1: the first write: the upstream is rebuilt, the old process goes on.

use super::Who::{Agent, Between, Server};
use super::rebuild::{Rebuild, Strike, VARIANTS};
use super::{Entry, Story};

pub(super) const ENTRY: Entry = Entry {
    id: "R1",
    summary: "the first write: the upstream is rebuilt, the old process goes on",
    variants: VARIANTS,
    story: Story {
        executed: "yes",
        gets: "the answer, unchanged",
        know: "everything: what runs is what was approved",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "sees new files on the disk, and the old process"),
            (Server, "carries it out and answers"),
            (Agent, "reads the answer"),
        ],
    },
    stories: &[],
    build: |_, _| Rebuild::at_the_first_write(Strike::Aside),
};
