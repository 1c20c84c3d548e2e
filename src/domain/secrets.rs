//! Values that nobody may read: how they are found in a text, and what stands in their place.
//!
//! The only place that knows how a secret can look. Traces, results, transcripts, messages and
//! reports all go through [`Secrets::hide`] or, where the text is JSON that must stay JSON,
//! [`Secrets::hide_json`].
//!
//! A secret is looked for as it is, escaped for JSON (once and twice), percent-encoded, in
//! hexadecimal, and in Base64 wherever it begins in the encoded bytes.

mod encodings;
mod in_json;

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The fewest characters of a secret that a user names.
pub const SHORTEST: usize = 8;
/// The fewest characters of a value that is taken for a secret because of its variable's name.
pub const SHORTEST_BY_NAME: usize = 6;
/// A value of fewer different characters is found in ordinary texts.
const FEWEST_DIFFERENT: usize = 4;

/// Parts of the name of a variable whose value nobody else may read.
const SECRET_NAMES: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

/// Whether a variable of this name holds a secret, as far as the name tells.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    SECRET_NAMES.iter().any(|part| upper.contains(part))
}

/// Why a value cannot be kept secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakSecret {
    /// Too short.
    #[error("it has {0} characters; a value of fewer than {SHORTEST} stands in ordinary texts too")]
    Short(usize),
    /// Too uniform.
    #[error("it has only {0} different characters; such a value stands in ordinary texts too")]
    Uniform(usize),
}

/// Checks that a value can be told from ordinary text.
///
/// # Errors
/// Where it would be found in what is no secret.
pub fn strong_enough(value: &str) -> Result<(), WeakSecret> {
    let length = value.chars().count();
    if length < SHORTEST {
        return Err(WeakSecret::Short(length));
    }
    let different = value.chars().collect::<BTreeSet<_>>().len();
    if different < FEWEST_DIFFERENT { Err(WeakSecret::Uniform(different)) } else { Ok(()) }
}

/// Values that nobody may read, with the names that stand in their place.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// What is looked for and whose it is, the longest first, since one can be part of another.
    needles: Vec<(String, String)>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secrets").field(&self.names()).finish()
    }
}

impl Secrets {
    /// Names and values. Empty values are left out.
    pub fn new<N: Into<String>, V: AsRef<str>>(secrets: impl IntoIterator<Item = (N, V)>) -> Secrets {
        let mut all = Secrets::default();
        for (name, value) in secrets {
            all.add(name, value.as_ref());
        }
        all
    }

    /// One more. An empty value is left out.
    pub fn add(&mut self, name: impl Into<String>, value: &str) {
        if value.is_empty() {
            return;
        }
        let name = name.into();
        let forms = encodings::forms(value).into_iter().map(|form| (form, name.clone()));
        self.needles.extend(forms);
        self.needles.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.needles.dedup_by(|a, b| a.0 == b.0);
    }

    /// These and those of `other`.
    #[must_use]
    pub fn with(mut self, other: &Secrets) -> Secrets {
        self.needles.extend(other.needles.iter().cloned());
        self.needles.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.needles.dedup_by(|a, b| a.0 == b.0);
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Their names, each once.
    pub fn names(&self) -> BTreeSet<&str> {
        self.needles.iter().map(|(_, name)| name.as_str()).collect()
    }

    /// The names of the secrets that a text holds, in any of their forms.
    pub fn found_in(&self, text: &str) -> BTreeSet<&str> {
        let here = self.needles.iter().filter(|(needle, _)| text.contains(needle.as_str()));
        here.map(|(_, name)| name.as_str()).collect()
    }

    /// The same in JSON, however its strings are escaped.
    pub fn found_in_json(&self, json: &str) -> BTreeSet<&str> {
        let mut found = self.found_in(json);
        if found.len() < self.names().len() {
            in_json::each_string(json, &mut |text| found.extend(self.found_in(text)));
        }
        found
    }

    /// The text with `‹secret:NAME›` in the place of each secret.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut rest = text;
        // Whatever begins first goes first, and of two that begin together the longer one; what
        // was put in a place is not looked at again.
        while let Some((at, needle, name)) = self.first_in(rest) {
            out.push_str(&rest[..at]);
            out.push_str(&marker(name));
            rest = &rest[at + needle.len()..];
        }
        if out.is_empty() && rest.len() == text.len() {
            return Cow::Borrowed(text);
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    /// The same for a text that is owned.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// The same for JSON, or lines of it: what was valid JSON stays valid JSON.
    pub fn hide_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        if self.needles.is_empty() { Cow::Borrowed(json) } else { in_json::hide(self, json) }
    }

    fn first_in(&self, text: &str) -> Option<(usize, &str, &str)> {
        let places = self.needles.iter().filter_map(|(needle, name)| {
            text.find(needle.as_str()).map(|at| (at, needle.as_str(), name.as_str()))
        });
        // The first of equals is the longest.
        places.min_by_key(|(at, _, _)| *at)
    }
}

/// What stands in the place of a secret. Nothing that JSON, XML or Markdown would act on.
pub fn marker(name: &str) -> String {
    let safe: String =
        name.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect();
    format!("‹secret:{safe}›")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VALUE: &str = "sk-test/91+b7\"q=Z";

    fn secrets() -> Secrets {
        Secrets::new([("API_KEY", VALUE)])
    }

    #[test]
    fn a_secret_is_replaced_by_its_name_wherever_it_stands() {
        let text = format!("bad key {VALUE}, so {VALUE}");
        assert_eq!(secrets().hide(&text), "bad key ‹secret:API_KEY›, so ‹secret:API_KEY›");
        assert!(matches!(secrets().hide("nothing of it"), Cow::Borrowed("nothing of it")));
    }

    #[test]
    fn of_two_secrets_the_longer_goes_first() {
        let secrets = Secrets::new([("A", "token-"), ("B", "token-long")]);
        assert_eq!(secrets.hide("token-long token-"), "‹secret:B› ‹secret:A›");
    }

    #[test]
    fn what_stands_in_the_place_of_a_secret_is_not_looked_at_again() {
        let secrets = Secrets::new([("A", "one-value"), ("B", "secret:A")]);
        assert_eq!(secrets.hide("one-value"), "‹secret:A›");
    }

    #[test]
    fn a_weak_secret_is_refused_with_a_reason() {
        assert_eq!(strong_enough("hunter2"), Err(WeakSecret::Short(7)));
        assert_eq!(strong_enough("aaaaaaaaaaab"), Err(WeakSecret::Uniform(2)));
        assert_eq!(strong_enough("correct-horse"), Ok(()));
    }

    #[test]
    fn a_number_that_is_a_secret_leaves_json_behind() {
        let secrets = Secrets::new([("PIN", "9071263545")]);
        let json = r#"{"n":9071263545,"t":"is 9071263545","k":[-9071263545.5,true]}"#;
        let wanted = r#"{"n":"‹secret:PIN›","t":"is ‹secret:PIN›","k":["‹secret:PIN›",true]}"#;
        assert_eq!(secrets.hide_json(json), wanted);
    }

    #[test]
    fn debug_output_tells_names_and_no_value() {
        assert_eq!(format!("{:?}", secrets()), r#"Secrets({"API_KEY"})"#);
    }

    fn base64(bytes: &[u8]) -> String {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    proptest! {
        #[test]
        fn no_encoding_hides_a_secret(
            value in "[ -~]{8,24}", before in "[a-z:]{0,7}", after in "[a-z:]{0,7}", spell in 0_usize..9
        ) {
            let escaped = serde_json::to_string(&value).unwrap();
            let inner = &escaped[1..escaped.len() - 1];
            let unicode: String = value.bytes().map(|byte| format!("\\u{byte:04X}")).collect();
            let percent: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let text = match spell {
                0 => format!("{before}{value}{after}"),
                1 => format!("{before}{inner}{after}"),
                2 => base64(format!("{before}{value}{after}").as_bytes()),
                3 => base64(format!("{before}{value}{after}").as_bytes()).replace('+', "-").replace('/', "_"),
                4 => value.bytes().map(|byte| format!("{byte:02X}")).collect(),
                5 => value.bytes().map(|byte| format!("{byte:02x}")).collect(),
                6 => format!("{before}{percent}{after}"),
                7 => format!("{{\"{before}\":\"{unicode}\"}}"),
                _ => serde_json::to_string(&serde_json::json!({"text": format!("{{\"t\":{escaped}}}")})).unwrap(),
            };
            let secrets = Secrets::new([("NAME", value.as_str())]);
            prop_assert!(secrets.found_in_json(&text).contains("NAME"), "{}", text);
            let hidden = secrets.hide_json(&text).into_owned();
            prop_assert!(secrets.found_in_json(&hidden).is_empty() || marker("NAME").contains(&value), "{}", hidden);
        }

        #[test]
        fn json_stays_json(value in "[ -~äß]{8,16}|[0-9]{8,12}", keep in "[a-z]{0,6}", number in any::<i64>()) {
            let json = serde_json::to_string_pretty(&serde_json::json!({
                &value: [&value, number, {"nested": format!("{keep}{value}{keep}")}], keep.clone(): null
            })).unwrap();
            let secrets = Secrets::new([("NAME", value.as_str())]);
            let hidden = secrets.hide_json(&json);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&hidden).is_ok(), "{}", hidden);
            let without = Secrets::new([("NAME", "never-there-0")]);
            prop_assert!(without.hide_json(&json) == json.as_str());
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,80}|[\"\\\\u0-9a-f{}:,]{0,80}") {
            let _ = secrets().hide_json(&text);
            let _ = secrets().found_in_json(&text);
        }
    }
}
