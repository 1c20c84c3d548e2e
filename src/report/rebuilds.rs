//! What agents did when their server was rebuilt under them (R1 to R5): which fetched the list of tools
//! again, which called with an old one, which sent the write again that was under way.

use super::View;
use super::text::{counted, k_of_n};
use crate::domain::{Axis, RunResult};
use crate::judge::{
    CALLED_WITH_STALE_CATALOGUE, CATALOGUE_REFRESHED, REFUSED_STALE_EPOCH, RESENT_AFTER_EPOCH_CHANGE,
};
use crate::scenario;
use crate::stats::Proportion;
use std::collections::BTreeMap;

/// What the columns count, in their order: the title, and the observation of the judge.
const COLUMNS: [(&str, &str); 4] = [
    ("list fetched again", CATALOGUE_REFRESHED),
    ("called with an old list", CALLED_WITH_STALE_CATALOGUE),
    ("refused", REFUSED_STALE_EPOCH),
    ("sent the write again", RESENT_AFTER_EPOCH_CHANGE),
];

/// One agent with one model under one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The model.
    pub model: &'a str,
    /// The scenario with its variant.
    pub scenario: &'a str,
    /// Runs in which the server was rebuilt.
    pub runs: u32,
    /// Of these, runs with each observation: the list was fetched again, a call was made with an old
    /// list, a call was refused because of its epoch, the write that was under way was sent again.
    pub seen: [u32; 4],
}

/// Every agent, model and scenario under which a server was rebuilt, in this order.
pub(super) fn of<'a>(runs: &'a [RunResult]) -> Vec<Rebuilt<'a>> {
    let mut rows: BTreeMap<[&'a str; 3], Rebuilt<'a>> = BTreeMap::new();
    for run in runs {
        let key = &run.key;
        if run.scenario_fired != Some(true) || scenario::rebuilds(&key.scenario).is_none() {
            continue;
        }
        let name = [key.agent.as_str(), key.model.as_str(), key.scenario.as_str()];
        let row = rows.entry(name).or_insert(Rebuilt {
            agent: name[0],
            model: name[1],
            scenario: name[2],
            runs: 0,
            seen: [0; 4],
        });
        row.runs += 1;
        for (count, (_, kind)) in row.seen.iter_mut().zip(COLUMNS) {
            *count += u32::from(run.observations.iter().any(|seen| seen == kind));
        }
    }
    rows.into_values().collect()
}

/// The table: its header, and its rows of texts.
pub(super) fn table(view: &View<'_>) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut header = vec![Axis::Agent.name(), Axis::Model.name(), Axis::Scenario.name()];
    header.extend(COLUMNS.map(|(title, _)| title));
    let rows = view.rebuilt.iter().map(|row| {
        let mut texts = vec![row.agent.to_owned(), row.model.to_owned(), row.scenario.to_owned()];
        texts.extend(
            row.seen
                .map(|seen| Proportion::new(seen, row.runs).map_or_else(|_| "no data".to_owned(), k_of_n)),
        );
        texts
    });
    (header, rows.collect())
}

/// What the table is about, as a sentence without its full stop.
pub(super) fn about(view: &View<'_>) -> String {
    let runs: u32 = view.rebuilt.iter().map(|row| row.runs).sum();
    format!(
        "{} in which the server was rebuilt; what the agents did then enters no verdict by itself",
        counted(u64::from(runs), "run", "runs")
    )
}
