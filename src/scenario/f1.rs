//! F1: the first write that the upstream executes is answered with a timeout.

use super::Who::{Agent, Between, Server};
use super::{AnswerView, CallView, Entry, Injection, OnAnswer, Scenario, Story, timeout};
use crate::domain::ToolClass;
use crate::trace::{AnswerKind, Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F1",
    summary: "the first executed write: really executed, the agent is told of a timeout",
    variants: &[],
    story: Story {
        executed: "yes",
        gets: "that the request timed out, at once",
        know: "outcome_unknown, reconcile_first: nobody can tell from a timeout whether it was done",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on"),
            (Server, "carries it out and answers"),
            (Between, "keeps the answer"),
            (Agent, "reads: the request timed out"),
        ],
    },
    stories: &[],
    build: |_, _| Box::new(F1 { armed: true }),
};

struct F1 {
    armed: bool,
}

impl Scenario for F1 {
    fn on_answer(&mut self, call: &CallView<'_>, answer: &AnswerView<'_>) -> OnAnswer {
        let executed_write = call.class == ToolClass::Write && answer.kind == AnswerKind::Result;
        if !self.armed || !executed_write {
            return OnAnswer::Deliver;
        }
        self.armed = false;
        OnAnswer::Replace(Injection::error(Fault::TimeoutAfterExecution, Told::Timeout, timeout()))
    }
}
