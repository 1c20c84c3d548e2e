//! Holds the formulas to reference values (`data/stats_reference.json`, computed with scipy and
//! statsmodels): the whole file, so that a key without a check fails. Then properties.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails by panicking")]

#[path = "stats/common.rs"]
mod common;
#[path = "stats/planning.rs"]
mod planning;
#[path = "stats/properties.rs"]
mod properties;
#[path = "stats/rates.rs"]
mod rates;

use common::entries;
use serde_json::Value;

/// A check of one section of the file.
type Check = fn(&Value);

const CHECKS: &[(&str, Check)] = &[
    ("versions", |section| assert!(section["scipy"].is_string())),
    ("normal_quantile", rates::normal_quantile),
    ("wilson", rates::one_rate),
    ("exact_coverage_95", rates::coverage),
    ("two_independent", rates::two_rates),
    ("multiplicity", rates::multiplicity),
    ("paired", rates::paired),
    ("pass_k", rates::pass_k),
    ("pass_k_unbiased_check", rates::pass_k_is_unbiased),
    ("confidence_sequence_beta_binomial", planning::confidence_sequences),
    ("peeking_error_exact", planning::peeking),
    ("two_arm_peeking_false_positive", planning::two_arm_peeking),
    ("sprt", planning::sprt),
    ("fixed_looks_bonferroni", planning::fixed_looks),
    ("power_min_n_per_arm_alpha05_power80", planning::sample_sizes),
    ("type1_size_max_over_p", planning::test_sizes),
    ("power_at_n", planning::power),
    ("smallest_significant", rates::smallest_significant),
    ("n_all_pass_for_wilson_lower", planning::runs_for_bounds),
    ("clustering", rates::clustering),
    ("stratified", rates::stratified),
    ("two_arm_sequential", planning::two_arm_sequential),
    ("boschloo_dense_grid", rates::boschloo_values),
    ("fisher_full_precision", rates::fisher_digits),
    ("literature_example_inputs_computed_here", rates::worked_examples),
    ("tango_independent_check", rates::tango_examples),
];

#[test]
fn every_reference_value_is_met() {
    let file: Value = serde_json::from_str(include_str!("data/stats_reference.json")).unwrap();
    let mut failed = Vec::new();
    for (section, value) in entries(&file) {
        match CHECKS.iter().find(|(name, _)| *name == section) {
            Some((_, check)) => {
                if std::panic::catch_unwind(|| check(value)).is_err() {
                    failed.push(section.to_owned());
                }
            }
            None => failed.push(format!("{section} (no check)")),
        }
    }
    assert!(failed.is_empty(), "not met: {failed:?}");
    for (name, _) in CHECKS {
        assert!(file.get(name).is_some(), "{name} is checked and not in the file");
    }
}
