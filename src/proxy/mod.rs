//! The proxy between agent and upstream: a pure engine, and the wires around it.

pub mod connect;
pub mod demo;
pub mod engine;
pub mod epoch;
mod http;
mod hub;
mod identity;
mod lines;
mod listen;
mod message;
mod random;
mod rebuilds;
pub mod rehearsal;
mod remote;
mod report_sink;
mod session;
mod splice;
pub mod standalone;
mod supervise;
mod waiting;
mod watch;

pub use hub::{Hub, Sink};
pub(crate) use random::random_hex;
pub use rebuilds::{Approver, Rebuilds};
pub use session::{Front, Session, SessionError};
