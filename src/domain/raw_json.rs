//! JSON text that is carried and never re-serialised.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

/// One JSON value as the text that its sender wrote: `1e400`, `9007199254740993` and 400
/// levels of nesting survive, as does the order of keys. Never holds a line break, so that a
/// JSON Lines file can carry it. Equality is equality of the text; comparing values is the
/// judge's work (J1).
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes text that must be exactly one JSON value.
    ///
    /// # Errors
    /// Where the text is not one JSON value.
    pub fn parse(text: &str) -> Result<RawJson, serde_json::Error> {
        let value: &RawValue = serde_json::from_str(text)?;
        Ok(RawJson::from_raw(value))
    }

    /// Copies a borrowed raw value.
    pub fn from_raw(value: &RawValue) -> RawJson {
        let text = value.get();
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
            // Inside a JSON string a line break is always escaped, so these are white space.
            let line = text.replace(['\n', '\r'], " ");
            if let Ok(raw) = RawValue::from_string(line) {
                return RawJson(raw);
            }
        }
        RawJson(value.to_owned())
    }

    /// Serialises a value of ours.
    ///
    /// # Errors
    /// Where the value has no JSON form.
    pub fn of<T: Serialize>(value: &T) -> Result<RawJson, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(RawJson)
    }

    /// The JSON string with that content.
    pub fn string(text: &str) -> RawJson {
        RawJson::of(&text).unwrap_or_else(|_| RawJson::null())
    }

    /// `null`
    pub fn null() -> RawJson {
        RawJson(RawValue::NULL.to_owned())
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The raw value, for embedding it in a message.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &RawJson) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(RawJson::from_raw(&raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_a_parser_would_lose() {
        for text in ["1e400", "9007199254740993", "-0.0", r#"{"b":1,"a":2,"a":3}"#, r#""\ud800""#] {
            assert_eq!(RawJson::parse(text).unwrap().get(), text);
        }
    }

    #[test]
    fn never_holds_a_line_break() {
        let raw = RawJson::parse("{\n\"a\":\r\n\"x\\ny\"}").unwrap();
        assert_eq!(raw.get(), "{ \"a\":  \"x\\ny\"}");
    }

    #[test]
    fn survives_deep_nesting() {
        let text = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(RawJson::parse(&text).unwrap().get(), text);
    }
}
