//! The wire of `nochmal proxy`: what it does not have to touch passes to the letter, whatever the
//! two sides speak.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "what only tests use is a test, too"
)]

#[path = "wire/client.rs"]
mod client;
#[path = "wire/front.rs"]
mod front;
#[path = "wire/letter.rs"]
mod letter;
#[path = "rig/machine.rs"]
mod machine;
#[path = "wire/modern.rs"]
mod modern;
#[path = "wire/remote.rs"]
mod remote;
#[path = "wire/rig.rs"]
mod rig;
#[path = "wire/tls.rs"]
mod tls;
