//! Suites as users write them: what is read, what is refused and in which words, and which runs
//! come of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail loudly")]

#[path = "suite/broken.rs"]
mod broken;
#[path = "suite/fixtures.rs"]
mod fixtures;
#[path = "suite/fuzz.rs"]
mod fuzz;
#[path = "suite/order.rs"]
mod order;
#[path = "suite/profiles.rs"]
mod profiles;
#[path = "suite/shipped.rs"]
mod shipped;
#[path = "suite/template.rs"]
mod template;
