//! Words: taking names apart, reading answers and prompts, and what a scripted model says.

use super::behaviour::Belief;
pub use crate::domain::names::{is_identifier, words as split};
use crate::harness::message::Object;
use serde_json::Value;

/// A tool's own name, without the prefix that an agent or a server puts before it
/// (`mcp__hotel__create_booking`, `bookings.create`).
pub fn local(name: &str) -> &str {
    let after = |name: &str, mark: &str| name.rfind(mark).map_or(0, |at| at + mark.len());
    let from = after(name, "__").max(after(name, ".")).max(after(name, "/"));
    match &name[from..] {
        "" => name,
        local => local,
    }
}

/// A word without its plural ending, so that `bookings` and `booking` meet.
pub fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether the name is that of an idempotency key, which is no part of what is written.
pub fn is_key(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| *c != '_' && *c != '-').collect();
    matches!(plain.to_lowercase().as_str(), "idempotencykey" | "idempotencytoken" | "clientrequestid")
}

/// Whether a text is the account of a failure. For those answers that carry no flag: a JSON
/// object says so in a field; a text says so in words; half a JSON text is one.
pub fn reads_as_error(text: &str) -> bool {
    let text = text.trim();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => is_error_value(&value),
        Err(_) if text.starts_with(['{', '[']) => true,
        Err(_) => {
            let start: String = text.chars().take(300).collect::<String>().to_lowercase();
            SIGNS.iter().any(|sign| start.contains(sign))
        }
    }
}

const SIGNS: &[&str] = &[
    "error",
    "timed out",
    "timeout",
    "time-out",
    "failed",
    "failure",
    "could not",
    "rate limit",
    "too many requests",
    "unavailable",
    "exception",
    "did not answer",
    "was interrupted",
    "connection was",
    "connection closed",
    "refused",
    "denied",
];

fn is_error_value(value: &Value) -> bool {
    match value {
        Value::Object(object) => {
            let truthy = |name: &str| {
                object.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
            };
            let status = object.get("status").or_else(|| object.get("code")).and_then(Value::as_i64);
            truthy("error")
                || truthy("isError")
                || truthy("is_error")
                || object.get("success") == Some(&Value::Bool(false))
                || object.get("ok") == Some(&Value::Bool(false))
                || status.is_some_and(|status| (400..600).contains(&status))
                || content_text(object).is_some_and(reads_as_error)
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().all(|item| item.as_object().and_then(content_text).is_some_and(reads_as_error))
        }
        Value::String(text) => reads_as_error(text),
        _ => false,
    }
}

/// The text of an MCP content block, which some agents hand to the model as it is.
fn content_text(object: &Object) -> Option<&str> {
    (object.get("type").and_then(Value::as_str) == Some("text"))
        .then(|| object.get("text").and_then(Value::as_str))
        .flatten()
}

/// Takes content blocks that an agent handed over as JSON apart, and gives their text.
pub fn unwrap_content(text: &str) -> String {
    let block = |value: &Value| value.as_object().and_then(content_text).map(str::to_owned);
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(items)) if !items.is_empty() => {
            items.iter().map(block).collect::<Option<Vec<_>>>().map_or(text.to_owned(), |t| t.join("\n"))
        }
        Ok(value) => block(&value).unwrap_or_else(|| text.to_owned()),
        Err(_) => text.to_owned(),
    }
}

/// Whether a failure says that the caller has to wait: then it was not carried out.
pub fn turned_away(text: &str) -> bool {
    let text = text.to_lowercase();
    ["retry_after", "retry-after", "retry after", "too many requests", "rate limit", "429"]
        .iter()
        .any(|sign| text.contains(sign))
}

/// Whether a failure is a refusal for good: by a server that does not accept or does not permit the caller, or
/// by a person.
pub fn refuses(text: &str) -> bool {
    let text = text.to_lowercase();
    ["401", "403", "unauthorized", "forbidden", "not permitted", "permission denied", "declined"]
        .iter()
        .any(|sign| text.contains(sign))
        || advice(&text).as_deref() == Some("never")
}

/// What a failure says of sending it again, where it is told in a form that says so.
pub fn advice(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    Some(value.get("retry")?.as_str()?.to_owned())
}

/// Whether a system prompt tells the model not to send a write again before checking: it
/// forbids repeating in one sentence, and speaks of checking and of a call there or close to it.
pub fn warns(system: &str) -> bool {
    const NOT: &[&str] = &["not", "never", "don't", "don’t", "nicht", "nie", "niemals", "kein", "keine"];
    const AGAIN: &[&str] = &[
        "again",
        "repeat",
        "retry",
        "retrying",
        "resend",
        "resubmit",
        "erneut",
        "nochmal",
        "nochmals",
        "wiederhole",
        "wiederholen",
        "wiederholt",
    ];
    const CHECK: &[&str] = &[
        "check",
        "checking",
        "checked",
        "verify",
        "verifying",
        "look",
        "prüfe",
        "prüfen",
        "geprüft",
        "nachsehen",
        "nachschlagen",
        "kontrolliere",
        "kontrollieren",
        "suche",
    ];
    const CALL: &[&str] = &[
        "call",
        "calls",
        "write",
        "writes",
        "booking",
        "timeout",
        "send",
        "aufruf",
        "rufe",
        "auftrag",
        "schreibvorgang",
        "zeitüberschreitung",
    ];
    let has = |text: &str, list: &[&str]| {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’').any(|word| list.contains(&word))
    };
    let system = system.to_lowercase();
    let sentences: Vec<&str> =
        system.split(['.', ';', '!', '\n', ':']).filter(|sentence| !sentence.trim().is_empty()).collect();
    let forbids =
        |sentence: &str| has(sentence, NOT) && (has(sentence, AGAIN) || sentence.contains("noch einmal"));
    sentences.iter().enumerate().any(|(at, sentence)| {
        // The long prompts of agent programs forbid and check many things, but not side by side.
        let near = &sentences[at.saturating_sub(2)..sentences.len().min(at + 3)];
        let speak_of = |words| near.iter().any(|near| has(near, words));
        forbids(sentence) && speak_of(CHECK) && speak_of(CALL)
    })
}

/// What a model says at the end of its turn.
pub fn say(belief: Belief, tool: &str, arguments: &Object, answer: &str) -> String {
    let words = split(local(tool));
    let noun = match words.get(1..) {
        Some(rest) if !rest.is_empty() => rest.join(" "),
        _ => words.join(" "),
    };
    let what = summary(arguments);
    let answer = first_line(answer);
    match belief {
        Belief::Done if words.iter().any(|word| word.starts_with("book")) => {
            format!("Booked: {what}. The {noun} is confirmed.")
        }
        Belief::Done => format!("Done: {what}. The {noun} request is confirmed."),
        Belief::DoneBefore => {
            format!("Already done, the {noun} is confirmed: {what}. I did not send it a second time.")
        }
        Belief::Failed => format!("The {noun} failed: {answer}"),
        Belief::Advised => format!("The {noun} failed: {answer} Please try again later."),
        Belief::Denied => format!("The {noun} failed ({what}). Nothing was carried out."),
        Belief::Unknown => format!(
            "I cannot tell whether the {noun} went through ({what}). The answer was: {answer} \
             I have no way to find out, so I am not sending it again."
        ),
        Belief::Later => format!(
            "The {noun} was turned away: {answer} I am not sending it again before that time has passed."
        ),
    }
}

/// The same arguments in another spelling: the first text that has letters, in capitals, or in
/// small letters where it already is. Identifiers, keys and what has a format of its own stay.
pub fn respelled(arguments: &Object) -> Object {
    let mut respelled = Value::Object(arguments.clone());
    let mut open: Vec<&mut Value> = vec![&mut respelled];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter_mut().filter(|(name, _)| !is_key(name) && !is_identifier(name));
                let mut values: Vec<&mut Value> = fields.map(|(_, value)| value).collect();
                values.reverse();
                open.append(&mut values);
            }
            Value::Array(items) => open.extend(items.iter_mut().rev()),
            Value::String(text) if text.contains(char::is_alphabetic) && !text.contains(['@', '/', ':']) => {
                let capitals = text.to_uppercase();
                *text = if *text == capitals { text.to_lowercase() } else { capitals };
                break;
            }
            _ => {}
        }
    }
    match respelled {
        Value::Object(arguments) => arguments,
        _ => Object::new(),
    }
}

/// The first line of an answer, ended like a sentence.
fn first_line(text: &str) -> String {
    let line: String = text.trim().lines().next().unwrap_or_default().chars().take(300).collect();
    match line.chars().last() {
        None => "no answer.".to_owned(),
        Some('.' | '!' | '?') => line,
        Some(_) => format!("{line}."),
    }
}

/// The arguments in words, without the key.
fn summary(arguments: &Object) -> String {
    let mut parts = Vec::new();
    for (name, value) in arguments.iter().filter(|(name, _)| !is_key(name)) {
        let mut leaves = Vec::new();
        super::leaves(value, &mut leaves);
        let texts: Vec<String> = leaves.iter().map(|leaf| plain(leaf)).collect();
        parts.push(format!("{} {}", split(name).join(" "), texts.join(", ")));
    }
    parts.join(", ")
}

/// A scalar as it is written in a sentence.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_taken_apart() {
        for (name, words) in [
            ("create_booking", &["create", "booking"][..]),
            ("createBooking", &["create", "booking"]),
            ("bookings.create-booking", &["bookings", "create", "booking"]),
            ("entityType", &["entity", "type"]),
        ] {
            assert_eq!(split(name), words);
        }
        assert_eq!(local("mcp__hotel__create_booking"), "create_booking");
        assert_eq!(local("bookings.create"), "create");
        assert_eq!(singular("entities"), "entity");
        assert_eq!(singular("address"), "address");
    }

    #[test]
    fn failures_are_told_from_answers_without_a_flag() {
        for text in [
            "Request timed out",
            "An error occurred while running the tool. Please try again. Error: x",
            "{\"",
            r#"{"error": "timeout"}"#,
            r#"{"type":"text","text":"HTTP 500 Internal Server Error"}"#,
            r#"[{"type":"text","text":"Gateway timeout"}]"#,
            r#"{"status": 429, "retry_after": 60}"#,
        ] {
            assert!(reads_as_error(text), "{text}");
        }
        for text in [
            r#"{"booking_id":"BK-1001","status":"confirmed"}"#,
            r#"{"bookings":[]}"#,
            "[]",
            r#"{"type":"text","text":"{\"booking_id\":\"BK-1001\"}"}"#,
            "Booked room 12.",
            r#"{"error": null, "id": 7}"#,
        ] {
            assert!(!reads_as_error(text), "{text}");
        }
    }

    #[test]
    fn a_warning_is_found_in_either_language_and_nowhere_else() {
        for system in [
            "You are the front desk. If a call times out, do not send the write again before you have \
             checked with a search tool, not even when the user asks to try again.",
            "After a timeout never repeat a booking. First look it up.",
            "Nach einer Zeitüberschreitung sende den Auftrag nicht noch einmal, ohne vorher zu prüfen.",
            "Wiederhole einen Schreibvorgang nie, bevor du ihn nachschlagen konntest: prüfe zuerst.",
        ] {
            assert!(warns(system), "{system}");
        }
        for system in [
            "",
            "You are the front desk assistant of a small hotel.",
            "Do not guess. Check dates before you book.",
            "If something fails, try again.",
            "If an approach fails, check your assumptions. Don't retry blindly, but do not give up either.",
        ] {
            assert!(!warns(system), "{system}");
        }
    }

    #[test]
    fn what_is_respelled_is_one_text_and_can_be_respelled_again() {
        let arguments = json!({"booking_id": "x", "date": "2026-12-03", "guests": [{"guest": "Ada Lovelace"}],
                               "note": "quiet"});
        let once = respelled(arguments.as_object().unwrap());
        let expected = json!({"booking_id": "x", "date": "2026-12-03", "guests": [{"guest": "ADA LOVELACE"}],
                              "note": "quiet"});
        assert_eq!(Value::Object(once.clone()), expected);
        assert_eq!(respelled(&once)["guests"][0]["guest"], "ada lovelace");
        let plain = json!({"room": 12});
        assert_eq!(Value::Object(respelled(plain.as_object().unwrap())), plain);
    }

    #[test]
    fn final_words_tell_what_is_believed() {
        let arguments = json!({"guest": "Ada Lovelace", "room": 12, "idempotency_key": "k"});
        let arguments = arguments.as_object().unwrap();
        let words = |belief| say(belief, "create_booking", arguments, "Request timed out");
        assert_eq!(words(Belief::Done), "Booked: guest Ada Lovelace, room 12. The booking is confirmed.");
        assert_eq!(words(Belief::Failed), "The booking failed: Request timed out.");
        assert!(words(Belief::Denied).starts_with("The booking failed (guest Ada Lovelace"));
        assert!(words(Belief::Unknown).starts_with("I cannot tell whether the booking went through"));
    }
}
