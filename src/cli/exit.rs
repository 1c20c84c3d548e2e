//! The exit codes, all of them.

/// The work was done, and every gate held.
pub const OK: u8 = 0;
/// A gate failed, or the program itself did.
pub const FAILED: u8 = 1;
/// What was given cannot be used: arguments, a suite, a results folder.
pub const BAD_INPUT: u8 = 2;
/// Not one run was tested.
pub const NOTHING_TESTED: u8 = 3;
/// Ended by ctrl-C or a signal; finished runs are kept.
pub const INTERRUPTED: u8 = 130;
