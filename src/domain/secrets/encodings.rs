//! How a value can look in a text.

use crate::domain::hex;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// The fewest characters of a form that is looked for: less is found by chance.
const SHORTEST_FORM: usize = 6;

/// Every form, none twice, the value itself among them.
pub(super) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let once = escaped(value);
    forms.push(escaped(&once));
    forms.push(once);
    for keep in ["-_.~", "-_.!~*'()", "-_.*", ""] {
        for upper in [true, false] {
            forms.push(percent(value, keep, false, upper));
            forms.push(percent(value, keep, true, upper));
        }
    }
    // Some escape letters and digits too.
    forms.push(value.bytes().map(|byte| format!("%{byte:02X}")).collect());
    forms.push(value.bytes().map(|byte| format!("%{byte:02x}")).collect());
    let digits = hex(value.as_bytes());
    forms.push(digits.to_uppercase());
    forms.push(digits);
    forms.extend(base64_forms(value.as_bytes()));
    forms.retain(|form| form == value || form.len() >= SHORTEST_FORM);
    forms.sort();
    forms.dedup();
    forms
}

/// As it stands in a JSON string, without the quotes.
fn escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn percent(value: &str, keep: &str, plus: bool, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || keep.contains(character) {
            out.push(character);
        } else if plus && character == ' ' {
            out.push('+');
        } else if upper {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// What Base64 makes of a value that begins at each of the three places in its groups: the
/// characters that it alone decides, and the whole with its padding where nothing surrounds it.
fn base64_forms(value: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for engine in [STANDARD, URL_SAFE] {
        let whole = engine.encode(value);
        forms.push(whole.trim_end_matches('=').to_owned());
        forms.push(whole);
        for before in 0..3 {
            let mut bytes = vec![0; before];
            bytes.extend_from_slice(value);
            let encoded = engine.encode(&bytes);
            // Six bits a character: the first and last ones can depend on what surrounds the value.
            let from = (before * 8).div_ceil(6);
            let to = bytes.len() * 8 / 6;
            forms.extend(encoded.get(from..to).map(str::to_owned));
        }
    }
    forms
}
