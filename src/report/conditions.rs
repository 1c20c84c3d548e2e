//! Turns of the simulated user that were said only on a condition: how often they were, and where not,
//! what the agent had said. A cell whose users often kept quiet is not the cell that its name promises.

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
