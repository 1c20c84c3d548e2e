//! What the checks share: comparing with a rounded value, reading keys, exact sums.

use nochmal::stats::*;
use serde_json::Value;
use std::collections::BTreeMap;

pub const PRECISION: f64 = 1e-9;

/// Compares one number that the file rounds to `digits` decimals.
pub fn near(got: f64, want: &Value, digits: i32, what: &str) {
    let want = want.as_f64().unwrap_or_else(|| panic!("{what}: {want} is no number"));
    let slack = PRECISION + 0.5 * 10f64.powi(-digits);
    assert!((got - want).abs() <= slack, "{what}: got {got}, want {want}");
}

pub fn near_interval(got: Interval, want: &Value, digits: i32, what: &str) {
    near(got.lo, &want[0], digits, &format!("{what}, lower"));
    near(got.hi, &want[1], digits, &format!("{what}, upper"));
}

pub fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().unwrap().iter().map(|(key, value)| (key.as_str(), value))
}

/// All numbers in a key such as `a=36,b=12` or `10/10 vs 7/10`.
pub fn numbers(key: &str) -> Vec<f64> {
    key.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter_map(|part| part.parse().ok()).collect()
}

pub fn whole(key: &str) -> Vec<u32> {
    numbers(key).into_iter().map(|number| number as u32).collect()
}

pub fn of(k: u32, n: u32) -> Proportion {
    Proportion::new(k, n).unwrap()
}

pub fn level(value: f64) -> Level {
    Level::new(value).unwrap()
}

pub fn arms(key: &str) -> (Proportion, Proportion) {
    let [a, b, c, d] = whole(key)[..] else { panic!("{key} names no two arms") };
    (of(a, b), of(c, d))
}

/// Binomial probabilities for the exact sums of these tests, independent of the library's own.
pub fn probabilities(n: u32, p: f64) -> Vec<f64> {
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
pub fn ever(p: f64, most: u32, stops: impl Fn(u32, u32) -> bool) -> f64 {
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

pub fn test_of(name: &str) -> Option<Test> {
    match name {
        "fisher" => Some(Test::Fisher),
        "boschloo" => Some(Test::Boschloo),
        "newcombe_excludes_0" => Some(Test::Newcombe),
        _ => None,
    }
}
