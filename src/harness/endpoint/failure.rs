//! Errors on demand: what a program does when its model fails can be tried too.

use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// An answer with this status, 400 to 599; 429 says when to come again.
    Status(u16),
    /// No answer at all.
    Hang,
    /// An answer that breaks off in the middle.
    Cut,
}

impl Failure {
    /// What the name of a model asks for: `hang`, `cut`, `error:500`.
    pub(super) fn of_model(model: &str) -> Option<Result<Failure, String>> {
        match model {
            "hang" | "cut" => Some(model.parse()),
            model => model.strip_prefix("error:").map(str::parse),
        }
    }
}

impl FromStr for Failure {
    type Err = String;

    fn from_str(text: &str) -> Result<Failure, String> {
        match (text, text.parse()) {
            ("hang", _) => Ok(Failure::Hang),
            ("cut", _) => Ok(Failure::Cut),
            (_, Ok(status @ 400..=599)) => Ok(Failure::Status(status)),
            _ => Err(format!("{text:?} is no failure: a status from 400 to 599, `hang` or `cut`")),
        }
    }
}

/// Failures of every request, or of the first ones only.
#[derive(Debug)]
pub struct Failures {
    kind: Failure,
    /// How many are left; none where there is no end.
    left: Option<AtomicU64>,
}

impl Failures {
    /// `first` requests fail; without it, all do.
    pub fn new(kind: Failure, first: Option<u64>) -> Failures {
        Failures { kind, left: first.map(AtomicU64::new) }
    }

    /// What the next request fails with.
    pub(super) fn next(&self) -> Option<Failure> {
        let Some(left) = &self.left else { return Some(self.kind) };
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_ok().then_some(self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_and_counted() {
        assert_eq!("429".parse(), Ok(Failure::Status(429)));
        assert_eq!(Failure::of_model("error:529"), Some(Ok(Failure::Status(529))));
        assert_eq!(Failure::of_model("naive"), None);
        assert!("200".parse::<Failure>().unwrap_err().contains("from 400 to 599"));
        let failures = Failures::new(Failure::Cut, Some(2));
        assert_eq!(
            [failures.next(), failures.next(), failures.next()],
            [Some(Failure::Cut), Some(Failure::Cut), None]
        );
    }
}
