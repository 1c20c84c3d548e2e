//! Whose model a run uses: what limits per provider count.
//!
//! A provider stands before `:` or `/` in a model's name (`anthropic:claude-sonnet-5`,
//! `openrouter/qwen3`); where it does not, it is the `provider` of the agent's profile. A name such as
//! `qwen3:14b` has a `:` of its own, so what stands there counts only where `limits.per_provider` has it.

use super::{AgentProfile, Cell, Suite};
use crate::domain::CellKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Suite {
    /// The provider whose limit a run of this cell counts for.
    pub fn limited_provider(&self, key: &CellKey) -> Option<&str> {
        let listed = |name: &str| self.limits.per_provider.get_key_value(name).map(|(name, _)| name.as_str());
        let of_model = prefixes(&key.model).find_map(listed);
        of_model.or_else(|| listed(self.agents.get(&key.agent)?.provider.as_deref()?))
    }
}

/// Everything that can be meant by a provider in these cells.
pub(super) fn all(cells: &[Arc<Cell>], agents: &BTreeMap<String, AgentProfile>) -> BTreeSet<String> {
    let of_model = cells.iter().flat_map(|cell| prefixes(&cell.key.model));
    let of_agent = cells.iter().filter_map(|cell| agents.get(&cell.key.agent)?.provider.as_deref());
    of_model.chain(of_agent).map(str::to_owned).collect()
}

fn prefixes(model: &str) -> impl Iterator<Item = &str> {
    [':', '/'].into_iter().filter_map(|mark| Some(model.split_once(mark)?.0)).filter(|name| !name.is_empty())
}
