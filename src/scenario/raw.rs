//! JSON as text: members and elements as they were written, so that nothing else of an answer changes.

use crate::domain::RawJson;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// How deep a value is looked into.
pub(super) const DEEPEST: usize = 32;

/// Members in their order, with their names as the value spells them.
pub(super) type Members<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// The members of an object; none where it is no object.
pub(super) fn members(text: &str) -> Option<Members<'_>> {
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

/// The elements of an array; none where it is no array.
pub(super) fn elements(text: &str) -> Option<Vec<&RawValue>> {
    if text.trim_start().starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

/// An object of these members.
pub(super) fn object(members: &Members<'_>) -> String {
    let parts: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{value}", RawJson::string(name))).collect();
    format!("{{{}}}", parts.join(","))
}

/// An array of these elements.
pub(super) fn array<S: AsRef<str>>(elements: &[S]) -> String {
    let parts: Vec<&str> = elements.iter().map(AsRef::as_ref).collect();
    format!("[{}]", parts.join(","))
}
