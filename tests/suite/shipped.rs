//! The suites in `suites/`, and what is made of a suite that uses everything.

use crate::fixtures::{checked, full};
use nochmal::domain::Axis;
use nochmal::suite::{AgentProfile, Filter, Server, When, plan};
use std::time::Duration;

#[test]
fn quickstart_is_valid_and_its_plan_reads_well() {
    let suite =
        checked(include_str!("../../suites/quickstart.yaml")).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(suite.cells.len(), 24);
    insta::assert_snapshot!(plan::render(&suite, &suite.trials(&Filter::all(), None)));
}

#[test]
fn memory_server_is_valid_and_its_plan_reads_well() {
    let suite = checked(include_str!("../../suites/memory-server.yaml"))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let filter = Filter::parse("model=script:naive", &suite).unwrap();
    insta::assert_snapshot!(plan::render(&suite, &suite.trials(&filter, Some(1))));
}

#[test]
fn taskmanager_server_is_valid_and_asks_the_same_as_the_memory_server() {
    let suite = checked(include_str!("../../suites/taskmanager-server.yaml"))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let memory = checked(include_str!("../../suites/memory-server.yaml")).unwrap();
    for axis in [Axis::Agent, Axis::Model, Axis::Conversation, Axis::Scenario, Axis::Patch] {
        assert_eq!(suite.values(axis), memory.values(axis), "{axis}");
    }
    assert_eq!(suite.cells.len(), 18);
}

#[test]
fn everything_in_a_suite_arrives() {
    let suite = full();
    // 2 models × 2 prompts × 2 conversations × 2 upstreams × (3 scenarios × 4 patches + none/off) + 1
    assert_eq!(suite.cells.len(), 2 * 2 * 2 * 2 * 13 + 1);
    assert_eq!((suite.repeats, suite.seed), (10, 7));
    assert_eq!(suite.limits.per_model, Some(1));
    assert_eq!(suite.limits.output, 10 << 20);
    assert_eq!(suite.scenario_params.retry_after, Duration::from_secs(30));
    assert_eq!(suite.vars["date"], "2026-12-03");
    assert_eq!(suite.prompts["long"].user, "Dear assistant,\nplease book room 12 on {{ date }}.\n");
    assert_eq!(suite.patch_files["file:patches/own.md"], "Never repeat a write.");
    assert_eq!(suite.conversations["alone"].turns, []);
    let turns = &suite.conversations["insists"].turns;
    assert_eq!(turns[0].after, Duration::from_secs(2));
    assert!(matches!(&turns[1].when, When::Matches(pattern) if pattern.0.is_match("Timed out? TIME-OUT")));
    let Server::Command { command, args, env, cwd } = &suite.upstreams["real"].server else { panic!() };
    assert_eq!(
        (command.as_str(), args.len(), env["FILE"].as_str(), cwd),
        ("npx", 2, "{{ run.dir }}/memory.jsonl", &None)
    );
    assert_eq!(
        suite.upstreams["real"].tools.write.as_deref(),
        Some(&["create_*".to_owned(), "add_*".to_owned()][..])
    );
    assert_eq!(suite.values(Axis::Model), ["qwen3:14b", "gemma4", "1.0"]);
    assert_eq!(suite.digest.len(), 64);
}

#[test]
fn a_server_at_a_url_arrives_with_its_headers() {
    let text = "suite: s\nmatrix: {agent: [builtin], model: [\"anthropic:a\", \"qwen3:14b\"]}\nprompts: {plain: {user: hi}}\n\
                upstreams: {desk: {url: \"https://desk.example/mcp\", headers: {Authorization: \"Bearer {{ env.TOKEN }}\"}}}\n\
                limits: {per_provider: {anthropic: 3}, model_retries: 2, model_backoff: 5s}\n";
    let suite = checked(text).unwrap();
    let server = &suite.upstreams["desk"].server;
    let headers = vec![("Authorization".to_owned(), "Bearer {{ env.TOKEN }}".to_owned())];
    assert_eq!(server, &Server::Url { url: "https://desk.example/mcp".to_owned(), headers });
    assert_eq!(server.variables().into_iter().collect::<Vec<_>>(), ["TOKEN"]);
    let providers: Vec<_> = suite.cells.iter().map(|cell| suite.limited_provider(&cell.key)).collect();
    assert_eq!(providers, [Some("anthropic"), None]);
    assert_eq!((suite.limits.model_retries, suite.limits.model_backoff), (2, Duration::from_secs(5)));
}

#[test]
fn a_missing_axis_has_one_default_value() {
    let suite = checked(
        "suite: s\nmatrix: {agent: [builtin]}\nprompts: {plain: {user: hi}}\nupstreams: {desk: {builtin: booking}}\n",
    )
    .unwrap();
    assert_eq!(
        suite.cells[0].key.to_string(),
        "agent=builtin model=default prompt=plain conversation=alone upstream=desk scenario=none patch=off"
    );
    assert_eq!((suite.repeats, suite.seed, suite.limits.parallel, suite.limits.per_model), (1, 0, 2, None));
}

#[test]
fn a_changed_file_changes_the_digest_of_the_suite() {
    let plain = checked(&crate::fixtures::small(|text| text)).unwrap();
    let other = checked(&crate::fixtures::small(|text| text.replace("room 12", "room 13"))).unwrap();
    assert_ne!(plain.digest, other.digest);
    assert_eq!(plain.cells, other.cells);
}

#[test]
fn words_of_yaml_1_1_and_numbers_are_names() {
    let text = crate::fixtures::small(|text| {
        text.replace("[gemma4]", "[12, 1.0, true, no, on, off, 0x10, 2026-12-03]")
    });
    let suite = checked(&text).unwrap();
    assert_eq!(suite.values(Axis::Model), ["12", "1.0", "true", "no", "on", "off", "0x10", "2026-12-03"]);
}

#[test]
fn an_include_expands_over_the_axes_that_it_leaves_out_and_merges() {
    let text = crate::fixtures::small(|text| {
        text.replace(
            "scenario: [F1]",
            "scenario: [F1, F2]\ninclude:\n  - {model: other}\n  - {model: gemma4, scenario: F1}",
        )
    });
    let suite = checked(&text).unwrap();
    let pairs: Vec<String> =
        suite.cells.iter().map(|cell| format!("{} {}", cell.key.model, cell.key.scenario)).collect();
    assert_eq!(pairs, ["gemma4 F1", "gemma4 F2", "other F1", "other F2"]);
}

#[test]
fn every_profile_is_valid_and_says_how_to_install_what_it_was_tried_with() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("agents");
    let mut names = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let profile = AgentProfile::parse(&text, &path.to_string_lossy())
            .unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(path.file_stem().and_then(|name| name.to_str()), Some(profile.name.as_str()));
        assert!(profile.can_go_on() && profile.isolate_home && profile.probe.is_some(), "{}", profile.name);
        assert!(!profile.model_errors.is_empty(), "{}", profile.name);
        if profile.name != "builtin" {
            assert!(profile.install.is_some() && profile.tested.is_some(), "{}", profile.name);
            names.push(profile.name);
        }
    }
    assert_eq!(names.len(), 13, "{names:?}");
}
