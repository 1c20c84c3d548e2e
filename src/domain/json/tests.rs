use super::super::RawJson;
use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn same(a: &str, b: &str) {
    assert_eq!(canonical(a), canonical(b), "{a} and {b} are the same value");
    assert_eq!(digest(a), digest(b));
}

fn differ(a: &str, b: &str) {
    assert_ne!(canonical(a), canonical(b), "{a} and {b} are different values");
    assert_ne!(digest(a), digest(b));
}

fn split(arguments: &str, key_fields: &[&str]) -> Split {
    let key_fields: Vec<String> = key_fields.iter().map(|name| (*name).to_owned()).collect();
    split_keys(Some(&RawJson::parse(arguments).unwrap()), &key_fields)
}

fn keys(split: &Split) -> Vec<(&str, &str)> {
    split.keys.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[test]
fn j1_form() {
    let text = r#" { "b" : [ 1.50 , true, null ] , "a" : "\u0041\/\n" } "#;
    assert_eq!(canonical(text), r#"{"a":"A/\u000a","b":[1.5,true,null]}"#);
    assert_eq!(canonical("{}"), "{}");
    assert_eq!(canonical("[[],{}]"), "[[],{}]");
    assert_eq!(digest("{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

#[test]
fn j1_key_order_is_irrelevant_array_order_is_not() {
    same(r#"{"a":1,"b":{"c":2,"d":3}}"#, r#"{"b":{"d":3,"c":2},"a":1}"#);
    same(r#"{"\u0061":1}"#, r#"{"a":1}"#);
    differ("[1,2]", "[2,1]");
    differ("[]", "{}");
    differ(r#"{"a":null}"#, "{}");
}

#[test]
fn j1_numbers_by_value() {
    for spelling in ["1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000", "1e-0", "0.0000001e7"] {
        same("1", spelling);
    }
    for zero in ["-0", "0.0", "0e5", "-0.0e-99999999999999999999999999999999999999999999"] {
        same("0", zero);
    }
    same("1000000000000000000000000000000", "1e30");
    same("-12.50", "-1250e-2");
    same("1.5e-30", "15e-31");
    differ("1", "-1");
    differ("9007199254740993", "9007199254740992");
    differ("0.1", "0.1000000000000000055511151231257827");
    differ("1", "\"1\"");
    assert_eq!(
        canonical("[1200, 0.00012e1, 1e21, 1e20, 123e-1]"),
        "[1200,0.0012,1e21,100000000000000000000,12.3]"
    );
}

#[test]
fn j1_exponents_without_limit() {
    let huge = "999999999999999999999999999999999999999999";
    same(&format!("1e{huge}"), &format!("1.00e+0{huge}"));
    same(&format!("10e{huge}"), "1e1000000000000000000000000000000000000000000");
    same(&format!("0.1e-{huge}"), "1e-1000000000000000000000000000000000000000000");
    same("10e-1000000000000000000000000000000", "1e-999999999999999999999999999999");
    same("1e999999999999999999999", "10e999999999999999999998");
    differ("1e999999999999999999999", "1e999999999999999999998");
    differ(&format!("1e{huge}"), &format!("1e-{huge}"));
    differ("1e400", "1e401");
}

#[test]
fn j1_strings_code_point_by_code_point() {
    same(r#""\u00e9\ud83d\ude00""#, "\"é😀\"");
    same(r#""\"\\\/\b\f\n\r\t""#, r#""\u0022\u005C\u002f\u0008\u000C\u000a\u000d\u0009""#);
    differ("\"é\"", "\"e\u{301}\"");
    differ(r#""\\u0061""#, r#""a""#);
    differ(r#""A""#, r#""a""#);
    let lone =
        [r#""\ud83d""#, r#""\ude00""#, r#""\ud83e""#, r#""\\ud83d""#, r#""\ud83d\ud83d""#, "\"\u{fffd}\""];
    for (index, a) in lone.iter().enumerate() {
        for b in &lone[index + 1..] {
            differ(a, b);
        }
    }
    same(r#""\ud83d""#, r#""\uD83D""#);
    differ(r#""\ude00\ud83d""#, r#""\ud83d\ude00""#);
}

#[test]
fn j1_nothing_is_dropped() {
    differ(r#"{"__proto__":1}"#, r#"{"__proto__":2}"#);
    differ(r#"{"__proto__":1}"#, "{}");
    differ(r#"{"":1}"#, "{}");
}

#[test]
fn j1_of_equal_keys_the_last_counts() {
    same(r#"{"a":1,"b":3,"a":2}"#, r#"{"a":2,"b":3}"#);
    same(r#"{"a":1,"\u0061":[{"x":1,"x":2}]}"#, r#"{"a":[{"x":2}]}"#);
}

#[test]
fn j1_what_is_no_json_equals_only_itself() {
    let broken = [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "[}",
        "{]",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "1 1",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\u{1}\"",
        "nul",
        "nulll",
        "tru",
        "\"\\uD83D\\u\"",
        "[,1]",
        "\u{feff}1",
        "NaN",
    ];
    for text in broken {
        assert_eq!(canonical(text), text);
        assert!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_err(), "{text}");
    }
}

#[test]
fn j1_a_hundred_thousand_levels() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000))
    };
    assert_eq!(canonical(&deep("[", "1.0", "]")), deep("[", "1", "]"));
    same(&deep("{ \"a\":", "1.0", "}"), &deep("{\"a\":", "1", "}"));
    let arguments = RawJson::parse(&deep("{\"a\":", "1", "}")).unwrap();
    assert_eq!(split_keys(Some(&arguments), &["a".to_owned()]).operation, "{}");
    assert_eq!(canonical(&"[".repeat(100_000)), "[".repeat(100_000));
}

#[test]
fn j1_long_text_in_one_pass() {
    let digits = "7".repeat(5_000_000);
    assert_eq!(canonical(&digits), digits);
    same(&format!("0.{digits}"), &format!("{digits}e-5000000"));
    let members: Vec<String> =
        (0..100_000).rev().map(|n| format!("\"field {n:06}\": \"value\\n{n}\"")).collect();
    let object = format!("{{{}}}", members.join(", "));
    let sorted: Vec<String> = members.iter().rev().cloned().collect();
    same(&object, &format!("{{{}}}", sorted.join(",")));
}

#[test]
fn j2_key_fields_are_removed() {
    let found = split(r#"{"guest": "Ada", "idempotency_key": "a", "room": 12.0}"#, &["idempotency_key"]);
    assert_eq!(found.operation, r#"{"guest":"Ada","room":12}"#);
    assert_eq!(keys(&found), [("idempotency_key", "\"a\"")]);
    assert_eq!(found.rest.get(), r#"{"guest": "Ada", "room": 12.0}"#);
}

#[test]
fn j2_names_without_case_and_separators() {
    for name in
        ["idempotency_key", "Idempotency-Key", "idempotencyKey", "IDEMPOTENCYKEY", "idempotency\\u005fkey"]
    {
        let found = split(&format!("{{\"{name}\":1,\"a\":2}}"), &["idempotency_key"]);
        assert_eq!(found.operation, r#"{"a":2}"#, "{name}");
        assert_eq!(found.keys.len(), 1);
    }
    for name in ["idempotency key", "idempotency.key", "key", "idempotency_keys", ""] {
        let found = split(&format!("{{\"{name}\":1}}"), &["idempotency_key"]);
        assert!(found.keys.is_empty(), "{name}");
        assert_eq!(found.operation, format!("{{\"{name}\":1}}"));
    }
}

#[test]
fn j2_top_level_only() {
    let text =
        r#"{"meta":{"idempotency_key":"a"},"list":[{"idempotency_key":"b"}],"s":",\"idempotency_key\":1"}"#;
    let found = split(text, &["idempotency_key"]);
    assert!(found.keys.is_empty());
    assert_eq!(found.rest.get(), text);
    assert_eq!(found.operation, canonical(text));
}

#[test]
fn j2_the_list_replaces_the_default() {
    let text = r#"{"idempotency_key":"a","requestId":"b","clientToken":"c"}"#;
    let found = split(text, &["request_id", "client-token"]);
    assert_eq!(found.operation, r#"{"idempotency_key":"a"}"#);
    assert_eq!(keys(&found), [("requestId", "\"b\""), ("clientToken", "\"c\"")]);
    assert_eq!(split(text, &[]).operation, canonical(text));
    assert!(split(r#"{"_":1,"":2}"#, &["-", ""]).keys.is_empty());
}

#[test]
fn j2_keys_sent_twice() {
    let found = split(r#"{ "k":1, "K":2, "k":3.0 }"#, &["k"]);
    assert_eq!(keys(&found), [("K", "2"), ("k", "3")]);
    assert_eq!((found.operation.as_str(), found.rest.get()), ("{}", "{}"));
}

#[test]
fn j2_no_arguments_and_no_object() {
    let keys = ["k".to_owned()];
    let absent = split_keys(None, &keys);
    assert_eq!((absent.operation.as_str(), absent.rest.get()), ("{}", "{}"));
    assert_eq!(absent.operation, split("{ }", &["k"]).operation);
    assert_eq!(absent, split("null", &["k"]), "what some clients send where there are none");
    for text in ["[\"k\"]", "\"{k:1}\"", "7"] {
        let found = split(text, &["k"]);
        assert_eq!((found.operation.as_str(), found.rest.get(), found.keys.len()), (text, text, 0));
    }
}

#[test]
fn escapes_go_back_to_characters() {
    for (json, text) in
        [(r#""a\\u0041\n\"é""#, "a\\u0041\n\"é"), (r#""\ud800x""#, "\u{10d800}x"), (r#""\u0000""#, "\0")]
    {
        let tree = Tree::parse(json).unwrap();
        let Node::String(escaped) = tree.node(tree.root()) else { panic!("{json} is a string") };
        assert_eq!(unescape(escaped), text);
    }
}

/// A value of a few levels with small integers, so that equal ones happen.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..1200).prop_map(Value::from),
        "[a-c\"\\\\\u{e9}\n]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The same value, written another way: keys turned round, numbers with fractions and
/// exponents, characters escaped, white space.
fn respelled(value: &Value) -> String {
    match value {
        // Zeros do not begin a number.
        Value::Number(number) if number.as_i64() == Some(0) => " -0.00e-2 ".to_owned(),
        Value::Number(number) => format!(" {number}00.0e-2 "),
        Value::String(text) => {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            format!("\"{escaped}\"")
        }
        Value::Array(items) => format!("[\n{}]", items.iter().map(respelled).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let member = |(name, value): (&String, &Value)| format!("\"{name}\" :{}", respelled(value));
            format!("{{{}\t}}", map.iter().rev().map(member).collect::<Vec<_>>().join(" , "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn j1_idempotent(value in value()) {
        let once = canonical(&value.to_string());
        prop_assert_eq!(canonical(&once), once);
    }

    #[test]
    fn j1_spelling_does_not_matter(value in value()) {
        prop_assert_eq!(canonical(&respelled(&value)), canonical(&value.to_string()));
    }

    #[test]
    fn j1_agrees_with_value_equality(a in value(), b in value()) {
        prop_assert_eq!(canonical(&a.to_string()) == canonical(&b.to_string()), a == b);
        prop_assert_eq!(serde_json::from_str::<Value>(&canonical(&a.to_string())).unwrap(), a);
    }

    #[test]
    fn j1_numbers_with_shifted_points(digits in "[1-9][0-9]{0,40}", places in 0_usize..60, exponent in -40_i64..40) {
        let zeros = "0".repeat(places);
        let written = format!("{digits}{zeros}e{exponent}");
        prop_assert_eq!(canonical(&written), canonical(&format!("{digits}e{}", exponent + places as i64)));
        prop_assert_eq!(canonical(&written), canonical(&format!("0.{zeros}{digits}e{}", exponent + (2 * places + digits.len()) as i64)));
        prop_assert_eq!(canonical(&canonical(&written)), canonical(&written));
    }

    #[test]
    fn j1_any_text(text in any::<String>()) {
        let once = canonical(&text);
        prop_assert_eq!(canonical(&once), once);
    }

    #[test]
    fn j1_damaged_json(value in value(), at in any::<prop::sample::Index>(), put in "[\\[\\]{}\",:\\\\u0-9eE.+a-]{0,3}") {
        let mut characters: Vec<char> = value.to_string().chars().collect();
        let place = at.index(characters.len());
        characters.splice(place..=place, put.chars());
        let text: String = characters.into_iter().collect();
        let once = canonical(&text);
        prop_assert_eq!(canonical(&once), once.clone());
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(Tree::parse(&text).is_some(), is_json, "{}", text);
        if let Ok(raw) = RawJson::parse(&text) {
            let found = split_keys(Some(&raw), &["a".to_owned()]);
            prop_assert_eq!(&found.operation, &canonical(found.rest.get()));
        }
    }
}
