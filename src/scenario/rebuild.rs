//! R1 to R5: the first write finds the upstream rebuilt. What is rebuilt is said by the suite; what the
//! client meets is said by the variant.

use super::Who::{Agent, Between, Server};
use super::{CallView, OnCall, Scenario, Story};

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

/// What happens with the variants that do not refuse a call, where the process is replaced before it.
pub(super) const REPLACED: &[(&str, Story)] = &[
    (
        "close",
        Story {
            executed: "no",
            gets: "the end of its connection",
            know: "that the connection broke, and not whether the call arrived",
            timeline: &[
                (Agent, "calls a tool that writes"),
                (Between, "replaces the server by a rebuilt one"),
                (Between, "does not pass the call on, and ends the connection"),
                (Agent, "sees its connection end"),
            ],
        },
    ),
    (
        "pass",
        Story {
            executed: "yes, by the new code",
            gets: "the answer of the new process",
            know: "at most that the list of tools may have changed: nothing is stopped",
            timeline: &[
                (Agent, "calls a tool that writes"),
                (Between, "replaces the server by a rebuilt one, and passes the call on to it"),
                (Server, "the new one carries it out, or refuses it, and answers"),
                (Agent, "reads the answer"),
            ],
        },
    ),
];

/// The same where the process is replaced while the call waits for its answer.
pub(super) const REPLACED_DURING: &[(&str, Story)] = &[(
    "close",
    Story {
        executed: "nobody knows",
        gets: "the end of its connection",
        know: "outcome_unknown, reconcile_first",
        timeline: &[
            (Agent, "calls a tool that writes"),
            (Between, "passes it on, and replaces the server"),
            (Server, "may have carried it out"),
            (Between, "ends the connection"),
            (Agent, "sees its connection end"),
        ],
    },
)];

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
