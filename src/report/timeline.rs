//! What happened in a run, in the order in which it happened: a trace as people read it.

use super::text::counted;
use crate::domain::{CallId, Micros, RawJson, RunId, RunResult, ToolClass, Verdict};
use crate::trace::{Accounted, Answer, AnswerKind, AskedBy, Event, Fault, Peer, Record, Told, struck_calls};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The longest text that an entry shows, in characters.
const LONGEST_TEXT: usize = 2_000;
/// Entries of one run; a loop of an agent can have many thousands.
const MOST_ENTRIES: usize = 300;

/// What happened in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// In the order of time.
    pub entries: Vec<TimelineEntry>,
    /// Entries beyond the limit, which are in the trace only.
    pub left_out: usize,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    /// Since the start of the trace.
    pub at: Micros,
    /// What kind of thing.
    pub kind: EntryKind,
    /// The call that it belongs to.
    pub call: Option<CallId>,
    /// What, in a few words.
    pub text: String,
    /// What was sent, answered or said; may have many lines.
    pub detail: Option<String>,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// The simulated user spoke.
    User,
    /// The agent's last words of a turn.
    Agent,
    /// The agent called a tool.
    Call,
    /// The scenario acted.
    Fault,
    /// The upstream executed a write.
    Executed,
    /// The upstream did something else: answered, refused, timed out, ended.
    Upstream,
    /// What the agent was told.
    Told,
    /// Anything else.
    Note,
}

impl EntryKind {
    /// Whose doing it is, in a few words.
    pub fn who(self) -> &'static str {
        match self {
            EntryKind::User => "user says",
            EntryKind::Agent => "agent says",
            EntryKind::Call => "agent calls",
            EntryKind::Fault => "fault",
            EntryKind::Executed | EntryKind::Upstream => "server",
            EntryKind::Told => "agent is told",
            EntryKind::Note => "note",
        }
    }
}

/// How much of a matrix goes into one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineLimits {
    /// Runs.
    pub runs: usize,
    /// Bytes of text over all of them.
    pub bytes: usize,
}

impl Default for TimelineLimits {
    fn default() -> TimelineLimits {
        TimelineLimits { runs: 200, bytes: 3 << 20 }
    }
}

/// The timelines of as many runs as the limits allow: first what failed, then what ended with an error
/// or was not tested, then the rest; in turn over the cells, so that each has one before any has two.
/// `read` gives a run's records, or `None` where there are none to read.
pub fn timelines(
    runs: &[RunResult],
    limits: TimelineLimits,
    read: &mut dyn FnMut(&RunResult) -> Option<Vec<Record>>,
) -> BTreeMap<RunId, Timeline> {
    let mut by_repeat: Vec<&RunResult> = runs.iter().collect();
    by_repeat.sort_by(|a, b| (a.repeat, &a.run_id).cmp(&(b.repeat, &b.run_id)));
    let mut seen: HashMap<(&str, Verdict), usize> = HashMap::new();
    let mut order: Vec<(u8, usize, &RunResult)> = Vec::with_capacity(runs.len());
    for run in by_repeat {
        let turn = seen.entry((&run.cell_id.0, run.verdict)).or_default();
        order.push((rank(run.verdict), *turn, run));
        *turn += 1;
    }
    order.sort_by_key(|(rank, turn, _)| (*rank, *turn));
    let (mut chosen, mut bytes) = (BTreeMap::new(), 0);
    for (_, _, run) in order {
        if chosen.len() >= limits.runs {
            break;
        }
        let Some(records) = read(run) else { continue };
        let timeline = timeline(&records);
        let size: usize = timeline.entries.iter().map(TimelineEntry::size).sum();
        if bytes + size > limits.bytes {
            break;
        }
        bytes += size;
        chosen.insert(run.run_id.clone(), timeline);
    }
    chosen
}

fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Fail => 0,
        Verdict::Error => 1,
        Verdict::NotTested => 2,
        Verdict::Pass => 3,
    }
}

/// A trace as people read it. Command lines are left out: they name the machine's folders, and the
/// trace has them.
pub fn timeline(records: &[Record]) -> Timeline {
    timeline_of(records, MOST_ENTRIES)
}

/// As [`timeline`], with at most `most` entries.
pub fn timeline_of(records: &[Record], most: usize) -> Timeline {
    let mut reader = Reader::default();
    let mut entries = Vec::new();
    let mut left_out = 0;
    for record in records {
        let Some((kind, call, text, detail)) = reader.entry(&record.event) else { continue };
        if entries.len() < most {
            entries.push(TimelineEntry { at: record.at, kind, call, text, detail });
        } else {
            left_out += 1;
        }
    }
    let at = records.last().map(|record| record.at).unwrap_or_default();
    entries.extend(struck_calls(records).into_iter().take(most).map(|struck| TimelineEntry {
        at,
        kind: EntryKind::Note,
        call: Some(struck.call),
        text: format!("{}: what the fault showed", struck.tool),
        detail: Some(struck.lines().join("\n")),
    }));
    Timeline { entries, left_out }
}

impl TimelineEntry {
    fn size(&self) -> usize {
        // What stands around the text in a page.
        const AROUND: usize = 160;
        self.text.len() + self.detail.as_ref().map_or(0, String::len) + AROUND
    }
}

type Parts = (EntryKind, Option<CallId>, String, Option<String>);

/// What must be known of the events before.
#[derive(Default)]
struct Reader {
    writes: HashSet<CallId>,
    late: HashSet<CallId>,
    executed: u64,
    tools: Vec<String>,
    /// Processes that took another one's place, and the first.
    epochs: u32,
}

impl Reader {
    fn entry(&mut self, event: &Event) -> Option<Parts> {
        let note = |text: String| Some((EntryKind::Note, None, text, None));
        match event {
            Event::Started(_) | Event::CallSent { .. } | Event::Closed { .. } => None,
            Event::UpstreamStarted { execution: None, .. } => note("server started".to_owned()),
            Event::UpstreamStarted { pid, execution: Some(execution), .. } => {
                self.epochs = self.epochs.max(1) + u32::from(execution.replaces.is_some());
                let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
                let how = match &execution.replaces {
                    Some(old) => format!("server replaced: epoch {old} is over"),
                    None => "server started".to_owned(),
                };
                let digest = execution.entry_digest.as_deref().map(short).unwrap_or("not known");
                let text = format!("{how}; epoch {}{pid}, code {digest}", execution.epoch);
                Some((EntryKind::Upstream, None, cut(&text), None))
            }
            Event::Rebuilt { replaces, paths } => {
                let what = if *replaces {
                    "rebuilt, being replaced"
                } else {
                    "rebuilt; the running one is unchanged"
                };
                Some((EntryKind::Upstream, None, what.to_owned(), words(&paths.join("\n"))))
            }
            Event::Approval { decision, .. } => {
                let granted = if decision.granted { "approved" } else { "not approved" };
                note(cut(&format!("epoch {} {granted} (by {})", decision.epoch, decision.by)))
            }
            Event::CatalogueSeen { revision, epoch, .. } => {
                let epoch = epoch.as_ref().map(|epoch| format!(" of epoch {epoch}")).unwrap_or_default();
                note(cut(&format!("client has the list of tools {}{epoch}", short(revision))))
            }
            Event::CatalogueFound { revision, epoch, .. } => {
                note(cut(&format!("list of tools of epoch {epoch} is {}", short(revision))))
            }
            Event::CatalogueHint { by_upstream, .. } => {
                let by = if *by_upstream { "by the server" } else { "by nochmal" };
                note(format!("client is told that the list of tools changed ({by})"))
            }
            Event::UpstreamReady { server, .. } => note(format!("server is ready: {}", peer(server))),
            Event::UpstreamEnded { how, expected: true, .. } => note(format!("server ended: {how}")),
            Event::UpstreamEnded { how, stderr, .. } => {
                let text = format!("server ended by itself: {how}");
                Some((EntryKind::Upstream, None, cut(&text), words(stderr)))
            }
            Event::ClientConnected { transport, .. } => note(format!("client connected over {transport}")),
            Event::ClientReady { client, .. } => note(format!("client is {}", peer(client))),
            Event::ClientDisconnected { .. } => note("client disconnected".to_owned()),
            Event::ToolsRequested { .. } => note("client asked for the tools".to_owned()),
            Event::ToolsListed { tools } => {
                let names: Vec<String> = tools.iter().map(|tool| tool.tool.clone()).collect();
                if self.tools == names {
                    return None;
                }
                self.tools = names;
                note(cut(&format!("tools listed: {}", self.tools.join(", "))))
            }
            Event::CallReceived { call, tool, class, arguments, continuation, binding, .. } => {
                if *class == ToolClass::Write {
                    self.writes.insert(*call);
                }
                let again = if *continuation { ", goes on with an earlier call" } else { "" };
                let under = match binding {
                    // Named only from the second epoch on: most runs have one.
                    Some(binding) if self.epochs > 1 => format!(", epoch {}", binding.epoch),
                    _ => String::new(),
                };
                let text = format!("{tool} ({class}{again}{under})");
                Some((EntryKind::Call, Some(*call), cut(&text), arguments.as_ref().map(json)))
            }
            Event::ScenarioFired { call, fault, .. } => {
                let kind = if *fault == Fault::PassThrough { EntryKind::Note } else { EntryKind::Fault };
                Some((kind, Some(*call), fault_words(*fault).to_owned(), None))
            }
            Event::ApprovalAsked { call, how } => {
                let how = match how {
                    AskedBy::Call => "an approval is asked for by the call",
                    AskedBy::Elicitation => "an approval is asked for: the client gets elicitation/create",
                    AskedBy::InputRequired => "an approval is asked for: the client gets input_required",
                };
                Some((EntryKind::Note, Some(*call), how.to_owned(), None))
            }
            Event::ApprovalReplied { call, reply } => {
                let text = format!("the client {}", reply.words());
                Some((EntryKind::Note, Some(*call), text, None))
            }
            Event::UpstreamAnswered { call, answer } => Some(self.answered(*call, answer)),
            Event::UpstreamTimedOut { call } => {
                self.late.insert(*call);
                upstream(*call, "no answer within the time limit")
            }
            Event::UpstreamLost { call } => upstream(*call, "server lost during the call"),
            Event::CallCancelled { call } => {
                self.late.insert(*call);
                let text = "the client cancelled the call".to_owned();
                Some((EntryKind::Note, Some(*call), text, None))
            }
            Event::CallAnswered { call, told, injected, body } => {
                let by = if *injected { " (made by nochmal)" } else { "" };
                let detail = body.as_ref().and_then(|body| body.json.as_ref()).map(json);
                Some((EntryKind::Told, Some(*call), format!("{}{by}", told_words(*told)), detail))
            }
            Event::Given { .. } => None,
            Event::TurnStarted { text, .. } => Some((EntryKind::User, None, String::new(), words(text))),
            Event::TurnEnded { reply, .. } => {
                let said = reply.as_deref().and_then(words);
                let text = if said.is_some() { "" } else { "ended its turn without a word" };
                Some((EntryKind::Agent, None, text.to_owned(), said))
            }
            Event::SecretSeen { names, place, call } => {
                let text = format!("secret seen: {} stood {}", names.join(", "), place.words());
                Some((EntryKind::Note, *call, text, None))
            }
            Event::Accounted { source, account } => {
                let found = match account {
                    Accounted::Effects(effects) => counted(effects.len() as u64, "effect", "effects"),
                    Accounted::Number(found) => counted(*found, "effect", "effects"),
                    Accounted::Unknown(reason) => format!("could not be had: {reason}"),
                };
                note(cut(&format!("the server's own account, by its {}: {found}", source.title())))
            }
            Event::Log { kind, text } => {
                let from = format!("{kind:?}").to_lowercase();
                Some((EntryKind::Note, None, from, words(text)))
            }
        }
    }

    fn answered(&mut self, call: CallId, answer: &Answer) -> Parts {
        let late = if self.late.contains(&call) { ", late" } else { "" };
        let detail = answer.body.json.as_ref().map(json);
        if answer.is_executed() && self.writes.contains(&call) {
            self.executed += 1;
            let text = format!("executed: write no. {} of this run{late}", self.executed);
            return (EntryKind::Executed, Some(call), text, detail);
        }
        let text = match answer.kind {
            AnswerKind::Result => "answered",
            AnswerKind::ErrorResult => "answered with an error",
            AnswerKind::ProtocolError => "answered with a protocol error",
            AnswerKind::InputRequired => "asks for more input",
        };
        (EntryKind::Upstream, Some(call), format!("{text}{late}"), detail)
    }
}

fn upstream(call: CallId, text: &str) -> Option<Parts> {
    Some((EntryKind::Upstream, Some(call), text.to_owned(), None))
}

fn fault_words(fault: Fault) -> &'static str {
    match fault {
        Fault::TimeoutAfterExecution => "executed, but the agent is told of a timeout",
        Fault::RateLimited => "answered with 429, not sent on",
        Fault::Truncated => "answered with half a JSON text, not sent on",
        Fault::ServerError => "answered with a server error, not sent on",
        Fault::Rebuilt => "the server is rebuilt at this call",
        Fault::PassThrough => "the scenario's call; nothing is injected",
        Fault::TimeoutBeforeDispatch => "answered with a timeout, not sent on",
        Fault::HalfAnswer => "executed, but the agent gets half of the answer",
        Fault::LateAnswer => "executed, but the answer is held back",
        Fault::ConnectionCut => "executed, but the connection breaks in place of the answer",
        Fault::FailureAfterExecution => "executed, but the agent is told of a failure",
        Fault::ConnectionRefused => "the connection is refused, not sent on",
        Fault::Unauthorized => "answered with 401, not sent on",
        Fault::Forbidden => "answered with 403, not sent on",
        Fault::ApprovalRefused => "the approval is refused, not sent on",
        Fault::Altered => "executed, but part of the answer is changed",
        Fault::Contradiction => "executed, but the answer says success and failure at once",
        Fault::NoContract => "answered with a page, not sent on",
        Fault::Interrupted => "sent on, and the connection breaks while the work goes on",
        Fault::Killed => "sent on, and connection and server are gone",
        Fault::Withheld => "answered by the scenario, not sent on",
        Fault::Replaced => "sent on, but the agent gets the scenario's answer",
    }
}

fn told_words(told: Told) -> String {
    match told {
        Told::Result => "the server's result".to_owned(),
        Told::ErrorResult => "the server's error".to_owned(),
        Told::ProtocolError => "the server's protocol error".to_owned(),
        Told::InputRequired => "that more input is needed".to_owned(),
        Told::Timeout => "a timeout".to_owned(),
        Told::RateLimited { retry_after_ms } => format!("429, retry after {retry_after_ms} ms"),
        Told::Malformed => "something that breaks the tool's contract".to_owned(),
        Told::ServerError => "a server error".to_owned(),
        Told::ConnectionLost => "that the connection broke".to_owned(),
        Told::Unavailable => "that the server is gone".to_owned(),
        Told::StaleEpoch => "that its approval does not reach the new code; not sent".to_owned(),
        Told::EpochChanged => "that the server was replaced during the call".to_owned(),
        Told::LocalFailure => "that no connection came about".to_owned(),
        Told::Unauthorized => "401".to_owned(),
        Told::Forbidden => "403".to_owned(),
        Told::Refused => "that a person refused it".to_owned(),
        Told::Failed => "that it was not done".to_owned(),
        Told::Altered => "the server's result, with something of it changed".to_owned(),
        Told::Contradiction => "success and failure at once".to_owned(),
        Told::Late => "the server's answer, late".to_owned(),
    }
}

/// The beginning of a digest.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

fn peer(peer: &Peer) -> String {
    let name = peer.name.as_deref().unwrap_or("unnamed");
    let version = peer.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let protocol = peer.protocol.as_ref().map(|protocol| format!(" (MCP {protocol})")).unwrap_or_default();
    cut(&format!("{name}{version}{protocol}"))
}

fn json(raw: &RawJson) -> String {
    cut(raw.get())
}

fn words(text: &str) -> Option<String> {
    if text.trim().is_empty() { None } else { Some(cut(text)) }
}

fn cut(text: &str) -> String {
    let mut characters = text.char_indices();
    match characters.nth(LONGEST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}… ({more} more characters in the trace)", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests;
