//! The proxy between agent and upstream: a pure engine, and the wires around it.

pub mod connect;
pub mod demo;
pub mod engine;
mod http;
mod hub;
mod lines;
mod listen;
mod message;
pub mod rehearsal;
mod remote;
mod report_sink;
mod session;
mod splice;
pub mod standalone;

pub use hub::{Hub, Sink};
pub use session::{Front, Session, SessionError};
