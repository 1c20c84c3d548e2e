//! The scripted models behind the protocols that agent programs speak, so that any of them can be
//! driven without a model, a key or a network.
//!
//! Stateless: all that decides an answer is in the request. A request's model is the name of a
//! script (`script:obedient`, `obedient`); other names get the default script, where there is one.
//! `error:STATUS` answers with that status, `hang` never answers, `cut` breaks off in the middle.
//! What stands before a protocol's own path is free, so that one endpoint can tell its callers apart.
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | what a protocol is, and the table of them |
//! | `chat`, `messages`, `responses`, `gemini` | one protocol each |
//! | [`ask`] | a request without its protocol |
//! | `frame` | the user's words without what a program puts around them |
//! | `offer` | which of the offered tools are the server's, and the search for deferred ones |
//! | `play` | what is answered (pure) |
//! | `failure` | errors on demand |
//! | `server` | HTTP |

pub mod ask;
mod chat;
mod failure;
mod frame;
mod gemini;
mod messages;
mod offer;
mod play;
pub mod protocol;
pub mod protocols;
mod responses;
mod server;

pub use failure::{Failure, Failures};
pub use server::{Options, Seen, Watch, serve};
