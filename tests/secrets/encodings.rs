//! Ways to write a secret, by code that has nothing to do with the code that finds it.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn each(text: &str, form: fn(u8) -> String, between: &str) -> String {
    text.bytes().map(form).collect::<Vec<_>>().join(between)
}

fn wrapped(text: &str, width: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(width).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

const WAYS: [fn(&str) -> String; 14] = [
    str::to_owned,
    quoted,
    base64,
    |text| base64(text).replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned(),
    |text| wrapped(&base64(text), 12),
    |text| each(text, |byte| format!("{byte:02x}"), ""),
    |text| each(text, |byte| format!("{byte:02X}"), ":"),
    |text| each(text, |byte| format!("0x{byte:02x}"), ", "),
    |text| each(text, |byte| format!("%{byte:02X}"), ""),
    |text| each(text, |byte| format!("\\u{byte:04x}"), ""),
    |text| each(text, |byte| format!("\\x{byte:02X}"), ""),
    |text| each(text, |byte| format!("&#{byte};"), ""),
    |text| each(text, |byte| byte.to_string(), ","),
    |text| quoted(&quoted(text)),
];

/// A text that holds a secret: the whole, and what alone is the secret in it.
#[derive(Debug, Clone)]
pub struct Leak {
    pub text: String,
    pub written: String,
}

/// So many texts that hold the secret, each written in two ways, one inside the other, with something
/// around it.
pub fn leaks(secret: &str, number: usize) -> Vec<Leak> {
    let mut runner = TestRunner::deterministic();
    let parts = ("[a-z:{ ]{0,12}", "[a-z:} ]{0,12}", 0..WAYS.len(), 0..WAYS.len());
    let some = proptest::collection::vec(parts, number);
    let drawn = some.new_tree(&mut runner).unwrap().current();
    let leak = |(before, after, one, two): (String, String, usize, usize)| {
        let written = WAYS[two](&WAYS[one](secret));
        Leak { text: format!("{before} {written} {after}"), written }
    };
    drawn.into_iter().map(leak).collect()
}
