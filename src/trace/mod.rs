//! The trace of a run: what happened, in order, as data. Everything that is said about a run
//! is a pure function of its trace.

mod account;
mod advice;
mod assertions;
mod chain;
mod event;
mod execution;
mod remote;

pub use account::{Accounted, AccountedCall, AccountedEffect};
pub use advice::{Category, Retry};
pub use assertions::{Assertion, Next, assertions};
pub use chain::{Encoder, Trace, TraceError, read, read_sound, verify};
pub use event::{
    Answer, AnswerKind, ApprovalReply, AskedBy, Body, Event, Fault, LogKind, Peer, Record, RequiredFields,
    SecretPlace, Started, TRACE_VERSION, Told,
};
pub use execution::{Binding, Decision, Execution, FileDigest};
pub use remote::{Answered, Remote, Says};
