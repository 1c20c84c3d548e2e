//! The judge from outside: cases around the real engine, and properties of random histories.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole target is tests; clippy.toml allows it only inside test functions"
)]

#[path = "judge/cases.rs"]
mod cases;
#[path = "judge/model.rs"]
mod model;
#[path = "judge/properties.rs"]
mod properties;
#[path = "judge/random.rs"]
mod random;
#[path = "judge/rig.rs"]
mod rig;
