//! Chaos (J12): every call, reads too, fails with a given probability and is then not sent.

use super::{CallView, Entry, OnCall, Scenario, f5};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(super) const ENTRY: Entry = Entry {
    id: super::CHAOS,
    summary: "every call, reads too, fails with probability error_rate and is then not executed",
    build: |parameters| {
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
