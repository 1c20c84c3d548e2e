//! Whether an answer claims that nothing happened.
//!
//! A caller plans by what it is told: after "failed" it tries again. So an answer claims that nothing
//! happened where (the first that holds decides)
//!
//! 1. `retry` says that trying again is safe, or `category` is one of those that mean "not done";
//! 2. `category` is one of those that leave it open: then it claims nothing;
//! 3. it is no error (`isError`, `ok: false`, a JSON-RPC error, a text that begins with "Error"):
//!    then it claims nothing;
//! 4. its words leave it open ("unknown", "may have been"): then it claims nothing;
//! 5. its words say that it was not done ("failed", "could not", "not created");
//! 6. its words tell of a time limit or a broken connection alone: then it claims nothing;
//! 7. otherwise: an error without a word of doubt is read as "not done".

use super::answer::Told;
use regex::Regex;
use std::sync::LazyLock;

/// Categories that say that the work was not done.
pub const NOT_DONE: [&str; 22] = [
    "failed",
    "failure",
    "confirmed_failure",
    "confirmed_failed",
    "not_done",
    "not_executed",
    "rejected",
    "confirmed_rejection",
    "refused",
    "denied",
    "local_failure",
    "authentication_failed",
    "unauthenticated",
    "authorization_denied",
    "permission_denied",
    "forbidden",
    "rate_limited",
    "invalid_request",
    "validation_failed",
    "not_found",
    "conflict",
    "cancelled",
];

/// Categories that leave open whether the work was done.
pub const OPEN: [&str; 9] = [
    "outcome_unknown",
    "unknown",
    "unknown_outcome",
    "uncertain",
    "indeterminate",
    "malformed_response",
    "timeout",
    "interrupted",
    "partial",
];

/// Advice that trying again does no harm.
pub const SAFE: [&str; 6] = ["safe", "now", "immediate", "immediately", "yes", "always"];

/// Words of doubt.
const DOUBT: &str = r"(?i)\b(unknown|unclear|uncertain|unsure|not (?:known|clear|certain)|can ?not (?:tell|know|say|be sure|confirm)|can't (?:tell|know|say|be sure|confirm)|could not (?:confirm|be confirmed|verify|be verified)|may (?:have|already|or may not)|might (?:have|already|or might not)|could have|possibly|perhaps|maybe|whether|reconcile|check (?:first|before|if)|verify|unbekannt|unklar|ungewiss|möglicherweise|vielleicht|ob)\b";
/// Words that say that it was not done.
const DENIAL: &str = r"(?i)\b(fail(?:ed|ure|s)?|not (?:be )?(?:done|created|executed|sent|saved|completed|carried out|published|processed|performed|made|booked|placed|stored|written)|nothing (?:was|has|happened)|no (?:changes?|effect)|(?:could|can|did|was|were|has|have) ?(?:not|n't)|unable to|rejected|refused|denied|unsuccessful|try again|retry|fehlgeschlagen|nicht|gescheitert|abgelehnt)\b";
/// Words about what was seen on the way, which say nothing of the work.
const LOST: &str = r"(?i)\b(time[d -]?out|timed out|deadline|no (?:answer|response|reply)|connection (?:was )?(?:lost|closed|reset|broken|aborted)|socket hang up|econnreset|network|zeitüberschreitung)\b";

static WORDS: LazyLock<[Option<Regex>; 3]> =
    LazyLock::new(|| [DOUBT, DENIAL, LOST].map(|words| Regex::new(words).ok()));

/// Why an answer claims that nothing happened; none where it does not.
pub fn nothing_happened(told: &Told) -> Option<String> {
    let is =
        |word: &str, known: &[&str]| known.contains(&word.to_ascii_lowercase().replace('-', "_").as_str());
    if let Some(retry) = told.retry()
        && is(retry, &SAFE)
    {
        return Some(format!("retry is \"{retry}\""));
    }
    if let Some(category) = told.category() {
        if is(category, &NOT_DONE) {
            return Some(format!("category is \"{category}\""));
        }
        if is(category, &OPEN) {
            return None;
        }
    }
    let disguised = told.text.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if !told.admits_failure() && !disguised {
        return None;
    }
    // JSON without a category is read for its words too.
    let text = if told.text.is_empty() { &told.json } else { &told.text };
    let [doubt, denial, lost] =
        WORDS.each_ref().map(|words| words.as_ref().and_then(|words| words.find(text)));
    if doubt.is_some() {
        return None;
    }
    if let Some(found) = denial {
        return Some(format!("it says \"{}\"", found.as_str()));
    }
    if lost.is_some() {
        return None;
    }
    Some("it is an error without a word of doubt".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::*;
    use serde_json::{Value, json};

    fn claim(result: &Value) -> Option<String> {
        nothing_happened(Answer::of_result(&result.to_string()).told().unwrap())
    }

    fn text(text: &str, is_error: bool) -> Value {
        json!({"content": [{"type": "text", "text": text}], "isError": is_error})
    }

    #[test]
    fn every_word_list_is_a_regular_expression() {
        assert!(WORDS.iter().all(Option::is_some));
    }

    #[test]
    fn structured_answers_are_taken_at_their_word() {
        let structured = |category: &str, retry: &str| {
            claim(
                &json!({"content": [], "isError": true, "structuredContent": {"category": category, "retry": retry}}),
            )
        };
        assert_eq!(structured("failed", "never").as_deref(), Some("category is \"failed\""));
        assert_eq!(structured("outcome_unknown", "safe").as_deref(), Some("retry is \"safe\""));
        assert_eq!(
            structured("authentication-failed", "never").as_deref(),
            Some("category is \"authentication-failed\"")
        );
        assert_eq!(structured("outcome_unknown", "reconcile_first"), None);
        assert_eq!(structured("malformed_response", "reconcile_first"), None);
    }

    #[test]
    fn words_are_weighed_in_order() {
        for denied in [
            "Request failed",
            "Creating the release failed: timeout",
            "The release was not created.",
            "HTTP 500 Internal Server Error",
            "Der Vorgang ist fehlgeschlagen",
            "Something went wrong, please try again",
        ] {
            assert!(claim(&text(denied, true)).is_some(), "{denied}");
        }
        for open in [
            "The request timed out after 5 s.",
            "socket hang up",
            "The connection was closed. Whether the release was created is unknown; look it up first.",
            "Could not confirm that the release was created; it may have been.",
            "Zeitüberschreitung; ob die Buchung erfolgt ist, ist unklar",
        ] {
            assert_eq!(claim(&text(open, true)), None, "{open}");
        }
    }

    #[test]
    fn an_error_disguised_as_a_result_is_an_error() {
        assert!(claim(&text("Error: request failed", false)).is_some());
        assert!(
            claim(&json!({"content": [], "structuredContent": {"ok": false, "message": "upstream 502"}}))
                .is_some()
        );
        assert_eq!(claim(&text("Release v1 was created.", false)), None);
        assert_eq!(claim(&text("The nightly job failed earlier; release created.", false)), None);
    }
}
