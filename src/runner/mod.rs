//! Carries out a matrix: schedules its runs, and owns time and concurrency.
//!
//! | module | what it holds |
//! |---|---|
//! | [`load`] | a suite's file and the profiles and files that it names |
//! | [`matrix`] | a whole matrix: starts runs, keeps each as it ends; interruption; reports |
//! | `schedule` | which run is next, and how many go on at once (pure) |
//! | `tools` | what the upstreams list before any agent comes |
//! | [`stopping`] | which cells have had enough runs (pure) |
//! | [`stored`] | results folders → what reports are made of |
//! | [`options`] | what is asked for beside the suite |
//! | [`shared`] | what all runs share, and why one cannot be begun |
//! | [`trial`] | one run: folder, upstream, proxy, agent, trace |
//! | `profile` | a profile of the suite → what the agent room launches |
//! | `proxied` | the proxy of a run, and the file of its trace |
//! | `prompts` | what is said in a run, rendered |
//! | [`recordings`] | which run's answers are kept where, or come from where |
//! | [`names`] | what templates of a run may use |
//! | [`secrets`] | what must not stand in any result, and the canary |
//! | [`rehearsal`] | the models of a rehearsal: scripts on loopback, and what they saw |
//! | [`doctor`] | what is missing before a suite can run |
//! | [`environment`] | variables of this program's environment |
//! | `account` | what the upstream really holds, before and after a run |
//! | `reader` | a model as second reader of what agents said, asked when a run is judged |
//! | [`conclude`] | trace and agent's end → the result of a run (pure) |

mod account;
mod client;
pub mod conclude;
pub mod doctor;
pub mod environment;
pub mod load;
pub mod matrix;
pub mod names;
pub mod options;
mod profile;
mod prompts;
mod proxied;
mod reader;
pub mod recordings;
pub mod rehearsal;
mod reports;
mod retry;
mod schedule;
pub mod secrets;
mod servers;
pub mod shared;
pub mod stopping;
pub mod stored;
mod sweep;
mod told;
mod tools;
pub mod trial;

pub use reports::read_timelines;
