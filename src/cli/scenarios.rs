//! `nochmal scenarios`: the built-in faults, one line each, or one of them at length.

use super::{Failure, exit};
use crate::scenario::{self, Entry};
use std::fmt::Write as _;

/// Arguments of `nochmal scenarios`.
#[derive(Debug, clap::Args)]
pub struct ScenariosArgs {
    #[command(subcommand)]
    command: Option<ScenariosCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum ScenariosCommand {
    /// Explain one with its timeline
    Show {
        /// Its id, as T4 or E1:502
        id: String,
    },
}

/// Prints the table, or one entry.
pub fn run(args: &ScenariosArgs) -> Result<u8, Failure> {
    let text = match &args.command {
        None => list(),
        Some(ScenariosCommand::Show { id }) => match scenario::find(id) {
            Some((entry, variant)) => show(entry, variant),
            None => return Err(unknown(id)),
        },
    };
    super::out::print(&text)?;
    Ok(exit::OK)
}

fn unknown(id: &str) -> Failure {
    let spellings = scenario::spellings();
    let names: Vec<&str> = spellings.iter().map(String::as_str).collect();
    let hint = crate::suite::diagnostics::suggestion(id, &names);
    Failure::said(exit::BAD_INPUT, format!("there is no scenario `{id}`; {hint}"))
}

fn list() -> String {
    let mut text = String::new();
    for entry in scenario::table() {
        let _ = writeln!(text, "{:<6} {}", entry.id, entry.summary);
        if !entry.variants.is_empty() {
            let names: Vec<&str> = entry.variants.iter().map(|(name, _)| *name).collect();
            let _ = writeln!(
                text,
                "       as {0}:{1}; `{0}` alone is {0}:{2}",
                entry.id,
                names.join(&format!(", {}:", entry.id)),
                names[0]
            );
        }
    }
    text.push_str(
        "\n`nochmal scenarios show T4` explains one. Your own stand in a suite under `scenarios:`.\n",
    );
    text
}

fn show(entry: &Entry, variant: &str) -> String {
    let mut text = String::new();
    let name = if variant.is_empty() { entry.id.to_owned() } else { format!("{}:{variant}", entry.id) };
    let _ = writeln!(text, "{name}: {}\n", entry.summary);
    let story = entry.story_of(variant);
    let _ = writeln!(text, "really executed   {}", story.executed);
    let _ = writeln!(text, "the agent gets    {}", story.gets);
    let _ = writeln!(text, "it can know       {}", story.know);
    if !entry.variants.is_empty() {
        let _ = writeln!(text, "\nvariants");
        for (other, what) in entry.variants {
            let mark = if *other == variant { "→" } else { " " };
            let _ = writeln!(text, "  {mark} {:<18} {what}", format!("{}:{other}", entry.id));
        }
    }
    let _ = writeln!(text, "\ntimeline");
    for (at, (who, what)) in story.timeline.iter().enumerate() {
        let _ = writeln!(text, "  {:>2}  {:<8} {what}", at + 1, who.name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_one_line_and_can_be_shown() {
        let list = list();
        for entry in scenario::table() {
            assert!(list.contains(entry.summary), "{}", entry.id);
            let shown = show(entry, entry.variants.first().map_or("", |(name, _)| name));
            assert!(shown.contains("timeline") && shown.contains(entry.story.gets), "{shown}");
            assert!(!entry.story.timeline.is_empty());
        }
    }

    #[test]
    fn a_variant_tells_its_own_story() {
        let shown = |id: &str| {
            let (entry, variant) = scenario::find(id).unwrap();
            show(entry, variant)
        };
        for id in ["R2:pass", "R3:pass", "R5:pass"] {
            let shown = shown(id);
            assert!(shown.contains("passes the call on") && !shown.contains("does not pass"), "{shown}");
        }
        assert!(shown("R2:close").contains("sees its connection end"));
        assert!(shown("R4:close").contains("sees its connection end"));
        assert!(shown("R2").contains("server execution epoch changed"));
        let shown = shown("E1:success_false");
        assert!(shown.contains("failed, safe") && !shown.contains("outcome_unknown"), "{shown}");
    }

    #[test]
    fn a_slip_gets_a_suggestion() {
        assert!(format!("{:?}", unknown("E1:503")).contains("did you mean `E1:50"));
    }
}
