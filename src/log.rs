//! What this program says beside its results – its log, its messages – without the secrets that it
//! knows of at that moment.
//!
//! The values that a run hides in its own files are told here for as long as they are used, so that no
//! library that logs what it sends, and no error that quotes it, shows one.

use crate::domain::secrets::Secrets;
use std::borrow::Cow;
use std::io::Write;
use std::sync::{PoisonError, RwLock};

/// What is kept out.
struct Kept {
    /// Each with the number of who asked for it.
    each: Vec<(u64, Secrets)>,
    /// All of them as one, so that a text is looked at once; none where there are none.
    all: Option<Secrets>,
}

impl Kept {
    fn change(&mut self, change: impl FnOnce(&mut Vec<(u64, Secrets)>)) {
        change(&mut self.each);
        self.all = self.each.iter().map(|(_, secrets)| secrets.clone()).reduce(|all, more| all.with(&more));
    }
}

static KEPT_OUT: RwLock<Kept> = RwLock::new(Kept { each: Vec::new(), all: None });

/// Keeps secrets out of what is said, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct KeptOut(Option<u64>);

/// From now on these are not said.
pub fn keep_out(secrets: &Secrets) -> KeptOut {
    if secrets.is_empty() {
        return KeptOut(None);
    }
    let mut kept = KEPT_OUT.write().unwrap_or_else(PoisonError::into_inner);
    let number = kept.each.last().map_or(0, |(number, _)| number + 1);
    kept.change(|each| each.push((number, secrets.clone())));
    KeptOut(Some(number))
}

impl KeptOut {
    /// As long as the program runs.
    pub fn for_good(mut self) {
        self.0 = None;
    }
}

impl Drop for KeptOut {
    fn drop(&mut self) {
        if let Some(mine) = self.0 {
            let mut kept = KEPT_OUT.write().unwrap_or_else(PoisonError::into_inner);
            kept.change(|each| each.retain(|(number, _)| *number != mine));
        }
    }
}

/// A text as it may be said.
pub fn hidden(text: &str) -> Cow<'_, str> {
    let kept = KEPT_OUT.read().unwrap_or_else(PoisonError::into_inner);
    kept.all.as_ref().map_or(Cow::Borrowed(text), |secrets| secrets.hide(text))
}

/// Says something on stderr. Where nobody reads it any more, that is no error.
pub fn say(text: &str) {
    let _ = std::io::stderr().write_all(hidden(text).as_bytes());
}

/// Stderr for the log: each event comes in one piece.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().write_all(hidden(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_said_while_it_is_kept_out() {
        let secrets = |value| Secrets::new([("LOGGED_KEY", value)]);
        let first = keep_out(&secrets("log-room-one-1"));
        let second = keep_out(&secrets("log-room-two-2"));
        let text = "log-room-one-1 log-room-two-2";
        assert_eq!(hidden(text), "‹secret:LOGGED_KEY› ‹secret:LOGGED_KEY›");
        drop(first);
        assert_eq!(hidden(text), "log-room-one-1 ‹secret:LOGGED_KEY›");
        drop(second);
        assert_eq!(hidden(text), text);
        drop(keep_out(&Secrets::default()));
    }

    #[test]
    fn of_two_that_overlap_no_part_is_said() {
        let _one = keep_out(&Secrets::new([("ONE_KEY", "log-room-lies-over")]));
        let _two = keep_out(&Secrets::new([("TWO_KEY", "over-the-next-9")]));
        assert_eq!(hidden("log-room-lies-over-the-next-9"), "‹secret:ONE_KEY›");
    }
}
