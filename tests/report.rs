//! The formats of a report, on ordinary results and on nasty ones: snapshots, and every table read back
//! by a strict reader to the same values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails by panicking")]

#[path = "report/made.rs"]
mod made;

use made::{Cell, key, results};
use nochmal::domain::{Axis, CellKey, ReasonCode, Verdict};
use nochmal::report::*;
use nochmal::stats::{Level, boschloo, wilson};
use nochmal::suite::Filter;

fn ordinary() -> Results {
    let cell = |model, upstream, patch, counts| (key(model, upstream, patch), counts);
    results(
        10,
        &[
            cell("qwen3:14b", "with-search", "off", [0, 10, 0, 0]),
            cell("qwen3:14b", "with-search", "GHOST_WRITE", [10, 0, 0, 0]),
            cell("qwen3:14b", "id-only", "off", [0, 10, 0, 0]),
            cell("qwen3:14b", "id-only", "GHOST_WRITE", [3, 7, 0, 0]),
            cell("gemma4", "with-search", "off", [0, 9, 1, 0]),
            cell("gemma4", "with-search", "GHOST_WRITE", [7, 2, 0, 1]),
            cell("gemma4", "id-only", "off", [0, 10, 0, 0]),
            cell("gemma4", "id-only", "GHOST_WRITE", [0, 10, 0, 0]),
        ],
    )
}

const NASTY: [&str; 9] = [
    "a|b\\|c",
    "line\nbreak\r\n",
    "=cmd()",
    "👩‍🔬 emoji",
    "שלום עולם",
    "one\u{1}two",
    "not\u{FFFE}a character",
    "C:\\a\\b",
    "`tick` <b>&\"'",
];

fn nasty() -> Results {
    let cells: Vec<Cell> = NASTY
        .iter()
        .flat_map(|value| [(key(value, "u", "off"), [1, 2, 0, 0]), (key(value, "u", value), [2, 0, 1, 0])])
        .collect();
    let mut results = results(3, &cells);
    results.suite.name = "nasty | suite\n<x>".into();
    results.suite.description = "*not* emphasis, [no](link) | no cell".into();
    for run in &mut results.runs {
        run.reason = format!("{} \u{1b}[31mred", run.key.model);
        run.trace = None;
    }
    results
}

fn render(results: &Results, name: &str) -> String {
    render_with(results, name, &Options::default())
}

fn render_with(results: &Results, name: &str, options: &Options) -> String {
    let view = View::of(results, options);
    let format = formats().iter().find(|format| format.name == name).unwrap();
    String::from_utf8((format.render)(&view, options).unwrap()).unwrap()
}

fn terminal(results: &Results, width: Option<u16>) -> String {
    let options = Options { width, ..Options::default() };
    terminal_text(&View::of(results, &options), &options)
}

/// The rows of every table of a Markdown text, by the rules of GitHub: split at each `|` without a
/// backslash before it, every row as long as its header, code spans unwrapped.
fn markdown_tables(text: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables: Vec<Vec<Vec<String>>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            inside = false;
            continue;
        }
        assert!(line.ends_with('|'), "{line}");
        let (mut cells, mut cell, mut last) = (Vec::new(), String::new(), ' ');
        for character in line.chars().skip(1) {
            match character {
                '|' if last == '\\' => {
                    cell.pop();
                    cell.push('|');
                }
                '|' => cells.push(std::mem::take(&mut cell)),
                other => cell.push(other),
            }
            last = character;
        }
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell.trim())).collect();
        if !inside {
            tables.push(Vec::new());
        }
        inside = true;
        let table = tables.last_mut().unwrap();
        assert!(table.first().is_none_or(|header| header.len() == cells.len()), "{line}");
        table.push(cells);
    }
    for table in &mut tables {
        let rule = table.remove(1);
        assert!(rule.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty() && cell.len() >= 3));
    }
    tables
}

/// The content of a cell that is one code span; other text as it is.
fn plain(cell: &str) -> String {
    let fence = cell.chars().take_while(|c| *c == '`').count();
    if fence == 0 || !cell.ends_with(&"`".repeat(fence)) || cell.len() < 2 * fence {
        return cell.to_owned();
    }
    let content = &cell[fence..cell.len() - fence];
    if content.contains(&"`".repeat(fence)) && !content.contains(&"`".repeat(fence + 1)) {
        return cell.to_owned();
    }
    let padded = content.starts_with(' ') && content.ends_with(' ') && content.trim() != "";
    if padded { content[1..content.len() - 1].to_owned() } else { content.to_owned() }
}

/// Undoes `⟨U+000A⟩`.
fn hidden(text: &str) -> String {
    let mut parts = text.split("⟨U+");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('⟩').unwrap();
        plain.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        plain.push_str(rest);
    }
    plain
}

fn column(table: &[Vec<String>], title: &str) -> Vec<String> {
    let place = table[0].iter().position(|header| header == title).unwrap_or_else(|| panic!("no {title}"));
    table[1..].iter().map(|row| row[place].clone()).collect()
}

fn csv_rows(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

/// A text cell as it was before it was disarmed.
fn armed(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if rest.starts_with(['=', '+', '-', '@', '\t', '\0']) => rest,
        _ => cell,
    }
}

#[test]
fn an_ordinary_result() {
    let results = ordinary();
    insta::assert_snapshot!("ordinary_markdown", render(&results, "markdown"));
    insta::assert_snapshot!("ordinary_terminal_80", terminal(&results, Some(80)));
    insta::assert_snapshot!("ordinary_terminal_free", terminal(&results, None));
    insta::assert_snapshot!("ordinary_cells", render(&results, "cells-csv").replace('\r', ""));
    let runs = render(&results, "runs-csv").replace('\r', "");
    insta::assert_snapshot!("ordinary_runs", runs.lines().take(3).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_summary_reads_back_and_has_a_schema() {
    let one = results(3, &[(key("m", "u", "off"), [1, 2, 0, 0]), (key("m", "u", "X"), [3, 0, 0, 0])]);
    let text = render(&one, "json");
    insta::assert_snapshot!("two_cells_json", text);
    let summary: Summary = serde_json::from_str(&text).unwrap();
    // Both through the same parser, which may be off in a number's last digit.
    let written = serde_json::to_string(&Summary::of(&View::of(&one, &Options::default()))).unwrap();
    assert_eq!(summary, serde_json::from_str(&written).unwrap());
    assert!(schemars::schema_for!(Summary).to_value().pointer("/properties/cells").is_some());
}

/// A PASS without a fault says less (J19): every report tells how many there are.
#[test]
fn passes_that_met_no_fault_are_counted_everywhere() {
    let under = |scenario: &str| CellKey { scenario: scenario.into(), ..key("m", "u", "off") };
    let cells = ["none", "F4", "chaos", "F1"].map(|scenario| (under(scenario), [3, 1, 0, 0]));
    let mut results = results(4, &cells);
    for run in &mut results.runs {
        let struck = run.key.scenario == "F1" || run.key.scenario == "chaos" && run.repeat == 1;
        if run.verdict == Verdict::Pass && !struck {
            run.reason_code = ReasonCode::BaselineOnly;
        }
    }
    let told = "f 12 passes, 8 met no fault: 6 in scenarios without one, 2 where the scenario never struck";
    for format in ["markdown", "job-summary", "html"] {
        let text = render(&results, format);
        // The answer, and what the numbers do not say.
        assert_eq!(text.matches(told).count(), 2, "{format}: {text}");
        assert!(text.contains("passes without a fault"), "{format}");
    }
    insta::assert_snapshot!("no_fault_terminal", terminal(&results, None));
    let column: Vec<String> =
        csv_rows(&render(&results, "cells-csv")).iter().map(|row| row["n_pass_no_fault"].clone()).collect();
    assert_eq!(column, ["3", "3", "2", "0"]);
    let summary: Summary = serde_json::from_str(&render(&results, "json")).unwrap();
    assert_eq!(summary.passes_without_fault, 8);
    results.runs.retain(|run| run.key.scenario == "F1");
    assert!(!terminal(&results, None).contains("no fault"));
}

#[test]
fn nasty_values_keep_the_shape() {
    let results = nasty();
    insta::assert_snapshot!("nasty_markdown", render(&results, "markdown"));
    insta::assert_snapshot!("nasty_terminal", terminal(&results, Some(100)));
    insta::assert_snapshot!(
        "nasty_cells",
        render(&results, "cells-csv").escape_debug().to_string().replace("\\r\\n", "\n")
    );
}

#[test]
fn nasty_values_come_back_from_markdown() {
    let tables = markdown_tables(&render(&nasty(), "markdown"));
    let before_and_after: Vec<String> = column(&tables[0], "patch").iter().map(|cell| hidden(cell)).collect();
    assert_eq!(before_and_after, NASTY);
    let models: Vec<String> = column(&tables[1], "model").iter().map(|cell| hidden(cell)).collect();
    assert_eq!(models, NASTY.iter().flat_map(|value| [*value; 2]).collect::<Vec<_>>());
    assert_eq!(column(&tables[1], "failed"), ["2 of 3", "0 of 2"].repeat(NASTY.len()));
}

#[test]
fn nasty_values_come_back_from_csv() {
    let results = nasty();
    for name in ["runs-csv", "cells-csv"] {
        for row in csv_rows(&render(&results, name)) {
            assert!(!row["model"].starts_with(['=', '+', '-', '@', '\t', '\0']));
        }
    }
    let cells = csv_rows(&render(&results, "cells-csv"));
    let models: Vec<&str> = cells.iter().map(|row| armed(&row["model"])).collect();
    assert_eq!(models, NASTY.iter().flat_map(|value| [*value; 2]).collect::<Vec<_>>());
    let runs = csv_rows(&render(&results, "runs-csv"));
    assert_eq!(runs.len(), results.runs.len());
    for run in &results.runs {
        let row = runs.iter().find(|row| row["run_id"] == run.run_id.0).unwrap();
        for axis in Axis::ALL {
            assert_eq!(armed(&row[axis.name()]), run.key.get(axis));
        }
        assert_eq!(row["verdict"], run.verdict.name());
        assert_eq!(row["reason"], run.reason_code.name());
        assert_eq!(row["input_tokens"], "1200");
        assert_eq!((row["output_tokens"].as_str(), row["cost_usd"].as_str()), ("", ""));
    }
}

#[test]
fn junit_passes_a_strict_parser() {
    let results = nasty();
    let text = render(&results, "junit");
    let document = roxmltree::Document::parse(&text).unwrap();
    let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    assert_eq!(cases.len(), results.runs.len());
    let count =
        |tag| cases.iter().filter(|case| case.children().any(|child| child.has_tag_name(tag))).count();
    assert_eq!((count("failure"), count("skipped"), count("error")), (18, 9, 0));
    for case in &cases {
        assert_eq!(hidden(case.attribute("classname").unwrap()), "nasty | suite\n<x>.F1");
    }
    for run in &results.runs {
        let name = format!("{} repeat={}", run.key, run.repeat);
        assert!(cases.iter().any(|case| hidden(case.attribute("name").unwrap()) == name), "{name:?}");
    }
    let errors = render(&ordinary(), "junit");
    assert!(
        errors.contains(
            "<error message=\"the model endpoint refused: 503 | try later\" type=\"model_endpoint\">"
        )
    );
}

#[test]
fn without_a_tested_run_there_is_no_rate_anywhere() {
    let results = results(2, &[(key("m", "u", "off"), [0, 0, 1, 1]), (key("m", "u", "X"), [0, 0, 2, 0])]);
    insta::assert_snapshot!("nothing_tested_markdown", render(&results, "markdown"));
    insta::assert_snapshot!("nothing_tested_terminal", terminal(&results, Some(80)));
    for row in csv_rows(&render(&results, "cells-csv")) {
        for column in ["k", "rate", "lo", "hi"] {
            assert_eq!(row[column], "", "{column}");
        }
        assert_eq!(row["n_tested"], "0");
    }
    let summary: Summary = serde_json::from_str(&render(&results, "json")).unwrap();
    assert!(summary.cells.iter().all(|cell| cell.failed.is_none() && cell.interval.is_none()));
    assert_eq!(summary.comparisons[0].decision, "no_data");
}

#[test]
fn no_run_and_no_cell_are_reports_too() {
    let planned = Results { runs: Vec::new(), interrupted: true, ..ordinary() };
    insta::assert_snapshot!("nothing_run_terminal", terminal(&planned, Some(80)));
    let empty = Results { cells: Vec::new(), ..planned };
    for format in formats() {
        assert!(!render(&empty, format.name).is_empty());
    }
    assert!(terminal(&empty, None).contains("no run was tested"));
    assert!(!terminal(&empty, Some(1)).is_empty());
}

#[test]
fn one_cell_has_no_axis_to_show() {
    let one = results(5, &[(key("m", "u", "off"), [5, 0, 0, 0])]);
    insta::assert_snapshot!("one_cell_markdown", render(&one, "markdown"));
    insta::assert_snapshot!("one_cell_terminal", terminal(&one, Some(80)));
}

#[test]
fn two_hundred_cells_are_all_there() {
    let cells: Vec<Cell> = (0..100)
        .flat_map(|i| {
            let model = format!("model-{i:03}");
            [(key(&model, "u", "off"), [0, 10, 0, 0]), (key(&model, "u", "GHOST_WRITE"), [10, 0, 0, 0])]
        })
        .collect();
    let results = results(10, &cells);
    let tables = markdown_tables(&render(&results, "markdown"));
    assert_eq!((tables[0].len(), tables[1].len()), (101, 201));
    // Holm over 100 comparisons leaves each of them shown.
    assert!(column(&tables[0], "effect").iter().all(|effect| effect == "**fewer fails**"));
    assert!(terminal(&results, Some(80)).lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn one_cell_among_forty_nine_stands_out_alone() {
    let mut cells: Vec<Cell> =
        (0..49).map(|i| (key(&format!("m{i:02}"), "u", "off"), [0, 10, 0, 0])).collect();
    cells.push((key("m49", "u", "off"), [10, 0, 0, 0]));
    let results = results(10, &cells);
    let view = View::of(&results, &Options::default());
    assert!(view.comparisons.is_empty());
    // Unlike cells are counted together and get no interval together.
    assert_eq!(view.totals.failed().map(|all| (all.k(), all.n())), Some((490, 500)));
    let tables = markdown_tables(&render(&results, "markdown"));
    assert_eq!(column(&tables[0], "failed").iter().filter(|failed| *failed == "0 of 10").count(), 1);
    assert_eq!(column(&tables[0], "95 % interval")[49], "0 – 27.8 %");
}

#[test]
fn the_numbers_are_those_of_the_formulas() {
    let results = ordinary();
    for level in [0.9, 0.95, 0.99] {
        let level = Level::new(level).unwrap();
        let options = Options { level, ..Options::default() };
        let view = View::of(&results, &options);
        for (cell, row) in view.cells.iter().zip(csv_rows(&render_with(&results, "cells-csv", &options))) {
            let failed = cell.counts.failed().unwrap();
            let bounds = wilson(failed, level);
            assert_eq!((row["lo"].parse(), row["hi"].parse()), (Ok(bounds.lo), Ok(bounds.hi)));
            assert_eq!(row["rate"].parse(), Ok(failed.value()));
            assert_eq!(row["level"].parse(), Ok(level.value()));
        }
        for pair in &view.comparisons {
            let exact = boschloo(pair.after.unwrap(), pair.before.unwrap()).unwrap();
            assert_eq!(pair.difference.unwrap().p, exact.two_sided);
        }
    }
}

#[test]
fn the_result_that_would_have_shown_an_effect_does_show_it() {
    let with = |k: u32| {
        let cells: Vec<Cell> = [("a", 10), ("b", k)]
            .iter()
            .flat_map(|(model, after)| {
                [(key(model, "u", "off"), [0, 10, 0, 0]), (key(model, "u", "X"), [10 - after, *after, 0, 0])]
            })
            .collect();
        let results = results(10, &cells);
        View::of(&results, &Options::default()).comparisons[1].decision
    };
    let Decision::NoneShown(Some(most)) = with(9) else { panic!("{:?}", with(9)) };
    assert_eq!(with(most.k()), Decision::FewerFails);
    assert!(matches!(with(most.k() + 1), Decision::NoneShown(_)));
}

#[test]
fn repeats_that_ended_early_get_intervals_that_stay_valid() {
    let mut results = ordinary();
    results.suite.early_stop = true;
    insta::assert_snapshot!("early_stop_terminal", terminal(&results, Some(120)));
    let view = View::of(&results, &Options::default());
    let first = view.cells[0].rate.unwrap();
    assert!((first.interval.lo - 0.62301265).abs() < 1e-8);
    assert!(view.comparisons.iter().all(|pair| pair.difference.unwrap().boschloo.is_none()));
    assert_eq!(view.comparisons[0].decision, Decision::FewerFails);
}

#[test]
fn an_unplanned_cell_and_a_missing_run_are_shown() {
    let mut results = ordinary();
    results.cells.remove(7);
    results.runs.remove(0);
    results.interrupted = true;
    let view = View::of(&results, &Options::default());
    assert_eq!((view.cells.len(), view.planned, view.missing), (8, 70, 1));
    assert_eq!(view.cells[7].planned, 0);
    assert!(render(&results, "markdown").contains("The matrix is not complete: 1 of 70 planned runs"));
}

#[test]
fn excel_gets_a_byte_order_mark() {
    let options = Options { excel: true, ..Options::default() };
    assert!(render_with(&ordinary(), "cells-csv", &options).starts_with("\u{FEFF}cell_id,agent,"));
}

fn gate(cells: &[(Axis, &str)], check: GateCheck, results: &Results) -> (GateState, String) {
    let cells = Filter::of(cells.iter().map(|(axis, value)| (*axis, vec![(*value).to_owned()])));
    let view = View::of(results, &Options::default());
    let result = evaluate(&Gate { cells, check }, &view.cells, view.method, view.level);
    (result.state, result.sentence)
}

fn decreases(change: Change) -> GateCheck {
    GateCheck::FailRateChange { axis: Axis::Patch, before: "off".into(), after: "GHOST_WRITE".into(), change }
}

#[test]
fn gates_hold_fail_or_have_nothing() {
    let ordinary = ordinary();
    let (state, sentence) = gate(
        &[(Axis::Model, "qwen3:14b"), (Axis::Upstream, "with-search"), (Axis::Patch, "GHOST_WRITE")],
        GateCheck::FailRateUpper(0.3),
        &ordinary,
    );
    assert_eq!(state, GateState::Held, "{sentence}");
    let (state, sentence) = gate(&[(Axis::Patch, "GHOST_WRITE")], GateCheck::FailRateUpper(0.3), &ordinary);
    assert_eq!(state, GateState::Failed);
    insta::assert_snapshot!("gate_failed", sentence);
    let (state, sentence) = gate(&[(Axis::Patch, "no such")], GateCheck::FailRateUpper(0.3), &ordinary);
    assert_eq!(state, GateState::NothingTested, "{sentence}");

    let (state, sentence) = gate(&[], decreases(Change::Decreases), &ordinary);
    assert_eq!(state, GateState::Held);
    insta::assert_snapshot!("gate_held", sentence);
    let one = [(Axis::Model, "gemma4"), (Axis::Upstream, "id-only")];
    assert_eq!(gate(&one, decreases(Change::Decreases), &ordinary).0, GateState::Failed);
    assert_eq!(gate(&one, decreases(Change::DoesNotIncrease), &ordinary).0, GateState::Held);

    assert_eq!(gate(&[], GateCheck::MaxNotTested(0.02), &ordinary).0, GateState::Failed);
    assert_eq!(gate(&[], GateCheck::MaxNotTested(0.025), &ordinary).0, GateState::Held);
    assert_eq!(gate(&[], GateCheck::FailRateUpper(f64::NAN), &ordinary).0, GateState::Failed);
}

#[test]
fn a_cell_without_data_does_not_pass_a_gate() {
    let results = results(5, &[(key("a", "u", "off"), [5, 0, 0, 0]), (key("b", "u", "off"), [0, 0, 5, 0])]);
    assert_eq!(gate(&[(Axis::Model, "a")], GateCheck::FailRateUpper(0.5), &results).0, GateState::Held);
    assert_eq!(gate(&[], GateCheck::FailRateUpper(0.5), &results).0, GateState::Failed);
    assert_eq!(
        gate(&[(Axis::Model, "b")], GateCheck::FailRateUpper(0.5), &results).0,
        GateState::NothingTested
    );
    assert_eq!(gate(&[], decreases(Change::Decreases), &results).0, GateState::NothingTested);
    let state = |states: &[GateState]| {
        let results: Vec<_> = states
            .iter()
            .map(|state| GateResult { gate: String::new(), state: *state, sentence: String::new() })
            .collect();
        gate_state(&results)
    };
    assert_eq!(state(&[]), GateState::Held);
    assert_eq!(state(&[GateState::Held, GateState::NothingTested]), GateState::NothingTested);
    assert_eq!(state(&[GateState::Failed, GateState::NothingTested]), GateState::Failed);
}

#[test]
fn cells_in_which_all_runs_ended_alike_give_no_interval_without_width() {
    let cell = |model, patch, counts| (key(model, "u", patch), counts);
    let results = results(
        5,
        &[
            cell("a", "off", [0, 5, 0, 0]),
            cell("a", "GHOST_WRITE", [5, 0, 0, 0]),
            cell("b", "off", [0, 5, 0, 0]),
            cell("b", "GHOST_WRITE", [5, 0, 0, 0]),
        ],
    );
    let view = View::of(&results, &Options::default());
    let summary = Summary::of(&view);
    assert_eq!(
        (summary.patches[0].overall_difference, summary.patches[0].overall_interval),
        (Some(-1.0), None)
    );
    let table = terminal_text(&view, &Options::default());
    assert!(table.contains("−100 points (no interval: all runs of each cell ended alike, p = "), "{table}");
}

#[test]
fn a_rise_in_one_cell_does_not_hide_behind_a_fall_in_another() {
    let cell = |model, patch, counts| (key(model, "u", patch), counts);
    let results = results(
        20,
        &[
            cell("a", "off", [0, 20, 0, 0]),
            cell("a", "GHOST_WRITE", [20, 0, 0, 0]),
            cell("b", "off", [20, 0, 0, 0]),
            cell("b", "GHOST_WRITE", [8, 12, 0, 0]),
        ],
    );
    let (state, sentence) = gate(&[], decreases(Change::DoesNotIncrease), &results);
    assert_eq!(state, GateState::Failed, "{sentence}");
    assert!(sentence.contains("1 of them with more fails"), "{sentence}");
}

#[test]
fn results_of_other_nights_that_ended_early_are_compared_by_their_sequences() {
    let mut old =
        results(20, &[(key("a", "u", "off"), [20, 0, 0, 0]), (key("b", "u", "off"), [10, 0, 0, 0])]);
    let mut new =
        results(20, &[(key("a", "u", "off"), [0, 20, 0, 0]), (key("b", "u", "off"), [10, 0, 0, 0])]);
    (old.suite.early_stop, new.suite.early_stop) = (true, true);
    let options = Options::default();
    let (old, new) = (View::of(&old, &options), View::of(&new, &options));
    let side = |name: &str| name.to_owned();
    let changes =
        Changes::since(Side { name: side("old"), view: &old }, Side { name: side("new"), view: &new }, &[]);
    let [a, b] = &changes.pairs[..] else { panic!("{:?}", changes.pairs) };
    assert_eq!((a.decision, b.decision), (Decision::MoreFails, Decision::NoneShown(None)));
    let (a, b) = (a.difference.unwrap(), b.difference.unwrap());
    // At its own p the two sequences just touch; where both are the same they always do.
    assert!(a.p < 1e-4 && a.boschloo.is_none(), "{a:?}");
    assert_eq!(b.p, 1.0);
    assert_eq!(ChangesSummary::of(&changes).methods.p, "two_sequences");
}
