//! What `--dry-run` prints: which cells, how many runs, which commands.

use super::units::{show_duration, show_size};
use super::{Suite, Trial};
use crate::domain::{Axis, CellId};
use comfy_table::{ContentArrangement, Table, presets};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The plan as text for a terminal. Nothing in it depends on the terminal.
pub fn render(suite: &Suite, trials: &[Trial]) -> String {
    let mut repeats: BTreeMap<&CellId, u32> = BTreeMap::new();
    for trial in trials {
        *repeats.entry(&trial.cell.id).or_default() += 1;
    }
    let cells: Vec<_> = suite.cells.iter().filter(|cell| repeats.contains_key(&cell.id)).collect();

    let mut out = format!("suite {}", suite.name);
    if let Some(description) = &suite.description {
        let _ = write!(out, ": {}", one_line(description));
    }
    let _ = write!(out, "\n{}, {}", count(cells.len(), "cell"), count(trials.len(), "run"));
    if cells.len() < suite.cells.len() {
        let _ = write!(out, " (of {})", count(suite.cells.len(), "cell"));
    }
    let _ = write!(out, ", seed {}\n\n", suite.seed);

    let wide = Axis::ALL.iter().map(|axis| axis.name().len()).max().unwrap_or_default();
    for axis in Axis::ALL {
        let mut seen = BTreeSet::new();
        let values: Vec<String> = cells
            .iter()
            .map(|cell| cell.key.get(axis))
            .filter(|value| seen.insert(*value))
            .map(one_line)
            .collect();
        let _ = writeln!(out, "{:wide$}  {}", axis.name(), values.join(", "));
    }
    let limits = &suite.limits;
    let _ = write!(
        out,
        "\nlimits: {} a run, {} an upstream's answer",
        show_duration(limits.run_timeout),
        show_duration(limits.upstream_timeout)
    );
    let _ = write!(out, ", {} at a time", count(limits.parallel as usize, "run"));
    if let Some(per_model) = limits.per_model {
        let _ = write!(out, " ({per_model} a model)");
    }
    for (provider, most) in &limits.per_provider {
        let _ = write!(out, " ({most} of {})", one_line(provider));
    }
    if limits.model_retries > 0 {
        let _ = write!(out, ", {} after an endpoint's error", times(limits.model_retries));
    }
    let _ = writeln!(out, ", {} of an agent's output", show_size(limits.output));

    if let Some(reader) = &suite.reader {
        let turns = |trial: &Trial| {
            1 + suite.conversations.get(&trial.cell.key.conversation).map_or(0, |all| all.turns.len())
        };
        let most = trials.iter().map(turns).sum();
        let _ = writeln!(
            out,
            "second reader: {}, up to {}, one a reply",
            one_line(&reader.model),
            count(most, "request")
        );
    }

    let varying: Vec<Axis> = Axis::ALL
        .into_iter()
        .filter(|axis| cells.iter().map(|cell| cell.key.get(*axis)).collect::<BTreeSet<_>>().len() > 1)
        .collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let header = ["cell"].into_iter().chain(varying.iter().map(|axis| axis.name())).chain(["runs"]);
    table.set_header(header);
    for cell in &cells {
        let values = varying.iter().map(|axis| one_line(cell.key.get(*axis)));
        let runs = repeats.get(&cell.id).copied().unwrap_or_default().to_string();
        table.add_row(std::iter::once(cell.id.to_string()).chain(values).chain([runs]));
    }
    out.push('\n');
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim());
    }

    let agents: BTreeSet<&str> = cells.iter().map(|cell| cell.key.agent.as_str()).collect();
    for name in agents {
        if let Some(agent) = suite.agents.get(name) {
            let words: Vec<String> = agent.first.command.iter().map(|word| quoted(word)).collect();
            let _ = write!(out, "\n{name} starts with\n    {}\n", words.join(" "));
        }
    }
    out
}

fn times(number: u32) -> String {
    if number == 1 { "once more".to_owned() } else { format!("up to {number} times more") }
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// User text that stays on its line and cannot move the cursor.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A word as a shell would need it, for reading and copying.
fn quoted(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", one_line(word).replace('\'', "'\\''")) }
}
