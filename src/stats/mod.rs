//! Intervals, differences and tests for small numbers of runs, as pure functions.
//!
//! A [`Proportion`] can only be made from `k ≤ n` and `n ≥ 1`, and a [`Level`] only from a number
//! strictly between 0 and 1; so the formulas themselves have no error cases. What cannot be
//! answered (no tested run, no stratum, an arm too large for an exact test) is `None` or a
//! [`StatsError`], never a number that looks like an answer.
//!
//! Reports use Wilson for one cell, Newcombe with Boschloo and Fisher for before and after, Holm
//! over a table, Mantel–Haenszel over several cells. The other methods are here so that the chosen
//! ones can be checked against them.

mod binomial;
mod conditional;
mod counts;
mod difference;
mod hypergeometric;
mod multiplicity;
mod paired;
mod pass_k;
mod percentile;
mod power;
mod proportion;
mod sequential;
mod strata;
mod unconditional;
mod value;

pub use conditional::{FisherTest, fisher};
pub use counts::Counts;
pub use difference::{agresti_caffo, miettinen_nurminen, newcombe};
pub use multiplicity::{benjamini_hochberg, bonferroni, holm};
pub use paired::{Pairs, mcnemar_exact, mcnemar_mid_p, newcombe_paired, tango};
pub use pass_k::{pass_at_k, pass_hat_k};
pub use percentile::percentile;
pub use power::{Rejection, Test, repeats_for_power, runs_for_bound};
pub use proportion::{agresti_coull, clopper_pearson, jeffreys, wald, wilson, wilson_corrected};
pub use sequential::{Mixture, Sprt, confidence_sequence, discordant_e_value};
pub use strata::{Clustered, RiskDifference, Stratum, cmh, mantel_haenszel};
pub use unconditional::{UnconditionalTest, Variance, barnard, boschloo};
pub use value::{Interval, Level, Proportion, StatsError};
