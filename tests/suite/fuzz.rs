//! No text makes the reader panic, and what it says always points into the text.

use crate::fixtures::{FULL, checked, full};
use crate::profiles::CLAUDE_LIKE;
use nochmal::suite::{AgentProfile, Filter};
use proptest::prelude::*;

fn holds_up(text: &str) {
    if let Err(mistakes) = checked(text) {
        assert!(!mistakes.is_empty());
        let lines = text.split('\n').count();
        for mistake in mistakes.iter() {
            if mistake.file() == "suites/t.yaml" {
                assert!((1..=lines).contains(&mistake.line()), "{mistake:?}");
            }
            assert!(mistake.column() >= 1);
            assert!(!mistake.message().is_empty());
        }
        assert!(mistakes.to_string().contains("error"));
        assert!(!mistakes.styled().is_empty());
    }
    let _ = AgentProfile::parse(text, "agents/t.yaml");
}

const SHARDS: [&str; 28] = [
    "[",
    "]",
    "{",
    "}",
    ":",
    "- ",
    "\n",
    "  ",
    "\t",
    "\"",
    "'",
    "|",
    ">",
    "&a ",
    "*a",
    "!x ",
    "#",
    "---\n",
    "? ",
    "{{",
    "}}",
    "{%",
    "\u{feff}",
    "\r\n",
    "\0",
    "ü",
    "\u{1b}[2J",
    "99999999999999999999",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_text(text in any::<String>()) {
        holds_up(&text);
    }

    #[test]
    fn random_shards(parts in prop::collection::vec(prop::sample::select(&SHARDS[..]), 0..40)) {
        holds_up(&parts.concat());
    }

    #[test]
    fn a_valid_suite_with_something_put_in(at in 0usize..FULL.len(), shard in prop::sample::select(&SHARDS[..]), cut in 0usize..12) {
        let end = (at + cut).min(FULL.len());
        holds_up(&format!("{}{shard}{}", &FULL[..at], &FULL[end..]));
    }

    #[test]
    fn a_valid_suite_with_two_lines_swapped(one in 0usize..44, two in 0usize..44) {
        let mut lines: Vec<&str> = FULL.lines().collect();
        lines.swap(one, two);
        holds_up(&lines.join("\n"));
    }

    #[test]
    fn a_valid_suite_with_one_word_replaced(nth in 0usize..200, word in "[a-zA-Z_]{0,8}|[0-9.]{0,6}|\\PC{0,6}") {
        let mut count = 0;
        let words: Vec<&str> = FULL.split_inclusive(|c: char| !c.is_alphanumeric()).map(|part| {
            count += 1;
            if count == nth { word.as_str() } else { part }
        }).collect();
        holds_up(&words.concat());
    }
}

proptest! {
    #[test]
    fn a_valid_profile_with_something_put_in(at in 0usize..CLAUDE_LIKE.len(), shard in prop::sample::select(&SHARDS[..])) {
        let text = format!("{}{shard}{}", &CLAUDE_LIKE[..at], &CLAUDE_LIKE[at..]);
        if let Err(mistakes) = AgentProfile::parse(&text, "agents/t.yaml") {
            prop_assert!(mistakes.to_string().contains("agents/t.yaml:"));
        }
    }

    #[test]
    fn a_random_filter(text in "[a-z=!|,]{0,20}|\\PC{0,20}") {
        if let Err(error) = Filter::parse(&text, &full()) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}

#[test]
fn traps_end_in_a_message() {
    let mut laughs = String::from("suite: &a [x, x, x, x, x, x, x, x, x, x]\nb0: &b0 [*a, *a]\n");
    for level in 1..60 {
        laughs.push_str(&format!("b{level}: &b{level} [*b{0}, *b{0}, *b{0}, *b{0}]\n", level - 1));
    }
    for text in [
        laughs,
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        format!("suite: {}", "x".repeat(3 << 20)),
        format!("suite: s\nprompts: {{a: {{user: \"{}\"}}}}", "{{ (".repeat(100_000)),
        (0..5000).map(|index| format!("k{index}: 1\n")).collect(),
    ] {
        holds_up(&text);
        assert!(checked(&text).is_err());
    }
}
