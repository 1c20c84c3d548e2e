//! One case: what was seen against what is expected. Pure.

use super::answer::{Answer, Told};
use super::claim;
use super::expect::{Expect, JsonType, PartCheck, Requests, TextCheck};
use super::file::Case;
use super::fixture::same;
use serde_json::Value;
use std::collections::BTreeSet;

/// A request that reached the backend.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Seen {
    /// Milliseconds since the call was sent; 0 where it came before.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Which fixture answered it, from 1; none where none matched.
    pub fixture: Option<usize>,
    /// Whether it was carried out.
    pub committed: bool,
    /// What it was answered, for people.
    pub answered: String,
}

/// All that was seen of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed<'a> {
    /// What the tool answered.
    pub answer: &'a Answer,
    /// What reached the backend, in order.
    pub requests: &'a [Seen],
    /// Names of the secrets that the answer holds.
    pub secrets: BTreeSet<&'a str>,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// There was no answer.
    Answer,
    /// `isError`
    IsError,
    /// `category`
    Category,
    /// `retry`
    Retry,
    /// The number of requests.
    Requests,
    /// Whether something was carried out.
    Committed,
    /// A secret in the answer.
    SecretInResult,
    /// A part of the result.
    Result,
    /// The result's words.
    Text,
    /// The backend carried it out, and the tool claims that nothing happened.
    Claim,
}

impl FailureKind {
    /// The word in contracts and reports.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Answer => "answer",
            FailureKind::IsError => "is_error",
            FailureKind::Category => "category",
            FailureKind::Retry => "retry",
            FailureKind::Requests => "requests",
            FailureKind::Committed => "committed",
            FailureKind::SecretInResult => "secret_in_result",
            FailureKind::Result => "result",
            FailureKind::Text => "text",
            FailureKind::Claim => "claim",
        }
    }
}

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// What it is about.
    pub kind: FailureKind,
    /// A sentence.
    pub reason: String,
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All is as expected.
    Passed,
    /// Something is not.
    Failed,
    /// It could not be carried out.
    Error,
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CaseResult {
    /// The contract.
    pub contract: String,
    /// The case.
    pub id: String,
    /// As the file describes it.
    pub description: Option<String>,
    /// How it ended.
    pub state: State,
    /// What is not as it must be, in the order in which it is looked at.
    pub failures: Vec<Failure>,
    /// Why it could not be carried out.
    pub error: Option<String>,
    /// `isError` of the answer.
    pub is_error: Option<bool>,
    /// The answer's category.
    pub category: Option<String>,
    /// The answer's advice about trying again.
    pub retry: Option<String>,
    /// The beginning of what the answer says.
    pub answer: Option<String>,
    /// What reached the backend.
    pub requests: Vec<Seen>,
    /// The end of the server's stderr.
    pub stderr: String,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Everything that is not as it must be.
pub fn check(case: &Case, seen: &Observed<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut fail = |kind, reason: String| failures.push(Failure { kind, reason });
    let expect = &case.expect;
    match seen.answer {
        Answer::Result(told) | Answer::Refused(told) => told_as_expected(expect, told, &mut fail),
        Answer::Silent(limit) => {
            let limit = crate::suite::units::show_duration(*limit);
            fail(FailureKind::Answer, format!("the tool did not answer within {limit}"));
        }
        Answer::Gone(how) => {
            fail(FailureKind::Answer, format!("the server was gone before it answered: {how}"))
        }
    }
    backend_as_expected(expect, seen.requests, &mut fail);
    match (expect.secret_in_result, seen.secrets.is_empty()) {
        (false, false) => {
            let names: Vec<&str> = seen.secrets.iter().copied().collect();
            fail(FailureKind::SecretInResult, format!("the result holds the value of {}", names.join(", ")));
        }
        (true, true) => fail(FailureKind::SecretInResult, "the result holds no secret".to_owned()),
        _ => {}
    }
    if seen.requests.iter().any(|request| request.committed)
        && let Some(told) = seen.answer.told()
        && let Some(why) = claim::nothing_happened(told)
    {
        fail(
            FailureKind::Claim,
            format!("the backend carried it out, and the tool claims that nothing happened: {why}"),
        );
    }
    failures
}

fn told_as_expected(expect: &Expect, told: &Told, fail: &mut dyn FnMut(FailureKind, String)) {
    if let Some(wanted) = expect.is_error
        && wanted != told.is_error
    {
        fail(FailureKind::IsError, format!("expected {wanted}, found {}", told.is_error));
    }
    for (kind, wanted, found) in [
        (FailureKind::Category, &expect.category, told.category()),
        (FailureKind::Retry, &expect.retry, told.retry()),
    ] {
        if !wanted.is_empty() && !found.is_some_and(|found| wanted.iter().any(|word| word == found)) {
            let found = found.map_or("none".to_owned(), |found| format!("\"{found}\""));
            fail(kind, format!("expected {}, found {found}", wanted.join(" or ")));
        }
    }
    for (pointer, wanted) in &expect.result {
        let found = told.value.as_ref().and_then(|value| value.pointer(pointer));
        let nothing = told.value.is_none().then_some("the result holds no JSON");
        for reason in part(wanted, found) {
            let place = if pointer.is_empty() { "the whole" } else { pointer };
            fail(FailureKind::Result, format!("{place}: {}", nothing.map_or(reason, str::to_owned)));
        }
    }
    words(&expect.text, told, fail);
}

fn part(wanted: &PartCheck, found: Option<&Value>) -> Vec<String> {
    if let Some(present) = wanted.present
        && present != found.is_some()
    {
        return vec![if present { "it is absent" } else { "it is there, and must not be" }.to_owned()];
    }
    let other =
        wanted.equals.is_some() || wanted.matches.is_some() || wanted.is.is_some() || wanted.length.is_some();
    let Some(found) = found else {
        return if other { vec!["it is absent".to_owned()] } else { Vec::new() };
    };
    let mut reasons = Vec::new();
    if let Some(value) = &wanted.equals
        && !same(found, value)
    {
        reasons.push(format!("expected {value}, found {found}"));
    }
    if let Some(pattern) = &wanted.matches {
        let matches = found.as_str().is_some_and(|text| pattern.0.is_match(text));
        if !matches {
            reasons.push(format!("expected a text that {} matches, found {found}", pattern.0.as_str()));
        }
    }
    if let Some(is) = wanted.is
        && !is.is(found)
    {
        reasons.push(format!("expected {}, found {} {found}", is.name(), JsonType::of(found).name()));
    }
    if let Some(length) = wanted.length {
        let there = match found {
            Value::String(text) => Some(text.chars().count()),
            Value::Array(items) => Some(items.len()),
            Value::Object(entries) => Some(entries.len()),
            _ => None,
        };
        match there {
            Some(there) if there as u64 == length => {}
            Some(there) => reasons.push(format!("expected a length of {length}, found {there}")),
            None => reasons.push(format!("expected a length of {length}, found {found}")),
        }
    }
    reasons
}

fn words(wanted: &TextCheck, told: &Told, fail: &mut dyn FnMut(FailureKind, String)) {
    let lower = told.text.to_lowercase();
    for text in wanted.contains.iter().filter(|text| !lower.contains(&text.to_lowercase())) {
        fail(FailureKind::Text, format!("\"{text}\" is not in it"));
    }
    for text in wanted.lacks.iter().filter(|text| lower.contains(&text.to_lowercase())) {
        fail(FailureKind::Text, format!("\"{text}\" is in it, and must not be"));
    }
    if let Some(pattern) = &wanted.matches
        && !pattern.0.is_match(&told.text)
    {
        fail(FailureKind::Text, format!("{} does not match it", pattern.0.as_str()));
    }
}

fn backend_as_expected(expect: &Expect, requests: &[Seen], fail: &mut dyn FnMut(FailureKind, String)) {
    let count = |method: &str| requests.iter().filter(|seen| seen.method == method).count() as u64;
    let made = || {
        let made: Vec<String> =
            requests.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
        if made.is_empty() { "none".to_owned() } else { made.join(", ") }
    };
    match &expect.requests {
        Some(Requests::All(wanted)) if *wanted != requests.len() as u64 => {
            fail(FailureKind::Requests, format!("expected {wanted}, found {}: {}", requests.len(), made()));
        }
        Some(Requests::ByMethod(wanted)) => {
            let mut methods: BTreeSet<&str> = requests.iter().map(|seen| seen.method.as_str()).collect();
            methods.extend(wanted.keys().map(String::as_str));
            for method in methods {
                let (wanted, found) = (wanted.get(method).copied().unwrap_or(0), count(method));
                if wanted != found {
                    fail(
                        FailureKind::Requests,
                        format!("expected {wanted} {method}, found {found}: {}", made()),
                    );
                }
            }
        }
        _ => {}
    }
    let committed = requests.iter().any(|seen| seen.committed);
    if let Some(wanted) = expect.committed
        && wanted != committed
    {
        let what = |done: bool| if done { "carried out" } else { "not carried out" };
        fail(
            FailureKind::Committed,
            format!("expected that it is {}, it was {}", what(wanted), what(committed)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::Contract;
    use super::*;
    use serde_json::json;

    fn case(expect: &str) -> Case {
        let text = format!(
            "contract: c\nupstream: {{command: x}}\ncases:\n- {{id: a, call: {{tool: t}}, fixture: {{status: 200}}, expect: {expect}}}\n"
        );
        Contract::parse(&text, "c.yaml").unwrap_or_else(|mistakes| panic!("{mistakes}")).cases.remove(0)
    }

    fn seen(method: &str, committed: bool) -> Seen {
        Seen {
            at_ms: 1,
            method: method.into(),
            path: "/".into(),
            fixture: Some(1),
            committed,
            answered: "200".into(),
        }
    }

    fn failures(expect: &str, result: &Value, requests: &[Seen]) -> Vec<String> {
        let answer = Answer::of_result(&result.to_string());
        let observed = Observed { answer: &answer, requests, secrets: BTreeSet::new() };
        check(&case(expect), &observed)
            .iter()
            .map(|found| format!("{}: {}", found.kind.name(), found.reason))
            .collect()
    }

    #[test]
    fn a_claim_that_is_false_fails_whatever_is_expected() {
        let denied = json!({"content": [{"type": "text", "text": "failed"}], "isError": true});
        let said = failures("{is_error: true}", &denied, &[seen("POST", true)]);
        let wanted = "claim: the backend carried it out, and the tool claims that nothing happened: it says \"failed\"";
        assert_eq!(said, [wanted]);
        assert!(failures("{is_error: true}", &denied, &[seen("POST", false)]).is_empty());
    }

    #[test]
    fn parts_of_a_result_are_compared() {
        let result =
            json!({"content": [], "structuredContent": {"id": 7, "name": "v1", "tags": ["a"], "note": null}});
        assert!(failures("{result: {/id: 7.0, /name: {matches: '^v', length: 2}, /tags: {type: array, length: 1}, /note: {type: null, present: true}, /none: {present: false}}}", &result, &[]).is_empty());
        let wanted = [
            "result: /id: expected string, found number 7",
            "result: /name: it is there, and must not be",
            "result: /gone: it is absent",
            "result: /tags: expected [\"b\"], found [\"a\"]",
        ];
        assert_eq!(
            failures(
                "{result: {/id: {type: string}, /name: {present: false}, /gone: {type: string}, /tags: {equals: [b]}}}",
                &result,
                &[]
            ),
            wanted
        );
        let words = json!({"content": [{"type": "text", "text": "Fine"}]});
        let wanted = [
            "result: /id: the result holds no JSON",
            "text: \"bad\" is not in it",
            "text: \"FINE\" is in it, and must not be",
        ];
        assert_eq!(
            failures(
                "{result: {/id: {type: string}}, text: {contains: bad, lacks: FINE, matches: F}}",
                &words,
                &[]
            ),
            wanted
        );
    }

    #[test]
    fn requests_are_counted_in_all_or_by_method() {
        let result = json!({"content": []});
        let requests = [seen("GET", false), seen("POST", true), seen("POST", true)];
        assert!(failures("{requests: 3, committed: true}", &result, &requests).is_empty());
        assert!(failures("{requests: {get: 1, POST: 2}}", &result, &requests).is_empty());
        let wanted = [
            "requests: expected 0 GET, found 1: GET /, POST /, POST /",
            "requests: expected 1 POST, found 2: GET /, POST /, POST /",
        ];
        assert_eq!(failures("{requests: {POST: 1}}", &result, &requests), wanted);
        assert_eq!(
            failures("{committed: true}", &result, &[]),
            ["committed: expected that it is carried out, it was not carried out"]
        );
    }

    #[test]
    fn a_tool_that_says_nothing_fails() {
        let answer = Answer::Silent(std::time::Duration::from_secs(3));
        let observed = Observed { answer: &answer, requests: &[], secrets: BTreeSet::from(["KEY"]) };
        let kinds: Vec<&str> =
            check(&case("{is_error: true}"), &observed).iter().map(|found| found.kind.name()).collect();
        assert_eq!(kinds, ["answer", "secret_in_result"]);
    }
}
