//! R1 to R5: the first write finds the upstream rebuilt. What is rebuilt is said by the suite; what the
//! client meets is said by the variant.

use super::{CallView, OnCall, Scenario};

/// How a rebuild strikes at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// What lies on the disk changes; the process runs on and gets the call.
    Aside,
    /// The process is replaced before it gets the call.
    Before,
    /// The process is replaced while the call waits for its answer.
    During,
}

/// What can be chosen after the colon: what happens to the client.
pub(super) const VARIANTS: &[(&str, &str)] = &[
    ("pending", "calls are refused until the client has got the list of tools again"),
    ("close", "the connection ends"),
    ("pass", "nothing is stopped"),
];

/// Waits for the first write.
pub(super) struct Rebuild {
    strike: Option<Strike>,
}

impl Rebuild {
    pub(super) fn at_the_first_write(strike: Strike) -> Box<dyn Scenario> {
        Box::new(Rebuild { strike: Some(strike) })
    }
}

impl Scenario for Rebuild {
    fn on_call(&mut self, call: &CallView<'_>) -> OnCall {
        if !call.is_new_write() {
            return OnCall::Forward;
        }
        self.strike.take().map_or(OnCall::Forward, OnCall::Rebuild)
    }
}
