//! R4: the first write: the process is replaced while the write waits for its answer.

use super::Who::{Agent, Between, Server};
use super::rebuild::{REPLACED_DURING, Rebuild, Strike, VARIANTS};
use super::{Entry, Story};

pub(super) const ENTRY: Entry = Entry {
    id: "R4",
    summary: "the first write: the process is replaced while the write waits for its answer",
    variants: VARIANTS,
    story: Story {
        executed: "nobody knows",
        gets: "that the server was replaced during the call",
        know: "outcome_unknown, reconcile_first",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on, and replaces the server"),
            (Server, "may have carried it out"),
            (Agent, "reads: server execution epoch changed while the call was in progress"),
        ],
    },
    stories: REPLACED_DURING,
    build: |_, _| Rebuild::at_the_first_write(Strike::During),
};
