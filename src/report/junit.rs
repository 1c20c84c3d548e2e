//! `junit.xml` in Jenkins' dialect: one test case a run.

use super::text::{shortened, visible};
use super::{CellView, Format, GateResult, GateState, Options, ReportError, View};
use crate::domain::{RunResult, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) const FORMAT: Format =
    Format { name: "junit", file_name: "junit.xml", about: "one test case a run, for build servers", render };

/// Servers refuse files of some tens of megabytes; a reason is a sentence.
const LONGEST_REASON: usize = 400;

fn render(view: &View<'_>, _options: &Options) -> Result<Vec<u8>, ReportError> {
    let mut suites: BTreeMap<&str, Vec<&CellView<'_>>> = BTreeMap::new();
    for cell in &view.cells {
        suites.entry(&cell.key.scenario).or_default().push(cell);
    }
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = attribute(&view.results.suite.name);
    let counts = view.totals;
    let [failed, untested] = gate_counts(&view.gates);
    let _ = writeln!(
        xml,
        "<testsuites name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
        counts.total() as usize + view.gates.len(),
        counts.fail as usize + failed,
        counts.error as usize + untested,
        counts.not_tested
    );
    if !view.gates.is_empty() {
        gates(&mut xml, &format!("{}.gates", view.results.suite.name), &view.gates);
    }
    for (scenario, cells) in suites {
        suite(&mut xml, &format!("{}.{scenario}", view.results.suite.name), &cells);
    }
    xml.push_str("</testsuites>\n");
    Ok(xml.into_bytes())
}

fn gate_counts(gates: &[GateResult]) -> [usize; 2] {
    [GateState::Failed, GateState::NothingTested]
        .map(|state| gates.iter().filter(|gate| gate.state == state).count())
}

/// A gate over nothing is an error, since servers pass over what is skipped.
fn gates(xml: &mut String, name: &str, gates: &[GateResult]) {
    let [failed, untested] = gate_counts(gates);
    let name = attribute(name);
    let tests = gates.len();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"{untested}\" skipped=\"0\">"
    );
    for GateResult { gate, state, sentence } in gates {
        let _ = write!(xml, "    <testcase classname=\"{name}\" name=\"{}\"", attribute(gate));
        let element = match state {
            GateState::Held => {
                xml.push_str("/>\n");
                continue;
            }
            GateState::Failed => "failure",
            GateState::NothingTested => "error",
        };
        let message = attribute(&shortened(sentence, LONGEST_REASON));
        let _ = writeln!(
            xml,
            "><{element} message=\"{message}\" type=\"{}\"></{element}></testcase>",
            state.name()
        );
    }
    xml.push_str("  </testsuite>\n");
}

fn suite(xml: &mut String, name: &str, cells: &[&CellView<'_>]) {
    let counts: crate::stats::Counts = cells.iter().map(|cell| cell.counts).sum();
    let milliseconds: u64 = cells.iter().flat_map(|cell| &cell.runs).map(|run| run.duration_ms).sum();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\">",
        attribute(name),
        counts.total(),
        counts.fail,
        counts.error,
        counts.not_tested,
        seconds(milliseconds)
    );
    for run in cells.iter().flat_map(|cell| &cell.runs) {
        case(xml, name, run);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, class: &str, run: &RunResult) {
    let name = attribute(&format!("{} repeat={}", run.key, run.repeat));
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{name}\" time=\"{}\"",
        attribute(class),
        seconds(run.duration_ms)
    );
    let element = match run.verdict {
        Verdict::Pass => {
            xml.push_str("/>\n");
            return;
        }
        Verdict::Fail => "failure",
        Verdict::NotTested => "skipped",
        Verdict::Error => "error",
    };
    let reason = shortened(&run.reason, LONGEST_REASON);
    let _ = write!(xml, "><{element} message=\"{}\"", attribute(&reason));
    if element != "skipped" {
        let _ = write!(xml, " type=\"{}\"", run.reason_code.name());
    }
    let trace = run.trace.as_deref().map(|trace| format!(", {trace}")).unwrap_or_default();
    let _ = writeln!(xml, ">run {}{}</{element}></testcase>", attribute(&run.run_id.0), attribute(&trace));
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03}", milliseconds / 1_000, milliseconds % 1_000)
}

/// Text for an attribute or an element: nothing that XML 1.0 forbids is left, and no line break that a
/// parser would turn into a space.
pub(crate) fn attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}
