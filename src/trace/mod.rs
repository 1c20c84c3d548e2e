//! The trace of a run: what happened, in order, as data. Everything that is said about a run
//! is a pure function of its trace.

mod account;
mod advice;
mod chain;
mod event;
mod execution;
mod remote;
mod struck;
mod terms;

pub use account::{Accounted, AccountedCall, AccountedEffect};
pub use advice::{Category, Retry};
pub use chain::{Encoder, Trace, TraceError, read, read_sound, read_verified, verify};
pub use event::{Event, Record, RequiredFields, Started, TRACE_VERSION};
pub use execution::{Binding, Decision, Execution, FileDigest};
pub use struck::struck_calls;
pub use terms::{Answer, AnswerKind, ApprovalReply, AskedBy, Body, Fault, LogKind, Peer, SecretPlace, Told};
