//! F4: the first two writes pass unchanged and nothing is deduplicated.

use super::Who::{Agent, Between, Server};
use super::{CallView, Entry, OnCall, Scenario, Story};

pub(super) const ENTRY: Entry = Entry {
    id: "F4",
    summary: "the first two writes: nothing is injected, nothing is deduplicated",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "the answer, unchanged",
        know: "everything: this is a baseline that counts what repeats without a fault",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Agent, "reads the answer"),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(F4 { left: 2 }),
};

struct F4 {
    left: u8,
}

impl Scenario for F4 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        if self.left == 0 || !call.is_new_write() {
            return OnCall::Forward;
        }
        self.left -= 1;
        OnCall::ForwardFired
    }
}
