//! No fault: a baseline.

use super::{Entry, Scenario};

pub(super) const ENTRY: Entry = Entry {
    id: super::NONE,
    summary: "nothing is injected; a PASS is a baseline only",
    build: |_| Box::new(NoFault),
};

struct NoFault;

impl Scenario for NoFault {}
