//! Keeping a model's answers, and running today's code on them.
//!
//! | module | what it holds |
//! |---|---|
//! | `tape` | the file: JSON Lines, a version of its own |
//! | [`record`] | a model whose answers are kept |
//! | [`replay`] | a model that gives the kept answers, and notes what it is asked differently |
//! | [`drift`] | what is different (pure) |
//!
//! A recording holds what the model was asked and what it answered, and nothing of the tools: they
//! are carried out again. The n-th request gets the n-th answer, also where it is another request,
//! so that one difference does not hide the next; each of them is told.

pub mod drift;
pub mod record;
pub mod replay;
mod tape;
#[cfg(test)]
mod tests;

pub use drift::Drift;
pub use tape::TapeError;
