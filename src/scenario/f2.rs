//! F2: the first write is answered with 429 and not sent upstream.

use super::Who::{Agent, Between};
use super::{CallView, Entry, Injection, OnCall, Scenario, Story, texts};
use crate::trace::{Fault, Told};
use std::time::Duration;

pub(super) const ENTRY: Entry = Entry {
    id: "F2",
    summary: "the first write: HTTP 429 with retry_after, not executed",
    variants: &[],
    story: Story {
        executed: "no",
        gets: "HTTP 429 with retry_after (scenario_params: retry_after, 60 s)",
        know: "rejected, after: it was not done, and may be sent again when the time has passed",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "does not pass it on"),
            (Agent, "reads: HTTP 429, and how long to wait"),
        ],
    },
    stories: &[],
    build: |parameters, _| Box::new(F2 { armed: true, retry_after: parameters.retry_after }),
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
        OnCall::Answer(Injection::error(
            Fault::RateLimited,
            Told::RateLimited { retry_after_ms },
            texts::rate_limited(self.retry_after.as_secs()),
        ))
    }
}
