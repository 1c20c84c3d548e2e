//! Secrets in JSON text, whose strings can spell every character in several ways. Nothing but the
//! tokens that hold a secret is written anew.

use super::{Secrets, marker};
use std::borrow::Cow;

/// A piece of JSON text.
enum Token<'t> {
    /// A string with its quotes.
    String(&'t str),
    /// A number, `true`, `false`, `null`.
    Word(&'t str),
    /// Space and punctuation.
    Other(&'t str),
}

/// Text that is not JSON comes as some sequence of tokens too; together they are the whole text.
fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let (end, kind): (usize, fn(&str) -> Token<'_>) = if first == '"' {
            (string_end(rest), |text| Token::String(text))
        } else if is_word(first) {
            (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), |text| Token::Word(text))
        } else {
            (rest.find(|c| c == '"' || is_word(c)).unwrap_or(rest.len()), |text| Token::Other(text))
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(kind(token))
    })
}

/// Behind the closing quote, or the end of the text.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Calls `seen` with what every string says.
pub(super) fn each_string(json: &str, seen: &mut dyn FnMut(&str)) {
    for token in tokens(json) {
        if let Token::String(written) = token
            && let Ok(text) = serde_json::from_str::<String>(written)
        {
            seen(&text);
            // JSON in a string, as tools answer it.
            if text.contains('\\') {
                for inner in tokens(&text) {
                    if let Token::String(written) = inner
                        && let Ok(text) = serde_json::from_str::<String>(written)
                    {
                        seen(&text);
                    }
                }
            }
        }
    }
}

pub(super) fn hide<'t>(secrets: &Secrets, json: &'t str) -> Cow<'t, str> {
    if secrets.found_in_json(json).is_empty() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for token in tokens(json) {
        match token {
            Token::String(written) => out.push_str(&string(secrets, written)),
            Token::Word(word) => match secrets.found_in(word).first() {
                Some(name) => out.push_str(&format!("\"{}\"", marker(name))),
                None => out.push_str(word),
            },
            Token::Other(text) => out.push_str(text),
        }
    }
    // What is left lies across tokens: such a text is no JSON, or the secret has JSON's own signs.
    match secrets.found_in(&out).is_empty() {
        true => Cow::Owned(out),
        false => Cow::Owned(secrets.hide(&out).into_owned()),
    }
}

fn string<'t>(secrets: &Secrets, written: &'t str) -> Cow<'t, str> {
    let Ok(text) = serde_json::from_str::<String>(written) else { return secrets.hide(written) };
    let inner = if text.contains('\\') && is_json(&text) {
        hide(secrets, &text)
    } else {
        Cow::Borrowed(text.as_str())
    };
    match secrets.hide(&inner) {
        Cow::Borrowed(same) if same == text => Cow::Borrowed(written),
        hidden => Cow::Owned(serde_json::Value::from(hidden.as_ref()).to_string()),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
