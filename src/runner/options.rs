//! What is asked for beside the suite.

use super::recordings::Recordings;
use super::rehearsal::Rehearsal;
use crate::stats::Level;
use crate::suite::{Stopping, Suite};
use std::path::PathBuf;

/// What a command line asks for beside the suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The results folder; one is made below `reports/` where absent.
    pub out: Option<PathBuf>,
    /// Replaces the suite's repeats.
    pub repeats: Option<u32>,
    /// Which cells, as given on the command line.
    pub filters: Vec<String>,
    /// Gates beside those of the suite, as given on the command line.
    pub gates: Vec<String>,
    /// Confidence level of intervals.
    pub level: Level,
    /// Columns of the terminal, where there is one.
    pub width: Option<u16>,
    /// The models are scripts, and nothing is measured.
    pub rehearsal: Option<Rehearsal>,
    /// The models' answers are kept, or come from where they were kept.
    pub recordings: Option<Recordings>,
}

impl Options {
    /// The rule that ends repeats early: a number that is asked for replaces it.
    pub fn stopping(&self, suite: &Suite) -> Option<Stopping> {
        if self.repeats.is_some() { None } else { suite.stopping }
    }
}
