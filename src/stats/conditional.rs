//! Fisher's exact test: both margins are taken as given.

use super::{Proportion, hypergeometric::Hypergeometric};

/// The p-values of Fisher's exact test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FisherTest {
    /// All tables that are no more likely than the one seen.
    pub two_sided: f64,
    /// The first arm has the higher rate.
    pub greater: f64,
    /// The first arm has the lower rate.
    pub less: f64,
}

/// Fisher's exact test of equal rates; the two-sided p-value sums the tables that are no more
/// likely than the one seen, as R does.
///
/// R. A. Fisher, "The logic of inductive inference", Journal of the Royal Statistical Society 98
/// (1935), 39–82.
pub fn fisher(one: Proportion, two: Proportion) -> FisherTest {
    let tables = Hypergeometric::of(one, two);
    FisherTest {
        two_sided: tables.no_more_likely(one.k()),
        greater: tables.at_least(one.k()),
        less: tables.at_most(one.k()),
    }
}
