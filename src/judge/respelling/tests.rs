use unicode_normalization::UnicodeNormalization;

use super::Relation::{Different, Respelled, Same};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn of(a: &str, b: &str) -> Relation {
    let keys = ["idempotency_key".to_owned()];
    let (a, b) = (RawJson::parse(a).unwrap(), RawJson::parse(b).unwrap());
    let (forth, back) = (relation(Some(&a), Some(&b), &keys), relation(Some(&b), Some(&a), &keys));
    assert_eq!(forth, back, "{a} and {b}: one way and back");
    assert_eq!(is_respelling(Some(&a), Some(&b), &keys), forth == Respelled);
    forth
}

fn all(expected: Relation, pairs: &[(Value, Value)]) {
    for (a, b) in pairs {
        let (a, b) = (a.to_string(), b.to_string());
        assert_eq!(of(&a, &b), expected, "{a} {b}");
    }
}

/// The pair as values of a field, in an object inside, and in an array inside.
fn at_every_level(expected: Relation, pairs: &[(Value, Value)]) {
    for (a, b) in pairs {
        all(
            expected,
            &[
                (json!({"v": a}), json!({"v": b})),
                (json!({"x": 1, "in": {"v": a, "y": 2}}), json!({"x": 1, "in": {"v": b, "y": 2}})),
                (json!({"list": ["-", a]}), json!({"list": ["-", b]})),
                (json!({"list": [{"v": a}, [[a]]]}), json!({"list": [{"v": b}, [[b]]]})),
            ],
        );
    }
}

#[test]
fn j25_equal_arguments_are_the_same_operation() {
    assert_eq!(of(r#"{"a":1,"b":[1.0]}"#, r#"{"b":[1e0],"a":1}"#), Same);
    assert_eq!(of(r#"{"a":1,"idempotency_key":"x"}"#, r#"{"Idempotency-Key":"y","a":1}"#), Same);
    assert_eq!(relation(None, RawJson::parse("{}").ok().as_ref(), &[]), Same);
}

#[test]
fn j25_key_fields_are_removed_first() {
    assert_eq!(of(r#"{"a":1,"idempotency_key":"x"}"#, r#"{"a":"1"}"#), Respelled);
    // With the keys counted, half of the fields would be common.
    assert_eq!(
        of(r#"{"a":1,"b":2,"c":3,"idempotency_key":"x"}"#, r#"{"a":1,"idempotency_key":"x"}"#),
        Different
    );
}

#[test]
fn j25_number_as_string() {
    at_every_level(
        Respelled,
        &[
            (json!(12), json!("12")),
            (json!(1000), json!("1e3")),
            (json!(12), json!("12.00")),
            (json!(-1.5), json!("-1.50")),
            (json!(12), json!(" 12 ")),
            (json!(12), json!("１２")),
            (json!(12), json!("0012")),
            (json!(1250), json!("+1250")),
        ],
    );
    at_every_level(
        Different,
        &[
            (json!(12), json!("13")),
            (json!(12), json!("")),
            (json!(0), json!("")),
            (json!(12), json!("12 EUR")),
            (json!(12), json!("0x0c")),
            (json!(1250), json!("1,250")),
            (json!(12), json!("1.2.")),
            (json!(1), json!(true)),
            (json!(0), json!(null)),
            (json!("true"), json!(true)),
            (json!("null"), json!(null)),
            (json!(12), json!([12])),
            (json!("."), json!(0)),
            (json!("e3"), json!(1000)),
        ],
    );
    assert_eq!(of(r#"{"n":9007199254740993}"#, r#"{"n":"9007199254740993"}"#), Respelled);
    assert_eq!(of(r#"{"n":9007199254740993}"#, r#"{"n":"9007199254740992"}"#), Different);
    assert_eq!(of(r#"{"n":1e400}"#, r#"{"n":"1E+400"}"#), Respelled);
}

#[test]
fn j25_two_number_strings() {
    at_every_level(
        Respelled,
        &[
            (json!("129.00"), json!("129")),
            (json!("0.50"), json!("0.5")),
            (json!("-1.0"), json!("-1")),
            (json!("1E3"), json!("1e3")),
            (json!("0012"), json!("00 12")),
        ],
    );
    at_every_level(
        Different,
        &[
            (json!("0012"), json!("12")),
            (json!("1e3"), json!("1000")),
            (json!("+1250"), json!("1250")),
            (json!("129"), json!("130")),
            (json!("1."), json!("1")),
            (json!(".5"), json!("0.5")),
            (json!("00.5"), json!("0.5")),
        ],
    );
}

#[test]
fn j25_letter_case() {
    at_every_level(
        Respelled,
        &[
            (json!("Ada"), json!("ADA")),
            (json!("Straße"), json!("STRASSE")),
            (json!("Ümlaut"), json!("ümLAUT")),
            (json!("ΟΔΟΣ"), json!("οδος")),
            (json!("İstanbul"), json!("istanbul")),
            (json!("İstanbul"), json!("i\u{307}stanbul")),
            (json!("\u{390}"), json!("\u{3aa}\u{301}")),
        ],
    );
    at_every_level(Different, &[(json!("Ada"), json!("Adam")), (json!("e"), json!("é"))]);
    assert_eq!(of(r#"{"name":1,"b":2}"#, r#"{"Name":1,"b":2}"#), Different);
}

#[test]
fn j25_white_space() {
    at_every_level(
        Respelled,
        &[
            (json!("CH93 0076 2011"), json!("CH9300762011")),
            (json!("a b"), json!("a  b\n")),
            (json!("a b"), json!("a\u{a0}b")),
            (json!("a b"), json!("a\u{3000}\tb")),
            (json!(" "), json!("")),
        ],
    );
    at_every_level(Different, &[(json!("a-b"), json!("a b")), (json!("a_b"), json!("ab"))]);
}

#[test]
fn j25_normal_form() {
    at_every_level(
        Respelled,
        &[
            (json!("é"), json!("e\u{301}")),
            (json!("ﬁn"), json!("fin")),
            (json!("Ａｄａ"), json!("ada")),
            (json!("m²"), json!("m2")),
            (json!("\u{1e69}"), json!("s\u{307}\u{323}")),
            (json!("한"), json!("\u{1112}\u{1161}\u{11ab}")),
        ],
    );
    at_every_level(Different, &[(json!("é"), json!("è")), (json!("а"), json!("a"))]);
}

#[test]
fn j25_invisible_characters() {
    for unseen in [
        "\u{200b}",
        "\u{ad}",
        "\u{200e}",
        "\u{202e}",
        "\u{feff}",
        "\u{2060}",
        "\u{fe0f}",
        "\u{e0101}",
        "\u{180b}",
        "\u{e0041}",
    ] {
        at_every_level(
            Respelled,
            &[
                (json!("Ada"), json!(format!("A{unseen}da"))),
                (json!("é"), json!(format!("e{unseen}\u{301}"))),
                (json!("12"), json!(format!("12{unseen}.0"))),
                (json!(null), json!(unseen)),
            ],
        );
    }
    at_every_level(Different, &[(json!("a"), json!("a\u{0}")), (json!("👍"), json!("👍🏽"))]);
}

#[test]
fn j25_null_for_empty() {
    at_every_level(Respelled, &[(json!(null), json!("")), (json!(null), json!(" "))]);
    at_every_level(
        Different,
        &[
            (json!(null), json!("x")),
            (json!(null), json!(false)),
            (json!(null), json!([])),
            (json!(null), json!({})),
            (json!(""), json!([])),
        ],
    );
}

#[test]
fn j25_order_of_array_elements() {
    at_every_level(
        Respelled,
        &[
            (json!(["bed", "tea"]), json!(["tea", "bed"])),
            (json!([1, [2, 3]]), json!([[3, 2], 1])),
            (json!([1, "2", null]), json!(["", "1", 2])),
            (json!(["a", "a", "b"]), json!(["b", "A", "a"])),
        ],
    );
    at_every_level(
        Different,
        &[
            (json!(["a", "b"]), json!(["a"])),
            (json!(["a", "b"]), json!(["a", "b", "b"])),
            (json!(["a", "a", "b"]), json!(["a", "b", "b"])),
            (json!([]), json!([null])),
            (json!([[1], [2]]), json!([[1, 2]])),
            (json!(["a"]), json!("a")),
        ],
    );
}

#[test]
fn j25_elements_are_matched_one_to_one() {
    // 1000 is "1000" and "1e3", which are not each other: who takes whom matters.
    assert_eq!(of(r#"{"l":["1e3",1000]}"#, r#"{"l":[1000,"1000"]}"#), Respelled);
    assert_eq!(of(r#"{"l":["1e3","1e3"]}"#, r#"{"l":[1000,"1000"]}"#), Different);
    // Two elements that only fit the same partner.
    let (one, two) = (json!({"a": 1}), json!({"a": 1, "b": 2}));
    let (three, four) = (json!({"a": 1, "c": 3}), json!({"a": 1, "b": 2, "d": 4}));
    all(Respelled, &[(json!({"l": [one, two]}), json!({"l": [four, three]}))]);
    all(Different, &[(json!({"l": [one, one]}), json!({"l": [four, three]}))]);
    // Fields at once added and the order turned.
    all(
        Respelled,
        &[(
            json!({"items": [{"id": 1, "price": 5}, {"id": 2, "price": "7"}]}),
            json!({"items": [{"id": "2", "price": 7, "note": "x"}, {"id": 1, "price": 5}]}),
        )],
    );
}

#[test]
fn j25_fields_added_or_left_out() {
    at_every_level(
        Respelled,
        &[
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2, "c": 3})),
            (json!({"a": 1}), json!({"a": 1, "b": 2})),
            (json!({"a": 1, "b": 2, "x": 0}), json!({"a": 1, "b": 2, "y": 0})),
            (json!({"a": 1, "b": 2}), json!({"a": "1", "b": 2, "c": 3, "d": 4})),
        ],
    );
    at_every_level(
        Different,
        &[
            (json!({"a": 1}), json!({"a": 1, "b": 2, "c": 3})),
            (json!({"a": 1, "b": 2, "c": 3}), json!({"a": 1, "b": 2, "c": 4, "d": 5})),
            (json!({"a": 1}), json!({})),
            (json!({"a": 1, "x": 0}), json!({"a": 1, "y": 0})),
            (json!({"a": 1}), json!({"A": 1})),
        ],
    );
    // The half rule holds at the level where the fields differ, not on the whole.
    let wide = |inside: Value| json!({"a": 1, "b": 2, "c": 3, "d": 4, "in": inside});
    all(Different, &[(wide(json!({"x": 1, "y": 2, "z": 3})), wide(json!({"x": 1})))]);
    all(Respelled, &[(wide(json!({"x": 1, "y": 2})), wide(json!({"x": 1})))]);
}

#[test]
fn j25_everything_else_is_another_operation() {
    at_every_level(
        Different,
        &[
            (json!("2026-12-03"), json!("03.12.2026")),
            (json!("2026-12-03"), json!("20261203")),
            (json!("Ada, Lovelace"), json!("Ada Lovelace")),
            (json!("Hello!"), json!("Hello")),
            (json!(12), json!(13)),
            (json!(true), json!(false)),
        ],
    );
    // A renamed field, unless the half rule still holds.
    all(Different, &[(json!({"a": 1, "name": 2}), json!({"a": 1, "title": 2}))]);
    all(Respelled, &[(json!({"a": 1, "b": 3, "name": 2}), json!({"a": 1, "b": 3, "title": 2}))]);
    // A field that moved into an object.
    all(Different, &[(json!({"a": 1, "b": 2}), json!({"a": 1, "in": {"b": 2}}))]);
}

#[test]
fn j25_arguments_that_are_no_object() {
    all(Respelled, &[(json!(["a", 1]), json!(["1", "A"]))]);
    all(Different, &[(json!(["a"]), json!({"a": 1})), (json!(1), json!(2)), (json!(null), json!(""))]);
    all(Same, &[(json!(null), json!({}))]);
    assert_eq!(Arguments::of_operation("no json").relation(&Arguments::of_operation("{}")), Different);
    assert_eq!(Arguments::of_operation("no json").relation(&Arguments::of_operation("no json")), Same);
}

#[test]
fn j25_lone_surrogates() {
    assert_eq!(of(r#"{"a":"\ud800X"}"#, r#"{"a":"\ud800 x"}"#), Respelled);
    assert_eq!(of(r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#), Different);
    assert_eq!(of(r#"{"a":"\ud800"}"#, r#"{"a":""}"#), Different);
}

#[test]
fn j25_deep_nesting_is_bounded_and_in_doubt_respelled() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{{\"v\":{}{inner}{}}}", open.repeat(100_000), close.repeat(100_000))
    };
    assert_eq!(of(&deep("[", "1", "]"), &deep("[", "\"1\"", "]")), Respelled);
    assert_eq!(of(&deep("[", "1", "]"), &deep("[", "2", "]")), Different);
    assert_eq!(of(&deep("[", "1", "]"), &deep("[", "1.0", "]")), Same);
    assert_eq!(of(&deep("{\"a\":", "1", "}"), &deep("{\"a\":", "2", "}")), Respelled);
    let shallow = |inner: &str| format!("{{\"v\":{}{inner}{}}}", "{\"a\":".repeat(100), "}".repeat(100));
    assert_eq!(of(&shallow("1"), &shallow("2")), Different);
}

#[test]
fn j25_long_arrays() {
    let list = |items: Vec<Value>| json!({"list": items});
    let scalars: Vec<Value> = (0..20_000).map(Value::from).collect();
    let turned: Vec<Value> = scalars.iter().rev().map(|n| json!(n.to_string())).collect();
    let mut changed = turned.clone();
    changed[7] = json!(-1);
    all(Respelled, &[(list(scalars.clone()), list(turned))]);
    all(Different, &[(list(scalars), list(changed))]);

    let items = |extra: &str, last: u64| -> Vec<Value> {
        let item = |n: u64| json!({"id": n, "name": "x", extra: n});
        (0..500).map(item).chain([item(last)]).collect()
    };
    all(Respelled, &[(list(items("a", 500)), list(items("b", 500)))]);
    all(Different, &[(list(items("a", 500)), list(items("b", 501)))]);
    // Too many that fit each other: in doubt.
    let many =
        |name: &str, of: u64| -> Vec<Value> { (0..3_000).map(|n| json!({"id": n % of, name: n})).collect() };
    let pair = (list(many("a", 3_000)), list(many("b", 2_999).into_iter().rev().collect()));
    assert_eq!(of(&pair.0.to_string(), &pair.1.to_string()), Different);
    let turned = many("a", 3_000).into_iter().rev().map(|mut item| {
        item["id"] = json!(item["id"].to_string());
        item
    });
    assert_eq!(of(&list(many("a", 3_000)).to_string(), &list(turned.collect()).to_string()), Respelled);
}

#[test]
fn j25_a_search_without_end_is_in_doubt_respelled() {
    let pair = |count: u64| {
        let fit = |own: &str, n: u64| json!({"a": 1, "b": 1, format!("{own}{n}"): 0});
        let lefts: Vec<Value> = (0..count).map(|n| fit("left", n)).collect();
        // Half of them are like every left element, half like none.
        let right = |n: u64| {
            if n.is_multiple_of(2) { fit("right", n) } else { json!({"a": 1, format!("right{n}"): 0}) }
        };
        let rights: Vec<Value> = (0..count).map(right).collect();
        let of = |list: Vec<Value>| Arguments::of_operation(&json!({"list": list}).to_string());
        (of(lefts), of(rights))
    };
    let (few_lefts, few_rights) = pair(100);
    assert_eq!(few_lefts.relation(&few_rights), Different);
    let (many_lefts, many_rights) = pair(3_000);
    assert_eq!(many_lefts.relation(&many_rights), Respelled);
}

#[test]
fn j25_coarse_fields() {
    let of = |text: &str| Arguments::of_operation(text);
    let fields = |text: &str| -> Vec<(String, u64)> {
        of(text).coarse_fields().unwrap().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    assert_eq!(fields(r#"{"b":1000,"a":"X y","c":[1,"2"]}"#), fields(r#"{"a":"xY","c":[2,1],"b":"1e3"}"#));
    assert_ne!(fields(r#"{"a":1}"#), fields(r#"{"a":2}"#));
    assert!(of("[]").coarse_fields().is_none());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..4).prop_map(Value::from),
        prop::sample::select(vec![
            "",
            " ",
            "1",
            "1.0",
            "01",
            "2",
            "1e0",
            "a",
            "A",
            "é",
            "e\u{301}",
            "\u{200b}a"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// One allowed change everywhere: numbers to strings, strings spread out, arrays turned round.
fn reworded(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.to_string()),
        Value::String(text) => {
            json!(text.chars().flat_map(|c| [c, '\u{200b}', ' ']).collect::<String>().to_uppercase())
        }
        Value::Array(items) => items.iter().rev().map(reworded).collect(),
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), reworded(value))).collect(),
        other => other.clone(),
    }
}

/// The rules read straight from the page, slowly: all orders of the elements are tried.
fn by_the_book(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && some_order(a, &b.iter().collect::<Vec<_>>())
        }
        (Value::Object(a), Value::Object(b)) => {
            let common: Vec<&String> = a.keys().filter(|name| b.contains_key(*name)).collect();
            2 * common.len() >= a.len() + b.len() - common.len()
                && common.iter().all(|name| by_the_book(&a[*name], &b[*name]))
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => a == b,
        _ => matches!(of(&json!([a]).to_string(), &json!([b]).to_string()), Same | Respelled),
    }
}

fn some_order(a: &[Value], b: &[&Value]) -> bool {
    let Some((first, rest)) = a.split_first() else { return b.is_empty() };
    (0..b.len()).any(|at| {
        let mut others = b.to_vec();
        by_the_book(first, others.remove(at)) && some_order(rest, &others)
    })
}

proptest! {
    #[test]
    fn j25_reflexive_and_reworded(value in value()) {
        prop_assert_eq!(of(&value.to_string(), &value.to_string()), Same);
        prop_assert_ne!(of(&value.to_string(), &reworded(&value).to_string()), Different);
    }

    #[test]
    fn j25_symmetric_and_by_the_book(a in value(), b in value()) {
        // No arguments, in both of their forms.
        let [a, b] = [a, b].map(|arguments| if arguments.is_null() { json!({}) } else { arguments });
        let found = of(&a.to_string(), &b.to_string());
        prop_assert_eq!(found != Different, by_the_book(&a, &b));
        prop_assert_eq!(found == Same, a == b);
    }

    #[test]
    fn j25_arrays_by_the_book(a in prop::collection::vec(value(), 0..5), seed in any::<u64>(), b in value()) {
        // A turned and partly changed copy, so that near misses happen.
        let mut other: Vec<Value> = a.iter().map(|item| if seed & 1 == 0 { item.clone() } else { reworded(item) }).collect();
        if !other.is_empty() {
            let by = (seed >> 8) as usize % other.len();
            other.rotate_left(by);
            if seed & 2 == 0 {
                other[0] = b;
            }
        }
        let (a, b) = (Value::from(a), Value::from(other));
        prop_assert_eq!(of(&a.to_string(), &b.to_string()) != Different, by_the_book(&a, &b));
    }

    #[test]
    fn j25_any_text(a in any::<String>(), b in any::<String>()) {
        let (a, b) = (Arguments::of_operation(&a), Arguments::of_operation(&b));
        prop_assert_eq!(a.relation(&b), b.relation(&a));
        prop_assert_eq!(a.relation(&a), Same);
    }

    #[test]
    fn j25_any_strings(text in any::<String>()) {
        let spread: String = text.chars().flat_map(|c| [c, '\u{2060}', '\u{3000}']).collect();
        prop_assert_ne!(of(&json!({"a": text}).to_string(), &json!({"a": spread}).to_string()), Different);
        // The iota below a Greek letter is a mark in one case and a letter in the other; with a further
        // mark on it, normal form and letter case lead to different orders. Nobody books by such a name.
        prop_assume!(!text.nfkd().any(|c| c == '\u{345}'));
        prop_assert_ne!(of(&json!({"a": text}).to_string(), &json!({"a": text.to_uppercase()}).to_string()), Different);
    }
}
