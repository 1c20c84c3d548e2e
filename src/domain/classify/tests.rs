use super::ToolClass::{Read, Unclassified, Write};
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|item| (*item).to_owned()).collect()
}

fn plain() -> Classifier {
    Classifier::new(None, Vec::new(), strings(&["idempotency_key"]))
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn classify(classifier: &Classifier, tool: &serde_json::Value) -> ToolInfo {
    classifier.classify(&raw(&tool.to_string())).unwrap()
}

fn is(classifier: &Classifier, tool: &serde_json::Value, class: ToolClass, reason: &str) {
    let info = classify(classifier, tool);
    assert_eq!((info.class, info.reason.as_str()), (class, reason), "{tool}");
}

fn named(name: &str) -> serde_json::Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

#[test]
fn c1_flags_before_annotations_before_names() {
    let read_only = json!({"name": "create_x", "annotations": {"readOnlyHint": true}});
    let flags = Classifier::new(Some(strings(&["create_*"])), Vec::new(), Vec::new());
    is(&flags, &read_only, Write, "flag --write-tools create_*");
    is(&plain(), &read_only, Read, "annotation readOnlyHint=true");
    is(&plain(), &named("create_x"), Write, "default write pattern create_*");
    let flags = Classifier::new(None, strings(&["nothing", "*_x"]), Vec::new());
    is(
        &flags,
        &json!({"name": "add_x", "annotations": {"readOnlyHint": false}}),
        Read,
        "flag --read-tools *_x",
    );
}

#[test]
fn c1_what_has_no_name_is_no_tool() {
    for text in ["{}", "[]", "null", r#"{"name":1}"#, r#"{"name":"\ud800"}"#, r#"{"Name":"x"}"#] {
        assert_eq!(plain().classify(&raw(text)), None, "{text}");
    }
    let deep =
        format!("{{\"name\":\"get\\u005fx\",\"inputSchema\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let info = plain().classify(&raw(&deep)).unwrap();
    assert_eq!((info.tool.as_str(), info.class), ("get_x", Read));
}

#[test]
fn c2_write_tools_replaces_read_tools_adds() {
    let flags = Classifier::new(Some(strings(&["sync_*"])), strings(&["*_ledger"]), Vec::new());
    is(&flags, &named("create_x"), Unclassified, "no annotation, no pattern match");
    is(&flags, &named("sync_x"), Write, "flag --write-tools sync_*");
    is(&flags, &named("the_ledger"), Read, "flag --read-tools *_ledger");
    is(&flags, &named("find_x"), Read, "read prefix find");
    is(&flags, &named("Sync_x"), Unclassified, "no annotation, no pattern match");
    let none = Classifier::new(Some(Vec::new()), Vec::new(), Vec::new());
    is(&none, &named("create_x"), Unclassified, "no annotation, no pattern match");
}

#[test]
fn c2_a_tool_that_both_flags_name() {
    let flags = Classifier::new(Some(strings(&["a", "sync_*"])), strings(&["*_ledger"]), Vec::new());
    let conflicts = flags.conflicts(&["sync_x", "sync_ledger", "a"]);
    let text: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(
        text,
        [
            "tool sync_ledger is named by --write-tools sync_* and by --read-tools *_ledger; let only one of them name it"
        ]
    );
    is(
        &flags,
        &named("sync_ledger"),
        Unclassified,
        "flags --write-tools sync_* and --read-tools *_ledger both name it",
    );
    let warned = warning(&classify(&flags, &named("sync_ledger"))).unwrap();
    assert!(warned.ends_with("Let only one of the two flags name it"), "{warned}");
    // The default patterns are no flag: --read-tools may overrule them.
    assert_eq!(Classifier::new(None, strings(&["create_*"]), Vec::new()).conflicts(&["create_x"]), []);
}

#[test]
fn c2_globs() {
    let long = "a".repeat(50_000);
    let cases = [
        ("create_*", "create_", true),
        ("create_*", "create", false),
        ("*", "", true),
        ("**", "x", true),
        ("", "", true),
        ("", "x", false),
        ("*x", "xyx", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        ("a*bc*bc", "abc", false),
        ("a*bc*bc", "abcbc", true),
        ("create_?", "create_x", false),
        ("[a]", "a", false),
        ("Create_*", "create_x", false),
        ("*ö*", "böse", true),
        ("*a*a*a*a*a*a*a*a*b", long.as_str(), false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn c3_annotations() {
    let cases = [
        (json!({"readOnlyHint": true}), Read, "annotation readOnlyHint=true"),
        (json!({"readOnlyHint": true, "destructiveHint": true}), Read, "annotation readOnlyHint=true"),
        (json!({"readOnlyHint": false}), Write, "annotation readOnlyHint=false"),
        (json!({"readOnlyHint": false, "destructiveHint": false}), Write, "annotation readOnlyHint=false"),
        (json!({"destructiveHint": true}), Write, "annotation destructiveHint=true"),
        (json!({"destructiveHint": false}), Unclassified, "no annotation, no pattern match"),
        (json!({"idempotentHint": true, "title": "x"}), Unclassified, "no annotation, no pattern match"),
        (json!({"readOnlyHint": "true"}), Unclassified, "no annotation, no pattern match"),
        (
            json!({"readOnlyHint": null, "destructiveHint": 1}),
            Unclassified,
            "no annotation, no pattern match",
        ),
        (json!(null), Unclassified, "no annotation, no pattern match"),
        (json!([true]), Unclassified, "no annotation, no pattern match"),
    ];
    for (annotations, class, reason) in cases {
        is(&plain(), &json!({"name": "frobnicate", "annotations": annotations}), class, reason);
    }
}

#[test]
fn c4_default_write_patterns() {
    for pattern in DEFAULT_WRITE_PATTERNS {
        let reason = format!("default write pattern {pattern}");
        is(&plain(), &named(&pattern.replace('*', "_some_thing")), Write, &reason);
    }
    let cases = [
        ("createAppointment", "create_*"),
        ("CreateAppointment", "create_*"),
        ("bookings.create-booking", "create_*"),
        ("v1.bookings.createBooking", "create_*"),
        ("create_booking.v2", "create_*"),
        ("sendSMS", "send_*"),
        ("postHTTPRequest", "post_*"),
        ("write", "write*"),
        ("writeFile", "write*"),
        ("update_status_view", "update_*"),
        ("PAY_INVOICE", "pay_*"),
    ];
    for (name, pattern) in cases {
        is(&plain(), &named(name), Write, &format!("default write pattern {pattern}"));
    }
    for name in
        ["create", "created_at", "recreate_x", "payroll", "server/create_x", "booking_create", "x.", "", "."]
    {
        is(&plain(), &named(name), Unclassified, "no annotation, no pattern match");
    }
}

#[test]
fn c4_words() {
    let cases = [
        ("createHTTPBooking", "create_http_booking"),
        ("a.b.getX", "get_x"),
        ("get2Things", "get2_things"),
        ("look-up-guest", "look_up_guest"),
        ("Ärger", "ärger"),
        ("snake_case", "snake_case"),
        ("Snake_Case", "snake_case"),
    ];
    for (name, expected) in cases {
        assert_eq!(words(name), expected);
    }
}

#[test]
fn c5_read_prefixes_are_whole_words() {
    for prefix in READ_PREFIXES {
        let reason = format!("read prefix {prefix}");
        for name in [prefix.to_owned(), format!("{prefix}_x"), format!("{prefix}-x"), format!("a.{prefix}X")]
        {
            is(&plain(), &named(&name), Read, &reason);
        }
    }
    for name in ["listing_create", "getter", "checkout", "finder", "statuses_all", "look_x", "viewer"] {
        is(&plain(), &named(name), Unclassified, "no annotation, no pattern match");
    }
}

#[test]
fn c5_known_wrong_guesses() {
    for name in ["check_in_guest", "checkInGuest", "hotel.check-out-guest", "check_in", "check_out"] {
        let info = classify(&plain(), &named(name));
        assert_eq!(info.class, Unclassified, "{name}");
        assert!(info.reason.ends_with("_* looks like a read and is often a write"), "{}", info.reason);
        assert!(warning(&info).unwrap().contains("often a write"));
    }
    for name in ["check_inventory", "check_outage", "check_x"] {
        is(&plain(), &named(name), Read, "read prefix check");
    }
    let flags = Classifier::new(None, strings(&["check_in_*"]), Vec::new());
    is(&flags, &named("check_in_status"), Read, "flag --read-tools check_in_*");
}

#[test]
fn c6_key_fields_of_the_schema() {
    let tool = json!({"name": "x", "inputSchema": {"properties": {
        "requestId": {}, "Idempotency-Key": {}, "idempotencyKey": {}, "meta": {"properties": {"idempotency_key": {}}}
    }}});
    assert_eq!(classify(&plain(), &tool).key_fields, ["Idempotency-Key", "idempotencyKey"]);
    let other = Classifier::new(None, Vec::new(), strings(&["request_id"]));
    assert_eq!(classify(&other, &tool).key_fields, ["requestId"]);
    for schema in [json!(null), json!({}), json!({"properties": ["idempotency_key"]}), json!(true)] {
        let tool = json!({"name": "x", "inputSchema": schema});
        assert_eq!(classify(&plain(), &tool).key_fields, Vec::<String>::new());
    }
}

#[test]
fn c6_a_warning_says_which_flag_settles_it() {
    let warned = warning(&classify(&plain(), &named("frobnicate"))).unwrap();
    insta::assert_snapshot!(warned, @"tool frobnicate is unclassified (no annotation, no pattern match): its calls are passed through and not judged. --read-tools frobnicate makes it a read, --write-tools frobnicate a write; --write-tools replaces the default patterns, so name your other writes there too");
    let warned = warning_in_suite("ledger", &classify(&plain(), &named("frobnicate"))).unwrap();
    assert!(warned.starts_with("upstream ledger: tool frobnicate is unclassified"), "{warned}");
    assert!(warned.contains("`tools: {read: [frobnicate]}`") && !warned.contains("--"), "{warned}");
    assert_eq!(warning(&classify(&plain(), &named("create_x"))), None);
    assert_eq!(warning(&classify(&plain(), &named("get_x"))), None);
}

proptest! {
    #[test]
    fn c1_any_name_has_a_class(name in any::<String>()) {
        let info = classify(&plain(), &named(&name));
        prop_assert_eq!(&info.tool, &name);
        prop_assert_eq!(warning(&info).is_some(), info.class == Unclassified);
    }

    #[test]
    fn c2_globs_agree_with_a_regex(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
        let regex = regex::Regex::new(&format!("^{}$", pattern.replace('*', ".*"))).unwrap();
        prop_assert_eq!(glob(&pattern, &name), regex.is_match(&name));
    }
}
