//! F3: the first write is answered with half a JSON text and not sent upstream.

use super::Who::{Agent, Between};
use super::{CallView, Entry, Injection, OnCall, Scenario, Story};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F3",
    summary: "the first write: truncated JSON as answer, not executed",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "the beginning of a JSON text, as an error",
        know: "malformed_response, reconcile_first: it looks exactly as if it had been done",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: {\""),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(F3 { armed: true }),
};

struct F3 {
    armed: bool,
}

impl Scenario for F3 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        if !self.armed || !call.is_new_write() {
            return OnCall::Forward;
        }
        self.armed = false;
        OnCall::Answer(Injection::error(Fault::Truncated, Told::Malformed, "{\""))
    }
}
