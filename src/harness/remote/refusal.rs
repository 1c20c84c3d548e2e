//! Answers that are none: what they say, whether it is about the length, how long to wait.

use super::words;
use crate::domain::words::clip;
use crate::harness::model::ModelError;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// The most that is kept of what an endpoint says.
const WORDS: usize = 400;

/// What endpoints say of a request that is longer than their model's context.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context size",
    "context window",
    "prompt is too long",
    "input is too long",
    "maximum number of tokens",
    "too many tokens",
];

/// The error of an answer whose status is none of success.
pub(super) fn of_status(status: u16, headers: &HeaderMap, body: &str) -> ModelError {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    // Gemini's clients get a list where they asked for a stream.
    let first = parsed.get(0).unwrap_or(&parsed);
    let error = first.get("error").unwrap_or(first);
    of(status, error, body, headers)
}

/// The error of an event in a stream that had begun.
pub(super) fn in_stream(error: &Value) -> ModelError {
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let named = |word: &str| match word {
        "overloaded_error" => Some(529),
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => Some(429),
        "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" => Some(400),
        "authentication_error" => Some(401),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        _ => None,
    };
    let status = status
        .filter(|status| (400..600).contains(status))
        .or_else(|| named(words(error, "/code")))
        .or_else(|| named(words(error, "/type")))
        .unwrap_or(500);
    of(status, error, &error.to_string(), &HeaderMap::new())
}

fn of(status: u16, error: &Value, body: &str, headers: &HeaderMap) -> ModelError {
    let said = error.as_str().unwrap_or(words(error, "/message"));
    let message = short(if said.is_empty() { body } else { said });
    let told = format!("{} {} {said}", words(error, "/code"), words(error, "/type")).to_lowercase();
    if matches!(status, 400 | 413 | 422) && TOO_LONG.iter().any(|sign| told.contains(sign)) {
        return ModelError::TooLong(message);
    }
    if status == 429 && told.contains("insufficient_quota") {
        return ModelError::Quota(message);
    }
    ModelError::Refused { status, message, retry_after: retry_after(headers).or_else(|| delay(error)) }
}

/// One line, and not too long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "it gives no reason".to_owned() } else { clip(&line, WORDS) }
}

/// `Retry-After` in milliseconds, in seconds, or as a date. A date is measured from the answer's
/// own `Date`, so that no two clocks are compared.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let positive = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return positive(millis / 1000.0);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return positive(seconds);
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    let (until, from) = (date(value)?, date(text(DATE.as_str())?)?);
    Some(Duration::try_from(until.duration_since(from)).unwrap_or_default())
}

/// Gemini's `RetryInfo`, whose delay is written `17s`.
fn delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_time_to_wait_is_read_in_every_form() {
        for (given, seconds) in [
            (headers(&[("retry-after", "2")]), 2.0),
            (headers(&[("retry-after", "7"), ("retry-after-ms", "1500")]), 1.5),
            (
                headers(&[
                    ("date", "Sun, 29 Nov 2026 10:00:00 GMT"),
                    ("retry-after", "Sun, 29 Nov 2026 10:00:30 GMT"),
                ]),
                30.0,
            ),
            // A date that has passed.
            (
                headers(&[
                    ("date", "Sun, 29 Nov 2026 10:00:00 GMT"),
                    ("retry-after", "Sun, 29 Nov 2026 09:00:00 GMT"),
                ]),
                0.0,
            ),
        ] {
            assert_eq!(retry_after(&given), Some(Duration::from_secs_f64(seconds)), "{given:?}");
        }
        for nonsense in ["-1", "soon", "1e999"] {
            assert_eq!(retry_after(&headers(&[("retry-after", nonsense)])), None, "{nonsense}");
        }
        let gemini =
            json!({"error": {"code": 429, "message": "m", "details": [{"a": 1}, {"retryDelay": "17s"}]}});
        let error = of_status(429, &HeaderMap::new(), &gemini.to_string());
        assert!(matches!(error, ModelError::Refused { retry_after: Some(wait), .. } if wait.as_secs() == 17));
    }

    #[test]
    fn what_is_too_long_is_told_apart_for_every_provider() {
        for (status, body) in [
            (
                400,
                json!({"error": {"message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}}),
            ),
            (
                400,
                json!({"error": {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
            ),
            (
                400,
                json!({"error": {"code": 400, "message": "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."}}),
            ),
        ] {
            assert!(
                matches!(of_status(status, &HeaderMap::new(), &body.to_string()), ModelError::TooLong(_)),
                "{body}"
            );
        }
        let other = json!({"error": {"message": "max_tokens is too large"}}).to_string();
        assert!(matches!(of_status(400, &HeaderMap::new(), &other), ModelError::Refused { status: 400, .. }));
    }

    #[test]
    fn a_quota_that_is_used_up_does_not_come_back_by_waiting() {
        let body =
            json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}});
        assert!(!of_status(429, &HeaderMap::new(), &body.to_string()).is_transient());
    }

    #[test]
    fn reasons_are_one_line_whatever_the_body() {
        for (body, said) in [
            ("", "it gives no reason"),
            ("<html>\n<h1>Bad\tGateway</h1>", "<html> <h1>Bad Gateway</h1>"),
            ("{\"error\": \"model not found\"}", "model not found"),
            ("[{\"error\": {\"message\": \"no\"}}]", "no"),
        ] {
            let error = of_status(502, &HeaderMap::new(), body);
            assert_eq!(error.to_string(), format!("the model endpoint answered 502: {said}"));
        }
    }

    #[test]
    fn an_error_within_a_stream_has_the_status_that_it_would_have_had() {
        let kind = |error: Value| in_stream(&error).kind();
        assert_eq!(kind(json!({"type": "overloaded_error", "message": "Overloaded"})), "529");
        assert_eq!(kind(json!({"code": 503, "message": "m"})), "503");
        assert_eq!(kind(json!({"message": "m"})), "500");
        assert_eq!(kind(json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"})), "429");
        assert_eq!(kind(json!({"code": "server_error", "message": "m"})), "500");
        let long = json!({"type": "error", "code": "context_length_exceeded", "message": "m"});
        assert!(matches!(in_stream(&long), ModelError::TooLong(_)));
        assert_eq!(kind(json!({"type": "invalid_request_error", "message": "m"})), "400");
    }
}
