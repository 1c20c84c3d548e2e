//! The two tools of the proxy's own, which read the report. They tell the agent what really
//! happened, so they are for trying things out, not for measuring.

use crate::domain::RawJson;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::Write;

/// How a report is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As in the report file.
    Json,
    /// For people.
    Markdown,
}

/// What an agent wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The report of the run so far.
    Report(Format),
    /// Verdict, score and patches.
    Score(Format),
}

struct Tool {
    name: &'static str,
    description: &'static str,
    question: fn(Format) -> Question,
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "nochmal__get_report",
        description: "Read-only. What this session's calls really did: verdict, operations, violations, observations.",
        question: Question::Report,
    },
    Tool {
        name: "nochmal__get_score",
        description: "Read-only. Verdict, score and the prompt patches that this session has earned.",
        question: Question::Score,
    },
];

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    format: Option<Cow<'a, str>>,
}

/// What a call of that name asks; none where it is no tool of ours.
pub(super) fn question(name: &str, arguments: Option<&RawValue>) -> Option<Result<Question, String>> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let arguments = match arguments.map(|raw| serde_json::from_str::<Option<Arguments<'_>>>(raw.get())) {
        None => Arguments::default(),
        Some(Ok(arguments)) => arguments.unwrap_or_default(),
        Some(Err(error)) => return Some(Err(format!("the arguments cannot be read: {error}"))),
    };
    Some(match arguments.format.as_deref() {
        None | Some("json") => Ok((tool.question)(Format::Json)),
        Some("markdown") => Ok((tool.question)(Format::Markdown)),
        Some(other) => Err(format!("there is no format {other:?}; json and markdown are known")),
    })
}

/// A `tools/list` answer with our tools at its end; the upstream's own text stays as it is. Tools
/// that the upstream itself lists are left to it.
pub(super) fn listed(message: &str, tools: &RawValue, is_taken: impl Fn(&str) -> bool) -> Option<String> {
    let within = tools.get().as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let closing = (within + tools.get().len()).checked_sub(1)?;
    let (before, after) = (message.get(..closing)?, message.get(closing..)?);
    let mut comma = if before.trim_end().ends_with('[') { "" } else { "," };
    let mut text = before.to_owned();
    for tool in TOOLS.iter().filter(|tool| !is_taken(tool.name)) {
        let _ = write!(
            text,
            concat!(
                r#"{}{{"name":"{}","description":"{}","inputSchema":{{"type":"object","properties":"#,
                r#"{{"format":{{"type":"string","enum":["json","markdown"]}}}},"additionalProperties":false}},"#,
                r#""annotations":{{"readOnlyHint":true}}}}"#
            ),
            comma, tool.name, tool.description
        );
        comma = ",";
    }
    text.push_str(after);
    Some(text)
}

/// The answer to a question.
pub(in super::super) fn answer(id: &RawJson, text: &str, modern: bool) -> String {
    let text = RawJson::string(text);
    let kind = if modern { r#","resultType":"complete""# } else { "" };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]{kind}}}}}"#)
}
