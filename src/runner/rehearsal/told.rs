//! What a rehearsal tells of every agent. Pure.

use super::findings::{Finding, Findings};
use crate::domain::CellKey;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A shorter wait says nothing of how long a client would have waited.
const WORTH_TELLING_MS: u64 = 3_000;

/// What was found, agent by agent. Also `rehearsal.json`, version 1.
#[derive(Debug, Clone, Serialize)]
pub struct Told {
    version: u32,
    /// Says that these are no results.
    what: &'static str,
    script: String,
    agents: Vec<Agent>,
}

/// What was found of one agent.
#[derive(Debug, Clone, Serialize)]
struct Agent {
    agent: String,
    runs: usize,
    requests: usize,
    protocols: BTreeSet<&'static str>,
    clients: BTreeSet<String>,
    tools: BTreeSet<String>,
    calls_asked: usize,
    calls_arrived: usize,
    system: Share,
    patch: Share,
    /// After how many milliseconds its client gave up a call: the shortest such wait.
    gave_up_after_ms: Option<u64>,
    /// How many milliseconds its client waited for an answer which came: the longest such wait.
    waited_ms: Option<u64>,
    /// Writes that its program sent again without the model.
    resent: u64,
    verdicts: BTreeMap<&'static str, usize>,
    problems: Vec<Grouped>,
    notes: Vec<Grouped>,
}

/// In how many of the runs that it is about something was so.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Share {
    yes: usize,
    of: usize,
}

/// The same finding in several runs.
#[derive(Debug, Clone, Serialize)]
struct Grouped {
    #[serde(flatten)]
    finding: Finding,
    runs: usize,
    /// The first of the cells.
    cell: CellKey,
    /// The first of the runs, whose trace tells more.
    run_id: String,
}

impl Told {
    pub(super) fn of(script: &str, findings: &[Findings]) -> Told {
        let mut agents: BTreeMap<&str, Vec<&Findings>> = BTreeMap::new();
        for one in findings {
            agents.entry(&one.key.agent).or_default().push(one);
        }
        Told {
            version: 1,
            what: "a rehearsal with scripted models: nothing here is a measurement",
            script: script.to_owned(),
            agents: agents.into_iter().map(|(name, runs)| agent(name, &runs)).collect(),
        }
    }

    /// Whether nothing has to be mended.
    pub fn is_clean(&self) -> bool {
        self.agents.iter().all(|agent| agent.problems.is_empty())
    }

    /// `rehearsal.json`.
    pub fn json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "REHEARSAL, not a measurement: every model was the script `{}` on this machine.\n\
             Verdicts say what the script did, and nothing of any model or agent.\n",
            self.script
        );
        for agent in &self.agents {
            agent.tell(&mut text);
        }
        let problems: usize = self.agents.iter().map(|agent| agent.problems.len()).sum();
        let _ = match problems {
            0 => writeln!(text, "\nNothing has to be mended."),
            1 => writeln!(text, "\n1 problem has to be mended before anything is measured."),
            n => writeln!(text, "\n{n} problems have to be mended before anything is measured."),
        };
        text
    }
}

fn agent(name: &str, runs: &[&Findings]) -> Agent {
    let share = |of: fn(&Findings) -> Option<bool>| {
        let values: Vec<bool> = runs.iter().filter_map(|run| of(run)).collect();
        Share { yes: values.iter().filter(|yes| **yes).count(), of: values.len() }
    };
    let mut verdicts = BTreeMap::new();
    for run in runs {
        *verdicts.entry(run.verdict.name()).or_default() += 1;
    }
    Agent {
        agent: name.to_owned(),
        runs: runs.len(),
        requests: runs.iter().map(|run| run.requests).sum(),
        protocols: runs.iter().flat_map(|run| run.protocols.iter().copied()).collect(),
        clients: runs.iter().filter_map(|run| run.client.clone()).collect(),
        tools: runs.iter().flat_map(|run| run.tools.iter().cloned()).collect(),
        calls_asked: runs.iter().map(|run| run.asked).sum(),
        calls_arrived: runs.iter().map(|run| run.arrived).sum(),
        system: share(|run| run.system),
        patch: share(|run| run.patch),
        gave_up_after_ms: runs.iter().filter_map(|run| run.gave_up_after_ms).min(),
        waited_ms: runs.iter().filter_map(|run| run.waited_ms).max(),
        resent: runs.iter().map(|run| run.resent).sum(),
        verdicts,
        problems: grouped(runs, |run| &run.problems),
        notes: grouped(runs, |run| &run.notes),
    }
}

fn grouped(runs: &[&Findings], of: fn(&Findings) -> &Vec<Finding>) -> Vec<Grouped> {
    let mut groups: Vec<Grouped> = Vec::new();
    for run in runs {
        let mut counted: BTreeSet<&str> = BTreeSet::new();
        for finding in of(run).iter().filter(|finding| counted.insert(finding.code)) {
            match groups.iter_mut().find(|group| group.finding.code == finding.code) {
                Some(group) => group.runs += 1,
                None => groups.push(Grouped {
                    finding: finding.clone(),
                    runs: 1,
                    cell: run.key.clone(),
                    run_id: run.run_id.clone(),
                }),
            }
        }
    }
    groups
}

impl Agent {
    /// How long its client waits for a tool, as far as that was seen.
    fn patience(&self) -> String {
        let seconds = |ms: u64| ms as f64 / 1000.0;
        match (self.gave_up_after_ms, self.waited_ms) {
            (Some(ms), _) => format!("{:.1} s", seconds(ms)),
            (None, Some(ms)) if ms >= WORTH_TELLING_MS => format!("more than {:.0} s", seconds(ms).floor()),
            (None, _) => String::new(),
        }
    }

    /// Whether its program sends a call again that it has given up, as far as that was seen.
    fn again(&self) -> String {
        match (self.resent, self.gave_up_after_ms) {
            (0, None) => String::new(),
            (0, Some(_)) => "no".to_owned(),
            (1, _) => "once".to_owned(),
            (n, _) => format!("{n} times"),
        }
    }

    fn tell(&self, text: &mut String) {
        let runs = |count: usize| if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
        let list = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "\n{}: {}", self.agent, runs(self.runs));
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(text, "  {name:<20} {value}");
            }
        };
        line("MCP client", list(&self.clients));
        let protocols: Vec<&str> = self.protocols.iter().copied().collect();
        let protocols =
            if protocols.is_empty() { String::new() } else { format!(" ({})", protocols.join(", ")) };
        line("model requests", format!("{}{protocols}", self.requests));
        if self.requests > 0 {
            line("tools seen", list(&self.tools));
            line(
                "calls",
                format!(
                    "{} asked for by the model, {} arrived at the server",
                    self.calls_asked, self.calls_arrived
                ),
            );
        } else {
            line("calls", format!("{} arrived at the server", self.calls_arrived));
        }
        let share = |share: Share| match share.of {
            0 => String::new(),
            of => format!("word for word in {} of {}", share.yes, runs(of)),
        };
        line("system prompt", share(self.system));
        line("patch", share(self.patch));
        line("tool timeout", self.patience());
        line("sent again by itself", self.again());
        let verdicts: Vec<String> =
            self.verdicts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        line("verdicts", verdicts.join(", "));
        for group in &self.problems {
            let _ = writeln!(text, "  PROBLEM  {} [{}]", group.finding.text, group.finding.code);
            let _ = writeln!(
                text,
                "           in {} of {}, first {} · {} · {} · {} ({})",
                group.runs,
                runs(self.runs),
                group.cell.model,
                group.cell.conversation,
                group.cell.scenario,
                group.cell.patch,
                group.run_id
            );
            if let Some(help) = group.finding.help {
                let _ = writeln!(text, "           help: {help}");
            }
        }
        for group in &self.notes {
            let _ = writeln!(
                text,
                "  note     {} [{}], in {} of {}",
                group.finding.text,
                group.finding.code,
                group.runs,
                runs(self.runs)
            );
        }
    }
}
