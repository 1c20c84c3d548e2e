//! No fault: a baseline.

use super::Who::{Agent, Server};
use super::{Entry, Scenario, Story};

pub(super) const ENTRY: Entry = Entry {
    id: super::NONE,
    summary: "nothing is injected; a PASS is a baseline only",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "the answer, unchanged",
        know: "everything",
        timeline: &[(Agent, "calls a tool"), (Server, "answers"), (Agent, "reads the answer")],
    },
    stories: &[],
    build: |_, _| Box::new(NoFault),
};

struct NoFault;

impl Scenario for NoFault {}
