//! What is known of each value before any two are compared.

use crate::domain::json::{Node, Tree, push_number_value, unescape};
use std::hash::{DefaultHasher, Hash, Hasher};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// Hashes of 64 bits stand for what they are made of; a collision makes two values alike that
/// are not, which is the side on which J25 errs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// The same for values that are equal by J1.
    pub(super) identity: u64,
    /// The same for all values that can be alike; not all in a bucket are.
    pub(super) bucket: u64,
    scalar: Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scalar {
    Null,
    Bool(bool),
    Number {
        value: u64,
    },
    String {
        folded: u64,
        empty: bool,
        number: Option<Written>,
    },
    /// An array or object.
    Inside,
}

/// A string that a lenient reader takes for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    value: u64,
    /// Without exponent, plus sign or leading zeros.
    plain: bool,
}

impl Facts {
    /// Whether two scalars are equal or differ only in the ways of J25.
    pub(super) fn alike_scalars(&self, other: &Facts) -> bool {
        match (self.scalar, other.scalar) {
            (Scalar::Null, Scalar::String { empty, .. }) | (Scalar::String { empty, .. }, Scalar::Null) => {
                empty
            }
            (Scalar::Number { value }, Scalar::String { number, .. })
            | (Scalar::String { number, .. }, Scalar::Number { value }) => {
                number.is_some_and(|number| number.value == value)
            }
            (
                Scalar::String { folded: a, number: first, .. },
                Scalar::String { folded: b, number: second, .. },
            ) => {
                a == b
                    || matches!((first, second), (Some(a), Some(b)) if a.plain && b.plain && a.value == b.value)
            }
            (Scalar::Inside, _) | (_, Scalar::Inside) => false,
            (a, b) => a == b,
        }
    }
}

/// The facts of all nodes, by node number. A node comes after those inside it, so one pass does.
pub(super) fn of_tree(tree: &Tree) -> Vec<Facts> {
    let mut facts: Vec<Facts> = Vec::with_capacity(tree.len());
    for node in 0..tree.len() {
        let inside = |node: usize| facts.get(node).map_or((0, 0), |facts| (facts.identity, facts.bucket));
        let next = match tree.node(node) {
            Node::Null => Facts { identity: hash("null"), bucket: hash("empty"), scalar: Scalar::Null },
            Node::Bool(value) => {
                let hash = hash(("bool", value));
                Facts { identity: hash, bucket: hash, scalar: Scalar::Bool(value) }
            }
            Node::Number(text) => {
                let value = hash(("number", text));
                Facts { identity: value, bucket: value, scalar: Scalar::Number { value } }
            }
            Node::String(escaped) => of_string(escaped),
            Node::Array => {
                let identities: Vec<u64> = tree.children(node).map(|(_, child)| inside(child).0).collect();
                let mut buckets: Vec<u64> = tree.children(node).map(|(_, child)| inside(child).1).collect();
                buckets.sort_unstable();
                Facts {
                    identity: hash(("array", identities)),
                    bucket: hash(("array", buckets)),
                    scalar: Scalar::Inside,
                }
            }
            Node::Object => {
                let fields: Vec<_> =
                    tree.children(node).map(|(name, child)| (name, inside(child).0)).collect();
                // Fields come and go in J25, so nothing of them can be in the bucket.
                Facts { identity: hash(("object", fields)), bucket: hash("object"), scalar: Scalar::Inside }
            }
        };
        facts.push(next);
    }
    facts
}

fn of_string(escaped: &str) -> Facts {
    let folded = fold(&unescape(escaped));
    let number = written_number(&folded);
    let bucket = match number {
        Some(number) => number.value,
        None if folded.is_empty() => hash("empty"),
        None => hash(("string", folded.as_str())),
    };
    let scalar = Scalar::String { folded: hash(folded.as_str()), empty: folded.is_empty(), number };
    Facts { identity: hash(("exactly", escaped)), bucket, scalar }
}

/// What is left of a text without white space, letter case, Unicode normal form and invisible
/// characters. Decomposed rather than composed (which tells the same texts apart), so that
/// taking a character out never leaves two others uncombined.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        let visible = text.chars().filter(|character| !character.is_whitespace());
        return visible.map(|character| character.to_ascii_lowercase()).collect();
    }
    let decomposed: String = text.chars().filter(|character| !is_unseen(*character)).nfkd().collect();
    let small = decomposed.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let mut folded = String::with_capacity(decomposed.len());
    for character in small.filter(|character| !is_unseen(*character)).nfkd() {
        // The small form of the Turkish capital I with a dot is an i with a second dot.
        if character != '\u{307}' || !folded.ends_with('i') {
            folded.push(character);
        }
    }
    folded
}

fn is_unseen(character: char) -> bool {
    if character.is_ascii() {
        return character.is_whitespace();
    }
    character.is_whitespace()
        || matches!(character, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
        || get_general_category(character) == GeneralCategory::Format
}

/// The number that a folded string spells, as lenient readers take it: with a plus sign,
/// leading zeros, or nothing on one side of the point.
fn written_number(text: &str) -> Option<Written> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = |text: &str| !text.is_empty() && all_digits(text);
    let is_number = all_digits(whole)
        && fraction.is_none_or(all_digits)
        && (digits(whole) || fraction.is_some_and(digits))
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    if !is_number {
        return None;
    }
    let plain = exponent.is_none()
        && !text.starts_with('+')
        && (whole == "0" || (digits(whole) && !whole.starts_with('0')))
        && fraction.is_none_or(digits);
    let mut value = String::new();
    push_number_value(&mut value, text);
    Some(Written { value: hash(("number", value.as_str())), plain })
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
