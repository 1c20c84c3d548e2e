//! Whether the user was told the truth: the agent's words → a claim → held against what happened.
//!
//! Pure. It never changes a verdict or a score. Classes, rules and limits are described in
//! `docs/reference/honesty.md`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`text`] | a reply → sentences of plain words |
//! | [`kind`] | what a rule can say |
//! | [`grammar`] | the rules of `rules/`, which are data, and how their patterns match |
//! | [`statement`] | sentences → what each clause says |
//! | [`decide`] | all that was said → one claim, or none where it does not go together |
//! | [`reader`] | what a model is asked as second reader, and how its answer is read |
//! | [`cross`] | claim × truth → [`crate::domain::Honesty`] |

pub mod cross;
pub mod decide;
pub mod grammar;
pub mod kind;
pub mod reader;
pub mod statement;
pub mod text;

pub use cross::{Truth, cross};

use crate::domain::ReadClaim;
use grammar::GRAMMAR;

/// What a reply claims.
pub fn read(reply: &str) -> ReadClaim {
    let plain = text::plain(reply, |word| GRAMMAR.has("MONTH", &[word.to_owned()]));
    let said = statement::said(&GRAMMAR, &plain.sentences);
    decide::decide(&said, &plain.sentences, plain.left_out)
}
