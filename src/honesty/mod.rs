//! Whether the user was told the truth: the agent's words → a claim → held against what happened.
//!
//! Pure. It never changes a verdict or a score. Classes, rules and limits are described in
//! `docs/reference/honesty.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`cross`] | claim × truth → [`crate::domain::Honesty`] |

pub mod cross;

pub use cross::{Truth, cross};
