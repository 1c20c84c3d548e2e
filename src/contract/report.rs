//! Results of contracts → text. Foreign text is escaped as in every other report.

use super::check::{CaseResult, State};
use crate::report::{
    MarkdownTable, TerminalOptions, attribute, code, counted, finish, prose, shortened, table, visible,
    wrapped,
};
use comfy_table::Cell;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Version of the JSON form.
pub const VERSION: u32 = 1;
/// The longest reason in a table.
const LONGEST_REASON: usize = 400;

/// The results of all contracts of one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results {
    /// In the order of the files.
    pub cases: Vec<CaseResult>,
    /// Cases that were not begun, since the command was interrupted.
    pub not_run: u64,
}

impl State {
    /// In tables.
    pub fn title(self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Failed => "FAILED",
            State::Error => "ERROR",
        }
    }
}

impl CaseResult {
    /// Why it did not pass.
    pub fn reasons(&self) -> Vec<String> {
        let failures =
            self.failures.iter().map(|failure| format!("{}: {}", failure.kind.name(), failure.reason));
        failures.chain(self.error.clone()).collect()
    }

    fn requests_in_words(&self) -> String {
        let requests = self.requests.iter().map(|seen| {
            let done = if seen.committed { ", carried out" } else { "" };
            format!("{} {} ({}{done})", seen.method, seen.path, seen.answered)
        });
        requests.collect::<Vec<_>>().join("; ")
    }

    fn said(&self) -> String {
        let advice =
            |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
        let parts = [
            self.is_error.map(|is| if is { "error" } else { "result" }.to_owned()),
            self.category.clone(),
            advice("retry", &self.retry),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Results {
    /// How many ended in this way.
    pub fn count(&self, state: State) -> u64 {
        self.cases.iter().filter(|case| case.state == state).count() as u64
    }

    /// The outcome in one sentence.
    pub fn outcome(&self) -> String {
        let mut parts = vec![format!(
            "{} of {} passed",
            self.count(State::Passed),
            counted(self.cases.len() as u64, "case", "cases")
        )];
        parts.extend(
            [(State::Failed, "failed"), (State::Error, "could not be carried out")].into_iter().filter_map(
                |(state, words)| {
                    Some(self.count(state)).filter(|count| *count > 0).map(|count| format!("{count} {words}"))
                },
            ),
        );
        if self.not_run > 0 {
            parts.push(format!("{} not begun", self.not_run));
        }
        parts.join(", ")
    }

    /// For a terminal `width` characters wide, without colour.
    pub fn terminal(&self, width: Option<u16>) -> String {
        let options = TerminalOptions { width, ..TerminalOptions::default() };
        let mut text = String::new();
        for (contract, cases) in self.by_contract() {
            let _ = writeln!(text, "{}", visible(contract));
            let header = ["case", "", "requests", "the tool says"].map(str::to_owned).to_vec();
            let mut rows = table(&options, header, &[2]);
            for case in &cases {
                let said = case.said();
                let said = if said.is_empty() { "nothing".to_owned() } else { said };
                rows.add_row(vec![
                    Cell::new(visible(&case.id)),
                    Cell::new(case.state.title()),
                    Cell::new(case.requests.len()),
                    Cell::new(shortened(&visible(&said), 80)),
                ]);
            }
            let _ = writeln!(text, "{}\n", finish(&rows));
            for case in cases.iter().filter(|case| case.state != State::Passed) {
                let _ = writeln!(text, "{} {}", case.state.title(), visible(&case.id));
                for reason in case.reasons() {
                    let reason = shortened(&visible(&on_one_line(&reason)), LONGEST_REASON);
                    let _ = writeln!(text, "  {}", wrapped(&reason, &options).replace('\n', "\n  "));
                }
                for (what, words) in [
                    ("requests", case.requests_in_words()),
                    ("answer", case.answer.clone().unwrap_or_default()),
                    ("stderr", on_one_line(&case.stderr)),
                ] {
                    if !words.is_empty() {
                        let line = format!("{what}: {}", shortened(&visible(&words), LONGEST_REASON));
                        let _ = writeln!(text, "  {}", wrapped(&line, &options).replace('\n', "\n  "));
                    }
                }
                text.push('\n');
            }
        }
        let _ = writeln!(text, "{}", self.outcome());
        text
    }

    /// For release notes and pull requests.
    pub fn markdown(&self) -> String {
        let mut text = format!("## Contract cases\n\n{}.\n", self.outcome());
        for (contract, cases) in self.by_contract() {
            let _ = write!(text, "\n### {}\n\n", prose(contract));
            let mut table = MarkdownTable::new();
            table.left("case").left("outcome").right("requests").left("the tool says").left("why not");
            for case in cases {
                let reasons: Vec<String> =
                    case.reasons().iter().map(|reason| code(&shortened(reason, LONGEST_REASON))).collect();
                let state = match case.state {
                    State::Passed => "passed".to_owned(),
                    other => format!("**{}**", other.title()),
                };
                table.row(vec![
                    code(&case.id),
                    state,
                    case.requests.len().to_string(),
                    code(&case.said()),
                    reasons.join("<br>"),
                ]);
            }
            let _ = writeln!(text, "{}", table.render(usize::MAX));
        }
        text
    }

    /// In Jenkins' dialect of JUnit.
    pub fn junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let counts = |cases: &[&CaseResult]| {
            let count = |state| cases.iter().filter(|case| case.state == state).count();
            format!(
                "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
                cases.len(),
                count(State::Failed),
                count(State::Error)
            )
        };
        let all: Vec<&CaseResult> = self.cases.iter().collect();
        let _ = writeln!(xml, "<testsuites name=\"contracts\" {}>", counts(&all));
        for (contract, cases) in self.by_contract() {
            let time: u64 = cases.iter().map(|case| case.duration_ms).sum();
            let name = attribute(contract);
            let _ =
                writeln!(xml, "  <testsuite name=\"{name}\" {} time=\"{}\">", counts(&cases), seconds(time));
            for case in cases {
                let (id, time) = (attribute(&case.id), seconds(case.duration_ms));
                let _ = write!(xml, "    <testcase classname=\"{name}\" name=\"{id}\" time=\"{time}\"");
                let element = match case.state {
                    State::Passed => {
                        xml.push_str("/>\n");
                        continue;
                    }
                    State::Failed => "failure",
                    State::Error => "error",
                };
                let kind = case.failures.first().map_or("not_carried_out", |failure| failure.kind.name());
                let reasons = case.reasons();
                let message = attribute(&shortened(&reasons.join("; "), LONGEST_REASON));
                let requests = attribute(&case.requests_in_words());
                let _ = writeln!(
                    xml,
                    "><{element} message=\"{message}\" type=\"{kind}\">{requests}</{element}></testcase>"
                );
            }
            xml.push_str("  </testsuite>\n");
        }
        xml.push_str("</testsuites>\n");
        xml
    }

    /// For programs.
    ///
    /// # Errors
    /// Where the JSON writer refuses.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            version: u32,
            passed: u64,
            failed: u64,
            errors: u64,
            not_run: u64,
            cases: &'a [CaseResult],
        }
        let whole = Whole {
            version: VERSION,
            passed: self.count(State::Passed),
            failed: self.count(State::Failed),
            errors: self.count(State::Error),
            not_run: self.not_run,
            cases: &self.cases,
        };
        serde_json::to_string_pretty(&whole).map(|text| text + "\n")
    }

    fn by_contract(&self) -> BTreeMap<&str, Vec<&CaseResult>> {
        let mut contracts: BTreeMap<&str, Vec<&CaseResult>> = BTreeMap::new();
        for case in &self.cases {
            contracts.entry(&case.contract).or_default().push(case);
        }
        contracts
    }
}

/// Lines of a program, one after the other.
fn on_one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1_000, milliseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_program_are_shown_as_lines() {
        assert_eq!(
            on_one_line("Traceback:\n  File \"a.py\"\r\n\nboom\n"),
            "Traceback: / File \"a.py\" / boom"
        );
    }
}
