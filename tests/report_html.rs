//! The page, the pictures and the job summary, on ordinary results and on nasty ones: read back by a
//! strict XML parser, and used in a headless Chromium where there is one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails by panicking")]

#[path = "rig/machine.rs"]
mod machine;
#[path = "report/made.rs"]
mod made;

use made::{Cell, key};
use nochmal::domain::{AgentFacts, Axis, CallId, CellKey, Micros, TurnResult};
use nochmal::report::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Results whose runs have one turn each.
fn results(repeats: u32, cells: &[Cell]) -> Results {
    let mut results = made::results(repeats, cells);
    for run in &mut results.runs {
        run.turns = vec![TurnResult {
            say: "book".into(),
            reply: Some("Booked.".into()),
            duration_ms: 9,
            ..TurnResult::default()
        }];
    }
    results
}

/// Every kind of entry, with the text in each place that can hold any.
fn told(text: &str) -> Timeline {
    use EntryKind::{Agent, Call, Executed, Fault, Note, Told, Upstream, User};
    let kinds = [User, Agent, Call, Fault, Executed, Upstream, Told, Note];
    let entry = |(kind, place): (EntryKind, u64)| TimelineEntry {
        at: Micros(place * 1_500),
        kind,
        call: (place % 2 == 0).then_some(CallId(place)),
        text: text.to_owned(),
        detail: Some(format!("{text}\n{text}")),
    };
    Timeline { entries: kinds.into_iter().zip(1..).map(entry).collect(), left_out: 3 }
}

fn small() -> Results {
    let cells = [(key("m", "u", "off"), [1, 2, 0, 0]), (key("m", "u", "X"), [2, 0, 1, 0])];
    let mut results = results(3, &cells);
    let run = &results.runs[0];
    results.timelines.insert(run.run_id.clone(), told("words"));
    results
}

const NASTY: [&str; 14] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)//",
    "</style></title><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onfocus='alert(1)",
    "<!--",
    "]]>&amp;&#x3c;b",
    "a\u{2028}b\u{2029}c",
    "nul\0 one\u{1} not\u{FFFE}",
    "\u{202E}reversed\u{2066}",
    "שלום עולם",
    "👩‍🔬 emoji",
    "line\nbreak\r\n\ttab",
    "javascript:alert(1)",
];

fn nasty() -> Results {
    let cells: Vec<Cell> = NASTY
        .iter()
        .flat_map(|value| {
            [(key(value, value, "off"), [1, 2, 0, 0]), (key(value, value, value), [1, 0, 1, 1])]
        })
        .collect();
    let mut results = results(3, &cells);
    let all = NASTY.join(" ");
    results.suite.name = all.clone();
    results.suite.description = all.clone();
    results.suite.version = all.clone();
    results.suite.digest = all.clone();
    results.generated_at = all.clone();
    results.environment = vec![Fact { name: all.clone(), value: all.clone() }];
    for run in &mut results.runs {
        let value = run.key.model.clone();
        run.reason = value.clone();
        run.started_at = value.clone();
        run.trace = Some(value.clone());
        run.violations.iter_mut().for_each(|kind| *kind = value.clone());
        run.observations = vec![value.clone()];
        run.turns =
            vec![TurnResult { say: value.clone(), reply: Some(value.clone()), ..TurnResult::default() }];
        run.agent = AgentFacts {
            stderr: value.clone(),
            client: Some(value.clone()),
            signal: Some(9),
            ..Default::default()
        };
        if run.repeat == 1 {
            results.timelines.insert(run.run_id.clone(), told(&value));
        }
    }
    results
}

fn big() -> Results {
    let mut cells = Vec::new();
    for model in 0..10_u32 {
        for upstream in 0..10_u32 {
            for (place, patch) in ["off", "GHOST_WRITE"].into_iter().enumerate() {
                let failed = if place == 0 { model } else { model * upstream / 12 };
                let key = key(&format!("model-{model}"), &format!("server-{upstream}"), patch);
                cells.push((key, [10 - failed, failed, 0, 0]));
            }
        }
    }
    results(10, &cells)
}

/// Results to which every format must stay readable.
fn gallery() -> Vec<(&'static str, Results)> {
    let mut beside: Vec<Cell> =
        (0..49).map(|n| (key(&format!("model-{n}"), "u", "off"), [0, 10, 0, 0])).collect();
    beside.push((key("the-other", "u", "off"), [10, 0, 0, 0]));
    let mut unfinished = small();
    unfinished.runs.truncate(2);
    unfinished.interrupted = true;
    let two = [(key("m", "u", "off"), [0, 0, 2, 1]), (key("n", "u", "off"), [0, 0, 3, 0])];
    vec![
        ("small", small()),
        ("nasty", nasty()),
        ("big", big()),
        ("one-cell", results(10, &[(key("m", "u", "off"), [7, 3, 0, 0])])),
        ("nothing-tested", results(3, &two)),
        ("no-cells", results(3, &[])),
        ("no-runs", Results { runs: Vec::new(), interrupted: true, ..small() }),
        ("unfinished", unfinished),
        ("forty-nine-beside-one", results(10, &beside)),
        ("every-axis", every_axis()),
    ]
}

fn every_axis() -> Results {
    let cell = |n: u32| {
        let value = |name: &str| format!("{name}-{}", n % 3);
        let key = CellKey {
            agent: value("a-rather-long-agent-name"),
            model: format!("provider/family-with-a-long-name:{n}b-instruct-q4"),
            prompt: value("prompt"),
            conversation: value("conversation"),
            upstream: value("upstream"),
            scenario: format!("F{}", n % 5 + 1),
            patch: if n.is_multiple_of(2) { "off".into() } else { "GHOST_WRITE".into() },
            present: if n.is_multiple_of(3) { "structured".into() } else { "plain".into() },
        };
        (key, [5, n % 6, 0, 0])
    };
    results(10, &(0..12).map(cell).collect::<Vec<_>>())
}

fn render(results: &Results, name: &str) -> String {
    shown(&View::of(results, &Options::default()), name)
}

fn shown(view: &View<'_>, name: &str) -> String {
    let format = formats().iter().find(|format| format.name == name).unwrap();
    String::from_utf8((format.render)(view, &Options::default()).unwrap()).unwrap()
}

/// The body of a page as XML: ours is written so that little is missing to it.
fn body(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap();
    let (body, _) = body.rsplit_once("<script>").unwrap();
    let xml = body
        .replace(" hidden>", " hidden=\"\">")
        .replace(" selected>", " selected=\"\">")
        .replace("<br>", "<br/>");
    format!("<body>{xml}</body>")
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

fn text_of(node: roxmltree::Node<'_, '_>) -> String {
    node.descendants().filter(|part| part.is_text()).filter_map(|part| part.text()).collect()
}

/// Reads a page strictly, and fails where there is an element or attribute that is not one of ours.
fn read_page(page: &str) -> BTreeSet<String> {
    const ELEMENTS: &str = " a b bdi body br button caption circle code dd desc details div dl dt footer form h1 h2 \
                            header i label li line main ol option output p pre rect section select span summary svg \
                            table tbody td text th thead title tr ul ";
    const ATTRIBUTES: &str = " anchor aria-hidden aria-label aria-labelledby autocomplete class cx cy data-k data-n \
                              data-s data-v data-verdict dir fill font-family font-size font-weight height hidden \
                              href id name preserveAspectRatio r role scope selected stroke stroke-width text-anchor \
                              type unicode-bidi value viewBox width x x1 x2 y y1 y2 ";
    let xml = body(page);
    let document = roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}\n{xml}"));
    let ids: BTreeSet<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let mut values = BTreeSet::new();
    for node in document.descendants().filter(|node| node.is_element()) {
        let name = node.tag_name().name();
        assert!(ELEMENTS.contains(&format!(" {name} ")), "<{name}>");
        for attribute in node.attributes() {
            assert!(ATTRIBUTES.contains(&format!(" {} ", attribute.name())), "{attribute:?}");
        }
        if let Some(href) = node.attribute("href") {
            assert!(ids.contains(href.strip_prefix('#').unwrap()), "{href}");
        }
        if node.attribute("class").is_some_and(|class| class.split(' ').any(|class| class == "v")) {
            values.insert(hidden(&text_of(node)));
        }
    }
    values
}

#[test]
fn a_small_page() {
    let page = render(&small(), "html");
    let (head, _) = page.split_once("<style>").unwrap();
    let (_, body) = page.split_once("</style>").unwrap();
    let (body, _) = body.rsplit_once("<script>").unwrap();
    insta::with_settings!({filters => vec![(r"sha256-[A-Za-z0-9+/=]+", "sha256-[digest]")]}, {
        insta::assert_snapshot!("small_page", format!("{head}{body}"));
    });
}

#[test]
fn small_pictures_and_a_job_summary() {
    insta::assert_snapshot!("small_forest", render(&small(), "forest-svg"));
    insta::assert_snapshot!("small_patches", render(&small(), "patches-svg"));
    insta::assert_snapshot!("small_job_summary", render(&small(), "job-summary"));
}

fn stays_inside(document: &roxmltree::Document<'_>, name: &str) {
    let frame = |side: &str| document.root_element().attribute(side).unwrap().parse::<f64>().unwrap();
    let (wide, high) = (frame("width"), frame("height"));
    let sides =
        [("x", wide), ("x1", wide), ("x2", wide), ("cx", wide), ("y", high), ("y2", high), ("cy", high)];
    for node in document.descendants() {
        for (side, most) in sides {
            let Some(at) = node.attribute(side) else { continue };
            let at: f64 = at.parse().unwrap();
            assert!((0.0..=most).contains(&at), "{name}: {side} {at} of {most}");
        }
    }
}

#[test]
fn every_page_and_picture_is_read_by_a_strict_parser() {
    for (name, results) in gallery() {
        let view = View::of(&results, &Options::default());
        let values = read_page(&shown(&view, "html"));
        for cell in &results.cells {
            for axis in &view.varied {
                assert!(values.contains(cell.key.get(*axis)), "{name}: {:?}", cell.key.get(*axis));
            }
        }
        for picture in ["forest-svg", "patches-svg"] {
            let svg = shown(&view, picture);
            let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(document.root_element().attribute("viewBox").is_some());
            let nothing_runs = |node: roxmltree::Node<'_, '_>| {
                matches!(
                    node.tag_name().name(),
                    "" | "svg" | "title" | "desc" | "rect" | "text" | "line" | "circle"
                )
            };
            assert!(document.descendants().all(nothing_runs), "{name}");
            stays_inside(&document, &format!("{name} {picture}"));
        }
    }
}

#[test]
fn a_page_says_how_many_runs_have_their_timeline() {
    assert!(render(&small(), "html").contains("1 of 6 runs have their timeline in this page"));
    let none = Results { timelines: BTreeMap::new(), ..small() };
    assert!(render(&none, "html").contains("No run has its timeline in this page"));
}

#[test]
fn a_job_summary_stays_small_and_folds_its_tables() {
    for (name, results) in gallery() {
        let text = render(&results, "job-summary");
        assert!(text.starts_with("### "), "{name}");
        assert!(text.len() < 1024 * 1024, "{name}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{name}");
    }
    let cells: Vec<Cell> =
        (0..1_500).map(|n| (key(&format!("{n}-{}", "m".repeat(800)), "u", "off"), [1, 1, 0, 0])).collect();
    let text = render(&results(2, &cells), "job-summary");
    assert!(text.len() < 1024 * 1024 && text.contains("more rows in the report itself"));
    let mut endless = results(2, &cells[..3]);
    endless.suite.name = "n".repeat(1 << 20);
    let text = render(&endless, "job-summary");
    assert!(text.len() < 1024 && text.contains("3 of 6 tested runs failed"), "{}", text.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_text_is_shown_and_never_acted_on(text in "\\PC{0,12}|[<>&\"'\\x00-\\x1f\u{2028}\u{202e}]{0,12}") {
        let other = key("m", "u", "off");
        let mut results = results(1, &[(key(&text, "u", &text), [0, 1, 0, 0]), (other, [1, 0, 0, 0])]);
        results.suite.name = text.clone();
        results.suite.description = text.clone();
        for run in &mut results.runs {
            run.reason = text.clone();
            run.agent.stderr = text.clone();
            results.timelines.insert(run.run_id.clone(), told(&text));
        }
        // With a hash of equal values there is one cell only, and no axis to show.
        let values = read_page(&render(&results, "html"));
        prop_assert!(text == "m" || values.contains(&text), "{values:?}");
        for picture in ["forest-svg", "patches-svg"] {
            let svg = render(&results, picture);
            prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{svg}");
        }
    }
}

/// A Chromium of the system, and a Python that can drive it.
fn chromium() -> Result<PathBuf, &'static str> {
    let found = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    found("python3").ok_or("there is no python3")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    names.into_iter().find_map(found).ok_or("there is no Chromium (on Debian: apt-get install chromium)")
}

#[test]
fn a_reader_uses_every_page_in_a_browser_and_the_console_stays_empty() {
    let browser = match chromium() {
        Ok(browser) => browser,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/html/browser.py");
    for (name, results) in gallery() {
        for format in
            formats().iter().filter(|format| ["html", "forest-svg", "patches-svg"].contains(&format.name))
        {
            std::fs::write(
                folder.join(format!("{name}-{}", format.file_name)),
                render(&results, format.name),
            )
            .unwrap();
        }
        let page = folder.join(format!("{name}-report.html"));
        let output = machine::program("python3").arg(&script).arg(&browser).arg(&page).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}:\n{said}{wrong}");
    }
}

#[test]
fn every_axis_of_a_cell_is_a_filter() {
    let page = render(&every_axis(), "html");
    for axis in Axis::ALL {
        assert!(page.contains(&format!("<select class=\"axis\" name=\"{axis}\"")), "{axis}");
    }
}

#[test]
fn the_readme_shows_the_committed_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cells = csv::Reader::from_path(folder.join("reports/example/cells.csv")).unwrap();
    let mut sums: BTreeMap<(String, bool), [u32; 2]> = BTreeMap::new();
    for cell in cells.deserialize::<BTreeMap<String, String>>() {
        let cell = cell.unwrap();
        let sum = sums.entry((cell["model"].clone(), cell["patch"] != "off")).or_default();
        sum[0] += cell["k"].parse::<u32>().unwrap();
        sum[1] += cell["n_tested"].parse::<u32>().unwrap();
    }
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let models: BTreeSet<&String> = sums.keys().map(|(model, _)| model).collect();
    assert_eq!(models.len(), 3);
    for model in models {
        let [off, patched] = [false, true].map(|patched| sums[&(model.clone(), patched)]);
        let row = format!("| {} of {} | {} of {} |", off[0], off[1], patched[0], patched[1]);
        let found = readme.lines().find(|line| line.starts_with(&format!("| `{model}`"))).unwrap();
        assert!(found.ends_with(&row), "{found}: {row}");
    }
}
