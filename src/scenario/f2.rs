//! F2: the first write is answered with 429 and not sent upstream.

use super::{CallView, Entry, Injection, OnCall, Scenario, texts};
use crate::trace::{Fault, Told};
use std::time::Duration;

pub(super) const ENTRY: Entry = Entry {
    id: "F2",
    summary: "the first write: HTTP 429 with retry_after, not executed",
    build: |parameters| Box::new(F2 { armed: true, retry_after: parameters.retry_after }),
};

struct F2 {
    armed: bool,
    retry_after: Duration,
}

impl Scenario for F2 {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        if !self.armed || !call.is_new_write() {
            return OnCall::Forward;
        }
        self.armed = false;
        let retry_after_ms = u64::try_from(self.retry_after.as_millis()).unwrap_or(u64::MAX);
        OnCall::Answer(Injection {
            fault: Fault::RateLimited,
            told: Told::RateLimited { retry_after_ms },
            text: texts::rate_limited(self.retry_after.as_secs()),
        })
    }
}
