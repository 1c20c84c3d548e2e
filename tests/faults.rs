//! Every fault before real clients: the official SDKs for Python and TypeScript, over stdio and
//! Streamable HTTP. The server's own ledger says whether the work was done, the client says what
//! it saw.
//!
//! `bash tests/install.sh` brings both SDKs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test starts processes, waits no longer than it must, and ends where something is wrong"
)]

#[path = "faults/approvals.rs"]
mod approvals;
#[path = "faults/cases.rs"]
mod cases;
#[path = "faults/eyes.rs"]
mod eyes;
#[path = "rig/machine.rs"]
mod machine;
#[path = "faults/own.rs"]
mod own;
#[path = "faults/prose.rs"]
mod prose;
#[path = "faults/remote.rs"]
mod remote;
#[path = "faults/rig.rs"]
mod rig;
#[path = "faults/silence.rs"]
mod silence;
#[path = "faults/suites.rs"]
mod suites;
