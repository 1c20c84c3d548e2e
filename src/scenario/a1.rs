//! A1: the credential was accepted at first and has expired when the agent writes.

use super::Who::{Agent, Between};
use super::{CallView, Entry, Injection, OnCall, Scenario, Story, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "A1",
    summary: "every call from the first write on: not executed, HTTP 401 with a challenge",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "HTTP 401 with a challenge, for every call from then on, reads too",
        know: "rejected, never: the credential is no longer accepted, and the agent has no other",
        timeline: &[
            (Agent, "may read before it writes; its credential is accepted"),
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: HTTP 401; the same again for every further call"),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(A1 { expired: false }),
};

struct A1 {
    expired: bool,
}

impl Scenario for A1 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        self.expired |= call.is_new_write();
        if !self.expired {
            return OnCall::Forward;
        }
        OnCall::Answer(Injection::error(Fault::Unauthorized, Told::Unauthorized, texts::unauthorized()))
    }
}
