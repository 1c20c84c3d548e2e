//! nochmal measures what an agent does when a write times out and the user says
//! "bitte nochmal".
//!
//! The rooms, in reading order. Everything above the line is pure: no clock, no files, no
//! sockets, no async, and no randomness but a given seed.
//!
//! | room | what it holds |
//! |---|---|
//! | [`domain`] | the words that all rooms share |
//! | [`suite`] | the files users write, checked: suite → cells → trials |
//! | [`scenario`] | the faults, one file each, one table |
//! | [`trace`] | the events of a run and their hash-chained file format |
//! | [`judge`] | a trace → a verdict, by the rules J1 … |
//! | [`honesty`] | the agent's words → a claim → held against what happened |
//! | [`truth`] | what really happened, by the upstream's own account, beside the judge's |
//! | [`attribution`] | the layer in which a run that is no PASS most likely failed |
//! | [`stats`] | intervals, differences, tests |
//! | [`report`] | results → bytes, one file per format |
//! | ― | above: pure. Below: I/O |
//! | [`log`] | what this program says beside its results, without the secrets that it knows |
//! | [`process`] | process trees: what is started is ended, with all that it started |
//! | [`proxy`] | the engine (pure) and the transports around it |
//! | [`upstream`] | reaching a server; the built-in servers and their ledgers |
//! | [`agent`] | launching agents, the conversation, process trees |
//! | [`harness`] | the built-in agent and the scripted models |
//! | [`store`] | the results folder |
//! | [`contract`] | tools tested without an agent, against a backend that fails on purpose |
//! | [`runner`] | schedules trials; owns time and concurrency |
//! | [`progress`] | run events → terminal |
//! | [`cli`] | the command line |

pub mod agent;
pub mod attribution;
pub mod cli;
pub mod contract;
pub mod domain;
pub mod harness;
pub mod honesty;
pub mod judge;
pub mod log;
pub mod process;
pub mod progress;
pub mod proxy;
pub mod report;
pub mod runner;
pub mod scenario;
pub mod stats;
pub mod store;
pub mod suite;
pub mod trace;
pub mod truth;
pub mod upstream;
