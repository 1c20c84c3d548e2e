//! Chaos (J12): every call, reads too, fails with a given probability and is then not sent.

use super::Who::{Agent, Between};
use super::{CallView, Entry, OnCall, Scenario, Story, f5};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(super) const ENTRY: Entry = Entry {
    id: super::CHAOS,
    summary: "every call, reads too, fails with probability error_rate and is then not executed",
    variants: &[],
    story: Story {
        executed: "no, where it strikes",
        gets: "HTTP 500",
        know: "outcome_unknown, reconcile_first",
        timeline: &[
            (Agent, "calls any tool"),
            (Between, "does not pass it on, with the probability error_rate"),
            (Agent, "reads: HTTP 500"),
        ],
    },
    stories: &[],
    build: |parameters, _| {
        Box::new(Chaos {
            error_rate: parameters.error_rate,
            random: ChaCha8Rng::seed_from_u64(parameters.seed),
        })
    },
};

struct Chaos {
    error_rate: f64,
    random: ChaCha8Rng,
}

impl Scenario for Chaos {
    fn on_call(&mut self, _call: &CallView<'_>) -> OnCall {
        // 53 random bits make a uniform number in [0, 1), so that a rate of 1 always strikes.
        let uniform = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if uniform < self.error_rate { OnCall::Answer(f5::server_error()) } else { OnCall::Forward }
    }
}
