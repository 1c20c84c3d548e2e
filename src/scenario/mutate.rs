//! Changing one thing in a tool's answer, and leaving the text of everything else as it is.

use super::erase::{self, Becomes, Changed, Field};
use super::raw::{DEEPEST, Members, array, elements, members, object};
use crate::domain::RawJson;
use crate::domain::names::is_identifier;
use serde_json::value::RawValue;
use std::borrow::Cow;

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

/// What becomes of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elements {
    /// Each element stands twice.
    Doubled,
    /// The last comes first.
    Reordered,
}

/// The result of a tool with that change.
pub fn apply(result: &RawValue, mutation: &Mutation) -> Changed {
    match mutation {
        Mutation::Field { name, to } => match find(result.get(), name.as_deref()) {
            Some(found) => erase::everywhere(result.get(), &found, *to),
            None => Changed::Nothing,
        },
        Mutation::List(elements) => list(result.get(), *elements),
    }
}

/// The field that is meant: in the structured content first, since texts only repeat that.
fn find(result: &str, wanted: Option<&str>) -> Option<Field> {
    let members = members(result)?;
    let of = |wanted: &str| members.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_ref());
    of("structuredContent").and_then(|value| in_field(value, wanted, 0)).or_else(|| {
        let blocks = elements(of("content")?)?;
        blocks.iter().find_map(|block| in_field(&text_of(block.get())?.1, wanted, 0))
    })
}

/// A list changes wherever the result has it.
fn list(result: &str, to: Elements) -> Changed {
    let Some(mut members) = members(result) else { return Changed::Nothing };
    let (mut changed, mut prose) = (false, false);
    for (name, value) in &mut members {
        let altered = match name.as_ref() {
            "content" => content(value, &mut |text| in_list(text, to, 0), &mut prose),
            "structuredContent" => in_list(value, to, 0),
            _ => None,
        };
        if let Some(altered) = altered {
            *value = Cow::Owned(altered);
            changed = true;
        }
    }
    match RawJson::parse(&object(&members)) {
        Ok(_) if changed && prose => Changed::StillReadable("a text beside the list may repeat it in words"),
        Ok(whole) if changed => Changed::Yes(whole, None),
        _ => Changed::Nothing,
    }
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

/// The text blocks of a result, as far as their texts are JSON; whether there are others.
fn content(blocks: &str, alter: &mut impl FnMut(&str) -> Option<String>, prose: &mut bool) -> Option<String> {
    let mut changed = false;
    let blocks: Vec<String> = elements(blocks)?
        .into_iter()
        .map(|block| {
            let altered = text_of(block.get()).and_then(|(members, text)| {
                *prose |= !text.trim().is_empty() && serde_json::from_str::<&RawValue>(&text).is_err();
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

fn in_field(text: &str, wanted: Option<&str>, depth: usize) -> Option<Field> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(members) = members(text) {
        let is_scalar = |value: &str| !value.starts_with(['{', '[']) && value != "null";
        let meant = |name: &str, value: &str| match wanted {
            Some(wanted) => name == wanted,
            None => is_identifier(name) && is_scalar(value),
        };
        if let Some((name, value)) = members.iter().find(|(name, value)| meant(name, value)) {
            return Some(Field { name: name.to_string(), value: value.to_string() });
        }
        return members.iter().find_map(|(_, value)| in_field(value, wanted, depth + 1));
    }
    elements(text)?.iter().find_map(|element| in_field(element.get(), wanted, depth + 1))
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
        match apply(raw.raw(), mutation) {
            Changed::Yes(result, field) => Some((result.get().to_owned(), field)),
            Changed::Nothing => None,
            Changed::StillReadable(why) => panic!("{why}"),
        }
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
    fn a_list_that_a_text_may_repeat_in_words_is_left() {
        let both = r#"{"content":[{"type":"text","text":"1, 2"}],"structuredContent":{"b":[1,2]}}"#;
        let raw = RawJson::parse(both).unwrap();
        let changed = apply(raw.raw(), &Mutation::List(Elements::Doubled));
        assert!(matches!(changed, Changed::StillReadable(_)), "{changed:?}");
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
