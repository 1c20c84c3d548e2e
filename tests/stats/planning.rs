//! Reference values of looking early, of sizes and of power.

use super::common::*;
use nochmal::stats::*;
use serde_json::Value;
use std::collections::BTreeMap;

pub fn confidence_sequences(section: &Value) {
    for (mixture, cases) in entries(section) {
        let mixture = match mixture {
            "a=0.5,b=0.5" => Mixture::JEFFREYS,
            "a=1.0,b=1.0" => Mixture::UNIFORM,
            unknown => panic!("no check for {unknown}"),
        };
        for (case, want) in entries(cases) {
            let [k, n] = whole(case)[..] else { panic!("{case}") };
            near_interval(confidence_sequence(of(k, n), Level::P95, mixture), want, 8, case);
        }
    }
}

pub fn peeking(section: &Value) {
    for (case, row) in entries(section) {
        let [p, most] = numbers(case)[..] else { panic!("{case}") };
        let most = most as u32;
        for (rule, want) in entries(row) {
            let misses = |interval: Interval| !interval.contains(p);
            let sequence = |mixture| move |k, n| confidence_sequence(of(k, n), Level::P95, mixture);
            let got = match rule {
                "wilson95_peek_every_run" => ever(p, most, |k, n| misses(wilson(of(k, n), Level::P95))),
                "wilson95_peek_from_n5" => {
                    ever(p, most, |k, n| n >= 5 && misses(wilson(of(k, n), Level::P95)))
                }
                "wilson95_single_look_at_N" => {
                    ever(p, most, |k, n| n == most && misses(wilson(of(k, n), Level::P95)))
                }
                "cs_jeffreys_mixture" => ever(p, most, |k, n| misses(sequence(Mixture::JEFFREYS)(k, n))),
                "cs_uniform_mixture" => ever(p, most, |k, n| misses(sequence(Mixture::UNIFORM)(k, n))),
                unknown => panic!("no check for {unknown}"),
            };
            near(got, want, 5, &format!("{rule} at {case}"));
        }
    }
}

pub fn two_arm_peeking(section: &Value) {
    for (case, row) in entries(section) {
        let [p, most] = numbers(case)[..] else { panic!("{case}") };
        let most = most as u32;
        for (rule, want) in entries(row) {
            let from = match rule {
                "stop_when_newcombe_excludes_0" => 3,
                "single_look" => most,
                unknown => panic!("no check for {unknown}"),
            };
            let mut alive = BTreeMap::from([((0, 0), 1.0)]);
            let mut hit = 0.0;
            for n in 1..=most {
                let mut next = BTreeMap::new();
                for ((x, y), weight) in alive {
                    for (dx, px) in [(1, p), (0, 1.0 - p)] {
                        for (dy, py) in [(1, p), (0, 1.0 - p)] {
                            *next.entry((x + dx, y + dy)).or_insert(0.0) += weight * px * py;
                        }
                    }
                }
                if n >= from {
                    next.retain(|(x, y), weight| {
                        let inside = newcombe(of(*x, n), of(*y, n), Level::P95).contains(0.0);
                        hit += if inside { 0.0 } else { *weight };
                        inside
                    });
                }
                alive = next;
            }
            near(hit, want, 5, &format!("{rule} at {case}"));
        }
    }
}

pub fn sprt(section: &Value) {
    for (case, row) in entries(section) {
        // `p0=0.5,p1=0.9`: the digits of the names are numbers too.
        let [_, low, _, high] = numbers(case)[..] else { panic!("{case}") };
        let test = Sprt::new(low, high, 0.05, 0.05).unwrap();
        for (figure, want) in entries(row) {
            match figure {
                "llr_success" => near(test.success, want, 10, figure),
                "llr_failure" => near(test.failure, want, 10, figure),
                "upper_log" => near(test.upper, want, 10, figure),
                "lower_log" => near(test.lower, want, 10, figure),
                "min_n_all_pass_to_accept_H1" => {
                    assert_eq!(Some(u64::from(test.successes_to_accept())), want.as_u64());
                }
                "min_n_all_fail_to_accept_H0" => {
                    assert_eq!(Some(u64::from(test.failures_to_reject())), want.as_u64());
                }
                "exact" => {
                    for (rate, figures) in entries(want) {
                        sprt_by_counting(test, numbers(rate)[0], figures);
                    }
                }
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn sprt_by_counting(test: Sprt, p: f64, figures: &Value) {
    let most = 400;
    let (mut high, mut low, mut runs) = (0.0, 0.0, 0.0);
    let mut alive = BTreeMap::from([(0, 1.0)]);
    for n in 1..=most {
        let mut next = BTreeMap::new();
        for (k, weight) in alive {
            *next.entry(k + 1).or_insert(0.0) += weight * p;
            *next.entry(k).or_insert(0.0) += weight * (1.0 - p);
        }
        next.retain(|k, weight| {
            let log = f64::from(*k) * test.success + f64::from(n - *k) * test.failure;
            if log >= test.upper {
                high += *weight;
            } else if log <= test.lower {
                low += *weight;
            } else {
                return true;
            }
            runs += f64::from(n) * *weight;
            false
        });
        alive = next;
    }
    let left: f64 = alive.values().sum();
    for (figure, want) in entries(figures) {
        match figure {
            "P(accept H1)" => near(high, want, 5, figure),
            "P(accept H0)" => near(low, want, 5, figure),
            "undecided" => near(left, want, 8, figure),
            "E[n]" => near(runs + f64::from(most) * left, want, 3, figure),
            unknown => panic!("no check for {unknown}"),
        }
    }
}

pub fn fixed_looks(section: &Value) {
    for (case, row) in entries(section) {
        let looks = whole(case);
        let confidence = 1.0 - 0.05 / looks.len() as f64;
        for (figure, want) in entries(row) {
            let interval = match figure {
                "per_look_conf" => {
                    near(confidence, want, 15, figure);
                    continue;
                }
                "P(any look excludes p) Wilson at per-look conf" => wilson,
                "P(any look excludes p) Clopper-Pearson at per-look conf" => clopper_pearson,
                unknown => panic!("no check for {unknown}"),
            };
            for (rate, want) in entries(want) {
                let p = numbers(rate)[0];
                let got = ever(p, *looks.iter().max().unwrap(), |k, n| {
                    looks.contains(&n) && !interval(of(k, n), level(confidence)).contains(p)
                });
                near(got, want, 5, &format!("{figure} at {rate}"));
            }
        }
    }
}

pub fn sample_sizes(section: &Value) {
    const MOST: u32 = 70;
    let mut regions = BTreeMap::new();
    for (case, row) in entries(section) {
        let [p1, p2] = numbers(case)[..] else { panic!("{case}") };
        for (name, want) in entries(row) {
            let Some(test) = test_of(name) else {
                assert_eq!(name, "normal_approx_formula", "no check for {name}");
                // What the exact numbers replace: close to them, and not a bound of them.
                let exact = row["boschloo"].as_f64().unwrap();
                assert!((want.as_f64().unwrap() - exact).abs() <= 8.0);
                continue;
            };
            // As `repeats_for_power`, with the regions kept between the cases.
            let mut enough = |n: u32| {
                let region = regions
                    .entry((name, n))
                    .or_insert_with(|| Rejection::new(test, n, n, Level::P95).unwrap());
                region.chance(p1, p2) >= 0.8
            };
            let got = (2..=MOST).find(|n| (*n..(n + 3).min(MOST + 1)).all(&mut enough));
            match want.as_str() {
                Some(beyond) => assert_eq!((beyond, got), (">70", None), "{name} at {case}"),
                None => assert_eq!(got.map(u64::from), want.as_u64(), "{name} at {case}"),
            }
            if got.is_some_and(|n| n <= 12) {
                assert_eq!(repeats_for_power(test, p1, p2, Level::P95, 0.8, 15), got, "{name} at {case}");
            }
        }
    }
}

pub fn test_sizes(section: &Value) {
    for (case, row) in entries(section) {
        let [n] = whole(case)[..] else { panic!("{case}") };
        for (name, want) in entries(row) {
            let region = Rejection::new(test_of(name).unwrap(), n, n, Level::P95).unwrap();
            let worst = (1..=99).map(|i| f64::from(i) / 100.0).map(|p| region.chance(p, p));
            near(worst.fold(0.0, f64::max), want, 4, &format!("size of {name} at {case}"));
        }
    }
}

pub fn power(section: &Value) {
    for (size, cases) in entries(section) {
        let [n] = whole(size)[..] else { panic!("{size}") };
        for (case, row) in entries(cases) {
            let [p1, p2] = numbers(case)[..] else { panic!("{case}") };
            for (name, want) in entries(row) {
                let region = Rejection::new(test_of(name).unwrap(), n, n, Level::P95).unwrap();
                near(region.chance(p1, p2), want, 4, &format!("power of {name}, {case} at {size}"));
            }
        }
    }
}

pub fn runs_for_bounds(section: &Value) {
    for (case, row) in entries(section) {
        let [lower] = numbers(case)[..] else { panic!("{case}") };
        for (confidence, want) in entries(row) {
            // A lower bound on the pass rate is an upper bound on the fail rate.
            let got = runs_for_bound(1.0 - lower, level(confidence.parse().unwrap()));
            assert_eq!(got.map(u64::from), want.as_u64(), "{case} at {confidence}");
        }
    }
}

pub fn two_arm_sequential(section: &Value) {
    let first = |bound: f64| (1..50).find(|m| discordant_e_value(*m, 0) >= bound).map(u64::from);
    for (figure, want) in entries(section) {
        match figure {
            "e_values" => {
                for (case, want) in entries(want) {
                    let [b, c] = whole(case)[..] else { panic!("{case}") };
                    near(discordant_e_value(b, c), want, 8, case);
                }
            }
            "min_all_one_way_discordant_for_alpha_.05" => assert_eq!(first(20.0), want.as_u64()),
            "min_all_one_way_discordant_for_alpha_.01" => assert_eq!(first(100.0), want.as_u64()),
            "operating_characteristics" => {
                for (case, figures) in entries(want) {
                    pairs_by_counting(case, figures);
                }
            }
            "disjoint_97.5pct_CS_min_n_all_vs_none" => {
                let sequence = |k, n| confidence_sequence(of(k, n), level(0.975), Mixture::JEFFREYS);
                let got = (1..60).find(|n| sequence(*n, *n).lo > sequence(0, *n).hi);
                assert_eq!(got.map(u64::from), want.as_u64());
            }
            unknown => panic!("no check for {unknown}"),
        }
    }
}

fn pairs_by_counting(case: &str, figures: &Value) {
    let [p1, p2, most] = numbers(case)[..] else { panic!("{case}") };
    let (mut hit, mut pairs) = (0.0, 0.0);
    let mut alive = BTreeMap::from([((0, 0), 1.0)]);
    for n in 1..=most as u32 {
        let mut next = BTreeMap::new();
        for ((b, c), weight) in alive {
            *next.entry((b + 1, c)).or_insert(0.0) += weight * p1 * (1.0 - p2);
            *next.entry((b, c + 1)).or_insert(0.0) += weight * p2 * (1.0 - p1);
            *next.entry((b, c)).or_insert(0.0) += weight * (p1 * p2 + (1.0 - p1) * (1.0 - p2));
        }
        next.retain(|(b, c), weight| {
            let stops = discordant_e_value(*b, *c) >= 20.0;
            if stops {
                hit += *weight;
                pairs += f64::from(n) * *weight;
            }
            !stops
        });
        alive = next;
    }
    pairs += most * alive.values().sum::<f64>();
    for (figure, want) in entries(figures) {
        match figure {
            "P(stop,reject)" => near(hit, want, 5, case),
            "E[pairs]" => near(pairs, want, 3, case),
            unknown => panic!("no check for {unknown}"),
        }
    }
}
