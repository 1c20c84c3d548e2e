//! One run: how it ended, and its timeline of calls, faults, answers and what was said.

use super::super::conditions::after;
use super::super::svg::escaped;
use super::super::text::counted;
use super::super::{EntryKind, Timeline, TimelineEntry};
use super::{anchor, foreign, lines};
use crate::domain::{Account, CheckState, ConditionalTurn, Honesty, ReadingOutcome, RunResult, Verdict};

pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::NotTested => "nt",
        Verdict::Error => "err",
    }
}

pub(super) fn badge(verdict: Verdict) -> String {
    format!("<span class=\"verdict v-{}\">{verdict}</span>", class(verdict))
}

pub(super) fn details(run: &RunResult, timeline: Option<&Timeline>) -> String {
    let seconds = seconds(run.duration_ms.saturating_mul(1_000));
    let calls = format!(
        "{seconds}, {}, {}, {} executed",
        counted(run.calls, "call", "calls"),
        counted(run.writes, "write", "writes"),
        run.executions
    );
    let body = match timeline {
        Some(timeline) => told(timeline),
        None => turns(run),
    };
    format!(
        "<details class=\"run\" id=\"{}\" data-verdict=\"{}\">\n<summary>{} <span class=\"n\">#{}</span> <span \
         class=\"why\">{}</span> <span class=\"muted n\">{calls}</span></summary>\n{}{body}{}</details>\n",
        anchor('r', &run.run_id.0),
        run.verdict,
        badge(run.verdict),
        run.repeat,
        foreign(&run.reason),
        facts(run),
        stderr(run),
    )
}

fn facts(run: &RunResult) -> String {
    let mut facts = vec![
        ("run", format!("<code>{}</code>", escaped(&run.run_id.0))),
        ("reason", format!("<code>{}</code>", run.reason_code)),
        ("started", foreign(&run.started_at)),
    ];
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("<code>{}</code>", escaped(item))).collect();
        items.join(", ")
    };
    if !run.violations.is_empty() {
        facts.push(("violations", list(&run.violations)));
    }
    if !run.observations.is_empty() {
        facts.push(("observations", list(&run.observations)));
    }
    for approval in &run.approvals {
        facts.push(("approval", foreign(&approval.sentence())));
    }
    if let Some(score) = run.score {
        facts.push(("score", score.to_string()));
    }
    facts.extend(words(run));
    facts.extend(truth(run));
    let usage = &run.usage;
    let tokens = [(usage.input_tokens, "in"), (usage.output_tokens, "out")];
    let tokens: Vec<String> =
        tokens.iter().filter_map(|(number, name)| number.map(|number| format!("{number} {name}"))).collect();
    if !tokens.is_empty() {
        facts.push(("tokens", tokens.join(", ")));
    }
    if let Some(cost) = usage.cost_usd {
        facts.push(("cost", format!("{cost} USD")));
    }
    if let Some(client) = &run.agent.client {
        facts.push(("client", foreign(client)));
    }
    let end = match (run.agent.exit_code, run.agent.signal) {
        _ if run.agent.timed_out => Some("ended at the time limit".to_owned()),
        (_, Some(signal)) => Some(format!("ended by signal {signal}")),
        (Some(code), _) if code != 0 => Some(format!("exit code {code}")),
        _ => None,
    };
    if let Some(end) = end {
        facts.push(("agent", end));
    }
    if let Some(trace) = &run.trace {
        facts.push(("trace", format!("<code>{}</code>", escaped(trace))));
    }
    let facts: Vec<String> =
        facts.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>")).collect();
    format!("<dl class=\"run-facts\">{}</dl>\n", facts.join(""))
}

/// What was read in the agent's words, and what became of turns with a condition.
fn words(run: &RunResult) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let many = run.turns.len() > 1;
    let worth = |honesty: Option<Honesty>| {
        honesty.map_or(String::new(), |class| format!(" → {}", class.name().replace('_', " ")))
    };
    for (turn, place) in run.turns.iter().zip(1..) {
        let Some(read) = &turn.claim else { continue };
        let of = if many { format!("turn {place}: ") } else { String::new() };
        let rule = escaped(&read.rule);
        let mut told = format!("{of}{}{}, by <code>{rule}</code>", read.claim, worth(turn.honesty));
        match turn.reader.as_ref().map(|reading| (&reading.outcome, reading.honesty)) {
            Some((ReadingOutcome::Claim(claim), honesty)) => {
                told.push_str(&format!("; the model: {claim}{}", worth(honesty)));
            }
            Some((ReadingOutcome::NoAnswer(said), _)) => {
                told.push_str(&format!("; the model gave no answer: {}", foreign(said)));
            }
            Some((ReadingOutcome::NotRead(reason), _)) => {
                told.push_str(&format!("; not read by the model: {}", foreign(reason)));
            }
            None => {}
        }
        facts.push(("claim", told));
    }
    for ConditionalTurn { turn, when, said, claim } in &run.conditions {
        let said = if *said { "said" } else { "not said" };
        let claim = after(*claim).replace('_', " ");
        facts.push((
            "condition",
            format!("say {turn}, <code>{}</code>: {said}, after {claim}", foreign(when)),
        ));
    }
    facts
}

/// What really happened, where the upstream has an account of it.
fn truth(run: &RunResult) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    match run.effects.as_ref().map(|effects| (&effects.account, effects.source.title())) {
        Some((Account::Known { expected, unasked }, source)) => {
            let mut parts: Vec<String> = expected
                .iter()
                .map(|effect| {
                    let fate = effect.fate().name();
                    format!("{}: {fate}, there {} of {}", foreign(&effect.effect), effect.found, effect.asked)
                })
                .collect();
            parts.extend(
                unasked
                    .iter()
                    .map(|effect| format!("{}: unasked, there {}", foreign(&effect.effect), effect.found)),
            );
            facts.push(("effects", format!("by the {source}: {}", parts.join("; "))));
        }
        Some((Account::Unknown { reason }, source)) => {
            facts.push(("effects", format!("not known ({source}): {}", foreign(reason))));
        }
        Some((Account::NotStated { found }, source)) => {
            facts.push(("effects", format!("{found} by the {source}; the suite states none")));
        }
        None => {}
    }
    for one in &run.disagreements {
        let kind = one.kind.name();
        facts.push(("judge and upstream", format!("<code>{kind}</code> {}", foreign(&one.sentence))));
    }
    for check in run.completion.iter().flat_map(|completion| &completion.checks) {
        let state = match check.state {
            CheckState::Held => "held",
            CheckState::Failed => "failed",
            CheckState::Unknown => "unknown",
        };
        let why = match check.reason.as_str() {
            "" => String::new(),
            reason => format!(" ({})", foreign(reason)),
        };
        facts.push(("check", format!("{}: {state}{why}", foreign(&check.check))));
    }
    if let Some(found) = &run.attribution {
        let (layer, confidence) = (found.layer.name(), found.confidence.name());
        let evidence = foreign(&found.evidence);
        facts.push(("layer", format!("<code>{layer}</code>, confidence {confidence}: {evidence}")));
    }
    facts
}

/// Without a timeline there is still what was said.
fn turns(run: &RunResult) -> String {
    let mut items = String::new();
    for turn in &run.turns {
        items.push_str(&item("user", "", "user says", "", Some(&turn.say)));
        items.push_str(&item("agent", "", "agent says", "", turn.reply.as_deref()));
    }
    if items.is_empty() { items } else { format!("<ol class=\"timeline\">\n{items}</ol>\n") }
}

fn told(timeline: &Timeline) -> String {
    let items: String = timeline.entries.iter().map(entry).collect();
    let more = match timeline.left_out {
        0 => String::new(),
        more => format!(
            "<p class=\"muted\">{} in the trace.</p>\n",
            counted(more as u64, "more entry", "more entries")
        ),
    };
    format!("<ol class=\"timeline\">\n{items}</ol>\n{more}")
}

fn entry(entry: &TimelineEntry) -> String {
    let class = match entry.kind {
        EntryKind::User => "user",
        EntryKind::Agent => "agent",
        EntryKind::Call => "call",
        EntryKind::Fault => "fault",
        EntryKind::Executed => "executed",
        EntryKind::Upstream => "server",
        EntryKind::Told => "told",
        EntryKind::Note => "note",
    };
    let call =
        entry.call.map(|call| format!("<span class=\"call-no\">call {}</span> ", call.0)).unwrap_or_default();
    let text = format!("{call}{}", foreign(&entry.text));
    let text = if call.is_empty() && entry.text.is_empty() { "" } else { text.as_str() };
    item(class, &seconds(entry.at.0), entry.kind.who(), text, entry.detail.as_deref())
}

fn item(class: &str, at: &str, who: &str, text: &str, detail: Option<&str>) -> String {
    let text = if text.is_empty() { String::new() } else { format!("<p>{text}</p>") };
    let detail = match detail {
        // The first line break in a `pre` is not shown, so there is one to lose.
        Some(detail) => format!("<pre dir=\"auto\">\n{}</pre>", lines(detail)),
        None => String::new(),
    };
    format!(
        "<li class=\"t-{class}\"><span class=\"at\">{at}</span><span class=\"who\">{who}</span><div>{text}{detail}\
         </div></li>\n"
    )
}

/// `0.184 s`
fn seconds(micros: u64) -> String {
    format!("{}.{:03} s", micros / 1_000_000, micros / 1_000 % 1_000)
}

fn stderr(run: &RunResult) -> String {
    if run.agent.stderr.trim().is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"stderr\"><summary>The end of the agent's stderr</summary><pre dir=\"auto\">\n{}</pre></details>\n",
        lines(&run.agent.stderr)
    )
}
