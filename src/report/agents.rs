//! What is known of the agents themselves, over all their runs. It enters no rate.

use super::CellView;
use crate::domain::{RunResult, Usage};
use std::collections::{BTreeMap, BTreeSet};

/// One agent, over all its runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentView<'a> {
    /// Its name.
    pub agent: &'a str,
    /// What its MCP client said of itself.
    pub clients: BTreeSet<&'a str>,
    /// Its runs.
    pub runs: u32,
    /// Its turns.
    pub turns: u64,
    /// Runs in which it told its tokens.
    pub told_tokens: u32,
    /// Input tokens, of the runs that told them; `None` is "not told".
    pub input_tokens: Option<u64>,
    /// Output tokens, of the runs that told them.
    pub output_tokens: Option<u64>,
    /// US dollars, of the runs that told them.
    pub cost_usd: Option<f64>,
    /// Milliseconds after which its client gave up a call: the shortest such wait.
    pub gave_up_after_ms: Option<u64>,
    /// Writes that its program or its transport sent again without the model.
    pub resent: u64,
    /// How its last commands ended where that was not with 0, with the number of runs.
    pub exits: BTreeMap<String, u32>,
    /// Runs that were ended at their time limit.
    pub timed_out: u32,
    /// Runs in which it had left processes behind.
    pub leaking: u32,
    /// Tries that its model's endpoint spoiled, each of which was made again.
    pub model_retries: u32,
}

impl AgentView<'_> {
    /// Whether there is anything to tell beside the number of runs.
    pub fn is_known(&self) -> bool {
        let silent =
            AgentView { agent: self.agent, runs: self.runs, turns: self.turns, ..AgentView::default() };
        *self != silent
    }
}

/// The agents in the order of their cells.
pub(super) fn of<'a>(cells: &[CellView<'a>]) -> Vec<AgentView<'a>> {
    let mut agents: Vec<AgentView<'a>> = Vec::new();
    for cell in cells {
        let agent = cell.key.agent.as_str();
        let at = agents.iter().position(|known| known.agent == agent).unwrap_or_else(|| {
            agents.push(AgentView { agent, ..AgentView::default() });
            agents.len() - 1
        });
        if let Some(view) = agents.get_mut(at) {
            cell.runs.iter().for_each(|run| add(view, run));
        }
    }
    agents.retain(|agent| agent.runs > 0);
    agents
}

fn add<'a>(view: &mut AgentView<'a>, run: &'a RunResult) {
    view.runs += 1;
    view.turns += run.turns.len() as u64;
    view.told_tokens += u32::from(run.usage.input_tokens.or(run.usage.output_tokens).is_some());
    // What spoiled tries consumed was consumed too.
    let AgentView { input_tokens, output_tokens, cost_usd, .. } = *view;
    let mut all = Usage { input_tokens, output_tokens, cost_usd, ..Usage::default() };
    for usage in run.agent.spoiled.iter().map(|spoiled| spoiled.usage).chain([run.usage]) {
        all += usage;
    }
    (view.input_tokens, view.output_tokens, view.cost_usd) =
        (all.input_tokens, all.output_tokens, all.cost_usd);
    let facts = &run.agent;
    view.clients.extend(facts.client.as_deref());
    view.gave_up_after_ms = match (view.gave_up_after_ms, facts.gave_up_after_ms) {
        (Some(known), Some(other)) => Some(known.min(other)),
        (known, other) => known.or(other),
    };
    view.resent += facts.resent;
    // What the runner ended ended with the runner's signal.
    let exit = match (facts.exit_code, facts.signal) {
        _ if facts.timed_out => None,
        (Some(0), _) | (None, None) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("signal {signal}")),
    };
    if let Some(exit) = exit {
        *view.exits.entry(exit).or_default() += 1;
    }
    view.timed_out += u32::from(facts.timed_out);
    view.leaking += u32::from(facts.leaked > 0);
    view.model_retries += u32::try_from(facts.spoiled.len()).unwrap_or(u32::MAX);
}

/// A column of the table of agents: its title, whether it is a number, and its cells.
pub(super) struct Column {
    /// Its title.
    pub title: &'static str,
    /// It is aligned to the right.
    pub number: bool,
    /// One cell an agent.
    pub cells: Vec<String>,
}

/// The table of agents for people: columns in which no agent has anything are left out.
pub(super) fn columns(agents: &[AgentView<'_>]) -> Vec<Column> {
    let column = |title, number, cell: &dyn Fn(&AgentView<'_>) -> String| Column {
        title,
        number,
        cells: agents.iter().map(cell).collect(),
    };
    let some = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    let told = |number: Option<u64>, agent: &AgentView<'_>| match number {
        Some(number) if agent.told_tokens < agent.runs => {
            format!("{number} in {} of {} runs", agent.told_tokens, agent.runs)
        }
        Some(number) => number.to_string(),
        None => String::new(),
    };
    let mut columns = vec![
        column("runs", true, &|agent| agent.runs.to_string()),
        column("turns", true, &|agent| agent.turns.to_string()),
        column("input tokens", true, &|agent| told(agent.input_tokens, agent)),
        column("output tokens", true, &|agent| told(agent.output_tokens, agent)),
        column("cost in USD", true, &|agent| {
            agent.cost_usd.map(|cost| format!("{cost:.4}")).unwrap_or_default()
        }),
        column("its client gave up after", true, &|agent| {
            agent.gave_up_after_ms.map(|ms| format!("{:.1} s", ms as f64 / 1000.0)).unwrap_or_default()
        }),
        column("sent again by its program", true, &|agent| some(agent.resent)),
        column("tries its endpoint spoiled, made again", true, &|agent| some(agent.model_retries.into())),
        column("ended at the time limit", true, &|agent| some(agent.timed_out.into())),
        column("left processes behind in", true, &|agent| some(agent.leaking.into())),
        column("ended with", false, &|agent| {
            let exits: Vec<String> =
                agent.exits.iter().map(|(exit, runs)| format!("{exit} in {runs}")).collect();
            exits.join(", ")
        }),
        column("MCP client", false, &|agent| agent.clients.iter().copied().collect::<Vec<_>>().join(", ")),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_which_nothing_is_known_is_not_told_of() {
        let silent = AgentView { agent: "a", runs: 3, turns: 5, ..AgentView::default() };
        assert!(!silent.is_known());
        assert!(AgentView { resent: 1, ..silent.clone() }.is_known());
        let titles: Vec<&str> = columns(&[silent]).iter().map(|column| column.title).collect();
        assert_eq!(titles, ["runs", "turns"]);
    }

    #[test]
    fn tokens_that_only_some_runs_told_are_not_passed_off_as_all() {
        let agent =
            AgentView { agent: "a", runs: 3, told_tokens: 2, input_tokens: Some(7), ..AgentView::default() };
        let column = columns(&[agent]).into_iter().find(|column| column.title == "input tokens").unwrap();
        assert_eq!(column.cells, ["7 in 2 of 3 runs"]);
    }
}
