//! Taking one value out of an answer, wherever the answer has it: an identifier that is broken in the
//! structured content and whole in the sentence beside it is not broken for an agent that reads both.

use super::raw::{DEEPEST, Members, array, elements, members, object};
use crate::domain::RawJson;
use crate::domain::json::canonical;
use std::borrow::Cow;

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

/// What came of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum Changed {
    /// The result with the change, and the name of the changed field, where it was one.
    Yes(RawJson, Option<String>),
    /// There is nothing to change.
    Nothing,
    /// What the change takes away could still be read elsewhere in the result; why, as a sentence.
    StillReadable(&'static str),
}

/// A field that was found: its name, and its value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub name: String,
    pub value: String,
}

/// The result in which the field, and every other place that tells its value, has become something else.
pub(super) fn everywhere(result: &str, field: &Field, to: Becomes) -> Changed {
    let mut eraser = Eraser::new(field, to);
    let altered = eraser.value(result, Place::Around, 0);
    match altered.and_then(|altered| RawJson::parse(&altered).ok()) {
        _ if eraser.readable => Changed::StillReadable(
            "the value stands elsewhere in it, too, and cannot be told from other words there",
        ),
        Some(result) if eraser.changed => Changed::Yes(result, Some(field.name.clone())),
        _ => Changed::Nothing,
    }
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

/// Where a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// In what a protocol puts around the answer of a tool.
    Around,
    /// In the answer itself: structured content, or a text that is JSON.
    Inside,
}

struct Eraser<'a> {
    field: &'a Field,
    to: Becomes,
    /// The field's value in canonical form, to compare others with.
    canonical: String,
    /// The text that the value is to a reader; none where it is no text and no number.
    plain: Option<String>,
    /// Nothing else in an answer looks like it by chance.
    telling: bool,
    changed: bool,
    readable: bool,
}

impl<'a> Eraser<'a> {
    fn new(field: &'a Field, to: Becomes) -> Eraser<'a> {
        let plain = match serde_json::from_str::<String>(&field.value) {
            Ok(text) => Some(text),
            Err(_) if field.value.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                Some(field.value.clone())
            }
            Err(_) => None,
        };
        let plain = plain.filter(|text| text.chars().any(char::is_alphanumeric));
        let telling = plain.as_deref().is_some_and(is_telling);
        let canonical = canonical(&field.value);
        Eraser { field, to, canonical, plain, telling, changed: false, readable: false }
    }

    /// A value with the change; none where it stays as it is.
    fn value(&mut self, text: &str, place: Place, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        if let Some(members) = members(text) {
            return self.object(members, place, depth);
        }
        if let Some(elements) = elements(text) {
            let mut changed = false;
            let parts: Vec<String> = elements
                .into_iter()
                .map(|element| {
                    let altered = self.value(element.get(), place, depth + 1);
                    changed |= altered.is_some();
                    altered.unwrap_or_else(|| element.get().to_owned())
                })
                .collect();
            return changed.then(|| array(&parts));
        }
        let string: String = serde_json::from_str(text).ok()?;
        if is_structure(&string) {
            let altered = self.value(&string, Place::Inside, depth + 1)?;
            return Some(RawJson::string(&altered).get().to_owned());
        }
        self.string(&string, place)
    }

    fn object(&mut self, members: Members<'_>, place: Place, depth: usize) -> Option<String> {
        let mut changed = false;
        let mut kept: Members<'_> = Vec::with_capacity(members.len());
        for (name, value) in members {
            let is_field = place == Place::Inside
                && name == self.field.name.as_str()
                && canonical(&value) == self.canonical;
            let altered = if is_field {
                self.changed = true;
                match self.becomes() {
                    Some(new) => Some(new),
                    None => {
                        changed = true;
                        continue;
                    }
                }
            } else {
                let inside = place == Place::Inside || name == "structuredContent";
                let place = if inside { Place::Inside } else { Place::Around };
                self.value(&value, place, depth + 1)
            };
            changed |= altered.is_some();
            kept.push((name, altered.map_or(value, Cow::Owned)));
        }
        changed.then(|| object(&kept))
    }

    /// What the field becomes; none where it goes.
    fn becomes(&self) -> Option<String> {
        match self.to {
            Becomes::Null => Some("null".to_owned()),
            Becomes::Number => Some(number(&self.field.value)),
            Becomes::Object => Some("{}".to_owned()),
            Becomes::Missing => None,
        }
    }

    /// What a program puts into a sentence that has such a value.
    fn in_words(&self) -> Cow<'static, str> {
        match self.to {
            Becomes::Null => Cow::Borrowed("null"),
            Becomes::Number => Cow::Owned(number(&self.field.value)),
            Becomes::Object => Cow::Borrowed("[object Object]"),
            Becomes::Missing => Cow::Borrowed("undefined"),
        }
    }

    /// A text in which the value may stand as a word.
    fn string(&mut self, text: &str, place: Place) -> Option<String> {
        let plain = self.plain.clone()?;
        let found = occurrences(text, &plain);
        if found.is_empty() {
            return None;
        }
        if !self.telling {
            // A field of another name that happens to have the same short value is another thing.
            let other = place == Place::Inside && text.eq_ignore_ascii_case(&plain);
            self.readable |= !other && found.iter().any(|place| place.is_word);
            return None;
        }
        if found.iter().any(|place| !place.is_word) {
            self.readable = true;
            return None;
        }
        let new = self.in_words();
        let mut altered = String::with_capacity(text.len());
        let mut from = 0;
        for place in found {
            altered.push_str(text.get(from..place.at)?);
            altered.push_str(&new);
            from = place.at + plain.len();
        }
        altered.push_str(text.get(from..)?);
        Some(RawJson::string(&altered).get().to_owned())
    }
}

/// Whether a text is an object or a list in JSON.
fn is_structure(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && RawJson::parse(text).is_ok()
}

/// Whether a value is long or odd enough that a word like it means it.
fn is_telling(value: &str) -> bool {
    let length = value.chars().count();
    let mixed = value.chars().any(char::is_alphabetic) && value.chars().any(|c| c.is_ascii_digit());
    length >= 4 || (length == 3 && mixed)
}

struct Occurrence {
    at: usize,
    /// It is a word of its own, and not part of another.
    is_word: bool,
}

/// Where a text has the value, whatever its letters' case.
fn occurrences(text: &str, value: &str) -> Vec<Occurrence> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let next = rest.char_indices().find(|(at, _)| {
            rest.get(*at..at + value.len()).is_some_and(|part| part.eq_ignore_ascii_case(value))
        });
        let Some((at, _)) = next else { break };
        let at = from + at;
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + value.len()..).and_then(|text| text.chars().next());
        let is_word = !before.is_some_and(is_part) && !after.is_some_and(is_part);
        found.push(Occurrence { at, is_word });
        from = at + value.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::mutate::{Mutation, apply};
    use serde_json::{Value, json};

    fn changed(result: &Value, to: Becomes) -> Changed {
        let raw = RawJson::parse(&result.to_string()).unwrap();
        apply(raw.raw(), &Mutation::Field { name: None, to })
    }

    fn text(result: &Value, to: Becomes) -> String {
        match changed(result, to) {
            Changed::Yes(result, Some(_)) => result.get().to_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn answer(text: &str, structured: Value) -> Value {
        json!({"content": [{"type": "text", "text": text}], "structuredContent": structured})
    }

    #[test]
    fn an_identifier_is_broken_in_the_sentence_beside_it_too() {
        let booked = answer("Booked: BK-1001 (see /bookings/bk-1001).", json!({"booking_id": "BK-1001"}));
        for (to, reads) in [
            (Becomes::Null, "Booked: null (see /bookings/null)."),
            (Becomes::Number, "Booked: 1001 (see /bookings/1001)."),
            (Becomes::Object, "Booked: [object Object] (see /bookings/[object Object])."),
            (Becomes::Missing, "Booked: undefined (see /bookings/undefined)."),
        ] {
            let altered = text(&booked, to);
            assert!(altered.contains(reads), "{altered}");
            assert!(!altered.to_lowercase().contains("bk-1001"), "{altered}");
        }
    }

    #[test]
    fn every_json_text_changes_and_so_does_what_else_tells_the_value() {
        let both = json!({
            "content": [
                {"type": "text", "text": r#"{"id":"K-77","url":"https://x/K-77","n":9007199254740993}"#},
                {"type": "resource_link", "uri": "shop://orders/K-77", "name": "order K-77"},
                {"type": "text", "text": "done"},
            ],
            "structuredContent": {"order": {"id": "K-77", "reference": "K-77"}, "room": 77},
        });
        let altered = text(&both, Becomes::Null);
        assert!(!altered.contains("K-77"), "{altered}");
        assert!(altered.contains("9007199254740993") && altered.contains(r#""room":77"#), "{altered}");
    }

    #[test]
    fn another_record_keeps_its_identifier() {
        let list = answer("{}", json!({"id": "A-100", "others": [{"id": "A-200"}]}));
        let altered = text(&list, Becomes::Missing);
        assert!(altered.contains("A-200") && !altered.contains("A-100"), "{altered}");
    }

    #[test]
    fn what_could_still_be_read_is_not_changed_at_all() {
        for result in [
            // Too short to know whether the sentence means it.
            answer("Order 7 for 7 guests", json!({"id": 7})),
            // Part of another word.
            answer("See ref_BK-1001-A", json!({"booking_id": "BK-1001"})),
        ] {
            let changed = changed(&result, Becomes::Null);
            assert!(matches!(changed, Changed::StillReadable(_)), "{result}: {changed:?}");
        }
        // Another field that happens to be equal.
        let altered = text(&answer("done", json!({"id": "7", "room": "7"})), Becomes::Null);
        assert!(altered.contains(r#""room":"7""#), "{altered}");
    }

    #[test]
    fn a_number_in_a_sentence_is_one_of_the_same_kind_as_in_the_field() {
        let altered = text(&answer("Created #4711.", json!({"id": 4711})), Becomes::Number);
        assert!(altered.contains("Created #4711.5.") && altered.contains(r#""id":4711.5"#), "{altered}");
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_it_panic_and_none_that_is_changed_still_tells(
            prose in "[A-Zäß0-9 \\-_./]{0,40}",
            id in "[A-ZÄ0-9\\-]{4,8}",
        ) {
            let result = answer(&format!("{prose}{id}{prose}"), json!({"id": id, "note": prose}));
            if let Changed::Yes(altered, _) = changed(&result, Becomes::Null)
                && id.chars().any(char::is_alphanumeric)
            {
                proptest::prop_assert!(!altered.get().contains(&id), "{}", altered);
            }
        }
    }
}
