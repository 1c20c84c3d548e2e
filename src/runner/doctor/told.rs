//! What a look around tells: a table for people, JSON for programs. Pure.

use super::access::Access;
use super::ask::Answered;
use super::diagnosis::{Advice, Diagnosis};
use super::facts::{Endpoint, Facts, Need, Profile};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    agents: &'a [Profile],
    endpoints: &'a [Endpoint],
    upstream_programs: &'a BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    second_readers: &'a [Access],
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
    ready: bool,
}

/// For programs, version 1.
pub fn json(facts: &Facts, diagnosis: &Diagnosis) -> String {
    let report = Report {
        version: 1,
        agents: &facts.profiles,
        endpoints: &facts.endpoints,
        upstream_programs: &facts.upstreams,
        second_readers: &facts.readers,
        diagnosis,
        ready: diagnosis.missing.is_empty(),
    };
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

/// For people; `width` is that of the terminal.
pub fn text(facts: &Facts, diagnosis: &Diagnosis, width: Option<u16>) -> String {
    let mut text = String::new();
    let mut agents = table(&["agent", "installed", "tested", "version", "set", "not set"], width);
    for profile in &facts.profiles {
        let variables = |set: bool| {
            let all = profile.keys.iter().chain(&profile.urls);
            all.filter(|(_, is)| **is == set).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
        };
        let installed = profile.installed.as_deref().unwrap_or("—").to_owned();
        let tested = profile.tested.clone().unwrap_or_else(|| "—".to_owned());
        let version = profile.version.name().to_owned();
        agents.add_row(vec![
            profile.agent.clone(),
            installed,
            tested,
            version,
            variables(true),
            variables(false),
        ]);
    }
    let _ = writeln!(text, "{}", trimmed(&agents));
    if facts.endpoints.is_empty() {
        let _ = writeln!(
            text,
            "\nModel endpoints: none is set, and no local server (Ollama, LM Studio, llama.cpp, vLLM) answers."
        );
    } else {
        let mut endpoints = table(&["endpoint", "from", "answers"], width);
        for endpoint in &facts.endpoints {
            let from = endpoint.variable.as_deref().or(endpoint.server).unwrap_or_default().to_owned();
            endpoints.add_row(vec![endpoint.url.clone(), from, answered(&endpoint.answered)]);
        }
        let _ = writeln!(text, "\n{}", trimmed(&endpoints));
    }
    for reader in &facts.readers {
        let _ = writeln!(text, "\n{}", line(reader));
    }
    tell(&mut text, "Missing", &diagnosis.missing);
    tell(&mut text, "Doubtful", &diagnosis.doubts);
    if diagnosis.missing.is_empty() && !facts.needs.is_empty() {
        text.push_str(match facts.needs.iter().all(|need| is_known(facts, need)) {
            true => "\nEverything that the suites need is there.\n",
            false => {
                "\nNothing that the suites need was found missing. Whether keys are accepted, and whether an endpoint that \
                 was not asked has the model, shows in a run.\n"
            }
        });
    }
    text
}

/// Whether nothing is left open about an agent's model.
fn is_known(facts: &Facts, need: &Need) -> bool {
    match &need.access {
        Some(access) => matches!(access.answered, Some(Answered::Models(_))),
        // A script, that this program plays itself.
        None => facts.profiles.iter().any(|profile| profile.agent == need.agent && profile.is_this_program),
    }
}

/// A second reader in a line.
fn line(reader: &Access) -> String {
    let Access { model, url, key, key_is_set, .. } = reader;
    let mut line = format!("second reader {model}");
    if let Some(url) = url {
        line.push_str(&format!(" at {url}"));
    }
    match key {
        Some(key) if *key_is_set => line.push_str(&format!(", key {key} is set")),
        Some(key) => line.push_str(&format!(", key {key} is not set")),
        None if url.is_some() => line.push_str(", no key"),
        None => {}
    }
    line
}

fn table(header: &[&str], width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.force_no_tty();
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(40));
    }
    table
}

fn trimmed(table: &Table) -> String {
    table
        .to_string()
        .lines()
        .map(|line| {
            // What goes on below a cell stays below it.
            let line = line.trim_end();
            line.strip_prefix(' ').unwrap_or(line)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn answered(answered: &Answered) -> String {
    match answered {
        Answered::Models(models) => {
            let shown = models.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
            match models.len() {
                0 => "yes, without a model".to_owned(),
                1..=5 => format!("yes: {shown}"),
                n => format!("yes: {shown} and {} more", n - 5),
            }
        }
        Answered::WantsKey => "yes, and asks for a key".to_owned(),
        Answered::Connected => "can be reached; behind TLS, so not asked for its models".to_owned(),
        Answered::Not(reason) => format!("no: {reason}"),
    }
}

fn tell(text: &mut String, title: &str, advice: &[Advice]) {
    if advice.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for one in advice {
        let _ = writeln!(text, "  {}", one.what.replace('\n', "\n  "));
        if let Some(mend) = &one.mend {
            let _ = writeln!(text, "    → {mend}");
        }
    }
}
