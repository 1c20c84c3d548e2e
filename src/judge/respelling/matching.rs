//! Pairs the elements of two arrays one to one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Two sides of equal length, partly paired.
#[derive(Debug)]
pub(super) struct Matching {
    partner_of_left: Vec<Option<usize>>,
    partner_of_right: Vec<Option<usize>>,
}

impl Matching {
    /// Pairs what is equal, at the same place first. A beginning only: what is paired here can
    /// be paired otherwise later.
    pub(super) fn beginning_with_equals<K: Hash + Eq>(lefts: &[K], rights: &[K]) -> Matching {
        let mut matching =
            Matching { partner_of_left: vec![None; lefts.len()], partner_of_right: vec![None; rights.len()] };
        for (place, (left, right)) in lefts.iter().zip(rights).enumerate() {
            if left == right {
                matching.pair(place, place);
            }
        }
        let mut waiting: HashMap<&K, Vec<usize>> = HashMap::new();
        for (place, right) in rights.iter().enumerate().rev() {
            if matching.partner_of_right.get(place) == Some(&None) {
                waiting.entry(right).or_default().push(place);
            }
        }
        for (place, left) in lefts.iter().enumerate() {
            if matching.partner_of_left.get(place) == Some(&None)
                && let Some(right) = waiting.get_mut(left).and_then(Vec::pop)
            {
                matching.pair(place, right);
            }
        }
        matching
    }

    /// Whether all can be paired such that `alike` holds of every pair, by augmenting paths.
    /// `alike` is asked at most once a pair. Every look at a pair takes one of the `steps`, and
    /// when there are none left the answer is "yes".
    pub(super) fn complete(
        &mut self,
        steps: &mut u32,
        mut alike: impl FnMut(usize, usize, &mut u32) -> bool,
    ) -> bool {
        let mut known: HashMap<(usize, usize), bool> = HashMap::new();
        let mut ask = |left: usize, right: usize| {
            *steps = steps.checked_sub(1)?;
            Some(*known.entry((left, right)).or_insert_with(|| alike(left, right, steps)))
        };
        for left in 0..self.partner_of_left.len() {
            if self.partner_of_left.get(left) != Some(&None) {
                continue;
            }
            // The same place first: most arrays keep their order.
            let found = match (self.partner_of_right.get(left), ask(left, left)) {
                (Some(None), Some(true)) => {
                    self.pair(left, left);
                    Some(true)
                }
                (_, None) => None,
                _ => self.augment(left, &mut ask),
            };
            match found {
                Some(true) => {}
                Some(false) => return false,
                None => return true,
            }
        }
        true
    }

    /// Finds a partner for `start`, giving others a new one where need be.
    fn augment(&mut self, start: usize, ask: &mut impl FnMut(usize, usize) -> Option<bool>) -> Option<bool> {
        let count = self.partner_of_right.len();
        let mut reached_from: Vec<Option<usize>> = vec![None; count];
        let mut unreached: Vec<usize> = (0..count).collect();
        let mut queue = VecDeque::from([start]);
        while let Some(left) = queue.pop_front() {
            let mut still_unreached = Vec::with_capacity(unreached.len());
            for right in unreached {
                if !ask(left, right)? {
                    still_unreached.push(right);
                    continue;
                }
                if let Some(slot) = reached_from.get_mut(right) {
                    *slot = Some(left);
                }
                match self.partner_of_right.get(right).copied().flatten() {
                    Some(taken) => queue.push_back(taken),
                    None => {
                        self.turn_over(start, right, &reached_from);
                        return Some(true);
                    }
                }
            }
            unreached = still_unreached;
        }
        Some(false)
    }

    fn turn_over(&mut self, start: usize, end: usize, reached_from: &[Option<usize>]) {
        let mut right = Some(end);
        while let Some(at) = right
            && let Some(left) = reached_from.get(at).copied().flatten()
        {
            right = self.partner_of_left.get(left).copied().flatten().filter(|_| left != start);
            self.pair(left, at);
        }
    }

    fn pair(&mut self, left: usize, right: usize) {
        if let Some(slot) = self.partner_of_left.get_mut(left) {
            *slot = Some(right);
        }
        if let Some(slot) = self.partner_of_right.get_mut(right) {
            *slot = Some(left);
        }
    }
}
