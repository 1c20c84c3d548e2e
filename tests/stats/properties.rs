//! Properties that hold for all numbers: monotone, symmetric, inside their range, no panic.

use super::common::*;
use nochmal::stats::*;
use proptest::prelude::*;

prop_compose! {
    fn any_proportion(most: u32)(n in 1..=most)(k in 0..=n, n in Just(n)) -> Proportion {
        of(k, n)
    }
}

fn any_level() -> impl Strategy<Value = Level> {
    (0.01..0.9999).prop_map(level)
}

type OneRate = fn(Proportion, Level) -> Interval;
type TwoRates = fn(Proportion, Proportion, Level) -> Interval;

const ONE_RATE: [OneRate; 7] =
    [wilson, wilson_corrected, clopper_pearson, jeffreys, agresti_coull, wald, |seen, level| {
        confidence_sequence(seen, level, Mixture::JEFFREYS)
    }];
const TWO_RATES: [TwoRates; 3] = [newcombe, miettinen_nurminen, agresti_caffo];

/// A failing case is printed whole; a file of seeds beside the tests would add nothing.
fn without_files() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(without_files())]

    #[test]
    fn intervals_lie_inside_0_and_1_and_mirror(seen in any_proportion(200), level in any_level()) {
        for interval in ONE_RATE {
            let (got, mirrored) = (interval(seen, level), interval(seen.complement(), level));
            prop_assert!(0.0 <= got.lo && got.lo <= got.hi && got.hi <= 1.0, "{got:?}");
            prop_assert!((got.lo - (1.0 - mirrored.hi)).abs() < 1e-9, "{got:?} {mirrored:?}");
        }
        let got = wilson(seen, level);
        prop_assert!(got.contains(seen.value()));
        prop_assert_eq!(got.lo == 0.0, seen.k() == 0);
        prop_assert_eq!(got.hi == 1.0, seen.k() == seen.n());
    }

    #[test]
    fn one_more_event_raises_both_bounds(seen in any_proportion(200), level in any_level()) {
        prop_assume!(seen.k() < seen.n());
        let more = of(seen.k() + 1, seen.n());
        for interval in ONE_RATE {
            let (fewer, more) = (interval(seen, level), interval(more, level));
            prop_assert!(fewer.lo <= more.lo + 1e-12 && fewer.hi <= more.hi + 1e-12);
        }
    }

    #[test]
    fn a_higher_level_is_wider(seen in any_proportion(200), one in any_level(), two in any_level()) {
        let (lower, higher) = if one < two { (one, two) } else { (two, one) };
        for interval in ONE_RATE {
            let (narrow, wide) = (interval(seen, lower), interval(seen, higher));
            prop_assert!(wide.lo <= narrow.lo + 1e-12 && narrow.hi <= wide.hi + 1e-12);
        }
    }

    #[test]
    fn the_sequence_is_wider_than_wilson(seen in any_proportion(200)) {
        let sequence = confidence_sequence(seen, Level::P95, Mixture::JEFFREYS);
        prop_assert!(sequence.half_width() > wilson(seen, Level::P95).half_width() - 1e-12);
    }

    #[test]
    fn differences_mirror_and_hold_what_was_seen(
        one in any_proportion(60), two in any_proportion(60), level in any_level(),
    ) {
        let seen = one.value() - two.value();
        for interval in TWO_RATES {
            let (got, swapped) = (interval(one, two, level), interval(two, one, level));
            prop_assert!(-1.0 <= got.lo && got.lo <= got.hi && got.hi <= 1.0, "{got:?}");
            prop_assert!((got.lo + swapped.hi).abs() < 1e-9, "{got:?} {swapped:?}");
        }
        prop_assert!(newcombe(one, two, level).contains(seen));
        prop_assert!(miettinen_nurminen(one, two, level).contains(seen));
    }

    #[test]
    fn exact_tests_are_symmetric_probabilities(one in any_proportion(40), two in any_proportion(40)) {
        let (exact, fisher_p) = (boschloo(one, two).unwrap(), fisher(one, two));
        let swapped = boschloo(two, one).unwrap();
        for p in [exact.two_sided, exact.greater, exact.less, fisher_p.two_sided, fisher_p.greater] {
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }
        prop_assert!((exact.two_sided - swapped.two_sided).abs() < 1e-12);
        prop_assert!((exact.greater - swapped.less).abs() < 1e-12);
        prop_assert!((fisher_p.greater - fisher(two, one).less).abs() < 1e-12);
        // Uniformly more powerful than Fisher's one-sided test, but for the slack between ties.
        prop_assert!(exact.greater <= fisher_p.greater + 1e-8);
        // Which rate is called "failed" changes nothing.
        let other = boschloo(one.complement(), two.complement()).unwrap();
        prop_assert!((exact.two_sided - other.two_sided).abs() < 1e-9);
    }

    #[test]
    fn a_wider_gap_has_a_smaller_p(one in any_proportion(30), two in any_proportion(30)) {
        prop_assume!(one.k() < one.n() && one.value() >= two.value());
        let wider = of(one.k() + 1, one.n());
        let (narrow, wide) = (boschloo(one, two).unwrap(), boschloo(wider, two).unwrap());
        prop_assert!(wide.greater <= narrow.greater + 1e-12);
    }

    #[test]
    fn holm_lies_between_the_raw_and_the_bonferroni_values(
        p_values in prop::collection::vec(0.0..=1.0_f64, 0..20),
    ) {
        let (adjusted, upper) = (holm(&p_values), bonferroni(&p_values));
        let lower = benjamini_hochberg(&p_values);
        for i in 0..p_values.len() {
            prop_assert!(p_values[i] <= lower[i] + 1e-15 && lower[i] <= adjusted[i] + 1e-15);
            prop_assert!(adjusted[i] <= upper[i] && upper[i] <= 1.0);
            for j in 0..p_values.len() {
                prop_assert!(p_values[i] > p_values[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn pass_k_falls_with_k(n in 1..60_u32, c in 0..60_u32) {
        prop_assume!(c <= n);
        let mut last = 1.0;
        for k in 0..=n {
            let (all, any) = (pass_hat_k(n, c, k).unwrap(), pass_at_k(n, c, k).unwrap());
            prop_assert!((0.0..=1.0).contains(&all) && (0.0..=1.0).contains(&any));
            prop_assert!(all <= last + 1e-15);
            last = all;
        }
        prop_assert_eq!(pass_hat_k(n, c, n + 1), None);
    }

    #[test]
    fn one_stratum_is_the_plain_difference(one in any_proportion(60), two in any_proportion(60)) {
        let got = mantel_haenszel(&[Stratum { one, two }], Level::P95).unwrap();
        prop_assert!((got.estimate - (one.value() - two.value())).abs() < 1e-12);
        prop_assert!(got.interval.lo <= got.estimate && got.estimate <= got.interval.hi);
        if let Some(p) = cmh(&[Stratum { one, two }], true) {
            prop_assert!((0.0..=1.0).contains(&p));
        }
    }

}

proptest! {
    // Each case lists up to two million weights.
    #![proptest_config(ProptestConfig { cases: 8, ..without_files() })]

    #[test]
    fn nothing_panics_on_the_largest_numbers(k in any::<u32>(), n in any::<u32>(), m in any::<u32>()) {
        if let (Ok(one), Ok(two)) = (Proportion::new(k, n), Proportion::new(k / 2, m)) {
            for interval in [newcombe, agresti_caffo] {
                prop_assert!(interval(one, two, Level::P95).lo.is_finite());
            }
            for interval in [wilson, wilson_corrected, agresti_coull, wald] {
                prop_assert!(interval(one, Level::P95).lo.is_finite());
            }
            prop_assert!((0.0..=1.0).contains(&fisher(one, two).two_sided));
            let _ = (boschloo(one, two), barnard(one, two, Variance::Pooled));
            prop_assert!(Clustered::of(&[one, two], Level::P95).is_some());
        }
        let _ = (discordant_e_value(k, n), pass_hat_k(n, k, m), Rejection::new(Test::Fisher, n, m, Level::P95));
    }
}

/// The library must not be worse than the figure that the reference computes exactly: a simulation
/// with a seed, against the exact sum.
#[test]
fn simulated_coverage_meets_the_exact_figure() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    for (n, p) in [(10, 0.1), (10, 0.5), (20, 0.9)] {
        let weights = probabilities(n, p);
        let covers = |k: u32| wilson(of(k, n), Level::P95).contains(p);
        let exact: f64 = (0..=n).filter(|k| covers(*k)).map(|k| weights[k as usize]).sum();
        let times = 20_000;
        let hits =
            (0..times).filter(|_| covers((0..n).filter(|_| random.random_bool(p)).count() as u32)).count();
        let simulated = hits as f64 / f64::from(times);
        // Four standard errors of the simulation.
        assert!((simulated - exact).abs() < 4.0 * (exact * (1.0 - exact) / f64::from(times)).sqrt());
    }
}

#[test]
fn large_tables_stay_right() {
    // The exact value from whole numbers; floating-point implementations are known to fail here.
    let p = fisher(of(500, 1_000), of(442, 1_000)).two_sided;
    assert!((p - 0.010_648_973_169_811_496).abs() < 1e-13, "{p}");
    for n in [50, 600, 2_000] {
        let equal = boschloo(of(n / 2, n), of(n / 2, n)).unwrap().two_sided;
        assert!(equal > 0.9, "{n}: {equal}");
        let apart = boschloo(of(n * 3 / 5, n), of(n / 5, n)).unwrap().two_sided;
        assert!(apart < 1e-3, "{n}: {apart}");
    }
}

/// What this thread has computed so far, in hundredths of a second: a busy machine takes longer for it, and
/// it is not more.
#[cfg(target_os = "linux")]
fn computed() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks = rest.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn fifty_against_fifty_takes_a_moment() {
    let before = computed();
    let exact = boschloo(of(30, 50), of(20, 50)).unwrap();
    // Unoptimised; released it is a tenth of that.
    assert!(computed() - before < 200);
    assert!(exact.two_sided > 0.04 && exact.two_sided < 0.06, "{exact:?}");
}
