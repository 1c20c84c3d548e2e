//! p-values of several comparisons in one table, adjusted.

/// Holm's step-down adjustment, which bounds the chance of any false "effect shown" in a table.
/// In the order given; a p-value that is no number counts as 1.
///
/// S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 6 (1979), 65–70.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        highest = highest.max(clean(p_values[index]) * (p_values.len() - rank) as f64).min(1.0);
        adjusted[index] = highest;
    }
    adjusted
}

/// The adjustment of Benjamini and Hochberg, which bounds the share of false ones instead.
///
/// Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal
/// Statistical Society B 57 (1995), 289–300.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut lowest = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        lowest = lowest.min(clean(p_values[index]) * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[index] = lowest;
    }
    adjusted
}

/// Every p-value times their number.
///
/// O. J. Dunn, "Multiple comparisons among means", Journal of the American Statistical Association
/// 56 (1961), 52–64, after Bonferroni's inequality.
pub fn bonferroni(p_values: &[f64]) -> Vec<f64> {
    p_values.iter().map(|p| (clean(*p) * p_values.len() as f64).min(1.0)).collect()
}

fn clean(p: f64) -> f64 {
    if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| clean(p_values[*a]).total_cmp(&clean(p_values[*b])));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_adjust_is_nothing() {
        assert!(holm(&[]).is_empty());
        assert!(benjamini_hochberg(&[]).is_empty());
    }

    #[test]
    fn what_is_no_number_counts_as_one() {
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert_eq!(bonferroni(&[f64::INFINITY, -1.0]), [1.0, 0.0]);
    }
}
