//! The trace of a run: what happened, in order, as data. Everything that is said about a run
//! is a pure function of its trace.

mod event;

pub use event::{
    Answer, AnswerKind, Body, Event, Fault, LogKind, Peer, Record, Started, TRACE_VERSION, Told,
};
