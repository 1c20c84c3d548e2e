//! Changing one thing in a tool's answer, and leaving the text of everything else as it is.

use crate::domain::RawJson;
use crate::domain::names::is_identifier;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How deep a value is looked into.
const DEEPEST: usize = 32;

/// What is done to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// A field gets another value.
    Field {
        /// Its name; none for the first that looks like an identifier.
        name: Option<String>,
        /// What becomes of it.
        to: Becomes,
    },
    /// A list gets other elements.
    List(Elements),
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// `null`
    Null,
    /// A number: its digits, or 1.
    Number,
    /// An empty object.
    Object,
    /// It is not there any more.
    Missing,
}

/// What becomes of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Each element stands twice.
    Doubled,
    /// The last comes first.
    Reordered,
}

/// The result of a tool with that change, and the name of the changed field. None where there is
/// nothing to change.
pub fn apply(result: &RawValue, mutation: &Mutation) -> Option<(RawJson, Option<String>)> {
    let mut field = None;
    let mut changed = false;
    let mut members = members(result.get())?;
    let mut alter = |text: &str| {
        let (altered, name) = match mutation {
            Mutation::Field { name, to } => {
                let (altered, name) = in_field(text, name.as_deref(), *to, 0)?;
                (altered, Some(name))
            }
            Mutation::List(elements) => (in_list(text, *elements, 0)?, None),
        };
        field = field.take().or(name);
        changed = true;
        Some(altered)
    };
    for (name, value) in &mut members {
        let altered = match name.as_ref() {
            "content" => content(value, &mut alter),
            "structuredContent" => alter(value),
            _ => None,
        };
        if let Some(altered) = altered {
            *value = Cow::Owned(altered);
        }
    }
    let text = object(&members);
    let whole = RawJson::parse(&text).ok()?;
    changed.then_some((whole, field))
}

/// The first half of the text of a result.
pub fn half(result: &RawValue) -> String {
    let text = members(result.get()).and_then(|members| {
        let content = members.into_iter().find(|(name, _)| name == "content")?.1;
        elements(&content)?.into_iter().find_map(|element| text_of(element.get()).map(|(_, text)| text))
    });
    let text = text.unwrap_or_default();
    let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    match text.get(..half) {
        Some(half) if !half.is_empty() => half.to_owned(),
        _ => "{\"".to_owned(),
    }
}

/// Members in their order, with their names as the value spells them.
type Members<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

fn members(text: &str) -> Option<Members<'_>> {
    struct All;
    impl<'de> Visitor<'de> for All {
        type Value = Members<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
            let mut members = Vec::new();
            while let Some(name) = map.next_key::<String>()? {
                members.push((Cow::Owned(name), Cow::Borrowed(map.next_value::<&'de RawValue>()?.get())));
            }
            Ok(members)
        }
    }
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::Deserializer::from_str(text).deserialize_map(All).ok()
}

fn elements(text: &str) -> Option<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

fn object(members: &Members<'_>) -> String {
    let parts: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{value}", RawJson::string(name))).collect();
    format!("{{{}}}", parts.join(","))
}

fn array<S: AsRef<str>>(elements: &[S]) -> String {
    let parts: Vec<&str> = elements.iter().map(AsRef::as_ref).collect();
    format!("[{}]", parts.join(","))
}

/// A text block's members, and its text.
fn text_of(block: &str) -> Option<(Members<'_>, String)> {
    let members = members(block)?;
    let of = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_ref());
    if of("type")? != "\"text\"" {
        return None;
    }
    let text = serde_json::from_str(of("text")?).ok()?;
    Some((members, text))
}

/// The text blocks of a result, as far as their texts are JSON.
fn content(blocks: &str, alter: &mut impl FnMut(&str) -> Option<String>) -> Option<String> {
    let mut changed = false;
    let blocks: Vec<String> = elements(blocks)?
        .into_iter()
        .map(|block| {
            let altered = text_of(block.get()).and_then(|(members, text)| {
                let altered = alter(&text)?;
                let members: Members<'_> = members
                    .into_iter()
                    .map(|(name, value)| match name.as_ref() {
                        "text" => (name, Cow::Owned(RawJson::string(&altered).get().to_owned())),
                        _ => (name, value),
                    })
                    .collect();
                Some(object(&members))
            });
            changed |= altered.is_some();
            altered.unwrap_or_else(|| block.get().to_owned())
        })
        .collect();
    changed.then(|| array(&blocks))
}

fn in_field(text: &str, wanted: Option<&str>, to: Becomes, depth: usize) -> Option<(String, String)> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(members) = members(text) {
        let is_scalar = |value: &str| !value.starts_with(['{', '[']) && value != "null";
        let meant = |name: &str, value: &str| match wanted {
            Some(wanted) => name == wanted,
            None => is_identifier(name) && is_scalar(value),
        };
        if let Some(at) = members.iter().position(|(name, value)| meant(name, value)) {
            let mut members = members;
            let name = members.get(at)?.0.to_string();
            let value = members.get(at)?.1.to_string();
            let new = match to {
                Becomes::Null => "null".to_owned(),
                Becomes::Number => number(&value),
                Becomes::Object => "{}".to_owned(),
                Becomes::Missing => {
                    members.remove(at);
                    return Some((object(&members), name));
                }
            };
            members.get_mut(at)?.1 = Cow::Owned(new);
            return Some((object(&members), name));
        }
        let mut members = members;
        for (_, value) in &mut members {
            if let Some((altered, name)) = in_field(value, wanted, to, depth + 1) {
                *value = Cow::Owned(altered);
                return Some((object(&members), name));
            }
        }
        return None;
    }
    let elements = elements(text)?;
    let found = elements.iter().enumerate().find_map(|(at, element)| {
        in_field(element.get(), wanted, to, depth + 1).map(|(altered, name)| (at, altered, name))
    });
    let (at, altered, name) = found?;
    let mut texts: Vec<&str> = elements.iter().map(|element| element.get()).collect();
    *texts.get_mut(at)? = &altered;
    Some((array(&texts), name))
}

/// The digits of a text as a number of another type than the text was.
fn number(value: &str) -> String {
    let digits: String = value.chars().filter(char::is_ascii_digit).take(15).collect();
    let digits = digits.trim_start_matches('0');
    match (digits.is_empty(), value.starts_with('"')) {
        // A number becomes one that is no whole number any more.
        (false, false) => format!("{digits}.5"),
        (false, true) => digits.to_owned(),
        (true, _) => "1".to_owned(),
    }
}

fn in_list(text: &str, to: Elements, depth: usize) -> Option<String> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(elements) = elements(text) {
        let texts: Vec<&str> = elements.iter().map(|element| element.get()).collect();
        return match to {
            Elements::Doubled if !texts.is_empty() => {
                Some(array(&texts.iter().flat_map(|element| [element, element]).collect::<Vec<_>>()))
            }
            Elements::Reordered if texts.len() > 1 => {
                let mut texts = texts;
                texts.rotate_right(1);
                Some(array(&texts))
            }
            _ => None,
        };
    }
    let mut members = members(text)?;
    for (_, value) in &mut members {
        if let Some(altered) = in_list(value, to, depth + 1) {
            *value = Cow::Owned(altered);
            return Some(object(&members));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(to: Becomes) -> Mutation {
        Mutation::Field { name: None, to }
    }

    fn changed(result: &str, mutation: &Mutation) -> Option<(String, Option<String>)> {
        let raw = RawJson::parse(result).unwrap();
        apply(raw.raw(), mutation).map(|(result, field)| (result.get().to_owned(), field))
    }

    const BOOKED: &str = r#"{"content":[{"type":"text","text":"{\"n\":9007199254740993,\"booking_id\":\"BK-1001\"}"}],"structuredContent":{"booking_id":"BK-1001","p":1e400}}"#;

    #[test]
    fn an_identifier_changes_in_text_and_structure_and_nothing_else_does() {
        let (result, name) = changed(BOOKED, &field(Becomes::Null)).unwrap();
        assert_eq!(
            result,
            BOOKED.replace(r#"\"BK-1001\""#, "null").replace(r#""BK-1001""#, "null"),
            "and the long numbers are untouched"
        );
        assert_eq!(name.as_deref(), Some("booking_id"));
        let (result, _) = changed(BOOKED, &field(Becomes::Number)).unwrap();
        assert!(result.contains(r#"\"booking_id\":1001"#) && result.contains(r#""booking_id":1001"#));
        let (result, _) = changed(BOOKED, &field(Becomes::Object)).unwrap();
        assert!(result.contains(r#"\"booking_id\":{}"#));
        let (result, _) = changed(BOOKED, &field(Becomes::Missing)).unwrap();
        assert!(!result.contains("booking_id"));
    }

    #[test]
    fn a_named_field_is_found_in_depth() {
        let nested = r#"{"content":[{"type":"text","text":"{\"a\":[{\"total\":12}]}"}]}"#;
        let mutation = Mutation::Field { name: Some("total".into()), to: Becomes::Null };
        assert!(changed(nested, &mutation).unwrap().0.contains(r#"\"total\":null"#));
        assert_eq!(changed(nested, &field(Becomes::Null)), None);
    }

    #[test]
    fn lists_are_doubled_or_reordered() {
        let list = r#"{"content":[{"type":"text","text":"{\"b\":[1,2,3]}"}]}"#;
        assert!(changed(list, &Mutation::List(Elements::Doubled)).unwrap().0.contains("[1,1,2,2,3,3]"));
        assert!(changed(list, &Mutation::List(Elements::Reordered)).unwrap().0.contains("[3,1,2]"));
        let one = r#"{"content":[{"type":"text","text":"[1]"}]}"#;
        assert_eq!(changed(one, &Mutation::List(Elements::Reordered)), None);
        let none = r#"{"content":[{"type":"text","text":"[]"}]}"#;
        assert_eq!(changed(none, &Mutation::List(Elements::Doubled)), None);
    }

    #[test]
    fn what_is_no_json_is_not_changed() {
        for text in [r#"{"content":[{"type":"text","text":"done"}]}"#, r#"{"content":[]}"#, "[]", "1"] {
            assert_eq!(changed(text, &field(Becomes::Null)), None, "{text}");
        }
    }

    #[test]
    fn half_is_half_and_never_nothing() {
        let raw = |text: &str| RawJson::parse(text).unwrap();
        assert_eq!(half(raw(r#"{"content":[{"type":"text","text":"äbcd"}]}"#).raw()), "äb");
        assert_eq!(half(raw(r#"{"content":[]}"#).raw()), "{\"");
        assert_eq!(half(raw("null").raw()), "{\"");
    }
}
