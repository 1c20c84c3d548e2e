//! Whether a later call may be an uncertain one in other words (J25).
//!
//! Such a call is possibly a duplicate and never provably one, so where the comparison would
//! take too long or go too deep it answers "respelled": in doubt the run is not tested.

mod facts;
mod matching;

#[cfg(test)]
mod tests;

use crate::domain::RawJson;
use crate::domain::json::{Node, Tree, split_keys};
use facts::Facts;
use matching::Matching;

/// Comparisons of two values, or of two fields, in one call of [`Arguments::relation`]. Far
/// above what tools are called with; met by thousands of nearly equal array elements.
const MAX_STEPS: u32 = 1_000_000;

/// Levels of nesting that are compared value by value, so that the stack suffices.
const MAX_DEPTH: u32 = 128;

/// How the arguments of a later call of the same tool stand to those of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Equal by J1: the same operation.
    Same,
    /// They differ, but only in the ways of J25: possibly the same operation.
    Respelled,
    /// Another operation.
    Different,
}

/// The arguments of one call, prepared for comparisons. Made once a call, in linear time.
#[derive(Debug)]
pub struct Arguments {
    operation: String,
    tree: Option<Tree>,
    facts: Vec<Facts>,
}

impl Arguments {
    /// The arguments as they were sent; key fields do not count (J2).
    pub fn new(arguments: Option<&RawJson>, key_fields: &[String]) -> Arguments {
        Arguments::of_operation(&split_keys(arguments, key_fields).operation)
    }

    /// The same from [`crate::domain::json::Split::operation`].
    pub fn of_operation(operation: &str) -> Arguments {
        let tree = Tree::parse(operation);
        let facts = tree.as_ref().map(facts::of_tree).unwrap_or_default();
        Arguments { operation: operation.to_owned(), tree, facts }
    }

    /// Name and coarse value of every field, for finding candidates among many calls: respelled
    /// arguments have equal coarse values in all their common fields (the reverse need not
    /// hold). Names in their canonical escapes, sorted. None where the arguments are no object.
    pub fn coarse_fields(&self) -> Option<impl ExactSizeIterator<Item = (&str, u64)>> {
        let tree = self.tree.as_ref().filter(|tree| matches!(tree.node(tree.root()), Node::Object))?;
        let coarse = |node: usize| self.facts.get(node).map_or(0, |facts| facts.bucket);
        Some(tree.children(tree.root()).map(move |(name, node)| (name, coarse(node))))
    }

    /// How a later call stands to this one.
    pub fn relation(&self, later: &Arguments) -> Relation {
        if self.operation == later.operation {
            return Relation::Same;
        }
        let (Some(left), Some(right)) = (&self.tree, &later.tree) else {
            return Relation::Different;
        };
        let mut comparison =
            Comparison { left, left_facts: &self.facts, right, right_facts: &later.facts, steps: MAX_STEPS };
        match comparison.alike(left.root(), right.root(), 0) {
            true => Relation::Respelled,
            false => Relation::Different,
        }
    }
}

/// [`Arguments::relation`] for one pair.
pub fn relation(uncertain: Option<&RawJson>, later: Option<&RawJson>, key_fields: &[String]) -> Relation {
    Arguments::new(uncertain, key_fields).relation(&Arguments::new(later, key_fields))
}

/// Whether the later arguments are the uncertain ones in other words: neither equal to them nor
/// another operation.
pub fn is_respelling(uncertain: Option<&RawJson>, later: Option<&RawJson>, key_fields: &[String]) -> bool {
    relation(uncertain, later, key_fields) == Relation::Respelled
}

struct Comparison<'c> {
    left: &'c Tree,
    left_facts: &'c [Facts],
    right: &'c Tree,
    right_facts: &'c [Facts],
    steps: u32,
}

impl Comparison<'_> {
    /// Whether the nodes are equal or differ only in the ways of J25. No pair is asked for
    /// twice, since a node has one parent; so the steps bound the whole comparison.
    fn alike(&mut self, left: usize, right: usize, depth: u32) -> bool {
        let (Some(a), Some(b)) = (self.left_facts.get(left), self.right_facts.get(right)) else {
            return false;
        };
        if a.identity == b.identity {
            return true;
        }
        if a.bucket != b.bucket {
            return false;
        }
        match (self.left.node(left), self.right.node(right)) {
            (Node::Object, Node::Object) => depth >= MAX_DEPTH || self.alike_objects(left, right, depth),
            (Node::Array, Node::Array) => depth >= MAX_DEPTH || self.alike_arrays(left, right, depth),
            (Node::Array | Node::Object, _) | (_, Node::Array | Node::Object) => false,
            _ => a.alike_scalars(b),
        }
    }

    /// Common fields alike, and at least half of all fields common.
    fn alike_objects(&mut self, left: usize, right: usize, depth: u32) -> bool {
        let (left_tree, right_tree) = (self.left, self.right);
        let mut others = right_tree.children(right).peekable();
        let mut inside = Vec::new();
        let mut common = 0_usize;
        for (name, value) in left_tree.children(left) {
            self.steps = self.steps.saturating_sub(1);
            while others.next_if(|(other, _)| *other < name).is_some() {
                self.steps = self.steps.saturating_sub(1);
            }
            let Some((_, other)) = others.next_if(|(other, _)| *other == name) else {
                continue;
            };
            common += 1;
            // What lies inside is looked at last: most pairs differ sooner.
            if matches!(left_tree.node(value), Node::Array | Node::Object) {
                inside.push((value, other));
            } else if !self.alike(value, other, depth + 1) {
                return false;
            }
        }
        let union = left_tree.count(left) + right_tree.count(right) - common;
        2 * common >= union && inside.into_iter().all(|(value, other)| self.alike(value, other, depth + 1))
    }

    /// The elements alike one to one, in any order.
    fn alike_arrays(&mut self, left: usize, right: usize, depth: u32) -> bool {
        if self.left.count(left) != self.right.count(right) {
            return false;
        }
        let (left_facts, right_facts) = (self.left_facts, self.right_facts);
        let bucket = |facts: &[Facts], node: usize| facts.get(node).map(|facts| facts.bucket);
        let mut lefts: Vec<usize> = self.left.children(left).map(|(_, node)| node).collect();
        let mut rights: Vec<usize> = self.right.children(right).map(|(_, node)| node).collect();
        // Elements of different buckets are never alike, so every bucket is matched by itself.
        lefts.sort_by_key(|node| bucket(left_facts, *node));
        rights.sort_by_key(|node| bucket(right_facts, *node));
        let mut rest = rights.as_slice();
        for group in lefts.chunk_by(|a, b| bucket(left_facts, *a) == bucket(left_facts, *b)) {
            let Some((partners, others)) = rest.split_at_checked(group.len()) else {
                return false;
            };
            rest = others;
            if !self.alike_group(group, partners, depth) {
                return false;
            }
        }
        true
    }

    fn alike_group(&mut self, lefts: &[usize], rights: &[usize], depth: u32) -> bool {
        if let ([left], [right]) = (lefts, rights) {
            return self.alike(*left, *right, depth + 1);
        }
        let identity = |facts: &[Facts], node: &usize| facts.get(*node).map(|facts| facts.identity);
        let left_ids: Vec<_> = lefts.iter().map(|node| identity(self.left_facts, node)).collect();
        let right_ids: Vec<_> = rights.iter().map(|node| identity(self.right_facts, node)).collect();
        let mut matching = Matching::beginning_with_equals(&left_ids, &right_ids);
        let mut steps = self.steps;
        let complete = matching.complete(&mut steps, |left, right, steps| {
            let (Some(left), Some(right)) = (lefts.get(left), rights.get(right)) else {
                return false;
            };
            self.steps = *steps;
            let alike = self.alike(*left, *right, depth + 1);
            *steps = self.steps;
            alike
        });
        self.steps = steps;
        complete
    }
}
