//! What agents print: finding the reply, the session and the usage in it. Pure.

mod find;

pub use find::{Count, Find, Take};

use crate::domain::Usage;
use regex::Regex;
use serde_json::Value;

/// The form of an agent's output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// The output is the reply.
    #[default]
    Text,
    /// One JSON document, with anything before and after it.
    Json,
    /// One JSON object a line; other lines are ignored.
    JsonLines,
}

/// How to read an agent's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spec {
    /// Its form.
    pub format: Format,
    /// Where the agent's last words are.
    pub reply: Option<Find>,
    /// Where the session is that a later turn resumes.
    pub session: Option<Find>,
    /// Where it says that the turn failed, and why: anything but `false` and `null`.
    pub error: Option<Find>,
    /// Where the number of input tokens is.
    pub input_tokens: Option<Count>,
    /// Where the number of output tokens is.
    pub output_tokens: Option<Count>,
    /// Where the cost is, in US dollars.
    pub cost_usd: Option<Count>,
}

/// What one turn's output holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The agent's last words; none where it said nothing.
    pub reply: Option<String>,
    /// The session to resume.
    pub session: Option<String>,
    /// Consumption, as the output tells it.
    pub usage: Usage,
    /// Why the turn failed, where the output says that it did.
    pub failed: Option<String>,
}

/// Why an output could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// There is nothing.
    #[error("it printed nothing, where {wanted} was expected")]
    Nothing {
        /// What was expected.
        wanted: &'static str,
    },
    /// There is no JSON in it.
    #[error("its output holds no {wanted}; it begins: {head}")]
    NotJson {
        /// What was expected.
        wanted: &'static str,
        /// The first characters.
        head: String,
    },
    /// The pointer to the reply names nothing.
    #[error("its output has no reply at {find}; it begins: {head}")]
    NoReply {
        /// The place, in words.
        find: String,
        /// The first characters.
        head: String,
    },
}

/// Reads the output of one turn.
///
/// # Errors
/// Where there is no JSON although there should be, or nothing at the place of the reply.
pub fn parse(spec: &Spec, text: &str) -> Result<Parsed, OutputError> {
    let (records, wanted) = match spec.format {
        Format::Text => {
            let reply = text.trim();
            return Ok(Parsed { reply: (!reply.is_empty()).then(|| reply.to_owned()), ..Parsed::default() });
        }
        Format::Json => (records_of_document(spec, text), "JSON document"),
        Format::JsonLines => (text.lines().filter_map(json_line).collect(), "JSON line"),
    };
    if records.is_empty() {
        return Err(match text.trim() {
            "" => OutputError::Nothing { wanted },
            _ => OutputError::NotJson { wanted, head: head(text) },
        });
    }
    let parsed = read(spec, &records);
    let Some(find) = &spec.reply else { return Ok(parsed) };
    // A turn without last words prints no reply line; that its other lines are understood shows
    // that the place is right.
    let silent =
        spec.format == Format::JsonLines && (parsed.session.is_some() || parsed.usage != Usage::default());
    if !find.exists(&records) && parsed.failed.is_none() && !silent {
        return Err(OutputError::NoReply { find: find.to_string(), head: head(text) });
    }
    Ok(parsed)
}

/// Reads what the places name, without asking whether they name anything.
pub fn read(spec: &Spec, records: &[Value]) -> Parsed {
    let text = |find: &Option<Find>| find.as_ref().and_then(|find| find.words(records));
    let number = |count: &Option<Count>| count.as_ref().and_then(|count| count.number(records));
    Parsed {
        reply: text(&spec.reply),
        session: text(&spec.session),
        usage: Usage {
            input_tokens: number(&spec.input_tokens).and_then(whole),
            output_tokens: number(&spec.output_tokens).and_then(whole),
            cost_usd: number(&spec.cost_usd).filter(|cost| cost.is_finite()),
            ..Usage::default()
        },
        failed: text(&spec.error).filter(|flag| flag != "false"),
    }
}

/// The usage of a conversation out of its turns'.
pub fn add_usage(spec: &Spec, before: Usage, turn: Usage) -> Usage {
    fn join<T: std::ops::Add<Output = T>>(
        count: &Option<Count>,
        before: Option<T>,
        turn: Option<T>,
    ) -> Option<T> {
        let cumulative = count.as_ref().is_some_and(|count| count.cumulative);
        match (before, turn) {
            (Some(before), Some(turn)) if !cumulative => Some(before + turn),
            (before, turn) => turn.or(before),
        }
    }
    Usage {
        input_tokens: join(&spec.input_tokens, before.input_tokens, turn.input_tokens),
        output_tokens: join(&spec.output_tokens, before.output_tokens, turn.output_tokens),
        cost_usd: join(&spec.cost_usd, before.cost_usd, turn.cost_usd),
        cached_tokens: join(&None, before.cached_tokens, turn.cached_tokens),
        answers: join(&None, before.answers, turn.answers),
        retries: join(&None, before.retries, turn.retries),
    }
}

/// Whether one of the patterns, which mean a failure of the model endpoint, is found.
pub fn is_model_error(patterns: &[Regex], texts: &[&str]) -> bool {
    model_error(patterns, texts).is_some()
}

/// What stands in the line from where such a pattern is found.
pub fn model_error<'t>(patterns: &[Regex], texts: &[&'t str]) -> Option<&'t str> {
    let mut found = patterns
        .iter()
        .flat_map(|pattern| texts.iter().filter_map(|text| Some((*text, pattern.find(text)?.start()))));
    let (text, start) = found.next()?;
    text.get(start..)?.lines().next().map(str::trim)
}

fn json_line(line: &str) -> Option<Value> {
    let line = line.trim();
    line.starts_with(['{', '[']).then(|| serde_json::from_str(line).ok()).flatten()
}

/// Starts of lines at which a document is tried; beyond them an output is not worth the time.
const ATTEMPTS: usize = 2_000;

/// The records of the document. Programs print warnings around it, which can look like JSON
/// themselves (`[info] …`), so the last document that has the reply is taken.
fn records_of_document(spec: &Spec, text: &str) -> Vec<Value> {
    if let Ok(document @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text.trim()) {
        return spread(document);
    }
    let mut best = Vec::new();
    let mut from = 0;
    for _ in 0..ATTEMPTS {
        let Some(rest) = text.get(from..) else { break };
        if rest.is_empty() {
            break;
        }
        let blanks = rest.len() - rest.trim_start().len();
        let mut length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        if rest.trim_start().starts_with(['{', '[']) {
            let start = rest.get(blanks..).unwrap_or_default();
            let mut documents = serde_json::Deserializer::from_str(start).into_iter::<Value>();
            if let Some(Ok(document)) = documents.next() {
                length = blanks + documents.byte_offset().max(1);
                let records = spread(document);
                let replies = spec.reply.as_ref().is_none_or(|find| find.exists(&records));
                if replies || best.is_empty() {
                    best = records;
                }
            } else {
                length = length.max(blanks + start.find('\n').map_or(start.len(), |end| end + 1));
            }
        }
        from += length;
    }
    best
}

fn spread(document: Value) -> Vec<Value> {
    match document {
        Value::Array(list) => {
            let whole = Value::Array(list.clone());
            std::iter::once(whole).chain(list).collect()
        }
        document => vec![document],
    }
}

/// A count that a JSON number means; some programs write `100.0`.
fn whole(number: f64) -> Option<u64> {
    // Above 2^53 neighbouring counts are no longer told apart, and no token count is that large.
    let fits = (0.0..=9_007_199_254_740_992.0).contains(&number);
    fits.then(|| number.round() as u64)
}

const HEAD: usize = 200;

/// The first characters of an output on one line, for a message.
pub(crate) fn head(text: &str) -> String {
    let mut line = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == HEAD {
            line.push('…');
            break;
        }
        line.push(if character.is_control() { ' ' } else { character });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(format: Format, reply: Find) -> Spec {
        Spec { format, reply: Some(reply), ..Spec::default() }
    }

    fn reply(spec: &Spec, text: &str) -> Option<String> {
        parse(spec, text).unwrap().reply
    }

    #[test]
    fn a_text_is_the_reply_without_the_white_space_around_it() {
        assert_eq!(reply(&Spec::default(), "\n  done \n").as_deref(), Some("done"));
        assert_eq!(reply(&Spec::default(), "\n"), None);
    }

    #[test]
    fn warnings_around_a_document_are_passed_over() {
        let json = spec(Format::Json, Find::at("/result"));
        for text in [
            r#"{"result": "x"}"#,
            "[info] starting\n{not json\n{\n \"result\":\n \"x\"}\nbye",
            "[1, 2]\n{\"log\": true}\n{\"result\": \"x\"}\n{\"log\": false}",
            "  \n\t{\"result\": \"x\"} trailing",
        ] {
            assert_eq!(reply(&json, text).as_deref(), Some("x"), "{text}");
        }
    }

    #[test]
    fn a_document_that_is_a_list_is_looked_through() {
        let json = spec(Format::Json, Find::at("/result").when("/type", "result"));
        assert_eq!(
            reply(&json, r#"[{"type": "a", "result": 1}, {"type": "result", "result": "x"}]"#).as_deref(),
            Some("x")
        );
    }

    #[test]
    fn of_lines_the_last_that_meets_the_conditions_is_taken() {
        let mut lines = spec(Format::JsonLines, Find::at("/item/text").when("/item/type", "message"));
        lines.session = Some(Find::at("/thread"));
        let text = "warming up\n{\"thread\": \"t1\"}\n{\"item\": {\"type\": \"message\", \"text\": \"a\"}}\n\
                    {\"item\": {\"type\": \"message\", \"text\": \"b\"}}\n{\"item\": {\"type\": \"tool\", \"text\": \"c\"}}\n";
        let parsed = parse(&lines, text).unwrap();
        assert_eq!((parsed.reply.as_deref(), parsed.session.as_deref()), (Some("b"), Some("t1")));
        for (take, expected) in [(Take::First, "a"), (Take::Join, "a\nb")] {
            lines.reply.as_mut().unwrap().take = take;
            assert_eq!(reply(&lines, text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_silent_turn_is_no_broken_output() {
        let lines =
            Spec { input_tokens: Some(Count::at("/in")), ..spec(Format::JsonLines, Find::at("/text")) };
        assert_eq!(reply(&lines, r#"{"in": 3}"#), None);
        assert_eq!(reply(&lines, r#"{"text": null}"#), None);
        assert!(matches!(parse(&lines, r#"{"other": 3}"#), Err(OutputError::NoReply { .. })));
    }

    #[test]
    fn numbers_are_summed_over_a_record_and_where_asked_over_all() {
        let mut json = Spec {
            input_tokens: Some(Count::at("/models/*/tokens")),
            ..spec(Format::JsonLines, Find::at("/r"))
        };
        let text = r#"{"r": "x", "models": {"a": {"tokens": 100.0}, "b": {"tokens": 20}}}"#;
        let twice = format!("{text}\n{text}");
        assert_eq!(parse(&json, &twice).unwrap().usage.input_tokens, Some(120));
        json.input_tokens.as_mut().unwrap().find.take = Take::Sum;
        assert_eq!(parse(&json, &twice).unwrap().usage.input_tokens, Some(240));
    }

    #[test]
    fn cached_tokens_that_stand_apart_are_added_where_they_are_there() {
        let count = Count { plus: vec![Find::at("/cached"), Find::at("/written")], ..Count::at("/new") };
        let spec = Spec { input_tokens: Some(count), ..spec(Format::Json, Find::at("/r")) };
        let tokens = |text| parse(&spec, text).unwrap().usage.input_tokens;
        assert_eq!(tokens(r#"{"r": "x", "new": 3, "cached": 9000}"#), Some(9003));
        assert_eq!(tokens(r#"{"r": "x", "cached": 9000, "written": 1}"#), Some(9001));
        assert_eq!(tokens(r#"{"r": "x"}"#), None);
    }

    #[test]
    fn what_is_cumulative_is_not_added_and_absent_is_not_zero() {
        let spec =
            Spec { input_tokens: Some(Count { cumulative: true, ..Count::at("/i") }), ..Spec::default() };
        let turn = |input, output| Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
        let after = add_usage(&spec, turn(Some(200), Some(40)), turn(Some(400), Some(40)));
        assert_eq!(after, turn(Some(400), Some(80)));
        assert_eq!(add_usage(&spec, after, Usage::default()), after);
        assert_eq!(add_usage(&spec, Usage::default(), Usage::default()), Usage::default());
    }

    #[test]
    fn a_flag_says_that_the_turn_failed() {
        let json = Spec { error: Some(Find::at("/is_error")), ..spec(Format::Json, Find::at("/result")) };
        for (flag, failed) in [("false", false), ("null", false), ("true", true), (r#""why""#, true)] {
            let parsed = parse(&json, &format!(r#"{{"is_error": {flag}, "result": "x"}}"#)).unwrap();
            assert_eq!(parsed.failed.is_some(), failed, "{flag}");
        }
    }

    #[test]
    fn a_failure_of_the_model_is_told_from_where_it_was_found() {
        let patterns = ["ApiError", "quota"].map(|pattern| Regex::new(pattern).unwrap());
        let texts = ["warming up\nsee x.json for ApiError: 429\n  at x.js\n}", "quota"];
        assert_eq!(model_error(&patterns, &texts), Some("ApiError: 429"));
        assert_eq!(model_error(&patterns, &texts[1..]), Some("quota"));
        assert_eq!(model_error(&patterns, &["fine"]), None);
    }

    #[test]
    fn a_reply_of_parts_is_joined() {
        let json = spec(Format::Json, Find::at("/content"));
        assert_eq!(
            reply(&json, r#"{"content": [{"type": "text", "text": "a"}, {"text": "b"}]}"#).as_deref(),
            Some("ab")
        );
    }

    #[test]
    fn errors_say_what_was_not_found_and_how_the_output_begins() {
        let find = Find::at("/text").when("/type", "result");
        let message = |spec: &Spec, text: &str| parse(spec, text).unwrap_err().to_string();
        insta::assert_snapshot!(message(&spec(Format::Json, find.clone()), "usage:\n  agent [x]"), @"its output holds no JSON document; it begins: usage:   agent [x]");
        insta::assert_snapshot!(message(&spec(Format::JsonLines, find.clone()), " \n"), @"it printed nothing, where JSON line was expected");
        insta::assert_snapshot!(message(&spec(Format::JsonLines, find), r#"{"type": "other"}"#), @r#"its output has no reply at `/text` where `/type` is `result`; it begins: {"type": "other"}"#);
    }

    proptest::proptest! {
        #[test]
        fn no_output_is_too_strange(text in r#"[\[\]{}":, a\n0-9\\]{0,80}"#) {
            for format in [Format::Text, Format::Json, Format::JsonLines] {
                let _ = parse(&spec(format, Find::at("/a")), &text);
            }
        }
    }
}
