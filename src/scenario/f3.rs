//! F3: the first write is answered with half a JSON text and not sent upstream.

use super::{CallView, Entry, Injection, OnCall, Scenario};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F3",
    summary: "the first write: truncated JSON as answer, not executed",
    build: |_| Box::new(F3 { armed: true }),
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
        OnCall::Answer(Injection { fault: Fault::Truncated, told: Told::Malformed, text: "{\"".to_owned() })
    }
}
