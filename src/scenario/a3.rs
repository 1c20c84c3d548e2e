//! A3: every write needs the approval of a person, who refuses it.

use super::Who::{Agent, Between};
use super::{CallView, Entry, Injection, OnCall, Scenario, Story, texts};
use crate::domain::ToolClass;
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "A3",
    summary: "every write: not executed, a person refuses the approval",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "that the approver declined, for every write",
        know: "rejected, never: a person said no; asking again does not change that",
        timeline: &[
            (Agent, "calls a tool that writes, which asks for an approval"),
            (Between, "where the client can elicit, has the request for the approval confirmed first"),
            (Between, "plays the approver: refuses it, whatever came of that, and does not pass it on"),
            (Agent, "reads: declined; the same again for every further write"),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(A3),
};

struct A3;

impl Scenario for A3 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        // Continuations too: no write gets past the approver.
        if call.class != ToolClass::Write {
            return OnCall::Forward;
        }
        let text = texts::refused(call.tool);
        OnCall::Ask(Injection::error(Fault::ApprovalRefused, Told::Refused, text))
    }
}
