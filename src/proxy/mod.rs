//! The proxy between agent and upstream: a pure engine, and the wires around it.

pub mod connect;
pub mod engine;
mod http;
mod hub;
mod lines;
mod message;
mod report_sink;
mod session;
pub mod standalone;

pub use hub::{Hub, Sink};
pub use session::{Front, Session, SessionError};
