//! What really happened, beside what was asked for and beside what the judge says. Pure.
//!
//! The judge reads what the upstream answered; here speaks the upstream's own account: the ledger
//! of a built-in one, an oracle of any other. The two can differ, and both may be right: a server
//! can drop a repetition, do a thing twice, or do it and say that it failed. So nothing here changes
//! a verdict but one: a PASS that the account contradicts is none ([`objection`]).
//!
//! | file | what it holds |
//! |---|---|
//! | `reading.rs` | what an oracle read before and after → what came to be |
//! | `matching.rs` | does a record, or a call, have the fields that are wanted? |
//! | `account.rs` | what came to be × what the prompt asks for → lost, right, double, unasked |
//! | `compare.rs` | what came to be × the judge's operations → where they differ, and why |
//! | `checks/` | what shows that a task was done: one check a file, one table |

mod account;
pub mod checks;
mod compare;
mod matching;
mod reading;
mod words;

pub use account::account;
pub use compare::{Compared, compare};
pub use reading::{CameToBe, Found, Reading, ReadingError, came_to_be};

use crate::domain::{Account, Effects, Fate};

/// Why a run that violated nothing is no PASS all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// An effect is there more often than it should be.
    Disagrees(String),
    /// What is there could not be learned.
    Unknown(String),
}

/// What speaks against a PASS. An account that could not be had does: a wrong PASS is the one
/// mistake that must not be made.
pub fn objection(effects: &Effects, compared: &Compared) -> Option<Objection> {
    match &effects.account {
        Account::Unknown { reason } => {
            let source = effects.source.title();
            let reason =
                format!("what the upstream really did is not known, its {source} has no answer: {reason}");
            return Some(Objection::Unknown(reason));
        }
        Account::Known { expected, .. } => {
            if let Some(double) = expected.iter().find(|effect| effect.fate() == Fate::Double) {
                return Some(Objection::Disagrees(format!(
                    "no operation was executed twice by the answers of the upstream, but by its {} {} is there {}, \
                     and was asked for {}",
                    effects.source.title(),
                    double.effect,
                    words::times(double.found),
                    words::times(double.asked),
                )));
            }
        }
        Account::NotStated { .. } => {}
    }
    let blurred = || {
        let source = effects.source.title();
        let said = |why: &String| {
            format!("what the upstream really did is not known, its {source} is not enough: {why}")
        };
        compared.blurred.as_ref().map(said).map(Objection::Unknown)
    };
    compared.doubled.clone().map(Objection::Disagrees).or_else(blurred)
}
