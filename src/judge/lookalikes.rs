//! Finds the uncertain operations whose arguments a new call may be a respelling of (J25).
//!
//! Comparing with every uncertain operation would make a call cost more the more there were
//! before it. J25 forbids common fields that differ, so two respellings agree roughly in every
//! common field: operations are kept by their set of field names and found by a coarse form of
//! the common values. Too many candidates cost time; a missing one would be a wrong PASS, so the
//! coarse form throws away more than J25 does. The candidates are compared properly afterwards.

use super::respelling::Arguments;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

/// The coarse form of arguments: a number for every field on the top level. Arguments that are
/// no object match everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Coarse {
    Fields(BTreeMap<String, u64>),
    Any,
}

impl Coarse {
    pub fn of(arguments: &Arguments) -> Coarse {
        match arguments.coarse_fields() {
            Some(fields) => Coarse::Fields(fields.map(|(name, value)| (name.to_owned(), value)).collect()),
            None => Coarse::Any,
        }
    }
}

/// Uncertain operations of one tool.
#[derive(Debug, Default)]
pub(super) struct Lookalikes {
    shapes: Vec<Shape>,
    by_names: HashMap<Vec<String>, usize>,
    /// Those that match everything.
    any: BTreeSet<usize>,
}

/// Operations with the same field names.
#[derive(Debug)]
struct Shape {
    names: Vec<String>,
    members: BTreeMap<usize, BTreeMap<String, u64>>,
    /// For every set of common names that was asked for: operations by their coarse values.
    views: HashMap<Vec<usize>, HashMap<u64, BTreeSet<usize>>>,
}

impl Lookalikes {
    pub fn insert(&mut self, operation: usize, coarse: Coarse) {
        let Coarse::Fields(fields) = coarse else {
            self.any.insert(operation);
            return;
        };
        let names: Vec<String> = fields.keys().cloned().collect();
        let shapes = &mut self.shapes;
        let at = *self.by_names.entry(names).or_insert_with_key(|names| {
            shapes.push(Shape { names: names.clone(), members: BTreeMap::new(), views: HashMap::new() });
            shapes.len() - 1
        });
        let Some(shape) = self.shapes.get_mut(at) else { return };
        for (common, view) in &mut shape.views {
            view.entry(joint(&shape.names, common, &fields)).or_default().insert(operation);
        }
        shape.members.insert(operation, fields);
    }

    pub fn remove(&mut self, operation: usize, coarse: &Coarse) {
        let Coarse::Fields(fields) = coarse else {
            self.any.remove(&operation);
            return;
        };
        let names: Vec<String> = fields.keys().cloned().collect();
        let Some(shape) = self.by_names.get(&names).and_then(|at| self.shapes.get_mut(*at)) else { return };
        shape.members.remove(&operation);
        for (common, view) in &mut shape.views {
            let key = joint(&shape.names, common, fields);
            if let Some(bucket) = view.get_mut(&key) {
                bucket.remove(&operation);
                if bucket.is_empty() {
                    view.remove(&key);
                }
            }
        }
    }

    /// The operations that may be respellings of these arguments.
    pub fn candidates(&mut self, coarse: &Coarse) -> Vec<usize> {
        let mut found: Vec<usize> = self.any.iter().copied().collect();
        let Coarse::Fields(fields) = coarse else {
            found.extend(self.shapes.iter().flat_map(|shape| shape.members.keys()));
            return found;
        };
        for shape in &mut self.shapes {
            if shape.members.is_empty() {
                continue;
            }
            let common: Vec<usize> = (0..shape.names.len())
                .filter(|at| shape.names.get(*at).is_some_and(|name| fields.contains_key(name)))
                .collect();
            let union = shape.names.len() + fields.len() - common.len();
            if 2 * common.len() < union {
                continue;
            }
            let key = joint(&shape.names, &common, fields);
            let (names, members) = (&shape.names, &shape.members);
            let view = shape.views.entry(common).or_insert_with_key(|common| {
                let mut view: HashMap<u64, BTreeSet<usize>> = HashMap::new();
                for (operation, fields) in members {
                    view.entry(joint(names, common, fields)).or_default().insert(*operation);
                }
                view
            });
            found.extend(view.get(&key).into_iter().flatten());
        }
        found
    }
}

/// One number for the values of the common fields.
fn joint(names: &[String], common: &[usize], fields: &BTreeMap<String, u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in common.iter().filter_map(|at| names.get(*at)) {
        fields.get(name).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Coarse {
        let json = crate::domain::RawJson::parse(text).unwrap();
        Coarse::of(&Arguments::new(Some(&json), &[]))
    }

    #[test]
    fn j25_respellings_are_candidates() {
        let pairs = [
            (r#"{"n":12}"#, r#"{"n":"12"}"#),
            (r#"{"n":1000}"#, r#"{"n":"1e3"}"#),
            (r#"{"n":"129.00"}"#, r#"{"n":"129"}"#),
            (r#"{"g":"Ada Lovelace"}"#, "{\"g\":\"ada\u{200d}\u{a0} lovelace\"}"),
            (r#"{"g":"Straße"}"#, r#"{"g":"STRASSE"}"#),
            (r#"{"g":"ﬁn 12"}"#, r#"{"g":"FIN12"}"#),
            (r#"{"a":null}"#, r#"{"a":""}"#),
            (r#"{"a":[1,2]}"#, r#"{"a":["2","1"]}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":{"x":1}}"#, r#"{"b":{"x":1,"y":2},"c":0,"a":"1"}"#),
            (r#"{"a":-0.0}"#, r#"{"a":"0"}"#),
            (r#"{"\ud800":1,"a":1,"b":2}"#, r#"{"a":1,"b":2}"#),
            ("[1]", r#"["1"]"#),
        ];
        for (a, b) in pairs {
            let mut index = Lookalikes::default();
            index.insert(7, of(a));
            assert_eq!(index.candidates(&of(b)), [7], "{a} {b}");
            let mut index = Lookalikes::default();
            index.insert(7, of(b));
            assert_eq!(index.candidates(&of(a)), [7], "{b} {a}");
            index.remove(7, &of(b));
            assert!(index.candidates(&of(a)).is_empty());
        }
    }

    #[test]
    fn other_operations_are_not() {
        let mut index = Lookalikes::default();
        index.insert(0, of(r#"{"guest":"Ada","room":1,"date":"2026"}"#));
        for other in [
            r#"{"guest":"Bob","room":1,"date":"2026"}"#,
            r#"{"guest":"Ada"}"#,
            r#"{"guest":"Ada","x":1,"y":2}"#,
        ] {
            assert!(index.candidates(&of(other)).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_view_follows_what_comes_and_goes() {
        let mut index = Lookalikes::default();
        index.insert(0, of(r#"{"a":1,"b":1}"#));
        assert_eq!(index.candidates(&of(r#"{"a":1}"#)), [0]);
        index.insert(1, of(r#"{"a":1,"b":2}"#));
        assert_eq!(index.candidates(&of(r#"{"a":1}"#)), [0, 1]);
        index.remove(0, &of(r#"{"a":1,"b":1}"#));
        assert_eq!(index.candidates(&of(r#"{"a":1}"#)), [1]);
    }
}
