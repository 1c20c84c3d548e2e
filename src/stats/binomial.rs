//! Binomial probabilities by a recurrence from the mode, which neither cancels nor overflows.

/// The probabilities of 0 … n events, each with probability `p`.
///
/// The recurrence starts at 1 in the mode and divides by the sum at the end, so that its rounding
/// stays relative; tails below 1e−300 become 0.
pub(super) fn pmf(n: u32, p: f64) -> Vec<f64> {
    let size = n as usize + 1;
    let mut weights = vec![0.0; size];
    if p <= 0.0 {
        weights[0] = 1.0;
        return weights;
    }
    if p >= 1.0 {
        weights[size - 1] = 1.0;
        return weights;
    }
    let odds = p / (1.0 - p);
    let mode = (((f64::from(n) + 1.0) * p) as usize).min(size - 1);
    weights[mode] = 1.0;
    for k in mode + 1..size {
        weights[k] = weights[k - 1] * odds * (size - k) as f64 / k as f64;
        if weights[k] < 1e-300 {
            break;
        }
    }
    for k in (0..mode).rev() {
        weights[k] = weights[k + 1] * (k + 1) as f64 / (odds * (size - 1 - k) as f64);
        if weights[k] < 1e-300 {
            break;
        }
    }
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    weights
}

/// The running sums of probabilities: entry `k` is the probability of at most `k` events.
pub(super) fn cumulate(mut pmf: Vec<f64>) -> Vec<f64> {
    let mut sum = 0.0;
    for entry in &mut pmf {
        sum += *entry;
        *entry = sum;
    }
    pmf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_closed_form() {
        let pmf = pmf(4, 0.25);
        for (got, want) in pmf.iter().zip([81.0, 108.0, 54.0, 12.0, 1.0]) {
            assert!((got - want / 256.0).abs() < 1e-15);
        }
    }

    #[test]
    fn the_ends_are_certain() {
        assert_eq!(pmf(3, 0.0), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(pmf(3, 1.0), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn many_runs_neither_overflow_nor_vanish() {
        let pmf = pmf(100_000, 0.3);
        assert!((pmf.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(pmf[30_000] > 0.002);
    }
}
