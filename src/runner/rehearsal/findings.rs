//! What one rehearsed run shows of its agent's profile. Pure.
//!
//! Three sides are compared: what the suite says, what the scripted model saw and answered, and
//! what arrived at the MCP server. Where they agree, the profile works.

use super::super::client;
use crate::domain::{CellKey, Micros, ReasonCode, RunResult, Verdict};
use crate::harness::endpoint::Seen;
use crate::harness::message::Message;
use crate::harness::script::Script;
use crate::judge::patches::{self, Lang};
use crate::trace::{Event, Record};
use serde::Serialize;
use std::collections::BTreeSet;

/// What the model should see.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// The system prompt with the patch; empty where there is none.
    pub system: String,
    /// The patch alone.
    pub patch: Option<String>,
    /// The names of the server's tools, where they are known.
    pub tools: Vec<String>,
}

/// What a run showed.
#[derive(Debug, Clone, Serialize)]
pub struct Findings {
    /// The run.
    pub run_id: String,
    /// Its cell.
    pub key: CellKey,
    /// Its verdict, which says nothing of the model.
    pub verdict: Verdict,
    /// Requests that were answered.
    pub requests: usize,
    /// In which protocols.
    pub protocols: BTreeSet<&'static str>,
    /// The server's tools as the model saw them.
    pub tools: BTreeSet<String>,
    /// Calls of the server's tools that the model asked for.
    pub asked: usize,
    /// Calls that arrived at the server.
    pub arrived: usize,
    /// Whether the system prompt came word for word; none where there is none.
    pub system: Option<bool>,
    /// The same of the patch.
    pub patch: Option<bool>,
    /// Name and version of the agent's MCP client.
    pub client: Option<String>,
    /// Milliseconds after which its client gave up a call.
    pub gave_up_after_ms: Option<u64>,
    /// Milliseconds that its client waited for an answer which came.
    pub waited_ms: Option<u64>,
    /// Writes that its program sent again without the model.
    pub resent: u64,
    /// What must be mended.
    pub problems: Vec<Finding>,
    /// What is worth knowing.
    pub notes: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which, as a word: the same in every run.
    pub code: &'static str,
    /// What was found.
    pub text: String,
    /// What can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<&'static str>,
}

/// Compares the three sides of a run.
pub fn examine(expected: &Expected, seen: &[Seen], run: &RunResult, records: &[Record]) -> Findings {
    let answered: Vec<&Seen> =
        seen.iter().filter(|one| one.protocol.is_some() && one.status == 200).collect();
    let arrived = records.iter().filter(|record| matches!(record.event, Event::CallReceived { .. })).count();
    let findings = Findings {
        run_id: run.run_id.0.clone(),
        key: run.key.clone(),
        verdict: run.verdict,
        requests: answered.len(),
        protocols: answered.iter().filter_map(|one| one.protocol).collect(),
        tools: BTreeSet::new(),
        asked: 0,
        arrived,
        system: None,
        patch: None,
        client: run.agent.client.clone(),
        gave_up_after_ms: run.agent.gave_up_after_ms,
        waited_ms: client::waited(records).map(Micros::as_millis),
        resent: run.agent.resent,
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let mut examined = Examined { expected, seen, answered, run, records, findings };
    examined.endpoint();
    if !examined.answered.is_empty() {
        examined.words();
        examined.tools();
        examined.calls();
        examined.replies();
        examined.usage();
    }
    examined.end();
    examined.findings
}

struct Examined<'a> {
    expected: &'a Expected,
    seen: &'a [Seen],
    answered: Vec<&'a Seen>,
    run: &'a RunResult,
    records: &'a [Record],
    findings: Findings,
}

impl<'a> Examined<'a> {
    fn problem(&mut self, code: &'static str, text: String, help: &'static str) {
        self.findings.problems.push(Finding { code, text, help: Some(help) });
    }

    fn note(&mut self, code: &'static str, text: String) {
        self.findings.notes.push(Finding { code, text, help: None });
    }

    fn endpoint(&mut self) {
        let seen = self.seen;
        if let Some(one) = seen.iter().find(|one| one.protocol.is_some() && one.status >= 400) {
            let text = format!("the endpoint refused {} with {}: {}", one.path, one.status, one.text);
            self.problem(
                "refused",
                text,
                "the program asks in a way that is not understood here; see the request with `nochmal model --log FILE`",
            );
        }
        let strange: BTreeSet<&str> =
            seen.iter().filter(|one| one.protocol.is_none()).map(|one| one.path.as_str()).collect();
        if let Some(first) = strange.first() {
            let more =
                if strange.len() > 1 { format!(" and {} more", strange.len() - 1) } else { String::new() };
            self.note(
                "unknown_path",
                format!("it also asked for {first}{more}, which no model endpoint has"),
            );
        }
        if !self.answered.is_empty() {
            return;
        }
        let never_began = [ReasonCode::AgentNotStarted, ReasonCode::UpstreamNotStarted, ReasonCode::Internal];
        if never_began.contains(&self.run.reason_code) {
            return;
        }
        if Script::parse(&self.run.key.model).is_ok() && self.findings.arrived > 0 {
            self.note("own_script", "it plays the script itself, without an endpoint".to_owned());
        } else {
            self.problem(
                "no_request",
                "its model was asked nothing at the rehearsal's endpoint".to_owned(),
                "pass the endpoint's variable on (`env: pass: [OPENAI_BASE_URL]` and the like), or write it into the \
                 program's configuration with `{{ env.OPENAI_BASE_URL }}`",
            );
        }
    }

    /// What was said to the agent, turn by turn.
    fn said(&self) -> Vec<&'a str> {
        let turns = self.records.iter().filter_map(|record| match &record.event {
            Event::TurnStarted { text, .. } => Some(text.as_str()),
            _ => None,
        });
        turns.collect()
    }

    /// The requests of the conversation itself, not those that the program makes beside it.
    fn conversation(&self) -> Vec<&'a Seen> {
        let Some(prompt) = self.said().first().copied() else { return Vec::new() };
        self.answered.iter().copied().filter(|one| user_said(one, prompt) && !one.tools.is_empty()).collect()
    }

    fn words(&mut self) {
        let said = self.said();
        let conversation = self.conversation();
        let prompt = said.first().copied().unwrap_or_default();
        if !self.answered.iter().any(|one| user_said(one, prompt)) && !prompt.is_empty() {
            let text = "the prompt did not reach the model word for word".to_owned();
            self.problem("prompt_lost", text, "see how the profile's `first` passes `{{ prompt.user }}`");
        }
        for (turn, text) in said.iter().enumerate().skip(1) {
            if self.answered.iter().any(|one| user_said(one, text) && user_said(one, prompt)) {
                continue;
            }
            if self.answered.iter().any(|one| user_said(one, text)) {
                let text = format!("in turn {} the model no longer knew what was said before", turn + 1);
                self.problem(
                    "session_lost",
                    text,
                    "see `output: session` and how `next` passes `{{ session }}`",
                );
            } else {
                let text = format!("what the user says in turn {} did not reach the model", turn + 1);
                self.problem("turn_lost", text, "see how the profile's `next` passes `{{ say }}`");
            }
        }
        self.system(&conversation);
    }

    fn system(&mut self, conversation: &[&Seen]) {
        let help = "see how the profile passes `{{ prompt.system }}`: this is how a patch arrives";
        let heard = |text: &str| conversation.iter().any(|one| system_said(one, text));
        let expected = self.expected;
        if !expected.system.trim().is_empty() && !conversation.is_empty() {
            let whole = heard(expected.system.trim());
            self.findings.system = Some(whole);
            if !whole {
                let squeezed = squeeze(&expected.system);
                let nearly = conversation.iter().any(|one| squeeze(&system_of(one)).contains(&squeezed));
                let as_user = conversation.iter().any(|one| user_said(one, expected.system.trim()));
                let text = if nearly {
                    "the system prompt came with other white space"
                } else if as_user {
                    "the system prompt came as the user's words"
                } else {
                    "the system prompt did not reach the model word for word"
                };
                self.problem("system_lost", text.to_owned(), help);
            }
        }
        match &expected.patch {
            Some(patch) if !conversation.is_empty() => {
                let whole = heard(patch.trim());
                self.findings.patch = Some(whole);
                if !whole {
                    let text = "the patch did not reach the model's system prompt word for word".to_owned();
                    self.problem("patch_lost", text, help);
                }
            }
            Some(_) => {}
            None => {
                let known = patches::ids().filter_map(|id| Some((id, patches::text(id, Lang::En)?)));
                let leaked: Vec<&str> = known
                    .filter(|(_, text)| !expected.system.contains(text.trim()) && heard(text.trim()))
                    .map(|(id, _)| id)
                    .collect();
                if let Some(id) = leaked.first() {
                    let text = format!("the model saw the patch {id} in a run without a patch");
                    self.problem(
                        "patch_leaked",
                        text,
                        "keep the program's files in the run's own home: `isolate: {home: true}`",
                    );
                }
            }
        }
    }

    /// The server's tool that a name in a request means.
    fn tool_of(&self, name: &str) -> Option<&'a str> {
        let tools = self.expected.tools.iter().map(String::as_str);
        let mut fitting: Vec<&str> = tools
            .filter(|tool| {
                name.strip_suffix(tool)
                    .is_some_and(|before| before.is_empty() || before.ends_with(['_', '/', '-', '.']))
            })
            .collect();
        fitting.sort_by_key(|tool| std::cmp::Reverse(tool.len()));
        fitting.first().copied()
    }

    fn tools(&mut self) {
        let seen = self.answered.iter().flat_map(|one| &one.server_tools);
        let known = |name: &&String| self.expected.tools.is_empty() || self.tool_of(name).is_some();
        self.findings.tools = seen.filter(known).cloned().collect();
        if self.expected.tools.is_empty() {
            return;
        }
        let offered: BTreeSet<&str> =
            self.answered.iter().flat_map(|one| &one.tools).map(String::as_str).collect();
        let known: BTreeSet<&str> = offered.iter().filter_map(|name| self.tool_of(name)).collect();
        let missing: Vec<&str> =
            self.expected.tools.iter().map(String::as_str).filter(|tool| !known.contains(tool)).collect();
        // A program that keeps tools back offers those that were searched for.
        let deferred = self.answered.iter().any(|one| {
            one.calls
                .iter()
                .any(|call| call.name.to_lowercase().contains("search") && self.tool_of(&call.name).is_none())
        });
        if known.is_empty() {
            let offered =
                if offered.is_empty() { "nothing at all".to_owned() } else { listed(offered.iter()) };
            let text = format!(
                "the model was offered none of the server's tools ({}), but {offered}",
                listed(missing.iter())
            );
            self.problem(
                "no_tools",
                text,
                "see the profile's MCP configuration; some programs start without a server that is slow, or ask first \
                 whether a folder or a server is trusted",
            );
        } else if !missing.is_empty() && !deferred {
            let text = format!("the model was not offered {}", listed(missing.iter()));
            self.problem("tools_missing", text, "see what the profile allows of the server's tools");
        }
    }

    fn calls(&mut self) {
        let asked: Vec<(&str, &crate::harness::message::ToolCall)> = self
            .answered
            .iter()
            .flat_map(|one| &one.calls)
            .filter_map(|call| Some((self.tool_of(&call.name)?, call)))
            .collect();
        self.findings.asked = asked.len();
        let tools: BTreeSet<&str> = asked.iter().map(|(tool, _)| *tool).collect();
        for tool in tools {
            let wanted = asked.iter().filter(|(other, _)| *other == tool).count();
            let came = self.records.iter().filter(
                |record| matches!(&record.event, Event::CallReceived { tool: name, .. } if name == tool),
            );
            let came = came.count();
            if came < wanted {
                let told = asked
                    .iter()
                    .filter(|(other, _)| *other == tool)
                    .find_map(|(_, call)| self.result_of(&call.id));
                let told =
                    told.map_or_else(String::new, |told| format!("; the model was told: {}", first(&told)));
                let lost = format!("{} of {wanted} calls", wanted - came);
                let text = format!("{lost} of {tool} that the model asked for never arrived{told}");
                self.problem(
                    "call_lost",
                    text,
                    "allow the server's tools in the profile: permission or approval mode",
                );
            } else if came > wanted {
                let text = format!("the model asked for {wanted} calls of {tool}, and {came} arrived");
                self.note("repeats_itself", format!("{text}: the program repeats calls by itself"));
            }
        }
    }

    /// What the model was told of a call. The words are those of the program, not of the server,
    /// where the call never arrived.
    fn result_of(&self, id: &str) -> Option<String> {
        self.answered.iter().flat_map(|one| &one.messages).find_map(|message| match message {
            Message::ToolResult { call_id, text, .. }
                if call_id == id || call_id.ends_with(&format!("_{id}")) =>
            {
                Some(text.clone())
            }
            _ => None,
        })
    }

    fn replies(&mut self) {
        let replies: Vec<(u32, Option<String>)> = self
            .records
            .iter()
            .filter_map(|record| match &record.event {
                Event::TurnEnded { turn, reply } => Some((*turn, reply.clone())),
                _ => None,
            })
            .collect();
        let last_words: BTreeSet<&str> = self
            .answered
            .iter()
            .filter(|one| one.calls.is_empty())
            .map(|one| one.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        for (turn, reply) in replies {
            let help = "see the profile's `output: reply`";
            match reply.as_deref().map(str::trim) {
                None | Some("") => {
                    self.problem(
                        "no_reply",
                        format!("no reply was found in the output of turn {}", turn + 1),
                        help,
                    );
                }
                Some(reply) if !last_words.iter().any(|words| reply.contains(words)) => {
                    let text = format!(
                        "the reply of turn {} is not what the model said: {}",
                        turn + 1,
                        first(reply)
                    );
                    self.problem("other_reply", text, help);
                }
                Some(_) => {}
            }
        }
    }

    fn usage(&mut self) {
        let counted: u64 = self.answered.iter().map(|one| one.input).sum();
        match self.run.usage.input_tokens {
            None => self.note("no_tokens", "no token counts were found in its output".to_owned()),
            Some(told) if told != counted => {
                self.note(
                    "tokens_differ",
                    format!("it told {told} input tokens, and the endpoint counted {counted}"),
                );
            }
            Some(_) => {}
        }
    }

    fn end(&mut self) {
        if self.run.verdict != Verdict::Error && self.run.reason_code != ReasonCode::RunTimeout {
            return;
        }
        let mut text = format!("the run ended with {}: {}", self.run.reason_code.name(), self.run.reason);
        let stderr = self.run.agent.stderr.trim();
        if !stderr.is_empty() && !text.contains(stderr) {
            text.push_str(&format!("; its stderr ends with: {}", last(stderr)));
        }
        let finding = Finding { code: "run_failed", text, help: None };
        // A program that could not begin asks no model: its own words say why.
        let place = match self.run.reason_code {
            ReasonCode::AgentFailed => 0,
            _ => self.findings.problems.len(),
        };
        self.findings.problems.insert(place, finding);
    }
}

fn user_said(seen: &Seen, text: &str) -> bool {
    seen.messages.iter().any(|message| matches!(message, Message::User { text: said } if said.contains(text)))
}

fn system_of(seen: &Seen) -> String {
    let texts = seen.messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn system_said(seen: &Seen, text: &str) -> bool {
    seen.messages
        .iter()
        .any(|message| matches!(message, Message::System { text: said } if said.contains(text)))
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn listed<'a>(names: impl Iterator<Item = &'a &'a str>) -> String {
    let names: Vec<&str> = names.copied().collect();
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{shown} and {} more", names.len() - 8) } else { shown }
}

/// The beginning of a text, on one line.
fn first(text: &str) -> String {
    let text = squeeze(text);
    let short: String = text.chars().take(200).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Its end.
fn last(text: &str) -> String {
    let text = squeeze(text);
    let skip = text.chars().count().saturating_sub(300);
    text.chars().skip(skip).collect()
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
