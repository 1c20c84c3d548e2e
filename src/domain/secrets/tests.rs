//! Every encoding, and what stays as it is.

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
fn a_variable_holds_a_secret_by_its_name_where_its_value_could_be_one() {
    for (name, value, is) in [
        ("OPENAI_API_KEY", "sk-5f8e1c0b", true),
        ("DB_PASSWORD", "correct-horse-battery", true),
        ("OPENAI_API_KEY", "ollama", false),
        ("OPENAI_API_KEY", "not-needed", false),
        ("AUTH_MODE", "required", false),
        ("KEYCLOAK_URL", "http://127.0.0.1:8080/auth", false),
        ("MODEL", "qwen3-coder-30b", false),
    ] {
        assert_eq!(is_secret(name, value), is, "{name}={value}");
    }
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

/// Ways to write a text, by number.
const ENCODINGS: usize = 19;

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn lines(text: &str, width: usize, between: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let lines: Vec<String> = characters.chunks(width).map(|line| line.iter().collect()).collect();
    lines.join(between)
}

fn each(text: &str, form: impl Fn(u8) -> String, between: &str) -> String {
    text.bytes().map(form).collect::<Vec<_>>().join(between)
}

/// One of the ways to write a text.
fn encoded(text: &str, how: usize) -> String {
    let bytes = text.as_bytes();
    let url_safe = |text: String| text.replace('+', "-").replace('/', "_");
    match how {
        0 => text.to_owned(),
        1 => serde_json::to_string(text).unwrap(),
        2 => text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect(),
        3 => each(text, |byte| format!("\\x{byte:02x}"), ""),
        4 => each(text, |byte| format!("%{byte:02x}"), ""),
        5 => each(
            text,
            |byte| {
                if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") }
            },
            "",
        ),
        6 => text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
        7 => text.chars().map(|c| format!("&#x{:X};", u32::from(c))).collect(),
        8 => base64(bytes),
        9 => url_safe(base64(bytes)).trim_end_matches('=').to_owned(),
        10 => lines(&base64(bytes), 8, "\r\n"),
        11 => lines(&base64(bytes), 5, "\n  "),
        12 => each(text, |byte| format!("{byte:02x}"), ""),
        13 => each(text, |byte| format!("{byte:02X}"), ":"),
        14 => each(text, |byte| format!("0x{byte:02x}"), ", "),
        15 => lines(&each(text, |byte| format!("{byte:02x}"), " "), 24, "\n"),
        16 => each(text, |byte| byte.to_string(), ", "),
        17 if text.is_ascii() => base64(&text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
        _ if text.contains(' ') => text.replace(' ', "\n    "),
        _ => lines(text, 5, "\n    "),
    }
}

#[test]
fn every_encoding_is_undone() {
    for how in 0..ENCODINGS {
        let text = encoded(VALUE, how);
        assert_eq!(secrets().found_in(&text), BTreeSet::from(["API_KEY"]), "{how}: {text}");
        let hidden = secrets().hide(&text).into_owned();
        assert!(hidden.contains("‹secret:API_KEY›"), "{how}: {hidden}");
        assert!(secrets().found_in(&hidden).is_empty(), "{how}: {hidden}");
        let left = hidden.replace("‹secret:API_KEY›", "");
        assert!(left.len() <= 4, "{how}: {left}");
    }
}

#[test]
fn a_secret_of_several_lines_is_found_without_them() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    let secrets = Secrets::new([("PEM", key)]);
    for between in ["\n", "\r\n", "", "\\n"] {
        let text = key.trim().replace('\n', between);
        assert_eq!(secrets.hide(&format!("<{text}>")), "<‹secret:PEM›>", "{text}");
    }
}

#[test]
fn a_secret_that_is_cut_into_strings_is_hidden_in_each() {
    let secrets = Secrets::new([("KEY", "sk-0123456789abcdef")]);
    let json = r#"{"content":[{"type":"text","text":"is sk-01234"},{"type":"text","text":"56789"},{"type":"text","text":"abcdef."}]}"#;
    assert_eq!(secrets.found_in_json(json), BTreeSet::from(["KEY"]));
    let wanted = r#"{"content":[{"type":"text","text":"is ‹secret:KEY›"},{"type":"text","text":"‹secret:KEY›"},{"type":"text","text":"‹secret:KEY›."}]}"#;
    assert_eq!(secrets.hide_json(json), wanted);
    let halves = base64(b"sk-0123456789abcdef");
    let json = serde_json::json!([{"text": &halves[..9]}, {"text": &halves[9..]}]).to_string();
    assert_eq!(secrets.found_in_json(&json), BTreeSet::from(["KEY"]));
}

#[test]
fn the_larger_half_of_a_cut_secret_is_hidden() {
    let secrets = Secrets::new([("KEY", "sk-0123456789abcdef")]);
    assert_eq!(
        secrets.hide("token sk-0123456\n… 9 bytes dropped …\n3456789abcdef ok"),
        "token ‹secret:KEY›\n… 9 bytes dropped …\n‹secret:KEY› ok"
    );
    assert_eq!(
        secrets.hide_json(r#"{"a":"x sk-0123456789","b":"sk-01234"}"#),
        r#"{"a":"x ‹secret:KEY›","b":"sk-01234"}"#
    );
    assert_eq!(secrets.hide_json("token sk-0123456"), "token ‹secret:KEY›");
    assert!(secrets.found_in("token sk-0123456").is_empty());
}

#[test]
fn what_comes_in_pieces_is_found_with_the_last_one() {
    let secrets = Secrets::new([("KEY", "sk-0123456789abcdef")]);
    let mut pieces = Pieces::default();
    let message =
        |text: &str| serde_json::json!({"method": "progress", "params": {"message": text}}).to_string();
    let mut found = |stream: u8, text: &str| !pieces.found(&secrets, &stream, &message(text)).is_empty();
    assert!(!found(1, "the key is sk-01234") && !found(2, "56789abcdef"));
    assert!(!found(1, "567"));
    assert!(found(1, "89abcdef, and more"));
    assert!(!found(1, "nothing"));
    assert!(!found(3, "sk-01234") && !found(3, " between ") && !found(3, "56789abcdef"));
}

#[test]
fn a_file_that_is_no_text_keeps_its_length() {
    let mut bytes = b"SQLite\0\xff\xfe".to_vec();
    bytes.extend_from_slice(VALUE.as_bytes());
    bytes.extend(VALUE.encode_utf16().flat_map(u16::to_le_bytes));
    let before = bytes.len();
    assert_eq!(secrets().hide_in_bytes(&mut bytes), BTreeSet::from(["API_KEY"]));
    assert_eq!(bytes.len(), before);
    assert!(bytes.starts_with(b"SQLite\0\xff\xfe****"));
    assert!(secrets().found_in_bytes(&bytes).is_empty());
}

#[test]
fn a_long_text_is_looked_at_to_its_end() {
    for before in [262_100, 262_130, 262_144, 700_000] {
        let text = format!("{}{}{}", "ab ".repeat(before / 3), base64(VALUE.as_bytes()), "x".repeat(20));
        assert_eq!(secrets().found_in(&text), BTreeSet::from(["API_KEY"]));
        assert!(secrets().hide(&text).contains("‹secret:API_KEY›"));
    }
}

#[test]
fn much_space_is_passed_over_once() {
    let (first, last) = VALUE.split_at(9);
    let text = format!("{}{first}\n{}{last}", " ".repeat(250_000), " ".repeat(250));
    assert_eq!(secrets().found_in(&text), BTreeSet::from(["API_KEY"]));
}

#[test]
fn the_first_of_the_words_that_holds_a_secret_is_told_of() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    assert_eq!(secrets().first_in(&words(&["serve", &format!("--key={VALUE}")])), Some("API_KEY"));
    assert_eq!(secrets().first_in(&words(&["serve", "--key"])), None);
}

#[test]
fn one_secret_in_another_is_told_of_too() {
    let secrets = Secrets::new([("URL", "https://u:token-xyz123@host"), ("TOKEN", "token-xyz123")]);
    let text = "at https://u:token-xyz123@host";
    assert_eq!(secrets.found_in(text), BTreeSet::from(["TOKEN", "URL"]));
    assert_eq!(secrets.hide(text), "at ‹secret:URL›");
}

proptest! {
    #[test]
    fn no_encoding_hides_a_secret(
        value in "[ -~]{8,24}|[a-zäöß€]{8,12}", before in "[a-z:{ ]{0,9}", after in "[a-z:}\n]{0,9}",
        one in 0..ENCODINGS, two in 0..ENCODINGS, three in 0..2_usize
    ) {
        // Line by line the beginnings are lost.
        prop_assume!(value.trim() == value && value.chars().collect::<BTreeSet<_>>().len() >= 4);
        let inner = encoded(&format!("{before}{}{after}", encoded(&value, one)), two);
        let text = encoded(&inner, three);
        let secrets = Secrets::new([("NAME", value.as_str())]);
        for json in [text.clone(), serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string()] {
            let (hidden, told) = secrets.hide_json_telling(&json);
            prop_assert!(told.contains("NAME") && told == secrets.found_in_json(&json), "{}", json);
            let hidden = hidden.into_owned();
            let left = hidden.replace(&marker("NAME"), "");
            prop_assert!(secrets.found_in_json(&left).is_empty() && hidden != json, "{} ← {}", hidden, json);
        }
    }

    #[test]
    fn json_stays_json(value in "[ -~äß]{8,16}|[0-9]{8,12}", keep in "[a-z]{0,6}", number in any::<i64>(), how in 0..ENCODINGS) {
        let json = serde_json::to_string_pretty(&serde_json::json!({
            &value: [&value, number, {"nested": format!("{keep}{value}{keep}")}], keep.clone(): encoded(&value, how),
            "bytes": value.as_bytes(),
        })).unwrap();
        let secrets = Secrets::new([("NAME", value.as_str())]);
        let hidden = secrets.hide_json(&json);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&hidden).is_ok(), "{}", hidden);
        let without = Secrets::new([("NAME", "never-there-0")]);
        prop_assert!(without.hide_json(&json) == json.as_str());
    }

    #[test]
    fn ordinary_text_is_left_alone(words in "([a-zA-Z]{1,12}[ ,.:\n]){1,80}", value in "[A-Za-z0-9]{16,32}") {
        let secrets = Secrets::new([("NAME", value.as_str())]);
        prop_assert!(words.contains(&value) || matches!(secrets.hide(&words), Cow::Borrowed(_)));
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,80}|[\"\\\\u0-9a-f{}:,&#;%]{0,80}", bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let secrets = secrets().with(&Secrets::new([("OTHER", "äöü-ß€-12345")]));
        let _ = secrets.hide_json(&text);
        let _ = secrets.hide(&text);
        let _ = secrets.hide_in_bytes(&mut bytes.clone());
        let _ = Pieces::default().found(&secrets, &0, &text);
    }
}

#[test]
fn json_of_any_depth_is_searched() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!(r#"{}"{VALUE}"{}"#, open.repeat(100_000), close.repeat(100_000));
        assert_eq!(secrets().found_in_json(&deep), BTreeSet::from(["API_KEY"]));
        assert!(!secrets().hide_json(&deep).contains(VALUE));
    }
}
