//! Whether several fresh tries in a row would pass.

/// The chance that all of `k` fresh tries pass, estimated without bias from `c` passes in `n` runs:
/// C(c,k)/C(n,k). `None` ("n/a") where `k` exceeds the runs, or `c` does.
///
/// S. Yao, N. Shinn, P. Razavi and K. Narasimhan, "τ-bench: a benchmark for tool-agent-user
/// interaction in real-world domains" (2024), pass^k.
pub fn pass_hat_k(n: u32, c: u32, k: u32) -> Option<f64> {
    if k > n || c > n {
        return None;
    }
    Some(all_from(c, n, k))
}

/// The chance that at least one of `k` fresh tries passes: 1 − C(n−c,k)/C(n,k).
///
/// M. Chen et al., "Evaluating large language models trained on code" (2021), pass@k.
pub fn pass_at_k(n: u32, c: u32, k: u32) -> Option<f64> {
    if k > n || c > n {
        return None;
    }
    Some(1.0 - all_from(n - c, n, k))
}

/// C(some,k)/C(all,k), factor by factor, so that nothing overflows.
fn all_from(some: u32, all: u32, k: u32) -> f64 {
    if k > some {
        return 0.0;
    }
    // The same as C(all−k,r)/C(all,r) with the r others: the shorter product of the two.
    let (kept, factors) = if all - some < k { (all - k, all - some) } else { (some, k) };
    let mut product = 1.0;
    for i in 0..factors {
        product *= f64::from(kept - i) / f64::from(all - i);
        if product == 0.0 {
            break;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tries_than_runs_is_not_available() {
        assert_eq!(pass_hat_k(5, 5, 6), None);
        assert_eq!(pass_hat_k(5, 6, 1), None);
        assert_eq!(pass_at_k(0, 0, 1), None);
        assert_eq!(pass_hat_k(0, 0, 0), Some(1.0));
    }
}
