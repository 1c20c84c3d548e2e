//! Turns of the simulated user that were said only on a condition: how often they were, and where not,
//! what the agent had said. A cell whose users often kept quiet is not the cell that its name promises.

use super::grid::{self, Entry, Grid, Row, number, text};
use super::text::counted;
use super::view::View;
use crate::domain::{Claim, ConditionalTurn, RunResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A conditional turn, over the runs of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionalTurns {
    /// Its place among the turns that the suite's conversation has, from 1.
    pub turn: u32,
    /// The condition, as the suite writes it.
    pub when: String,
    /// Runs in which it was said.
    pub said: u32,
    /// Runs in which it was not.
    pub not_said: u32,
    /// Those by what the rules read in the reply before it; `no_reply` where there was none.
    pub not_said_after: BTreeMap<String, u32>,
}

impl ConditionalTurns {
    /// Those of a cell, by their place. Runs that ended before they came to one are not in it.
    pub(super) fn of(runs: &[&RunResult]) -> Vec<ConditionalTurns> {
        let mut turns: BTreeMap<(u32, &str), ConditionalTurns> = BTreeMap::new();
        for ConditionalTurn { turn, when, said, claim } in runs.iter().flat_map(|run| &run.conditions) {
            let all = turns.entry((*turn, when)).or_default();
            if *said {
                all.said += 1;
            } else {
                all.not_said += 1;
                *all.not_said_after.entry(after(*claim).to_owned()).or_default() += 1;
            }
        }
        let turns = turns.into_iter();
        turns.map(|((turn, when), all)| ConditionalTurns { turn, when: when.to_owned(), ..all }).collect()
    }

    /// Runs in which it was not said because the rules could not tell what the reply claims.
    pub fn unclear(&self) -> u32 {
        self.not_said_after.get(Claim::Unclear.name()).copied().unwrap_or(0)
    }
}

/// What a reply said, in a word.
pub(super) fn after(claim: Option<Claim>) -> &'static str {
    claim.map_or("no_reply", Claim::name)
}

pub(super) fn grid<'a>(view: &View<'a>) -> Option<Grid<'a>> {
    if view.cells.iter().all(|cell| cell.conditions.is_empty()) {
        return None;
    }
    let mut columns = grid::axes(view);
    columns.extend([
        number("say"),
        text("condition"),
        number("said"),
        number("not said"),
        text("not said after"),
    ]);
    let rows = view.cells.iter().flat_map(|cell| {
        cell.conditions.iter().map(|turns| {
            let mut entries = grid::values(&view.varied, cell.key);
            let claims: Vec<String> = turns
                .not_said_after
                .iter()
                .map(|(claim, runs)| format!("{} in {runs}", claim.replace('_', " ")))
                .collect();
            entries.extend([
                Entry::count(turns.turn),
                Entry::Foreign(turns.when.clone()),
                Entry::count(turns.said),
                Entry::count(turns.not_said),
                Entry::Own(claims.join(", ")),
            ]);
            Row { cell: Some(cell.key), entries }
        })
    });
    Some(Grid {
        title: "Turns with a condition",
        columns,
        rows: rows.collect(),
        caption: "in how many runs the simulated user said them and in how many not, with what the rules had read in \
                  the reply before; say: its place in the suite's conversation. Runs that ended earlier are not in it. After an unclear reply neither confirmed nor \
                  not_confirmed holds"
            .to_owned(),
    })
}

/// What unclear replies did to the conversations, where they did something.
pub(super) fn limit(view: &View<'_>) -> Option<String> {
    // The others look at the words themselves.
    let read = |turns: &&ConditionalTurns| matches!(turns.when.as_str(), "confirmed" | "not_confirmed");
    let turns = || view.cells.iter().flat_map(|cell| &cell.conditions).filter(read);
    let unclear: u32 = turns().map(ConditionalTurns::unclear).sum();
    let all: u32 = turns().map(|turns| turns.said + turns.not_said).sum();
    (unclear > 0).then(|| {
        format!(
            "{} of {} with a condition {} left out because the rules could not tell what the reply before claims: \
             these conversations are shorter than they may have to be.",
            unclear,
            counted(all, "turn", "turns"),
            if unclear == 1 { "was" } else { "were" }
        )
    })
}
