//! A part of a file that is a JSON value of the user's own: arguments of a call, a body.

use super::tree::{Kind, Node};
use serde_json::{Map, Number, Value};

/// The value as JSON, as YAML 1.2 reads it: a scalar without quotes is a number, `true`, `false` or
/// `null` where it looks like one.
pub fn json(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Scalar { text, plain: true } => plain(text),
        Kind::Scalar { text, plain: false } => Value::String(text.clone()),
        Kind::Seq(items) => Value::Array(items.iter().map(json).collect()),
        Kind::Map(entries) => object(entries.iter().map(|(key, node)| (key.text.as_str(), node))),
    }
}

fn object<'n>(entries: impl Iterator<Item = (&'n str, &'n Node)>) -> Value {
    Value::Object(entries.map(|(key, node)| (key.to_owned(), json(node))).collect::<Map<_, _>>())
}

fn plain(text: &str) -> Value {
    match text {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    // `1_000`, `0x10`, `.5` and dates are texts here: JSON has none of them.
    let number = text.parse::<Number>();
    number.map_or_else(|_| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics::Source;
    use super::super::tree;
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_are_what_yaml_says_that_they_are() {
        let source = Source::new(
            "a.yaml",
            "{a: 1, b: '1', c: true, d: yes, e: ~, f: 1.5, g: [x, 2026-12-03], h: 0x10, i: -3}",
        );
        let value = json(&tree::parse(&source).0.unwrap());
        let wanted = json!({"a": 1, "b": "1", "c": true, "d": "yes", "e": null, "f": 1.5,
            "g": ["x", "2026-12-03"], "h": "0x10", "i": -3});
        assert_eq!(value, wanted);
    }
}
