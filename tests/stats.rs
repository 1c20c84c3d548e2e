//! Holds the formulas to reference values (`data/stats_reference.json`, computed with scipy and
//! statsmodels): the whole file, so that a key without a check fails. Then properties.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails by panicking")]

use nochmal::stats::*;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

const PRECISION: f64 = 1e-9;

/// Compares one number that the file rounds to `digits` decimals.
fn near(got: f64, want: &Value, digits: i32, what: &str) {
    let want = want.as_f64().unwrap_or_else(|| panic!("{what}: {want} is no number"));
    let slack = PRECISION + 0.5 * 10f64.powi(-digits);
    assert!((got - want).abs() <= slack, "{what}: got {got}, want {want}");
}

fn near_interval(got: Interval, want: &Value, digits: i32, what: &str) {
    near(got.lo, &want[0], digits, &format!("{what}, lower"));
    near(got.hi, &want[1], digits, &format!("{what}, upper"));
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value))
}

/// All numbers in a key such as `a=36,b=12` or `10/10 vs 7/10`.
fn numbers(key: &str) -> Vec<f64> {
    key.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(|part| part.parse().ok()).collect()
}

fn whole(key: &str) -> Vec<u32> {
    numbers(key).into_iter().map(|number| number as u32).collect()
}

fn of(k: u32, n: u32) -> Proportion {
    Proportion::new(k, n).unwrap()
}

fn level(value: f64) -> Level {
    Level::new(value).unwrap()
}

fn arms(key: &str) -> (Proportion, Proportion) {
    let [a, b, c, d] = whole(key)[..] else { panic!("{key} names no two arms") };
    (of(a, b), of(c, d))
}

/// Binomial probabilities for the exact sums of these tests, independent of the library's own.
fn probabilities(n: u32, p: f64) -> Vec<f64> {
    let mut row = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; row.len() + 1];
        for (k, weight) in row.iter().enumerate() {
            next[k] += weight * (1.0 - p);
            next[k + 1] += weight * p;
        }
        row = next;
    }
    row
}

/// The chance that `stops(k, n)` holds after any run up to `most`, and the mean number of runs.
fn ever(p: f64, most: u32, stops: impl Fn(u32, u32) -> bool) -> f64 {
    let mut alive = BTreeMap::from([(0, 1.0)]);
    let mut hit = 0.0;
    for n in 1..=most {
        let mut next = BTreeMap::new();
        for (k, weight) in alive {
            *next.entry(k + 1).or_insert(0.0) += weight * p;
            *next.entry(k).or_insert(0.0) += weight * (1.0 - p);
        }
        next.retain(|k, weight| {
            let stopped = stops(*k, n);
            hit += if stopped { *weight } else { 0.0 };
            !stopped
        });
        alive = next;
    }
    hit
}

fn normal_quantile(section: &Value) {
    for (key, want) in entries(section) {
        let p: f64 = key.parse().unwrap();
        near(level(2.0 * p - 1.0).z(), want, 15, key);
    }
}

fn one_rate(section: &Value) {
    for (case, levels) in entries(section) {
        let [k, n] = whole(case)[..] else { panic!("{case}") };
        for (confidence, methods) in entries(levels) {
            let confidence = level(confidence.parse().unwrap());
            for (method, want) in entries(methods) {
                let interval = match method {
                    "wilson" => wilson,
                    "statsmodels_wilson_raw" => wilson,
                    "wilson_cc" => wilson_corrected,
                    "clopper_pearson" => clopper_pearson,
                    "jeffreys" => jeffreys,
                    "agresti_coull" => agresti_coull,
                    "wald" => wald,
                    unknown => panic!("no check for the method {unknown}"),
                };
                near_interval(interval(of(k, n), confidence), want, 10, &format!("{method} {case}"));
            }
        }
    }
}

fn coverage(section: &Value) {
    for (size, methods) in entries(section) {
        let [n] = whole(size)[..] else { panic!("{size}") };
        for (method, want) in entries(methods) {
            let interval = match method {
                "wilson" => wilson,
                "normal" => wald,
                "beta" => clopper_pearson,
                "jeffreys" => jeffreys,
                "agresti_coull" => agresti_coull,
                unknown => panic!("no check for the method {unknown}"),
            };
            let intervals: Vec<_> = (0..=n).map(|k| interval(of(k, n), Level::P95)).collect();
            let covered: Vec<f64> = (0..1999)
                .map(|step| {
                    let p = 0.0005 + 0.999 * f64::from(step) / 1998.0;
                    let weights = probabilities(n, p);
                    weights.iter().zip(&intervals).filter(|(_, i)| i.contains(p)).map(|(w, _)| w).sum()
                })
                .collect();
            for (figure, want) in entries(want) {
                let got = match figure {
                    "min" => covered.iter().copied().fold(1.0, f64::min),
                    "mean" => covered.iter().sum::<f64>() / 1999.0,
                    unknown => panic!("no check for {unknown}"),
                };
                near(got, want, 4, &format!("{figure} coverage of {method} at {size}"));
            }
        }
    }
}

/// The score statistic of Miettinen and Nurminen by the closed form of their paper, or with the slip
/// that statsmodels 0.15 has in it: the events of the second arm in the place of its runs.
fn score(one: Proportion, two: Proportion, difference: f64, slip: bool) -> f64 {
    let (x, a) = (f64::from(one.k()), f64::from(one.n()));
    let (y, b) = (f64::from(two.k()), f64::from(two.n()));
    let (n, d) = (a + b, difference);
    let square = (a + 2.0 * b) * d - n - x - y;
    let linear = (if slip { y } else { b } * d - n - 2.0 * y) * d + x + y;
    let constant = y * d * (1.0 - d);
    let third = square / (3.0 * n);
    let q = third.powi(3) - linear * square / (6.0 * n * n) + constant / (2.0 * n);
    let p = (third * third - linear / (3.0 * n)).sqrt().copysign(q);
    let angle = (std::f64::consts::PI + (q / p.powi(3)).acos()) / 3.0;
    let second = 2.0 * p * angle.cos() - third;
    let first = second + d;
    let variance = (first * (1.0 - first) / a + second * (1.0 - second) / b) * n / (n - 1.0);
    (x / a - y / b - d) / variance.sqrt()
}

/// Barnard's p-value is the peak of a curve. The file's came from a search that sometimes stopped just
/// short of it: there, the peak of 20,001 points of the curve decides.
fn near_peak(
    got: f64,
    want: &Value,
    one: Proportion,
    two: Proportion,
    extreme: fn(f64, f64) -> bool,
    variance: Variance,
    what: &str,
) {
    let value = want.as_f64().unwrap();
    if got <= value + 5e-9 {
        return near(got, want, 8, what);
    }
    assert!(got - value < 2e-3 * value, "{what}: got {got}, want {want}");
    assert_eq!(variance, Variance::Pooled, "{what}: got {got}, want {want}");
    let (n, m) = (one.n(), two.n());
    let wald = |x: u32, y: u32| {
        let (a, b) = (f64::from(n), f64::from(m));
        let all = f64::from(x + y) / (a + b);
        let distance = f64::from(x) / a - f64::from(y) / b;
        // Rounded, so that what is equal on paper is equal here.
        let t = if all == 0.0 || all == 1.0 { 0.0 } else { distance / (all * (1.0 - all)).sqrt() };
        (t * 1e9).round()
    };
    let seen = wald(one.k(), two.k());
    let peak = (0..=20_000).map(|step| f64::from(step) / 20_000.0).map(|p| {
        let (first, second) = (probabilities(n, p), probabilities(m, p));
        let mut sum = 0.0;
        for x in 0..=n {
            for y in (0..=m).filter(|y| extreme(wald(x, *y), seen)) {
                sum += first[x as usize] * second[y as usize];
            }
        }
        sum
    });
    let peak = peak.fold(0.0, f64::max);
    // Between two points of the grid the curve rises a little higher.
    assert!((-1e-12..1e-8).contains(&(got - peak)), "{what}: got {got}, peak {peak}");
}

fn two_rates(section: &Value) {
    for (case, row) in entries(section) {
        let (one, two) = arms(case);
        let exact = boschloo(one, two).unwrap();
        for (figure, want) in entries(row) {
            let what = format!("{figure} of {case}");
            let confidence = || level(figure.rsplit('_').next().unwrap().parse().unwrap());
            match figure {
                "diff" => near(one.value() - two.value(), want, 10, &what),
                "newcombe_0.95" | "newcombe_0.99" => {
                    near_interval(newcombe(one, two, confidence()), want, 10, &what);
                }
                "agresti_caffo_0.95" | "agresti_caffo_0.99" => {
                    // statsmodels lets it reach beyond 1, where no difference is.
                    let inside = |bound: &Value| bound.as_f64().unwrap().clamp(-1.0, 1.0).into();
                    let want = Value::Array(want.as_array().unwrap().iter().map(inside).collect());
                    near_interval(agresti_caffo(one, two, confidence()), &want, 10, &what);
                }
                "miettinen_nurminen_0.95" | "miettinen_nurminen_0.99" => {
                    let got = miettinen_nurminen(one, two, confidence());
                    if want.is_array() {
                        // The file's bounds solve a misprinted cubic, ours the one of the paper.
                        let z = confidence().z();
                        for (ours, theirs, sign) in [(got.lo, &want[0], 1.0), (got.hi, &want[1], -1.0)] {
                            let theirs = theirs.as_f64().unwrap();
                            assert!((score(one, two, ours, false) - sign * z).abs() < 1e-6, "{what}");
                            assert!((score(one, two, theirs, true) - sign * z).abs() < 2e-5, "{what}");
                        }
                    } else {
                        // statsmodels finds no root at the ends; ours must still hold the difference.
                        assert!(want.as_str().unwrap().starts_with("statsmodels error"), "{what}");
                        assert!(got.contains(one.value() - two.value()), "{what}: {got:?}");
                        assert!(-1.0 <= got.lo && got.hi <= 1.0, "{what}: {got:?}");
                    }
                }
                "fisher" => {
                    let test = fisher(one, two);
                    for (side, want) in entries(want) {
                        let got = match side {
                            "two-sided" => test.two_sided,
                            "greater" => test.greater,
                            "less" => test.less,
                            unknown => panic!("no check for {unknown}"),
                        };
                        near(got, want, 10, &format!("{what}, {side}"));
                    }
                }
                "barnard_two_sided" if want.is_null() => {
                    let test = barnard(one, two, Variance::Pooled).unwrap();
                    assert_eq!(test.two_sided, 1.0, "{what}");
                }
                "barnard_two_sided" => {
                    for (variance, want) in entries(want) {
                        let variance = match variance {
                            "pooled" => Variance::Pooled,
                            "unpooled" => Variance::Unpooled,
                            unknown => panic!("no check for {unknown}"),
                        };
                        let got = barnard(one, two, variance).unwrap().two_sided;
                        near_peak(got, want, one, two, |t, seen| t.abs() >= seen.abs(), variance, &what);
                    }
                }
                "barnard_greater_pooled" => {
                    let got = barnard(one, two, Variance::Pooled).unwrap().greater;
                    near_peak(got, want, one, two, |t, seen| t >= seen, Variance::Pooled, &what);
                }
                "boschloo_two_sided" if want.is_null() => assert_eq!(exact.two_sided, 1.0, "{what}"),
                "boschloo_two_sided" => near(exact.two_sided, want, 8, &what),
                "boschloo_greater" => near(exact.greater, want, 8, &what),
                "note" => assert!(want.as_str().unwrap().contains("report p=1")),
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn multiplicity(section: &Value) {
    for (case, row) in entries(section) {
        let list = |value: &Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect()
        };
        let p_values = list(&row["p"]);
        for (method, want) in entries(row) {
            let got = match method {
                "p" => p_values.clone(),
                "holm" => holm(&p_values),
                "bh" => benjamini_hochberg(&p_values),
                "bonferroni" => bonferroni(&p_values),
                unknown => panic!("no check for {unknown}"),
            };
            for (got, want) in got.iter().zip(want.as_array().unwrap()) {
                near(*got, want, 12, &format!("{method} of {case}"));
            }
        }
    }
}

fn paired(section: &Value) {
    for (case, row) in entries(section) {
        let [a, b, c, d] = whole(case)[..] else { panic!("{case}") };
        let pairs = Pairs::new(a, b, c, d).unwrap();
        for (figure, want) in entries(row) {
            let what = format!("{figure} of {case}");
            match figure {
                "diff" => near(pairs.difference(), want, 10, &what),
                "mcnemar_exact" => near(mcnemar_exact(pairs), want, 10, &what),
                "mcnemar_midp" => near(mcnemar_mid_p(pairs), want, 10, &what),
                "newcombe_method10_95" => {
                    near_interval(newcombe_paired(pairs, Level::P95), want, 8, &what);
                }
                "tango_95" => near_interval(tango(pairs, Level::P95), want, 8, &what),
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn pass_k(section: &Value) {
    for (case, row) in entries(section) {
        let [n, c, k] = whole(case)[..] else { panic!("{case}") };
        for (figure, want) in entries(row) {
            let got = match figure {
                "pass_hat_k" => pass_hat_k(n, c, k).unwrap(),
                "pass_at_k" => pass_at_k(n, c, k).unwrap(),
                // What pass^k must not be: biased upwards.
                "plug_in_p^k" => {
                    let plug_in = of(c, n).value().powi(k as i32);
                    assert!(pass_hat_k(n, c, k).unwrap() <= plug_in + PRECISION);
                    plug_in
                }
                unknown => panic!("no check for {unknown}"),
            };
            near(got, want, 12, &format!("{figure} of {case}"));
        }
    }
}

fn pass_k_is_unbiased(section: &Value) {
    assert!(section.as_str().unwrap().starts_with("E[C(c,k)/C(n,k)] == p^k"));
    for (n, k, p) in [(10, 3, 0.7), (5, 4, 0.35), (15, 8, 0.9)] {
        let weights = probabilities(n, p);
        let mean: f64 = (0..=n).map(|c| weights[c as usize] * pass_hat_k(n, c, k).unwrap()).sum();
        assert!((mean - p.powi(k as i32)).abs() < 1e-12);
    }
}

fn confidence_sequences(section: &Value) {
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

fn peeking(section: &Value) {
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

fn two_arm_peeking(section: &Value) {
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

fn sprt(section: &Value) {
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

fn fixed_looks(section: &Value) {
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

fn test_of(name: &str) -> Option<Test> {
    match name {
        "fisher" => Some(Test::Fisher),
        "boschloo" => Some(Test::Boschloo),
        "newcombe_excludes_0" => Some(Test::Newcombe),
        _ => None,
    }
}

fn sample_sizes(section: &Value) {
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

fn test_sizes(section: &Value) {
    for (case, row) in entries(section) {
        let [n] = whole(case)[..] else { panic!("{case}") };
        for (name, want) in entries(row) {
            let region = Rejection::new(test_of(name).unwrap(), n, n, Level::P95).unwrap();
            let worst = (1..=99).map(|i| f64::from(i) / 100.0).map(|p| region.chance(p, p));
            near(worst.fold(0.0, f64::max), want, 4, &format!("size of {name} at {case}"));
        }
    }
}

fn power(section: &Value) {
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

fn smallest_significant(section: &Value) {
    for (size, row) in entries(section) {
        let [n] = whole(size)[..] else { panic!("{size}") };
        for (figure, want) in entries(row) {
            let last = |shown: &dyn Fn(Proportion) -> bool| {
                (0..=n).filter(|k| shown(of(*k, n))).max().map(u64::from)
            };
            match figure {
                "fisher_all_vs_none_p" => near(fisher(of(n, n), of(0, n)).two_sided, want, 8, size),
                "largest_k_with_n/n vs k/n fisher<=.05" => {
                    let got = last(&|other| fisher(of(n, n), other).two_sided <= 0.05);
                    assert_eq!(got, want.as_u64(), "{figure} at {size}");
                }
                "largest_k_newcombe_excludes_0" => {
                    let got = last(&|other| newcombe(of(n, n), other, Level::P95).lo > 0.0);
                    assert_eq!(got, want.as_u64(), "{figure} at {size}");
                }
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn runs_for_bounds(section: &Value) {
    for (case, row) in entries(section) {
        let [lower] = numbers(case)[..] else { panic!("{case}") };
        for (confidence, want) in entries(row) {
            // A lower bound on the pass rate is an upper bound on the fail rate.
            let got = runs_for_bound(1.0 - lower, level(confidence.parse().unwrap()));
            assert_eq!(got.map(u64::from), want.as_u64(), "{case} at {confidence}");
        }
    }
}

fn clustering(section: &Value) {
    for (case, row) in entries(section) {
        let cells: Vec<_> = match case {
            "4 scenarios 7/10 each" => vec![of(7, 10); 4],
            _ => whole(case)[1..].chunks(2).map(|pair| of(pair[0], pair[1])).collect(),
        };
        assert_eq!(cells.len(), 4);
        let got = Clustered::of(&cells, Level::P95).unwrap();
        for (figure, want) in entries(row) {
            match figure {
                "pooled" => near(got.rate, want, 10, figure),
                "naive_se" => near(got.naive_error, want, 10, figure),
                "cluster_se" => near(got.cluster_error, want, 10, figure),
                "cluster_se_G/(G-1)" => near(got.adjusted_error, want, 10, figure),
                "deff" => near(got.design_effect.unwrap(), want, 10, figure),
                "n_eff" => near(got.effective_runs, want, 10, figure),
                "wilson_naive" => near_interval(got.naive, want, 10, figure),
                "wilson_neff" => near_interval(got.interval, want, 10, figure),
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn stratified(section: &Value) {
    const STRATA: &str = "strata (after k/n, before k/n)";
    let number = |value: &Value| value.as_u64().unwrap() as u32;
    let strata: Vec<_> = section[STRATA]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| Stratum {
            one: of(number(&row[0]), number(&row[1])),
            two: of(number(&row[2]), number(&row[3])),
        })
        .collect();
    for (figure, want) in entries(section) {
        match figure {
            STRATA => assert_eq!(strata.len(), 3),
            "mh_risk_difference" => {
                let got = mantel_haenszel(&strata, Level::P95).unwrap();
                let got = [got.estimate, got.standard_error, got.interval.lo, got.interval.hi];
                for (got, want) in got.iter().zip(want.as_array().unwrap()) {
                    near(*got, want, 10, figure);
                }
            }
            "cmh_pvalue_no_cc" => near(cmh(&strata, false).unwrap(), want, 10, figure),
            "cmh_pvalue_cc" => near(cmh(&strata, true).unwrap(), want, 10, figure),
            unknown => panic!("no check for {unknown}"),
        }
    }
}

fn two_arm_sequential(section: &Value) {
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

fn boschloo_values(section: &Value) {
    for (case, row) in entries(section) {
        let (one, two) = arms(case);
        let test = boschloo(one, two).unwrap();
        for (side, want) in entries(row) {
            match side {
                "greater" => near(test.greater, want, 12, case),
                "two_sided" => near(test.two_sided, want, 12, case),
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

fn fisher_digits(section: &Value) {
    for (case, want) in entries(section) {
        let (one, two) = arms(case);
        let want: f64 = want.as_str().unwrap().parse().unwrap();
        let got = fisher(one, two).two_sided;
        assert!((got / want - 1.0).abs() < 1e-12, "{case}: got {got:e}, want {want:e}");
    }
}

fn worked_examples(section: &Value) {
    for (case, want) in entries(section) {
        let got = match case {
            "newcombe_independent_56/70_vs_48/80_method10" => newcombe(of(56, 70), of(48, 80), Level::P95),
            "newcombe_paired_method10_(36,12,2,0)" => {
                newcombe_paired(Pairs::new(36, 12, 2, 0).unwrap(), Level::P95)
            }
            "tango_(b=12,c=2,n=50)" => tango(Pairs::new(36, 12, 2, 0).unwrap(), Level::P95),
            unknown => panic!("no check for {unknown}"),
        };
        near_interval(got, want, 4, case);
    }
}

fn tango_examples(section: &Value) {
    for (case, row) in entries(section) {
        let [b, c, n] = whole(case)[..] else { panic!("{case}") };
        let got = tango(Pairs::new(n - b - c, b, c, 0).unwrap(), Level::P95);
        for (figure, want) in entries(row) {
            match figure {
                "closed_form" | "numeric_mle" => near_interval(got, want, 6, case),
                unknown => panic!("no check for {unknown}"),
            }
        }
    }
}

/// A check of one section of the file.
type Check = fn(&Value);

const CHECKS: &[(&str, Check)] = &[
    ("versions", |section| assert!(section["scipy"].is_string())),
    ("normal_quantile", normal_quantile),
    ("wilson", one_rate),
    ("exact_coverage_95", coverage),
    ("two_independent", two_rates),
    ("multiplicity", multiplicity),
    ("paired", paired),
    ("pass_k", pass_k),
    ("pass_k_unbiased_check", pass_k_is_unbiased),
    ("confidence_sequence_beta_binomial", confidence_sequences),
    ("peeking_error_exact", peeking),
    ("two_arm_peeking_false_positive", two_arm_peeking),
    ("sprt", sprt),
    ("fixed_looks_bonferroni", fixed_looks),
    ("power_min_n_per_arm_alpha05_power80", sample_sizes),
    ("type1_size_max_over_p", test_sizes),
    ("power_at_n", power),
    ("smallest_significant", smallest_significant),
    ("n_all_pass_for_wilson_lower", runs_for_bounds),
    ("clustering", clustering),
    ("stratified", stratified),
    ("two_arm_sequential", two_arm_sequential),
    ("boschloo_dense_grid", boschloo_values),
    ("fisher_full_precision", fisher_digits),
    ("literature_example_inputs_computed_here", worked_examples),
    ("tango_independent_check", tango_examples),
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

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about the time it takes")]
fn fifty_against_fifty_takes_a_moment() {
    let started = std::time::Instant::now();
    let exact = boschloo(of(30, 50), of(20, 50)).unwrap();
    // Unoptimised and on a busy machine; released it is a tenth of that.
    assert!(started.elapsed().as_millis() < 500);
    assert!(exact.two_sided > 0.04 && exact.two_sided < 0.06, "{exact:?}");
}
