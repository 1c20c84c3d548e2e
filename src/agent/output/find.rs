//! Places in an agent's output: what they name in its records, as words and as numbers. Pure.

use serde_json::Value;
use std::borrow::Cow;

/// Where a number is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    /// The place.
    pub find: Find,
    /// Further places whose numbers are added; one that names nothing counts as 0.
    pub plus: Vec<Find>,
    /// In a resumed session it includes the turns before.
    pub cumulative: bool,
}

impl Count {
    pub(super) fn number(&self, records: &[Value]) -> Option<f64> {
        let finds = std::iter::once(&self.find).chain(&self.plus);
        finds.filter_map(|find| find.number(records)).reduce(|sum, number| sum + number)
    }

    /// A number of one turn.
    pub fn at(pointer: impl Into<String>) -> Count {
        Count { find: Find::at(pointer), ..Count::default() }
    }
}

/// A place in the output: what a pointer names in the records that meet the conditions. A record
/// is a line, the document, or, where the document is a list, the list and each of its elements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Find {
    /// JSON Pointer (RFC 6901); a part `*` means every element or value.
    pub pointer: String,
    /// Pointers, and the value that must be there, as text.
    pub matching: Vec<(String, String)>,
    /// What to make of several findings.
    pub take: Take,
}

/// What to make of several findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Take {
    /// The last one; of numbers that a `*` finds in one record, their sum.
    #[default]
    Last,
    /// The first one.
    First,
    /// All, as text, line by line.
    Join,
    /// Their sum.
    Sum,
}

impl Find {
    /// A pointer without conditions.
    pub fn at(pointer: impl Into<String>) -> Find {
        Find { pointer: pointer.into(), ..Find::default() }
    }

    /// The same with one more condition.
    #[must_use]
    pub fn when(mut self, pointer: impl Into<String>, text: impl Into<String>) -> Find {
        self.matching.push((pointer.into(), text.into()));
        self
    }

    /// The findings of each record that has any, nulls included.
    fn groups<'a>(&self, records: &'a [Value]) -> Vec<Vec<Cow<'a, Value>>> {
        let applies = |record: &&Value| {
            let met = |(pointer, text): &(String, String)| {
                record.pointer(pointer).is_some_and(|value| plain(value) == *text)
            };
            self.matching.iter().all(met)
        };
        let groups = records.iter().filter(applies).map(|record| resolve(record, &self.pointer));
        groups.filter(|group| !group.is_empty()).collect()
    }

    pub(super) fn exists(&self, records: &[Value]) -> bool {
        !self.groups(records).is_empty()
    }

    pub(super) fn words(&self, records: &[Value]) -> Option<String> {
        let mut texts = self.groups(records).into_iter().flatten().filter_map(|value| words(&value));
        match self.take {
            Take::First => texts.next(),
            Take::Last => texts.next_back(),
            Take::Join | Take::Sum => {
                let texts: Vec<String> = texts.collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
        }
    }

    fn number(&self, records: &[Value]) -> Option<f64> {
        let groups = self.groups(records).into_iter().map(total);
        let mut groups = groups.flatten();
        match self.take {
            Take::First => groups.next(),
            Take::Last | Take::Join => groups.last(),
            Take::Sum => groups.reduce(|sum, number| sum + number),
        }
    }
}

impl std::fmt::Display for Find {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`", self.pointer)?;
        for (index, (pointer, text)) in self.matching.iter().enumerate() {
            write!(f, "{} `{pointer}` is `{text}`", if index == 0 { " where" } else { " and" })?;
        }
        Ok(())
    }
}

fn total(values: Vec<Cow<'_, Value>>) -> Option<f64> {
    values.iter().filter_map(|value| value.as_f64()).reduce(|sum, number| sum + number)
}

/// Every value that a pointer with `*` names. It goes on into a text that is itself JSON, as some
/// programs write it.
fn resolve<'a>(record: &'a Value, pointer: &str) -> Vec<Cow<'a, Value>> {
    let mut found = vec![Cow::Borrowed(record)];
    if pointer.is_empty() {
        return found;
    }
    let Some(parts) = pointer.strip_prefix('/') else { return Vec::new() };
    for part in parts.split('/') {
        let key = part.replace("~1", "/").replace("~0", "~");
        let step = |value: Cow<'a, Value>| -> Vec<Cow<'a, Value>> {
            match value {
                Cow::Borrowed(Value::String(text)) => match serde_json::from_str::<Value>(text) {
                    Ok(inner) => below(&inner, part, &key).into_iter().cloned().map(Cow::Owned).collect(),
                    Err(_) => Vec::new(),
                },
                Cow::Borrowed(value) => below(value, part, &key).into_iter().map(Cow::Borrowed).collect(),
                Cow::Owned(value) => below(&value, part, &key).into_iter().cloned().map(Cow::Owned).collect(),
            }
        };
        found = found.into_iter().flat_map(step).collect();
    }
    found
}

fn below<'a>(value: &'a Value, part: &str, key: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(map) if part == "*" => map.values().collect(),
        Value::Array(list) if part == "*" => list.iter().collect(),
        Value::Object(map) => map.get(key).into_iter().collect(),
        Value::Array(list) => {
            let element = key.parse().ok().and_then(|index: usize| list.get(index));
            element.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// A value as words: text as it is, a list of texts or of `{"text": …}` joined.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
                .collect();
            Some(if texts.is_empty() && !parts.is_empty() { value.to_string() } else { texts.concat() })
        }
        value => Some(plain(value)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_json_is_looked_into() {
        let record = serde_json::json!({"calls": [{"usage": "{\"tokens\": [3, 4]}"}, {"usage": "none"}, {"usage": "[5]"}]});
        let sum = |pointer: &str| total(resolve(&record, pointer));
        assert_eq!(
            (sum("/calls/*/usage/tokens/*"), sum("/calls/*/usage/0"), sum("/calls/*")),
            (Some(7.0), Some(5.0), None)
        );
    }
}
