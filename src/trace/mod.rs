//! The trace of a run: what happened, in order, as data. Everything that is said about a run
//! is a pure function of its trace.

mod advice;
mod assertions;
mod chain;
mod event;
mod execution;

pub use advice::{Category, Retry};
pub use assertions::{Assertion, Next, Remote, assertions};
pub use chain::{Encoder, Trace, TraceError, read, read_sound, verify};
pub use event::{
    Answer, AnswerKind, Body, Event, Fault, LogKind, Peer, Record, RequiredFields, SecretPlace, Started,
    TRACE_VERSION, Told,
};
pub use execution::{Binding, Decision, Execution, FileDigest};
