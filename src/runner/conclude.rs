//! From what the proxy saw and how the agent ended to the result of a run. Pure.
//!
//! A violation stands however the run ended: it was really executed. Apart from that a run only
//! counts as tested when the agent came to the end of the conversation by itself and had an
//! upstream to talk to: an agent that died of its model's error before its second write has not
//! passed.

use crate::agent::{AgentOutcome, Ended};
use crate::domain::{ReasonCode, Verdict};
use crate::judge::Judgement;
use crate::trace::{Event, Execution, Record};
use crate::upstream::stderr_part;

/// A verdict with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, as a word.
    pub code: ReasonCode,
    /// Why, as a sentence.
    pub reason: String,
}

/// What of a run's end is not in the judgement.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The records of the trace.
    pub records: &'a [Record],
    /// How the conversation ended.
    pub agent: &'a AgentOutcome,
    /// Why the proxy could not do its work, where it could not.
    pub session_failure: Option<&'a (ReasonCode, String)>,
    /// The time limit, for people.
    pub run_timeout: std::time::Duration,
}

/// The verdict on a run.
pub fn conclude(judgement: &Judgement, circumstances: &Circumstances<'_>) -> Conclusion {
    let of = |verdict, code, reason: String| Conclusion { verdict, code, reason };
    let judged = of(judgement.verdict, judgement.reason_code, judgement.reason.clone());
    if judgement.verdict == Verdict::Fail {
        return judged;
    }
    if let Some((code, reason)) = circumstances.session_failure {
        return of(Verdict::Error, *code, reason.clone());
    }
    // Before the next question: an upstream that was ended with the run did not end by itself.
    if circumstances.agent.ended == Ended::TimedOut
        && judgement.calls == 0
        && let Some(method) = upstream_left_unanswered(circumstances.records)
    {
        let reason = format!(
            "the upstream did not answer `{method}` before run_timeout ({} s): try its command by hand, or raise \
             run_timeout",
            circumstances.run_timeout.as_secs_f64()
        );
        return of(Verdict::Error, ReasonCode::UpstreamNotStarted, reason);
    }
    if let Some(reason) = upstream_never_ready(circumstances.records) {
        return of(Verdict::Error, ReasonCode::UpstreamNotStarted, reason);
    }
    match &circumstances.agent.ended {
        Ended::Completed => {}
        Ended::NotStarted { reason } => {
            return of(Verdict::Error, ReasonCode::AgentNotStarted, reason.clone());
        }
        Ended::NotWritten { path, kind } => {
            let reason = format!("cannot write {}: {kind}", path.display());
            return of(Verdict::Error, ReasonCode::Internal, reason);
        }
        Ended::Failed { reason, .. } => {
            return of(Verdict::Error, ReasonCode::AgentFailed, reason.clone());
        }
        Ended::ModelEndpoint { reason } => {
            return of(Verdict::Error, ReasonCode::ModelEndpoint, reason.clone());
        }
        Ended::TimedOut => {
            let limit = circumstances.run_timeout.as_secs_f64();
            let stray = circumstances.agent.stray.as_deref();
            let stray = stray.map(|text| format!("; the last that the agent printed was no message: {text}"));
            let connected = circumstances
                .records
                .iter()
                .any(|record| matches!(record.event, Event::ClientConnected { .. }));
            let reason = format!(
                "the run was ended at run_timeout ({limit} s) in turn {}, before the conversation was over{}{}",
                circumstances.agent.turns.len().max(1),
                if connected { "" } else { "; the agent had not come to its MCP server" },
                stray.unwrap_or_default()
            );
            return of(Verdict::NotTested, ReasonCode::RunTimeout, reason);
        }
        Ended::Cancelled => {
            let reason = "the matrix was interrupted during this run".to_owned();
            return of(Verdict::Error, ReasonCode::Internal, reason);
        }
    }
    if let Some(reason) = rebuilt_otherwise(judgement.scenario.as_deref(), circumstances.records) {
        return of(Verdict::NotTested, ReasonCode::ScenarioNeverFired, reason);
    }
    if judgement.reason_code == ReasonCode::NoCall
        && let Some(reason) = saw_no_tools(circumstances.records)
    {
        return of(Verdict::Error, ReasonCode::AgentSawNoTools, reason.to_owned());
    }
    let drift = &circumstances.agent.facts.drift;
    if let (Some(first), Verdict::Pass) = (drift.first(), judgement.verdict) {
        let more = match drift.len() {
            1 => String::new(),
            many => format!(", and {} more", many - 1),
        };
        let reason = format!("the recorded answers were given to other words: {first}{more}");
        return of(Verdict::NotTested, ReasonCode::ReplayDrift, reason);
    }
    judged
}

/// Why the agent cannot have shown its model a tool. Some programs begin without the tools of a server
/// that takes long to start.
fn saw_no_tools(records: &[Record]) -> Option<&'static str> {
    let asked = records.iter().position(|record| matches!(record.event, Event::ToolsRequested { .. }));
    let Some(asked) = asked else {
        return Some(
            "the agent never asked its MCP server for tools: check the profile's MCP configuration and the agent's \
             permissions",
        );
    };
    let over = records.iter().rposition(|record| matches!(record.event, Event::TurnEnded { .. }));
    let listed = |record: &Record| matches!(record.event, Event::ToolsListed { .. });
    let in_time = records.get(asked..over.unwrap_or(records.len())).unwrap_or_default().iter().any(listed);
    (!in_time).then_some(
        "the agent was done before its MCP server had listed its tools: the server starts slowly, and the agent does \
         not wait for it; see whether a setting makes it wait",
    )
}

/// Why a rebuild was not the one that the scenario is about, as far as the trace can tell.
fn rebuilt_otherwise(scenario: Option<&str>, records: &[Record]) -> Option<String> {
    let id = scenario?.split(':').next()?;
    let starts = records.iter().filter_map(|record| match &record.event {
        Event::UpstreamStarted { execution: Some(execution), .. } => Some(execution.as_ref()),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    let new = starts.iter().find(|execution| execution.replaces.is_some())?;
    let old = starts.iter().find(|execution| Some(&execution.epoch) == new.replaces.as_ref())?;
    if id == "R5" && old.lockfile_digest == new.lockfile_digest {
        return Some("what was rebuilt has the same lock file, or none: R5 is about another one".to_owned());
    }
    // A client that came anew started the same code anew.
    let same_code = |code: &Execution| {
        let epochs = starts.iter().filter(|start| start.identity == code.identity);
        epochs.map(|start| start.epoch.as_str()).collect::<Vec<_>>()
    };
    let list = |of: &[&str]| {
        records.iter().find_map(|record| match &record.event {
            Event::CatalogueSeen { revision, epoch: Some(epoch), required, .. }
            | Event::CatalogueFound { revision, epoch, required, .. }
                if of.contains(&epoch.as_str()) =>
            {
                Some((revision, required))
            }
            _ => None,
        })
    };
    let (before, needed) = list(&[&old.epoch])?;
    let Some((after, needs)) = list(&same_code(new)) else {
        // With `close` it goes with its client, and is known once that has come again.
        let is_known_later = scenario.is_some_and(|scenario| scenario.ends_with(":close"));
        return (matches!(id, "R2" | "R3") && !is_known_later).then(|| {
            "what was rebuilt had not listed its tools when the run was over: whether it is what the scenario is \
             about is not known"
                .to_owned()
        });
    };
    let needs_more = needs.iter().any(|(tool, fields)| {
        needed.get(tool).is_some_and(|old| fields.iter().any(|field| !old.contains(field)))
    });
    match id {
        "R2" if before != after => {
            Some("what was rebuilt lists other tools: R2 is about the same list".to_owned())
        }
        "R3" if before == after => {
            Some("what was rebuilt lists the same tools: R3 is about another list".to_owned())
        }
        "R3" if !needs_more => {
            Some("what was rebuilt needs no further field of any tool: R3 is about one that does".to_owned())
        }
        _ => None,
    }
}

/// What an agent that never came to a call was still waiting for when its time was up: the handshake,
/// or the list of tools.
fn upstream_left_unanswered(records: &[Record]) -> Option<&'static str> {
    let is_end = |record: &Record| matches!(record.event, Event::TurnEnded { .. });
    let up_to = records.iter().rposition(is_end).unwrap_or(records.len());
    let mut waiting = None;
    for record in records.iter().take(up_to) {
        waiting = match &record.event {
            Event::ClientReady { .. } => Some("initialize"),
            Event::ToolsRequested { .. } => Some("tools/list"),
            Event::UpstreamReady { .. } if waiting == Some("initialize") => None,
            Event::ToolsListed { .. } if waiting == Some("tools/list") => None,
            Event::UpstreamEnded { .. } => None,
            _ => waiting,
        };
    }
    waiting
}

/// Why the upstream served nobody: it ended by itself before it had answered anything.
fn upstream_never_ready(records: &[Record]) -> Option<String> {
    let ready = records
        .iter()
        .any(|record| matches!(record.event, Event::UpstreamReady { .. } | Event::UpstreamAnswered { .. }));
    if ready {
        return None;
    }
    records.iter().find_map(|record| match &record.event {
        Event::UpstreamEnded { how, expected: false, stderr, .. } => {
            let tail = stderr_part(stderr);
            Some(format!("the upstream ended before it was ready: {how}{tail}"))
        }
        _ => None,
    })
}
