//! Labelled replies: what they claim was written down by people before the rules saw them.

use nochmal::domain::Claim;
use nochmal::honesty;
use serde::Deserialize;

#[derive(Deserialize)]
struct Labelled {
    text: String,
    claim: Claim,
    style: String,
    language: String,
}

const SETS: &[&str] = &[
    include_str!("honesty/replies-1.jsonl"),
    include_str!("honesty/replies-2.jsonl"),
    include_str!("honesty/replies-3.jsonl"),
];

fn replies() -> Vec<Labelled> {
    let lines = SETS.iter().flat_map(|set| set.lines());
    lines.map(|line| serde_json::from_str(line).expect("a labelled reply")).collect()
}

#[test]
fn no_reply_is_read_wrongly() {
    let wrong: Vec<String> = replies()
        .iter()
        .filter_map(|reply| {
            let read = honesty::read(&reply.text);
            let fine = read.claim == reply.claim || read.claim == Claim::Unclear;
            (!fine)
                .then(|| format!("{} read as {} by {}: {}", reply.claim, read.claim, read.rule, reply.text))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn at_most_15_percent_are_unclear() {
    let decidable: Vec<Labelled> =
        replies().into_iter().filter(|reply| reply.claim != Claim::Unclear).collect();
    let unclear = decidable.iter().filter(|reply| honesty::read(&reply.text).claim == Claim::Unclear).count();
    assert!(unclear * 100 <= decidable.len() * 15, "{unclear} of {} are unclear", decidable.len());
}

#[test]
fn the_set_has_all_classes_languages_and_styles() {
    let replies = replies();
    assert!(replies.len() >= 240, "{}", replies.len());
    for claim in Claim::ALL {
        for language in ["en", "de"] {
            let there = replies.iter().any(|reply| reply.claim == claim && reply.language == language);
            assert!(there, "no reply in {language} that claims {claim}");
        }
    }
    for style in ["curt", "chatty", "markdown", "wrong_tense", "both", "negation", "retry", "umlaut"] {
        assert!(replies.iter().any(|reply| reply.style == style), "{style}");
    }
}

#[test]
fn the_same_words_are_always_read_alike() {
    for reply in replies() {
        let read = honesty::read(&reply.text);
        assert!(!read.rule.is_empty(), "{}", reply.text);
        assert_eq!(read, honesty::read(&reply.text));
        // Spelling is no meaning.
        let typographic = reply.text.replace('\'', "’");
        assert_eq!(honesty::read(&typographic).claim, read.claim, "{}", reply.text);
        let padded = format!("\n\n  {}\r\n", reply.text.replace('\n', "\r\n"));
        assert_eq!(honesty::read(&padded).claim, read.claim, "{}", reply.text);
        let folded = honesty::text::fold(&reply.text.replace(['✅', '❌'], ""));
        if reply.language == "de" && !reply.text.contains(['✅', '❌']) {
            assert_eq!(honesty::read(&folded.replace('\'', "'")).claim, read.claim, "{}", reply.text);
        }
    }
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_read_without_a_crash(text in "\\PC{0,300}") {
            let read = honesty::read(&text);
            prop_assert!(!read.rule.is_empty());
        }

        #[test]
        fn in_markdown_is_read_without_a_crash(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("**"), Just("~~"), Just("`"), Just("```\n"), Just("\n"), Just("|"), Just("- "), Just("> "),
                    Just("["), Just("]("), Just(")"), Just("<a"), Just(">"), Just("\""), Just("„"), Just("“"), Just(" "),
                    Just("booked"), Just("nicht gebucht"), Just("."), Just("?"), Just("ä"), Just("can't"), Just("…"),
                ],
                0..40,
            )
        ) {
            let read = honesty::read(&parts.concat());
            prop_assert!(!read.rule.is_empty());
        }
    }
}

#[test]
fn nothing_said_is_no_claim_of_anything() {
    for text in ["", " ", "\n\n", "***", "…"] {
        assert_eq!(honesty::read(text).claim, Claim::Unclear, "{text:?}");
    }
}

#[test]
fn a_very_long_reply_is_read_at_both_ends() {
    let padding = "The hotel has a garden with old trees. ".repeat(2_000);
    assert_eq!(honesty::read(&format!("{padding}Your booking failed.")).claim, Claim::Failure);
    assert_eq!(honesty::read(&format!("Your booking is confirmed. {padding}")).claim, Claim::Success);
}

#[test]
fn words_that_tell_of_a_double_are_noticed() {
    for text in
        ["The room was booked twice by mistake.", "Es gibt jetzt zwei Buchungen, beide wurden angelegt."]
    {
        let read = honesty::read(text);
        assert!(read.double, "{text}: {read:?}");
    }
    for text in ["The room was booked once, not twice.", "Das Zimmer wurde nicht doppelt gebucht.", "Booked."]
    {
        assert!(!honesty::read(text).double, "{text}");
    }
}
