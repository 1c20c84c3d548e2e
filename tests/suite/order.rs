//! Which runs come of a suite, and in which order.

use crate::fixtures::{checked, full, small};
use nochmal::suite::{Filter, Suite, Trial};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};

fn ids(trials: &[Trial]) -> Vec<&str> {
    trials.iter().map(|trial| trial.run_id.0.as_str()).collect()
}

fn with(models: usize, scenarios: usize, patch: &str, repeats: u32, seed: u64, per_model: bool) -> Suite {
    let models: Vec<String> = (0..models).map(|index| format!("m{index}")).collect();
    let scenarios = &["none", "F1", "F2", "F3", "F4", "F5"][..scenarios];
    let text = small(|text| {
        text.replace("[gemma4]", &format!("[{}]", models.join(", ")))
            .replace("[F1]", &format!("[{}]\n  patch: [{patch}]", scenarios.join(", ")))
            .replace("repeats: 3", &format!("repeats: {repeats}\nseed: {seed}"))
            + if per_model { "limits: {per_model: 1}\n" } else { "" }
    });
    checked(&text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_and_repeat_comes_exactly_once(
        models in 1usize..4, scenarios in 1usize..6, repeats in 1u32..6, seed: u64, per_model: bool,
    ) {
        let suite = with(models, scenarios, "off, GHOST_WRITE, observed", repeats, seed, per_model);
        let trials = suite.trials(&Filter::all(), None);
        prop_assert_eq!(trials.len(), suite.cells.len() * repeats as usize);
        let runs: HashSet<_> = trials.iter().map(|trial| (trial.cell.id.clone(), trial.repeat)).collect();
        prop_assert_eq!(runs.len(), trials.len());
        prop_assert_eq!(ids(&trials).into_iter().collect::<HashSet<_>>().len(), trials.len());
        prop_assert_eq!(&trials, &suite.trials(&Filter::all(), None));
    }

    #[test]
    fn no_cell_is_run_again_before_all_were_run(models in 1usize..4, scenarios in 1usize..6, seed: u64) {
        let suite = with(models, scenarios, "off, GHOST_WRITE", 4, seed, false);
        let repeats: Vec<u32> = suite.trials(&Filter::all(), None).iter().map(|trial| trial.repeat).collect();
        prop_assert!(repeats.is_sorted());
    }

    #[test]
    fn observed_comes_after_all_runs_of_its_partner(models in 1usize..4, seed: u64, per_model: bool) {
        let suite = with(models, 3, "observed, off", 3, seed, per_model);
        let trials = suite.trials(&Filter::all(), None);
        for (index, trial) in trials.iter().enumerate().filter(|(_, trial)| trial.cell.key.patch == "observed") {
            let partner = trial.cell.key.with(nochmal::domain::Axis::Patch, "off");
            let before = trials[..index].iter().filter(|other| other.cell.key == partner).count();
            prop_assert_eq!(before, 3);
        }
    }

    #[test]
    fn with_per_model_a_model_is_loaded_once(models in 1usize..5, seed: u64) {
        let suite = with(models, 2, "off, observed", 3, seed, true);
        let mut loaded: Vec<String> = suite.trials(&Filter::all(), None).iter().map(|trial| trial.cell.key.model.clone()).collect();
        loaded.dedup();
        let expected: Vec<String> = (0..models).map(|index| format!("m{index}")).collect();
        prop_assert_eq!(loaded, expected);
    }
}

#[test]
fn the_seed_reaches_the_order_and_every_run() {
    let (one, two) = (with(3, 4, "off", 3, 1, false), with(3, 4, "off", 3, 2, false));
    let (one, two) = (one.trials(&Filter::all(), None), two.trials(&Filter::all(), None));
    assert_ne!(ids(&one), ids(&two));
    let seeds = |trials: &[Trial]| -> BTreeMap<String, u64> {
        trials.iter().map(|trial| (trial.run_id.0.clone(), trial.seed)).collect()
    };
    assert!(seeds(&one).iter().all(|(run, seed)| seeds(&two)[run] != *seed));
    assert_eq!(seeds(&one).values().collect::<HashSet<_>>().len(), one.len());
    let second: Vec<&str> = ids(&one[12..24]).iter().map(|id| &id[..10]).collect();
    let first: Vec<&str> = ids(&one[..12]).iter().map(|id| &id[..10]).collect();
    assert_ne!(first, second, "each repeat has its own order");
}

#[test]
fn a_cell_that_is_added_moves_no_other() {
    let few = with(2, 3, "off", 2, 5, false);
    let more = with(2, 4, "off", 2, 5, false);
    let few = few.trials(&Filter::all(), None);
    let more = more.trials(&Filter::all(), None);
    let kept: Vec<&str> = ids(&more).into_iter().filter(|id| ids(&few).contains(id)).collect();
    assert_eq!(kept, ids(&few));
}

#[test]
fn repeats_can_be_replaced_and_keep_their_runs() {
    let suite = with(1, 2, "off", 2, 5, false);
    let more = suite.trials(&Filter::all(), Some(4));
    assert_eq!(more.len(), 8);
    assert_eq!(ids(&more)[..4], ids(&suite.trials(&Filter::all(), None)));
}

#[test]
fn filters_keep_what_they_say() {
    let suite = full();
    let count = |texts: &[&str]| {
        let filter = Filter::parse_all(texts, &suite).unwrap();
        suite.cells.iter().filter(|cell| filter.keeps(&cell.key)).count()
    };
    assert_eq!(count(&[]), 209);
    assert_eq!(count(&["model=gemma4"]), 104);
    assert_eq!(count(&["model=gemma4, patch=off|GHOST_WRITE"]), 8 * 7);
    assert_eq!(count(&["scenario!=none|chaos", "model=1.0"]), 1);
    assert_eq!(count(&["patch=file:patches/own.md"]), 48);
}

#[test]
fn filters_that_mean_nothing_say_why() {
    let suite = full();
    let said = |text: &str| Filter::parse_all(&[text], &suite).unwrap_err().to_string();
    insta::assert_snapshot!(
        ["modell=gemma4", "model=gemma3", "gemma4", "model=", "", "scenario=none,patch=observed"]
            .map(said)
            .join("\n")
    );
}
