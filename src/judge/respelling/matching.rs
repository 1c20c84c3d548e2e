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
    /// `alike` is asked at most once a pair that it answers; where it gives no answer the
    /// search is broken off with "yes".
    pub(super) fn complete(&mut self, mut alike: impl FnMut(usize, usize) -> Option<bool>) -> bool {
        let mut known: HashMap<(usize, usize), bool> = HashMap::new();
        let mut ask = |left: usize, right: usize| match known.get(&(left, right)) {
            Some(answer) => Some(*answer),
            None => alike(left, right).inspect(|answer| {
                known.insert((left, right), *answer);
            }),
        };
        for left in 0..self.partner_of_left.len() {
            if self.partner_of_left.get(left) == Some(&None) {
                match self.augment(left, &mut ask) {
                    Some(true) => {}
                    Some(false) => return false,
                    None => return true,
                }
            }
        }
        true
    }

    /// Finds a partner for `start`, giving others a new one where need be.
    fn augment(&mut self, start: usize, ask: &mut impl FnMut(usize, usize) -> Option<bool>) -> Option<bool> {
        let count = self.partner_of_right.len();
        let mut reached_from: Vec<Option<usize>> = vec![None; count];
        let mut queue = VecDeque::from([start]);
        while let Some(left) = queue.pop_front() {
            // The same place first: most arrays keep their order.
            for right in (left..count).chain(0..left) {
                if reached_from.get(right) != Some(&None) || !ask(left, right)? {
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
