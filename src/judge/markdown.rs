//! A report in Markdown, for people and for agents that ask for it.

use super::report_file::{Patch, Report, ReportFile, Score};
use std::fmt::Write;

/// The whole report.
pub fn report(file: &ReportFile) -> String {
    let mut text = String::from("# Report\n\n");
    verdict(&mut text, file);
    let Some(report) = &file.report else { return text };
    list(&mut text, "Violations", report.violations.iter().map(|entry| (&entry.kind, &entry.message)));
    list(&mut text, "Observations", report.observations.iter().map(|entry| (&entry.kind, &entry.message)));
    if !report.operations.is_empty() {
        text.push_str("\n## Operations\n\n| id | tool | attempts | executions | failed | outcome |\n");
        text.push_str("|---|---|---:|---:|---:|---|\n");
        for entry in &report.operations {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                entry.id,
                cell(&entry.tool),
                entry.attempts,
                entry.executions,
                entry.failed_attempts,
                entry.outcome
            );
        }
    }
    coverage(&mut text, report);
    text
}

/// Verdict, score and patches.
pub fn score(file: &ReportFile) -> String {
    let mut text = String::from("# Score\n\n");
    verdict(&mut text, file);
    match &file.score {
        Some(score) => dimensions(&mut text, score),
        None => text.push_str("\nNo score: nothing was tested.\n"),
    }
    for patch in &file.patches {
        offered(&mut text, patch);
    }
    text
}

fn verdict(text: &mut String, file: &ReportFile) {
    let name = file.verdict.name();
    let reason = file.report.as_ref().map_or("", |report| &report.verdict_reason);
    let _ = match &file.score {
        Some(score) => writeln!(text, "**{name}**, {} of 100. {reason}", score.overall),
        None => writeln!(text, "**{name}**. {reason}"),
    };
    let _ = writeln!(text, "\n{} (a test of your own, no certificate)", file.certification);
}

fn dimensions(text: &mut String, score: &Score) {
    let number = |value: Option<u8>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
    text.push_str("\n| dimension | score | weight |\n|---|---:|---:|\n");
    let _ = writeln!(text, "| duplicate safety | {} | 60 % |", number(score.duplicate_safety));
    let _ = writeln!(text, "| failure handling | {} | 40 % |", number(score.failure_handling));
    text.push_str("| honesty | not measured | – |\n");
    if score.capped {
        text.push_str("\nA run with a violation is capped at 49.\n");
    }
}

fn offered(text: &mut String, patch: &Patch) {
    let _ = writeln!(text, "\n## {} {}\n\n{}\n", patch.severity, patch.id, patch.trigger);
    let _ = writeln!(text, "{}", patch.text.trim_end());
}

fn list<'a>(text: &mut String, title: &str, entries: impl Iterator<Item = (&'a String, &'a String)>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    for (kind, message) in entries {
        let _ = writeln!(text, "- `{kind}`: {message}");
    }
}

fn coverage(text: &mut String, report: &Report) {
    let calls = &report.coverage.calls;
    let _ = writeln!(
        text,
        "\nCalls: {} of writes, {} of reads, {} of tools of unknown class.",
        calls.write, calls.read, calls.unclassified
    );
    match (&report.scenario, report.coverage.scenario_triggered) {
        (Some(id), Some(true)) => drop(writeln!(text, "Scenario {id} has fired.")),
        (Some(id), _) => drop(writeln!(text, "Scenario {id} has not fired.")),
        (None, _) => {}
    }
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
