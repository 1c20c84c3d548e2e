//! Whether an answer claims that nothing happened.
//!
//! A caller plans by what it is told: after "failed" it tries again. So an answer claims that nothing
//! happened where, of its JSON and of each of its texts (the first that holds decides)
//!
//! 1. advice in its JSON says that trying again is safe, or `category` is one of those that mean "not
//!    done", or a flag such as `created` is `false`;
//! 2. its words say that it was not done, or advise without a condition to send it again, and nothing
//!    beside them doubts *the outcome itself*. Doubt about anything else softens nothing;
//! 3. `category` leaves it open, or its words doubt the outcome: then it claims nothing;
//! 4. its words or its `status` say that it failed, whatever `isError` says; an answer that is no error
//!    and tells of something done besides claims nothing;
//! 5. its words tell of a time limit or a broken connection alone, or besides that something was done: then it
//!    claims nothing;
//! 6. otherwise: an error (`isError`, `ok: false`, a JSON-RPC error, a text that begins with "Error")
//!    without doubt about the outcome is read as "not done".

use super::answer::Told;
use super::words::Words;
use crate::domain::Claim;
use crate::honesty;
use serde_json::{Map, Value};
use std::cell::LazyCell;

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
pub const SAFE: [&str; 12] = [
    "safe",
    "now",
    "immediate",
    "immediately",
    "yes",
    "always",
    "true",
    "again",
    "retry",
    "retry_now",
    "retry_immediately",
    "safe_to_retry",
];
/// Where such advice stands, in small letters and without `_`.
const ADVICE: [&str; 8] =
    ["retry", "retryable", "retriable", "isretryable", "canretry", "shouldretry", "safetoretry", "retrysafe"];
/// Flags that say that the work was not done where they are `false`.
const DONE_FLAGS: [&str; 14] = [
    "created",
    "done",
    "executed",
    "completed",
    "committed",
    "saved",
    "sent",
    "published",
    "performed",
    "processed",
    "placed",
    "booked",
    "applied",
    "accepted",
];
/// Flags that say that the call failed where they are `false`.
const OK_FLAGS: [&str; 4] = ["ok", "success", "succeeded", "successful"];
/// What `status`, `state`, `outcome` or `result` says of a call that failed.
const FAILED: [&str; 5] = ["error", "failed", "failure", "fail", "unsuccessful"];
/// Where sentences for people stand.
const MESSAGES: [&str; 9] =
    ["message", "msg", "error", "errors", "detail", "details", "description", "reason", "text"];

/// Why an answer claims that nothing happened; none where it does not.
pub fn nothing_happened(told: &Told) -> Option<String> {
    let (values, mut texts) = parts(told);
    let objects: Vec<&Map<String, Value>> = values.iter().flat_map(objects).collect();
    let fields = || objects.iter().flat_map(|object| object.iter());
    let failed = fields().find(|(key, value)| says_failed(key, value));
    let is_error =
        told.admits_failure() || failed.is_some() || texts.iter().any(|text| Words::begins_with_error(text));
    let categories: Vec<&str> = fields()
        .filter(|(key, _)| matches!(key.as_str(), "category" | "outcome"))
        .filter_map(|(_, value)| value.as_str())
        .collect();
    let plain = |(key, value): (&String, &Value)| format!("{key} is {value}");
    let advice = fields().find(|(key, value)| {
        let key = key.to_ascii_lowercase().replace(['_', '-'], "");
        let failing = is_error || !categories.is_empty() || value.is_string();
        failing && ADVICE.contains(&key.as_str()) && is_one_of(value, &SAFE)
    });
    let not_done = || {
        let category = |(key, value): &(&String, &Value)| *key == "category" && is_one_of(value, &NOT_DONE);
        let flag = |(key, value): &(&String, &Value)| is_false(key, value, &DONE_FLAGS);
        fields().find(category).or_else(|| fields().find(flag))
    };
    if let Some(found) = advice.or_else(not_done) {
        return Some(plain(found));
    }
    for value in &values {
        messages(value, false, &mut texts);
    }
    let words: Vec<Words> = texts.iter().map(|text| Words::of(text)).collect();
    if let Some(found) = words.iter().find_map(|words| words.denial(is_error)) {
        return Some(format!("it says \"{found}\""));
    }
    let open = |category: &&str| OPEN.contains(&normal(category).as_str());
    if categories.iter().any(open) || words.iter().any(|words| words.states_doubt) {
        return None;
    }
    for (words, text) in words.iter().zip(&texts).filter(|(words, _)| !words.doubts_the_outcome) {
        let read = LazyCell::new(|| !words.lost && honesty::read(text).claim == Claim::Failure);
        if let Some(found) = words.failure()
            && (is_error || !words.tells_of_something_done || *read)
        {
            return Some(format!("it says \"{found}\""));
        }
        if *read {
            return Some(format!("it says \"{text}\""));
        }
    }
    if words.iter().any(|words| words.lost || words.doubts_the_outcome || words.left_open) {
        return None;
    }
    if let Some(found) = failed {
        return Some(plain(found));
    }
    is_error.then(|| "it is an error without a word of doubt".to_owned())
}

/// What it says as JSON, and what it says in words.
fn parts(told: &Told) -> (Vec<Value>, Vec<String>) {
    let mut values: Vec<Value> = told.value.iter().cloned().collect();
    let mut texts = Vec::new();
    for text in &told.texts {
        match serde_json::from_str::<Value>(text) {
            Ok(Value::String(text)) => texts.push(text),
            // The JSON of an only text is what the answer says as JSON, too.
            Ok(value) if value.is_object() || value.is_array() => {
                if told.value.as_ref() != Some(&value) {
                    values.push(value);
                }
            }
            _ => texts.push(text.clone()),
        }
    }
    (values, texts)
}

/// The object itself, and those that tell of the error in it.
fn objects(value: &Value) -> Vec<&Map<String, Value>> {
    let inner = ["error", "result", "data"].iter().filter_map(|name| value.get(name));
    std::iter::once(value).chain(inner).filter_map(Value::as_object).collect()
}

fn normal(word: &str) -> String {
    word.trim().to_ascii_lowercase().replace(['-', ' '], "_")
}

fn is_one_of(value: &Value, known: &[&str]) -> bool {
    let word = match value {
        Value::String(word) => normal(word),
        Value::Bool(is) => is.to_string(),
        _ => return false,
    };
    known.contains(&word.as_str())
}

fn is_false(key: &str, value: &Value, flags: &[&str]) -> bool {
    let denies = match value {
        Value::Bool(is) => !is,
        Value::String(word) => normal(word) == "false",
        _ => false,
    };
    denies && flags.contains(&key.to_ascii_lowercase().as_str())
}

fn says_failed(key: &str, value: &Value) -> bool {
    // Whoever writes nothing there had no error.
    let tells = |value: &Value| match value {
        Value::String(text) => {
            !matches!(normal(text).as_str(), "" | "none" | "no" | "false" | "null" | "ok" | "0")
        }
        Value::Bool(is) => *is,
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    key.eq_ignore_ascii_case("error") && tells(value)
        || is_false(key, value, &OK_FLAGS)
        || matches!(key, "status" | "state" | "outcome" | "result") && is_one_of(value, &FAILED)
}

fn messages(value: &Value, named: bool, into: &mut Vec<String>) {
    match value {
        Value::String(text) if named => into.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| messages(value, named, into)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let named = MESSAGES.contains(&key.to_ascii_lowercase().as_str());
                if named || key == "data" || key == "result" {
                    messages(value, named, into);
                }
            }
        }
        _ => {}
    }
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
    fn many_wordings_are_read_as_they_are_meant() {
        let wordings = include_str!("../../tests/contract/wordings.txt");
        let mut read = 0;
        let mut denied = true;
        for line in wordings.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line {
                "[not done]" => denied = true,
                "[open]" => denied = false,
                said => {
                    assert_eq!(claim(&text(said, true)).is_some(), denied, "{said}");
                    read += 1;
                }
            }
        }
        assert!(read > 90, "{read}");
    }

    #[test]
    fn doubt_about_something_else_hides_no_denial() {
        for denied in [
            "Unknown error: the order was not created.",
            "The order was not created. Please verify your input and try again.",
            "Order was not created because the server did not answer (maybe overloaded).",
            "Timeout. Just send it again.",
            "The order timed out and was cancelled.",
            "The request timed out; the transaction was rolled back.",
            "Failed to create order (unknown host api). Nothing was created.",
            "Order rejected. Verify your token.",
            "An unknown error occurred. The order failed; try again.",
            "timeout: aborted before anything was sent",
            "Timeout. If the problem persists, try again later.",
        ] {
            assert!(claim(&text(denied, true)).is_some(), "{denied}");
        }
        for open in [
            "The order failed; it may have been created.",
            "Request failed. Whether the order was created is unknown.",
            "Request failed; could not verify whether the order was created.",
            "Timeout. Do not send it again before you have looked for the order.",
            "The connection was aborted.",
        ] {
            assert_eq!(claim(&text(open, true)), None, "{open}");
        }
        let timeout = |message: &str| {
            claim(
                &json!({"content": [], "isError": true, "structuredContent": {"category": "timeout", "message": message}}),
            )
        };
        assert!(timeout("The order was not created.").is_some());
        assert_eq!(timeout("No answer within 5 s."), None);
    }

    #[test]
    fn a_denial_is_a_claim_whatever_is_error_says() {
        for denied in [
            "Failed to create the order. Please try again.",
            "Request failed",
            "[ERROR] order creation failed",
            r#"{"success": false, "message": "the service had trouble"}"#,
            r#"{"status": "error", "detail": "upstream"}"#,
            r#"{"created": false, "id": null}"#,
            r#"{"retry": "retry_now", "category": "timeout"}"#,
            r#"{"ok": false, "retryable": true, "category": "timeout"}"#,
            r#"{"status": "failed", "hint": "verify"}"#,
            r#"{"error": {"message": "could not create the order"}}"#,
            r#"{"success": "false"}"#,
            r#"{"error": "boom"}"#,
            r#"{"result": {"created": "false"}}"#,
        ] {
            assert!(claim(&text(denied, false)).is_some(), "{denied}");
            let beside = json!({"content": [{"type": "text", "text": denied}, {"type": "text", "text": "hint: verify"}]});
            assert!(claim(&beside).is_some(), "{denied}");
        }
        let advised = json!({"content": [{"type": "text", "text": "Request failed"},
            {"type": "text", "text": "hint: verify whether the order was created"}]});
        assert!(claim(&advised).is_some());
        for told in [
            "Order created. The confirmation mail could not be sent.",
            "Order 17 was cancelled.",
            r#"{"id": "ord_1", "status": "draft", "retryable": true}"#,
            r#"{"created": 3, "failed": 0}"#,
            r#"{"id": "ord_1", "error": null}"#,
            r#"{"id": "ord_1", "error": "none", "success": "true"}"#,
            r#"{"error": "Nobody knows whether the order was created."}"#,
            r#"{"ok": false, "category": "outcome_unknown", "retry": "reconcile_first", "message": "No answer."}"#,
        ] {
            assert_eq!(claim(&text(told, false)), None, "{told}");
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
