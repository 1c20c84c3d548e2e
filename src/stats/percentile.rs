//! Percentiles of what was measured: always a value that was there, never one between two.

/// The smallest of the values that at least `percent` of a hundred of them do not exceed; none of no
/// values. `sorted` is in ascending order.
pub fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent.min(100)).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_there() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 95)), (Some(10.0), Some(19.0)));
        assert_eq!((percentile(&[3.0], 0), percentile(&[3.0], 100)), (Some(3.0), Some(3.0)));
        assert_eq!(percentile(&[], 95), None);
    }

    proptest::proptest! {
        #[test]
        fn at_least_that_share_does_not_exceed_it_and_no_smaller_value_does_it(
            mut values in proptest::collection::vec(0.0..1e6, 1..50), percent in 1_usize..=100,
        ) {
            values.sort_by(f64::total_cmp);
            let found = percentile(&values, percent).unwrap();
            let below = |limit: f64| values.iter().filter(|value| **value <= limit).count() * 100;
            proptest::prop_assert!(values.contains(&found) && below(found) >= values.len() * percent);
            for smaller in values.iter().filter(|value| **value < found) {
                proptest::prop_assert!(below(*smaller) < values.len() * percent);
            }
        }
    }
}
