//! One operation: a write tool and its arguments without the key fields (J1–J3).

use super::fold::Fold;
use super::history::{Attempt, Call};
use super::lookalikes::Coarse;
use super::refusal::Refused;
use super::reliance::Broken;
use super::respelling::Arguments;
use super::score::Tally;
use super::stamp::Stamp;
use crate::domain::{Micros, RawJson};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The keys of one call (J2): folded name and canonical value of each.
pub(super) type KeySet = Vec<(String, String)>;

/// An idempotency key that an operation was called with.
#[derive(Debug)]
pub(super) struct Key {
    /// For people: the value, without quotes where it is a string.
    pub text: String,
    pub executions: u64,
}

/// A 429 that holds off an operation (J16).
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub answered: Stamp,
    pub required: Micros,
    pub until: Micros,
}

/// The first attempt that came before its 429 allowed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooEarly {
    pub required: Micros,
    pub waited: Micros,
    pub attempt: usize,
}

/// Another operation of the same tool, sent while a 429 held this one off.
#[derive(Debug, Clone, Copy)]
pub(super) struct OtherDuringHold {
    pub operation: usize,
    pub waited: Micros,
    pub required: Micros,
    pub calls: u64,
}

/// How often each patch was earned, in the order of their table (J26).
pub(super) type PatchCounts = [u64; 6];

/// What an operation adds to the totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub executions: u64,
    pub duplicate: bool,
    pub too_early: bool,
    pub retried_refusal: bool,
    pub relied: bool,
    pub doubted: bool,
    pub possible_duplicate: bool,
    pub respelled: bool,
    pub settled: bool,
    pub tally: Tally,
    /// How often each patch was earned, in the order of the table.
    pub patches: PatchCounts,
}

/// All that is known of one operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub tool: usize,
    /// The arguments without the key fields, as the first call had them.
    pub arguments: RawJson,
    /// The same in canonical form.
    pub canonical: Arc<str>,
    pub attempts: Vec<Attempt>,
    /// Attempts that wait to be continued (J9), the oldest first.
    pub waiting: BTreeSet<usize>,
    pub keys: Vec<Key>,
    pub key_numbers: HashMap<KeySet, usize>,
    pub keyless_executions: u64,
    /// Digest of the first execution's answer, and whether all had it.
    pub answers: Option<(String, bool)>,
    pub hold: Option<Hold>,
    pub too_early: Option<TooEarly>,
    pub other_during_hold: Option<OtherDuringHold>,
    /// It was refused for good (J27).
    pub refused: Option<Refused>,
    /// An answer to it broke its tool's contract (J28).
    pub broken: Option<Broken>,
    /// The tool's schema declared a key field and a call left it out.
    pub without_key: bool,
    /// Calls with these arguments while the tool had another class.
    pub foreign: u64,
    /// Operations that were sent with arguments that J25 cannot tell from these, and where
    /// the last such call arrived.
    pub respelled_by: BTreeMap<usize, u64>,
    /// What it takes to find and compare it, while it is uncertain.
    pub spelling: Option<(Arguments, Coarse)>,
    /// A read that is sent after this place would change what is said (J24).
    pub read_watch: Option<u64>,
    pub share: Share,
    folded: Fold,
    folded_attempts: usize,
}

impl Operation {
    pub fn new(tool: usize, arguments: RawJson, canonical: Arc<str>) -> Operation {
        Operation {
            tool,
            arguments,
            canonical,
            attempts: Vec::new(),
            waiting: BTreeSet::new(),
            keys: Vec::new(),
            key_numbers: HashMap::new(),
            keyless_executions: 0,
            answers: None,
            hold: None,
            too_early: None,
            other_during_hold: None,
            refused: None,
            broken: None,
            without_key: false,
            foreign: 0,
            respelled_by: BTreeMap::new(),
            spelling: None,
            read_watch: None,
            share: Share::default(),
            folded: Fold::default(),
            folded_attempts: 0,
        }
    }

    /// The number of the key that a call carries; none where it carries none.
    pub fn key_number(&mut self, keys: KeySet, text: impl FnOnce() -> String) -> Option<usize> {
        if keys.is_empty() {
            return None;
        }
        let next = self.keys.len();
        let number = *self.key_numbers.entry(keys).or_insert(next);
        if number == next {
            self.keys.push(Key { text: text(), executions: 0 });
        }
        Some(number)
    }

    /// Counts an execution by its key and its answer. An execution is never undone.
    pub fn executed(&mut self, attempt: usize, digest: &str) {
        let key = self.attempts.get(attempt).and_then(|attempt| attempt.key);
        match key.and_then(|key| self.keys.get_mut(key)) {
            Some(key) => key.executions += 1,
            None => self.keyless_executions += 1,
        }
        match &mut self.answers {
            Some((first, same)) => *same &= first == digest,
            None => self.answers = Some((digest.to_owned(), true)),
        }
    }

    /// Folds what can no longer change for good, and the rest for now.
    pub fn fold(&mut self, calls: &[Call]) -> Fold {
        while let Some(attempt) = self.attempts.get(self.folded_attempts) {
            match calls.get(attempt.current) {
                Some(call) if attempt.is_final(call) => self.folded.push(attempt, call),
                _ => break,
            }
            self.folded_attempts += 1;
        }
        self.peek(calls)
    }

    /// The fold of all attempts.
    pub fn peek(&self, calls: &[Call]) -> Fold {
        let mut fold = self.folded.clone();
        for attempt in self.attempts.iter().skip(self.folded_attempts) {
            if let Some(call) = calls.get(attempt.current) {
                fold.push(attempt, call);
            }
        }
        fold
    }
}
