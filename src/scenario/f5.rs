//! F5: the first write is answered with 500 and not sent upstream; the next attempt passes.

use super::{CallView, Entry, Injection, OnCall, Scenario, texts};
use crate::trace::{Fault, Told};

pub(super) const ENTRY: Entry = Entry {
    id: "F5",
    summary: "the first write: HTTP 500, not executed; the next attempt passes",
    build: |_| Box::new(F5 { armed: true }),
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
    Injection { fault: Fault::ServerError, told: Told::ServerError, text: texts::server_error().to_owned() }
}
