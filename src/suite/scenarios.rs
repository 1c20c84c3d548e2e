//! The faults that a suite describes itself: `scenarios:` → plans.

use super::decode::{At, Decoder, Fields, Shape};
use super::diagnostics::{shown, suggestion};
use super::template::locate;
use super::tree::{Key, Kind, Node};
use crate::domain::json::canonical;
use crate::domain::transitions::{BUILT_IN, Expectation, Path, Step};
use crate::domain::{Present, RawJson, ToolClass};
use crate::scenario::{Answer, Becomes, Elements, Execute, Mutation, Plan, Trigger, When};
use crate::trace::{Fault, Told};
use std::collections::BTreeMap;
use std::time::Duration;

/// A fault that a suite describes.
#[derive(Debug, Clone, PartialEq)]
pub struct UserScenario {
    /// What it does.
    pub plan: Plan,
    /// How failures are told under it; none where the axis says so.
    pub present: Option<Present>,
    /// What must not follow what.
    pub expect: Option<Expectation>,
}

const SCENARIO: Shape =
    Shape::new("a scenario", &["on", "execute", "delay", "answer", "times", "present", "expect"]).hints(&[
        ("tool", "it stands under `on:`"),
        ("class", "it stands under `on:`"),
        ("nth", "it stands under `on:`"),
        ("args", "it stands under `on:`"),
        ("kind", "it stands under `answer:`"),
        ("forbid", "it stands under `expect:`"),
        ("allow", "it stands under `expect:`"),
        ("steps", "it stands under `expect:`"),
    ]);
const TRIGGER: Shape = Shape::new("a scenario's trigger", &["tool", "class", "args", "nth"]);
const ANSWER: Shape = Shape::new(
    "a scenario's answer",
    &["kind", "status", "retry_after", "field", "to", "list", "kill", "text", "is_error", "code", "message"],
);
const EXPECT: Shape = Shape::new("a scenario's expectations", &["forbid", "allow", "steps"]);
const STEP: Shape = Shape::new("a step", &["tool", "class", "args", "result", "pattern"]);

const LONGEST: Duration = Duration::from_secs(24 * 3600);
const CLASSES: [(&str, ToolClass); 3] =
    [("write", ToolClass::Write), ("read", ToolClass::Read), ("unclassified", ToolClass::Unclassified)];

/// Reads one of `scenarios:`. `taken` are the names that mean something already.
pub(super) fn read(decoder: &mut Decoder, key: &Key, node: &Node, taken: &[&str]) -> Option<UserScenario> {
    if taken.contains(&key.text.as_str()) || key.text.contains(':') || key.text == "none" {
        decoder
            .error(key.span.clone(), format!("{} is the name of a built-in scenario", shown(&key.text)))
            .help("give it a name of its own, without `:`");
    }
    let fields = decoder.fields(node, key.span.clone(), &SCENARIO)?;
    let on = match fields.entry("on") {
        Some((key, node)) => trigger(decoder, key, node),
        None => Some(Trigger::WRITES),
    };
    let execute = match fields.get("execute") {
        Some(node) => execute(decoder, node),
        None => Some(Execute::Before),
    };
    let delay = match fields.get("delay") {
        Some(node) => decoder.duration(node, Duration::ZERO..=LONGEST).map(Some),
        None => Some(None),
    };
    let times = match fields.get("times") {
        Some(node) => times(decoder, node),
        None => Some(Some(1)),
    };
    let present = match fields.get("present") {
        Some(node) => {
            let forms = Present::ALL.map(|present| (present.name(), present));
            decoder.choice(node, "form", &forms).map(Some)
        }
        None => Some(None),
    };
    let expect = match fields.entry("expect") {
        Some((key, node)) => expectation(decoder, key, node).map(Some),
        None => Some(None),
    };
    let (answer_key, answer_node) = decoder.required(&fields, "answer", "answer: {kind: timeout}")?;
    let answer = answer(decoder, answer_key, answer_node)?;
    let (on, execute, times) = (on?, execute?, times?);
    let (delay, present, expect) = (delay?, present?, expect?);
    if answer.needs_answer() && execute != Execute::Before {
        decoder
            .error(answer_node.span.clone(), "this answer is made from the server's, which there is none of")
            .help("write `execute: true`, so that the server answers first");
        return None;
    }
    let when = match (&answer, execute, delay) {
        (Answer::Late, _, delay) => When::GivenUp(delay.unwrap_or(Duration::from_secs(150))),
        (Answer::Cut { .. }, Execute::After, None) => When::Started(Duration::from_secs(2)),
        (_, _, Some(delay)) => When::After(delay),
        _ => When::Now,
    };
    let fault = match (&answer, execute) {
        (Answer::Late, _) => Fault::LateAnswer,
        (_, Execute::No) => Fault::Withheld,
        (_, Execute::Before | Execute::After) => Fault::Replaced,
    };
    Some(UserScenario { plan: Plan { on, execute, when, answer, times, fault }, present, expect })
}

fn trigger(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Trigger> {
    let fields = decoder.fields(node, key.span.clone(), &TRIGGER)?;
    let which = which(decoder, &fields);
    let nth = match fields.get("nth") {
        Some(node) => decoder.whole(node, "the number of the call", 1..=1_000_000),
        None => Some(1),
    };
    let ((tool, class, arguments), nth) = (which?, nth?);
    // Unless something else is said it waits for writes, like the built-in ones (J11).
    let class = class.or((tool.is_none()).then_some(ToolClass::Write));
    Some(Trigger { class, tool, arguments: arguments.into_iter().collect(), nth: u32::try_from(nth).ok()? })
}

type Which = (Option<String>, Option<ToolClass>, BTreeMap<String, String>);

/// Which calls are meant.
fn which(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<Which> {
    let tool = match fields.get("tool") {
        Some(node) => decoder.filled(node, "the name of a tool, with `*`").map(|tool| Some(tool.value)),
        None => Some(None),
    };
    let class = match fields.get("class") {
        Some(node) => decoder.choice(node, "class of tools", &CLASSES).map(Some),
        None => Some(None),
    };
    let mut arguments = Some(BTreeMap::new());
    if let Some(node) = fields.get("args") {
        let named = decoder.named(node, "arguments and their values");
        arguments = arguments.filter(|_| named.is_some());
        for (key, node) in named.unwrap_or_default() {
            match value(decoder, node) {
                Some(value) => drop(arguments.as_mut().map(|all| all.insert(key.text.clone(), value))),
                None => arguments = None,
            }
        }
    }
    Some((tool?, class?, arguments?))
}

/// A scalar as canonical JSON: a number, `true`, `false` and `null` where they stand without quotes.
fn value(decoder: &mut Decoder, node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Null => Some("null".to_owned()),
        Kind::Scalar { text, plain: true } if RawJson::parse(text).is_ok() => Some(canonical(text)),
        Kind::Scalar { text, .. } => Some(canonical(RawJson::string(text).get())),
        Kind::Seq(_) | Kind::Map(_) => {
            decoder.error(node.span.clone(), "an argument is compared with a text, a number or a boolean");
            None
        }
    }
}

fn execute(decoder: &mut Decoder, node: &Node) -> Option<Execute> {
    let words = [
        ("true", Execute::Before),
        ("before", Execute::Before),
        ("after", Execute::After),
        ("false", Execute::No),
    ];
    decoder.choice(node, "way to execute a call", &words)
}

fn times(decoder: &mut Decoder, node: &Node) -> Option<Option<u32>> {
    if matches!(&node.kind, Kind::Scalar { text, .. } if text == "always") {
        return Some(None);
    }
    let times = decoder.whole(node, "how often it strikes (or `always`)", 1..=1_000_000)?;
    Some(Some(u32::try_from(times).ok()?))
}

#[derive(Clone, Copy, PartialEq)]
enum KindOf {
    Timeout,
    Status,
    Mutate,
    Cut,
    Half,
    Late,
    Text,
    ProtocolError,
}

/// The kinds of answers, and the keys that each takes.
const KINDS: [(&str, KindOf, &[&str]); 8] = [
    ("timeout", KindOf::Timeout, &[]),
    ("status", KindOf::Status, &["status", "retry_after"]),
    ("mutate", KindOf::Mutate, &["field", "to", "list"]),
    ("cut", KindOf::Cut, &["kill"]),
    ("half", KindOf::Half, &[]),
    ("late", KindOf::Late, &[]),
    ("text", KindOf::Text, &["text", "is_error"]),
    ("protocol_error", KindOf::ProtocolError, &["code", "message"]),
];

fn answer(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Answer> {
    let fields = decoder.fields(node, key.span.clone(), &ANSWER)?;
    let (_, kind_node) = decoder.required(&fields, "kind", "kind: timeout")?;
    let words = KINDS.map(|(word, kind, _)| (word, kind));
    let kind = decoder.choice(kind_node, "kind of answer", &words)?;
    let (word, _, own) = KINDS.into_iter().find(|(_, other, _)| *other == kind)?;
    for (name, owner) in KINDS.iter().flat_map(|(owner, _, keys)| keys.iter().map(move |key| (*key, *owner)))
    {
        if !own.contains(&name)
            && let Some((key, _)) = fields.entry(name)
        {
            let message = format!("{} goes with `kind: {owner}`, not with `kind: {word}`", shown(name));
            decoder.error(key.span.clone(), message);
        }
    }
    match kind {
        KindOf::Timeout => Some(Answer::Timeout),
        KindOf::Half => Some(Answer::Half),
        KindOf::Late => Some(Answer::Late),
        KindOf::Cut => {
            let kill = match fields.get("kill") {
                Some(node) => decoder.boolean(node)?,
                None => false,
            };
            Some(Answer::Cut { kill })
        }
        KindOf::Status => {
            let (_, node) = decoder.required(&fields, "status", "status: 503")?;
            let code = decoder.whole(node, "the status", 400..=599)?;
            let wait = match fields.entry("retry_after") {
                Some((key, _)) if code != 429 => {
                    decoder.error(key.span.clone(), "`retry_after` goes with `status: 429`");
                    return None;
                }
                Some((_, node)) => Some(decoder.duration(node, crate::scenario::RETRY_AFTER)?),
                None => None,
            };
            Some(Answer::Status(u16::try_from(code).ok()?, wait))
        }
        KindOf::Mutate => mutate(decoder, &fields, key),
        KindOf::Text => {
            let (_, node) = decoder.required(&fields, "text", "text: \"Service is restarting\"")?;
            let text = decoder.filled(node, "what the agent reads")?.value;
            let is_error = match fields.get("is_error") {
                Some(node) => decoder.boolean(node)?,
                None => true,
            };
            // What the words mean only their author knows: an error may have come after the work, and a
            // success is no failure for sure.
            let told = if is_error { Told::ServerError } else { Told::Contradiction };
            Some(Answer::Text { text, is_error, told })
        }
        KindOf::ProtocolError => {
            let code = match fields.get("code") {
                Some(node) => code(decoder, node)?,
                None => -32603,
            };
            let message = match fields.get("message") {
                Some(node) => decoder.filled(node, "a message")?.value,
                None => "Internal error".to_owned(),
            };
            Some(Answer::ProtocolError { code, message })
        }
    }
}

fn code(decoder: &mut Decoder, node: &Node) -> Option<i64> {
    let text = decoder.text(node, "an error code such as -32603")?;
    let code = text.value.parse().ok();
    if code.is_none() {
        decoder
            .error(text.span, format!("{} is no error code: a whole number is wanted", shown(&text.value)));
    }
    code
}

fn mutate(decoder: &mut Decoder, fields: &Fields<'_>, key: &Key) -> Option<Answer> {
    let field = match fields.get("field") {
        Some(node) => Some(decoder.filled(node, "the name of a field")?.value),
        None => None,
    };
    let mutation = match (fields.entry("to"), fields.entry("list")) {
        (Some((first, _)), Some((second, _))) => {
            decoder
                .error(
                    second.span.clone(),
                    "an answer is changed in a field (`to`) or in a list, not in both",
                )
                .related(first.span.clone(), "the other one");
            return None;
        }
        (Some((_, node)), None) => {
            let words = [
                ("null", Becomes::Null),
                ("number", Becomes::Number),
                ("object", Becomes::Object),
                ("missing", Becomes::Missing),
            ];
            let to = match &node.kind {
                Kind::Null => Becomes::Null,
                _ => decoder.choice(node, "thing for a field to become", &words)?,
            };
            Mutation::Field { name: field, to }
        }
        (None, Some((_, node))) => {
            let words = [("doubled", Elements::Doubled), ("reordered", Elements::Reordered)];
            Mutation::List(decoder.choice(node, "change of a list", &words)?)
        }
        (None, None) => {
            decoder
                .error(key.span.clone(), "`kind: mutate` needs `to` or `list`")
                .help("for example `{kind: mutate, field: booking_id, to: null}` or `{kind: mutate, list: doubled}`");
            return None;
        }
    };
    Some(Answer::Mutate(mutation))
}

fn expectation(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Expectation> {
    let fields = decoder.fields(node, key.span.clone(), &EXPECT)?;
    let mut steps = BTreeMap::new();
    let mut names: Vec<String> = BUILT_IN.iter().map(|name| (*name).to_owned()).collect();
    for (key, node) in
        fields.get("steps").and_then(|node| decoder.named(node, "steps by name")).unwrap_or_default()
    {
        if BUILT_IN.contains(&key.text.as_str()) {
            let message = format!("{} is a step already", shown(&key.text));
            decoder.error(key.span.clone(), message).help("give the step another name");
        }
        if Path::parse(&format!("{0} -> {0}", key.text), &|name| name == key.text).is_err() {
            decoder
                .error(key.span.clone(), format!("{} cannot be the name of a step", shown(&key.text)))
                .help("a name has letters, digits, `_` and `-`, so that it can stand in a path");
        }
        names.push(key.text.clone());
        if let Some(step) = step(decoder, key, node) {
            steps.insert(key.text.clone(), step);
        }
    }
    let forbid = paths(decoder, &fields, "forbid", &names);
    let allow = paths(decoder, &fields, "allow", &names);
    if forbid.is_empty() && fields.get("forbid").is_none() {
        decoder
            .error(key.span.clone(), "nothing is forbidden here, so nothing can be violated")
            .help("for example `forbid: [\"charge -> outcome_unknown -> charge\"]`");
    }
    Some(Expectation { steps, forbid, allow })
}

fn paths(decoder: &mut Decoder, fields: &Fields<'_>, name: &str, names: &[String]) -> Vec<String> {
    let Some(node) = fields.get(name) else { return Vec::new() };
    let texts = decoder.texts(node, "a list of paths").unwrap_or_default();
    texts
        .into_iter()
        .filter_map(|At { value, span }| {
            let error = Path::parse(&value, &|step| names.iter().any(|name| name == step)).err();
            let Some(error) = error else { return Some(value) };
            let source = decoder.source().clone();
            let length = error.at.len().max(1);
            let place = locate(&source, &span, &value, error.at.start, length);
            let mistake = decoder.error(place, format!("this path cannot be read: {}", error.reason));
            match &error.unknown {
                Some(unknown) => {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    mistake.help(suggestion(unknown, &names))
                }
                None => mistake.help("a path is written `charge -> outcome_unknown -> charge`"),
            };
            None
        })
        .collect()
}

fn step(decoder: &mut Decoder, key: &Key, node: &Node) -> Option<Step> {
    let fields = decoder.fields(node, key.span.clone(), &STEP)?;
    if let Some((result, node)) = fields.entry("result") {
        for name in ["tool", "class", "args"] {
            if let Some((key, _)) = fields.entry(name) {
                decoder
                    .error(
                        key.span.clone(),
                        format!("a step is a call or an answer: {} is of a call", shown(name)),
                    )
                    .related(result.span.clone(), "this is of an answer");
            }
        }
        decoder.choice(node, "way to look at a result", &[("matches", ())])?;
        let (_, node) = decoder.required(&fields, "pattern", "pattern: \"charge_id\"")?;
        let pattern = decoder.pattern(node)?;
        return Some(Step::Result { pattern: pattern.as_str().to_owned() });
    }
    if let Some((key, _)) = fields.entry("pattern") {
        decoder
            .error(key.span.clone(), "`pattern` goes with `result: matches`")
            .help("for example `{result: matches, pattern: \"charge_id\"}`");
        return None;
    }
    let (tool, class, arguments) = which(decoder, &fields)?;
    if tool.is_none() && class.is_none() && arguments.is_empty() {
        decoder
            .error(key.span.clone(), format!("the step {} means nothing", shown(&key.text)))
            .help("for example `{tool: \"charge_*\"}`, `{class: read}` or `{result: matches, pattern: \"charge_id\"}`");
        return None;
    }
    Some(Step::Call { tool, class, arguments })
}
