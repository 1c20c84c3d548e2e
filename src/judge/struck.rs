//! What the faults that change or hold back answers mean for the judge.

use super::history::{Role, index, is_failure};
use super::reliance::text_of;
use super::state::Judge;
use crate::domain::transitions::Happened;
use crate::domain::{CallId, RawJson};
use crate::trace::Told;

impl Judge {
    /// A client gave up on what was held back from it: only now the scenario has struck.
    pub(super) fn gave_up(&mut self) {
        if !self.late.is_empty() {
            self.fired = true;
            self.struck = true;
            self.late.clear();
        }
    }

    /// The operation that a call is an attempt of.
    pub(super) fn role_of(&self, call: CallId) -> Option<usize> {
        match index(call).and_then(|at| self.calls.get(at))?.role {
            Role::Write { operation, .. } => Some(operation),
            Role::Read | Role::Unclassified => None,
        }
    }

    /// Whether it matters what stands in answers: under the faults that change them, and where a
    /// suite says what must not follow what.
    pub(super) fn reads_answers(&self) -> bool {
        let Some(started) = &self.started else { return false };
        let scenario = started.scenario.as_deref();
        self.watch.is_some() || scenario.is_some_and(|id| !id.starts_with('F'))
    }

    /// What the agent was given by an answer.
    pub(super) fn read_answer(&mut self, call: CallId, told: Told, injected: bool, body: Option<&RawJson>) {
        if !self.reads_answers() {
            return;
        }
        let own = index(call).and_then(|at| self.calls.get_mut(at)).and_then(|call| call.body.take());
        let text = body.or(own.as_ref()).map(text_of).unwrap_or_default();
        if !injected && told == Told::Result {
            self.given.text(&text);
        }
        if injected && let Some(number) = self.role_of(call) {
            let broken = self.operations.get_mut(number).and_then(|operation| operation.broken.as_mut());
            if let Some(broken) = broken {
                broken.said.text(&text);
            }
        }
        if let Some(watch) = &mut self.watch {
            let category = told.advice().map(|(category, _)| category.name());
            let is_failure = is_failure(told);
            watch.saw(call.0, Happened::Answer { text: &text, category, is_failure });
        }
    }
}
