//! F1: the first write that the upstream executes is answered with a timeout.

use super::{CallView, Entry, Injection, OnAnswer, Scenario, timeout};
use crate::domain::ToolClass;
use crate::trace::{AnswerKind, Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F1",
    summary: "the first executed write: really executed, the agent is told of a timeout",
    build: |_| Box::new(F1 { armed: true }),
};

struct F1 {
    armed: bool,
}

impl Scenario for F1 {
    fn on_answer(&mut self, call: &CallView<'_>, answer: AnswerKind) -> OnAnswer {
        let executed_write = call.class == ToolClass::Write && answer == AnswerKind::Result;
        if !self.armed || !executed_write {
            return OnAnswer::Deliver;
        }
        self.armed = false;
        OnAnswer::Replace(Injection {
            fault: Fault::TimeoutAfterExecution,
            told: Told::Timeout,
            text: timeout().to_owned(),
        })
    }
}
