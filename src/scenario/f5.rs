//! F5: the first write is answered with 500 and not sent upstream; the next attempt passes.

use super::Who::{Agent, Between};
use super::{CallView, Entry, Injection, OnCall, Scenario, Story, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F5",
    summary: "the first write: HTTP 500, not executed; the next attempt passes",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "HTTP 500",
        know: "outcome_unknown, reconcile_first: a server can fail after it has written, as in E1",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: HTTP 500"),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(F5 { armed: true }),
};

struct F5 {
    armed: bool,
}

impl Scenario for F5 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        if !self.armed || !call.is_new_write() {
            return OnCall::Forward;
        }
        self.armed = false;
        OnCall::Answer(server_error())
    }
}

/// The answer that F5 and chaos share.
pub(super) fn server_error() -> Injection {
    Injection::error(Fault::ServerError, Told::ServerError, texts::server_error())
}
