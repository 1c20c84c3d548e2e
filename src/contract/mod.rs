//! Contract cases: a tool is tested without an agent. Its server runs against a backend that
//! answers as the case says, one tool is called, and what the tool answers is compared with what it
//! can know.
//!
//! | module | what it holds |
//! |---|---|
//! | [`file`], [`fixture`], [`expect`] | what users write, checked |
//! | [`schema`] | the same for editors |
//! | [`answer`], [`words`], [`claim`], [`check`] | what the tool answered, what it claims by that, and whether that holds. Pure |
//! | [`report`] | results → terminal, Markdown, JUnit, JSON |
//! | [`credential`] | the secrets in a header |
//! | [`backend`] | the HTTP backend on loopback |
//! | [`drive`] | one case: backend, server, call |

pub mod answer;
pub mod backend;
pub mod check;
pub mod claim;
pub mod credential;
pub mod drive;
pub mod expect;
pub mod file;
pub mod fixture;
pub mod report;
pub mod schema;
pub mod words;

pub use check::{CaseResult, Failure, FailureKind, State};
pub use file::{Case, Contract};
