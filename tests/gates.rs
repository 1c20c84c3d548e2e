//! The commands around published numbers, from end to end: gates and their exit codes, reports from
//! stored results, comparisons, plans, early stopping.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends where something is wrong"
)]

#[path = "rig/machine.rs"]
mod machine;

use machine::nochmal;
use nochmal::domain::{RunResult, Verdict};
use nochmal::judge::patches;
use nochmal::report::{ChangesSummary, Summary};
use nochmal::store::read_runs;
use std::path::Path;
use std::process::Output;

/// Two scripted models with and without a patch: `obedient` is cured by it, `careful` needs none.
const SUITE: &str = include_str!("run/gates.yaml");

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(suite: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
        Place { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn nochmal(&self, arguments: &[&str]) -> Output {
        nochmal().current_dir(self.path()).args(arguments).output().unwrap()
    }

    /// Stdout of a command that ends with that code.
    fn says(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.nochmal(arguments);
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        out
    }

    /// Stderr of a command that is refused.
    fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.nochmal(arguments);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}\n{err}");
        err
    }

    fn summary(&self, folder: &str) -> Summary {
        serde_json::from_slice(&std::fs::read(self.path().join(folder).join("summary.json")).unwrap())
            .unwrap()
    }

    fn runs(&self, folder: &str) -> Vec<RunResult> {
        read_runs(&self.path().join(folder)).unwrap()
    }
}

/// What differs between two reports on the same results.
fn but_time(text: &str) -> String {
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT[\d:]+Z").unwrap();
    time.replace_all(text, "TIME").into_owned()
}

#[test]
fn gates_decide_the_exit_code_and_stand_in_every_report() {
    let gates =
        "gates:\n  - {where: {patch: GHOST_WRITE}, fail_rate: {upper: 0.60}}\n  - {max_not_tested: 0}\n";
    let place = Place::new(&format!("{SUITE}{gates}"));
    let out = place.says(0, &["run", "suite.yaml", "--out", "held"]);
    assert!(out.contains("Gates\nheld: where patch=GHOST_WRITE fail_rate upper 0.6."), "{out}");
    assert_eq!(
        place.summary("held").gates.iter().map(|gate| gate.state.as_str()).collect::<Vec<_>>(),
        ["held"; 2]
    );

    // The same results with one more gate: each outcome, again from what is stored.
    let report = |code, gate: &str| place.says(code, &["report", "held", "--gate", gate]);
    assert!(report(1, "fail_rate upper 0.6").contains("FAILED: fail_rate upper 0.6."));
    report(0, "where model=script:obedient compare patch=off|GHOST_WRITE fail_rate decreases");
    report(1, "where model=script:careful compare patch=off|GHOST_WRITE fail_rate decreases");
    report(0, "where model=script:careful compare patch=off|GHOST_WRITE fail_rate does_not_increase");
    report(1, "where model=script:obedient compare patch=GHOST_WRITE|off fail_rate does_not_increase");
    assert!(
        place
            .refuses(&["report", "held", "--gate", "fail_rate lower 0.1"])
            .contains("`fail_rate` cannot have")
    );
    assert!(
        place.refuses(&["report", "held", "--gate", "where patch=of fail_rate upper 0"]).contains("`off`")
    );

    let failing = "where patch=off fail_rate upper 0.1";
    place.says(1, &["report", "held", "--gate", failing, "--out", "again"]);
    let file = |name: &str| std::fs::read_to_string(place.path().join("again").join(name)).unwrap();
    assert!(file("report.md").contains(&format!("| `{failing}`")), "{}", file("report.md"));
    assert!(file("report.md").contains("**FAILED**"));
    let junit = file("junit.xml");
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let case = junit.descendants().find(|node| node.attribute("name") == Some(failing)).unwrap();
    assert_eq!(case.first_element_child().unwrap().tag_name().name(), "failure");
}

#[test]
fn a_gate_over_what_was_not_tested_never_holds() {
    // The agent is not there, so that every run ends with an error.
    let suite = SUITE.replace("agent: [builtin]", "agent: [absent]").replace(
        "repeats: 5",
        "repeats: 1\nagents:\n  absent:\n    mcp: stdio\n    first: {command: [no-such-agent-program, x]}\n    next: {command: [no-such-agent-program, x]}\n    output: {format: text}",
    );
    let place = Place::new(&suite);
    let gate = "where patch=GHOST_WRITE fail_rate upper 1";
    let out = place.says(3, &["run", "suite.yaml", "--out", "out", "--gate", gate]);
    assert!(out.contains(&format!("NOTHING TESTED: {gate}.")), "{out}");
    place.says(3, &["report", "out"]);
    // Where nothing was tested, a gate on the untested share that holds is no success.
    place.says(3, &["report", "out", "--gate", "max_not_tested 1"]);
    place.says(1, &["report", "out", "--gate", "max_not_tested 0.5"]);
    place.says(3, &["compare", "out", "out"]);
    let junit = std::fs::read_to_string(place.path().join("out/junit.xml")).unwrap();
    let junit = roxmltree::Document::parse(&junit).unwrap();
    let case = junit.descendants().find(|node| node.attribute("name") == Some(gate)).unwrap();
    assert_eq!(case.first_element_child().unwrap().tag_name().name(), "error");
    // A gate that is no gate is told before anything is launched.
    assert!(
        place
            .refuses(&["run", "suite.yaml", "--out", "new", "--gate", "fail_rate"])
            .contains("cannot have nothing")
    );
    assert!(!place.path().join("new").exists());
}

#[test]
fn a_gate_on_cells_that_a_filter_leaves_out_has_nothing() {
    let gates = "gates: [{where: {patch: GHOST_WRITE}, fail_rate: {upper: 0.9}}]\n";
    let place = Place::new(&format!("{SUITE}{gates}"));
    let filter = "patch=off,model=script:careful";
    place.says(3, &["run", "suite.yaml", "--out", "out", "--filter", filter, "--repeats", "1"]);
}

#[test]
fn stored_results_give_the_same_reports_again() {
    let place = Place::new(SUITE);
    let table = place.says(0, &["run", "suite.yaml", "--out", "out"]);
    let again = place.says(0, &["report", "out"]);
    assert_eq!(
        format!("{again}\nResults: {}\n", place.path().join("out").canonicalize().unwrap().display()),
        table
    );
    place.says(0, &["report", "out", "--out", "again"]);
    let mut files = 0;
    for entry in std::fs::read_dir(place.path().join("again")).unwrap().flatten() {
        let read = |folder: &str| {
            but_time(&std::fs::read_to_string(place.path().join(folder).join(entry.file_name())).unwrap())
        };
        assert_eq!(read("again"), read("out"), "{:?}", entry.file_name());
        files += 1;
    }
    assert_eq!(files, nochmal::report::formats().len());
    let csv = std::fs::read_to_string(place.path().join("again/cells.csv")).unwrap();
    assert_eq!(place.says(0, &["report", "out", "--format", "cells-csv"]), csv);
    let excel = place.says(0, &["report", "out", "--format", "cells-csv", "--excel", "--level", "0.9"]);
    assert!(excel.starts_with('\u{feff}') && excel.contains(",0.9,wilson"), "{excel}");
    assert!(place.refuses(&["report", "out", "--format", "markdwn"]).contains("did you mean `markdown`?"));
    assert!(place.refuses(&["report", "nowhere"]).contains("is not a results folder"));

    // A folder of a program that stored no plan.
    std::fs::remove_file(place.path().join("out/plan.json")).unwrap();
    let old = place.says(0, &["report", "out", "--format", "json"]);
    let old: Summary = serde_json::from_str(&old).unwrap();
    assert_eq!(old.totals, place.summary("again").totals);
    assert!(old.environment.iter().any(|fact| fact.name == "plan"), "{:?}", old.environment);
    std::fs::write(place.path().join("out/plan.json"), "{\"version\": 99}").unwrap();
    assert!(place.refuses(&["report", "out"]).contains("version 99"));
}

#[test]
fn several_folders_are_one_report_and_two_of_them_a_comparison() {
    let place = Place::new(SUITE);
    place.says(0, &["run", "suite.yaml", "--out", "monday"]);
    // On Tuesday the suite has another model, and one has gone.
    let tuesday = SUITE.replace("script:careful", "script:naive");
    std::fs::write(place.path().join("suite.yaml"), tuesday).unwrap();
    place.says(0, &["run", "suite.yaml", "--out", "tuesday"]);

    let merged = place.says(0, &["report", "monday", "tuesday", "--format", "json"]);
    let merged: Summary = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged.sources.len(), 2);
    assert_eq!(merged.cells.len(), 6);
    let tested: Vec<u32> = merged.cells.iter().map(|cell| cell.failed.map_or(0, |share| share.n)).collect();
    assert_eq!(tested, [5, 5, 10, 10, 5, 5]);
    assert_eq!((merged.planned, merged.missing, merged.suite.repeats), (40, 0, 10));
    let runs = place.says(0, &["report", "monday", "tuesday", "--format", "runs-csv"]);
    assert_eq!(runs.lines().filter(|line| line.starts_with("monday/")).count(), 20);
    assert!(runs.contains(",tuesday/traces/"), "{runs}");
    let told = place.says(0, &["report", "monday", "tuesday", "--format", "markdown"]);
    assert!(told.contains("merged from 2 different states of the suite"), "{told}");
    assert!(told.contains("### Folder by folder"), "{told}");

    let table = place.says(0, &["compare", "monday", "tuesday", "--gate", "fail_rate does_not_increase"]);
    assert!(
        table.contains("Only in monday: 2 cells") && table.contains("Only in tuesday: 2 cells"),
        "{table}"
    );
    let json = place.says(0, &["compare", "monday", "tuesday", "--format", "json", "--out", "files"]);
    let json: ChangesSummary = serde_json::from_str(&json).unwrap();
    assert_eq!((json.cells.len(), json.only_before.len(), json.only_after.len()), (2, 2, 2));
    assert!(json.notes.iter().any(|note| note.contains("different states of the suite")), "{:?}", json.notes);
    for file in ["comparison.md", "comparison.json"] {
        assert!(place.path().join("files").join(file).is_file(), "{file}");
    }
    let nothing = "where model=script:naive fail_rate does_not_increase";
    place.says(3, &["compare", "monday", "tuesday", "--gate", nothing]);
    assert!(place.refuses(&["compare", "monday"]).contains("<NEW>"));

    // One result, two values of an axis.
    let between = ["compare", "tuesday", "--between", "model=script:naive|script:obedient", "--gate"];
    place.says(0, &[&between[..], &["where patch=GHOST_WRITE fail_rate decreases"]].concat());
    place.says(1, &[&between[..], &["where patch=off fail_rate decreases"]].concat());
    let wrong = ["compare", "tuesday", "--between", "model=script:nave|script:obedient"];
    assert!(place.refuses(&wrong).contains("did you mean `script:naive`?"));
}

#[test]
fn it_got_worse_since_last_night() {
    let place = Place::new(SUITE);
    let suite = SUITE.replace("GHOST_WRITE", "file:patch.md");
    std::fs::write(place.path().join("suite.yaml"), suite).unwrap();
    let night = |patch: &str, out: &str| {
        std::fs::write(place.path().join("patch.md"), patch).unwrap();
        place.says(0, &["run", "suite.yaml", "--out", out]);
    };
    night(patches::text("GHOST_WRITE", patches::Lang::En).unwrap(), "old");
    night("Be friendly.", "new");
    let out = place.says(1, &["compare", "old", "new", "--gate", "fail_rate does_not_increase"]);
    assert!(out.contains("MORE fails in 1 of 4 comparisons"), "{out}");
    assert!(
        out.contains("FAILED: fail_rate does_not_increase. From old to new an increase is shown"),
        "{out}"
    );
    assert!(out.contains("different states of the suite"), "{out}");
}

#[test]
fn a_template_of_the_user_is_rendered_over_the_summary() {
    let place = Place::new(SUITE);
    place.says(0, &["run", "suite.yaml", "--out", "out", "--repeats", "1"]);
    let template = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    template(
        "notes.md.j2",
        "{{ suite.name }} {{ totals.fail }}/{{ totals.pass }}\n{% for cell in cells if cell.axes.patch == 'off' %}{{ cell.axes.model | code }}: {{ cell.failed.rate | percent }}\n{% endfor %}",
    );
    let text = place.says(0, &["report", "out", "--template", "notes.md.j2"]);
    assert_eq!(text, "gates 1/3\n`script:careful`: 0 %\n`script:obedient`: 100 %\n");
    place.says(0, &["report", "out", "--template", "notes.md.j2", "--out", "made"]);
    assert_eq!(std::fs::read_to_string(place.path().join("made/notes.md")).unwrap(), text);
    template("bad.md", "a\n{{ suite.nme }}\n");
    assert_eq!(
        place.refuses(&["report", "out", "--template", "bad.md"]),
        "error: `bad.md`, line 2: there is no `suite.nme`\n"
    );
    template("loop.md", "{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}");
    assert!(place.refuses(&["report", "out", "--template", "loop.md"]).contains("steps"));
    template("same.md", "text");
    assert!(place.refuses(&["report", "out", "--template", "same.md", "--out", "."]).contains("overwritten"));
}

#[test]
fn a_plan_tells_what_the_repeats_can_show_and_what_they_take() {
    let gate = "gates: [{fail_rate: {upper: 0.30}}]\n";
    let place = Place::new(&format!("{SUITE}{gate}"));
    let plan = place.says(0, &["plan", "suite.yaml"]);
    assert!(plan.contains("What 5 runs an arm tell apart in 2 comparisons"), "{plan}");
    assert!(plan.contains("100 % → 0 %                      3                      4"), "{plan}");
    assert!(
        plan.contains(
            "The gate `fail_rate upper 0.3` cannot hold with 5 runs, even where none fails: it needs 9."
        ),
        "{plan}"
    );
    place.says(1, &["run", "suite.yaml", "--out", "out", "--repeats", "1"]);
    let plan = place.says(0, &["plan", "suite.yaml", "--from", "out", "--repeats", "9"]);
    assert!(plan.contains("Estimate from 4 runs of `out`: 36 runs"), "{plan}");
    assert!(!plan.contains("cannot hold"), "{plan}");
    assert!(place.refuses(&["plan", "suite.yaml", "--from", "."]).contains("is not a results folder"));
}

#[test]
fn repeats_end_where_enough_is_known_and_say_so() {
    let suite = SUITE.replace("repeats: 5", "repeats: {min: 3, max: 10, until: decided}");
    let place = Place::new(&suite);
    place.says(0, &["run", "suite.yaml", "--out", "out"]);
    let summary = place.summary("out");
    assert_eq!(summary.methods.interval, "beta_binomial_sequence");
    assert_eq!((summary.missing, summary.interrupted), (0, false));
    let number =
        |folder: &str, model: &str| place.runs(folder).iter().filter(|run| run.key.model == model).count();
    // Two comparisons: eight pairs one way decide one of them, and up to two more may be going on then.
    assert!((16..=19).contains(&number("out", "script:obedient")), "{}", number("out", "script:obedient"));
    assert_eq!(number("out", "script:careful"), 20, "no effect, so all of them");
    let obedient = summary.comparisons.iter().find(|pair| pair.decision == "fewer_fails").unwrap();
    assert!(obedient.adjusted_p.unwrap() < 0.05);

    // What is decided is not run again, and `--repeats` is a fixed number.
    let resumed = place.says(0, &["run", "--resume", "out"]);
    assert_eq!(place.summary("out").totals, summary.totals, "{resumed}");
    place.says(0, &["run", "suite.yaml", "--out", "fixed", "--repeats", "2"]);
    assert_eq!(place.summary("fixed").methods.interval, "wilson");
    assert_eq!(place.runs("fixed").len(), 8);
}

#[test]
fn a_rate_that_is_known_well_enough_ends_its_cell_again_after_an_interruption() {
    let suite = SUITE.replace("repeats: 5", "repeats: {min: 2, max: 12, until: {half_width: 0.25}}");
    let place = Place::new(&suite);
    place.says(0, &["run", "suite.yaml", "--out", "out"]);
    let all = place.runs("out");
    assert!(all.iter().all(|run| run.verdict
        == if run.key.patch == "off" && run.key.model == "script:obedient" {
            Verdict::Fail
        } else {
            Verdict::Pass
        }));
    // 0 of 6: [0, 0.50]. Every cell needs its first six runs; while one of them takes its time, later ones go on.
    for cell in place.summary("out").cells {
        let tested = cell.failed.unwrap().n;
        assert!((6..12).contains(&tested), "{cell:?}");
        assert_eq!(cell.planned, tested);
    }
    // As if it had been killed after ten runs.
    let path = place.path().join("out/runs.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let some: String = text.split_inclusive('\n').take(10).collect();
    std::fs::write(&path, some).unwrap();
    assert!(place.says(0, &["report", "out"]).contains("missing"));
    place.says(0, &["run", "--resume", "out"]);
    for cell in place.summary("out").cells {
        assert!((6..12).contains(&cell.failed.unwrap().n), "{cell:?}");
    }
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let place = Place::new(SUITE);
    for (name, file) in [
        ("summary", "summary.schema.json"),
        ("comparison", "comparison.schema.json"),
        ("contract", "contract.schema.json"),
    ] {
        let schema = place.says(0, &["schema", name]);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(file);
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == schema,
            "docs/reference/{file} is not up to date: nochmal schema {name} > docs/reference/{file}"
        );
    }
}

/// What is counted once must not be counted twice, and what measures nothing must not be counted.
#[test]
fn replays_rehearsals_and_runs_that_are_there_twice_are_merged_with_nothing() {
    let place = Place::new(SUITE);
    place.says(0, &["run", "suite.yaml", "--out", "one", "--record", "tapes"]);
    place.says(0, &["run", "suite.yaml", "--out", "two"]);
    let again = place.says(0, &["run", "suite.yaml", "--out", "again", "--replay", "tapes"]);
    const MARK: &str = "REPLAY, NOTHING MEASURED";
    assert!(again.contains(MARK), "{again}");
    for format in ["terminal", "markdown", "job-summary", "html", "json"] {
        assert!(place.says(0, &["report", "again", "--format", format]).contains(MARK), "{format}");
        assert!(!place.says(0, &["report", "one", "--format", format]).contains(MARK), "{format}");
    }
    assert!(place.says(0, &["compare", "one", "again"]).contains(&format!("again: {MARK}")));
    let merged = place.nochmal(&["report", "one", "two", "again", "--format", "json"]);
    let said = String::from_utf8_lossy(&merged.stderr);
    assert!(said.contains("`again` is left out: it holds a replay"), "{said}");
    let merged: Summary = serde_json::from_slice(&merged.stdout).unwrap();
    assert_eq!((merged.sources.len(), merged.marks.len()), (2, 0));
    assert!(place.refuses(&["report", "again", "again"]).contains("none of the folders holds a measurement"));
    // As a shell's `reports/suite/*` gives them.
    let folder = place.path().join("again/matrix.json");
    let matrix = std::fs::read_to_string(&folder).unwrap();
    let mut matrix: serde_json::Value = serde_json::from_str(&matrix).unwrap();
    matrix["rehearsal"] = "naive".into();
    std::fs::write(&folder, matrix.to_string()).unwrap();
    place.says(0, &["report", "one", "again"]);

    let twice = place.refuses(&["report", "two", "one", "one"]);
    assert!(twice.contains("`one` and `one` hold the same 20 runs"), "{twice}");
    std::fs::create_dir(place.path().join("copy")).unwrap();
    for file in ["matrix.json", "runs.jsonl"] {
        std::fs::copy(place.path().join("one").join(file), place.path().join("copy").join(file)).unwrap();
    }
    let twice = place.refuses(&["report", "one", "two", "copy"]);
    assert!(twice.contains("`one` and `copy` hold the same 20 runs"), "{twice}");
}

#[test]
fn other_states_of_a_suite_are_told_before_any_number() {
    let place = Place::new(SUITE);
    place.says(0, &["run", "suite.yaml", "--out", "one"]);
    let changed = SUITE.replacen("Please book", "I want you to book", 1);
    assert_ne!(changed, SUITE);
    std::fs::write(place.path().join("suite.yaml"), changed).unwrap();
    place.says(0, &["run", "suite.yaml", "--out", "two"]);
    for format in ["terminal", "markdown", "job-summary", "html", "json"] {
        let told = place.says(0, &["report", "one", "two", "--format", format]);
        assert!(told.contains("DIFFERENT STATES OF THE SUITE"), "{format}: {told}");
        assert!(told.contains("what differs: prompt"), "{format}");
        assert!(told.contains("measured"), "{format}");
    }
    let marks = place.says(0, &["report", "one", "--format", "json"]);
    let summary: Summary = serde_json::from_str(&marks).unwrap();
    let starts: Vec<_> = place.runs("one").into_iter().map(|run| run.started_at).collect();
    let measured = summary.measured.unwrap();
    assert!(starts.contains(&measured.from) && starts.contains(&measured.to), "{measured:?}");
    // Times of a different number of digits are in another order as texts.
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let between = at(&measured.from)..=at(&measured.to);
    assert!(starts.iter().all(|start| between.contains(&at(start))), "{measured:?}");
}
