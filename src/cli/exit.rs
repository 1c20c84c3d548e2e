//! The exit codes, all of them; `docs/reference/exit-codes.md` tells users the same.

use crate::report::{GateResult, GateState, gate_state};

/// The work was done, and every gate held.
pub const OK: u8 = 0;
/// A gate failed, or the program itself did.
pub const FAILED: u8 = 1;
/// What was given cannot be used: arguments, a suite, a results folder.
pub const BAD_INPUT: u8 = 2;
/// Not one run was tested, or none that a gate is about.
pub const NOTHING_TESTED: u8 = 3;
/// Ended by ctrl-C or a signal; finished runs are kept.
pub const INTERRUPTED: u8 = 130;

/// The code that gates give: 1 where one failed, else 3 where nothing was tested, else 0.
pub fn of_gates(gates: &[GateResult], anything_tested: bool) -> u8 {
    match gate_state(gates) {
        GateState::Failed => FAILED,
        GateState::NothingTested => NOTHING_TESTED,
        GateState::Held if !anything_tested => NOTHING_TESTED,
        GateState::Held => OK,
    }
}

/// The code of two pieces of work together. An interruption comes first, since work is left; a gate
/// that failed is never covered by one that had nothing to look at.
pub fn worse(one: u8, two: u8) -> u8 {
    let order = [INTERRUPTED, BAD_INPUT, FAILED, NOTHING_TESTED];
    order.into_iter().find(|code| [one, two].contains(code)).unwrap_or(OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_gate_is_never_covered() {
        assert_eq!(worse(NOTHING_TESTED, FAILED), FAILED);
        assert_eq!(worse(OK, NOTHING_TESTED), NOTHING_TESTED);
        assert_eq!(worse(INTERRUPTED, FAILED), INTERRUPTED);
        assert_eq!(worse(OK, OK), OK);
    }

    #[test]
    fn a_gate_that_holds_over_nothing_is_no_success() {
        let gate = |state| GateResult { gate: String::new(), state, sentence: String::new() };
        assert_eq!(of_gates(&[gate(GateState::Held)], false), NOTHING_TESTED);
        assert_eq!(of_gates(&[gate(GateState::Held)], true), OK);
        assert_eq!(of_gates(&[gate(GateState::NothingTested), gate(GateState::Failed)], true), FAILED);
    }
}
