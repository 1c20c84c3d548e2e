//! A server that is rebuilt in mid-session, with real processes, over stdio and HTTP.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of these tests fail loudly")]

#[path = "rig/machine.rs"]
mod machine;
#[path = "rebuilds/rig.rs"]
mod rig;

use nochmal::domain::Verdict;
use nochmal::trace::Event;
use rig::{BOTH, Rig, Wire, approvals, build, calls, observed, starts, told};
use serde_json::{Value, json};

fn branch() -> Value {
    json!({"branch": "main"})
}

/// The test that a rebuild must pass: old metadata makes no dangerous call, an old approval reaches no new
/// code, and the trail tells the two epochs apart.
#[test]
fn an_old_approval_does_not_reach_new_code() {
    for wire in BOTH {
        // 1. Revision A runs, its tools are listed, the run is approved.
        let mut rig = Rig::start(wire, &["--watch", "{folder}/server.py"]);
        // 2. A call, carried out by revision A.
        assert_eq!(rig.publish(branch()), ("published by revision A".to_owned(), false));
        // 3. Revision B: the same name, one more required field.
        build(rig.folder.path(), "B", &["branch", "target"]);
        // 4. The running process is replaced by the watcher.
        rig.said("server replaced");
        // 5. The prepared call, before the list was fetched and the new code approved.
        let refusal = rig.refused(branch());
        assert_eq!(rig.ledger().len(), 1, "it reached the new code");
        // 6. The new list, a new approval, the call again.
        assert_eq!(rig.list(), ["branch", "target"]);
        let preview = json!({"branch": "main", "target": "preview"});
        assert_eq!(rig.publish(preview), ("published by revision B".to_owned(), false));
        let revisions: Vec<Value> = rig.ledger().iter().map(|line| line["revision"].clone()).collect();
        assert_eq!(revisions, ["A", "B"]);

        let (records, report) = rig.end();
        let starts = starts(&records);
        let [a, b] = starts.as_slice() else { panic!("{wire:?}: {starts:#?}") };
        assert_eq!(
            (refusal["approvedEpoch"].as_str(), refusal["currentEpoch"].as_str()),
            (Some(a.epoch.as_str()), Some(b.epoch.as_str()))
        );
        assert_eq!(b.replaces.as_ref(), Some(&a.epoch));
        assert_ne!(a.entry_digest, b.entry_digest);
        assert_eq!(a.lockfile_digest, b.lockfile_digest);
        assert_eq!(calls(&records), [a.epoch.clone(), b.epoch.clone(), b.epoch.clone()]);
        let approved = [(a.epoch.clone(), "start".to_owned()), (b.epoch.clone(), "auto".to_owned())];
        assert_eq!(approvals(&records), approved);
        let scopes = records.iter().find_map(|record| match &record.event {
            Event::Approval { decision, .. } => Some(decision.credentials.clone()),
            _ => None,
        });
        assert_eq!(scopes.unwrap(), ["PREVIEW_TOKEN"]);
        assert!(
            observed(&report, "REFUSED_STALE_EPOCH") && observed(&report, "CATALOGUE_REFRESHED"),
            "{report}"
        );
    }
}

#[test]
fn a_build_that_no_process_has_loaded_changes_nothing() {
    for wire in BOTH {
        let mut rig = Rig::start(wire, &["--watch", "{folder}/server.py", "--restart-on", "hangup"]);
        build(rig.folder.path(), "B", &["branch"]);
        rig.said("build complete");
        let unchanged = rig.said("running server unchanged");
        assert_eq!(rig.publish(branch()), ("published by revision A".to_owned(), false));
        let (records, report) = rig.end();
        let [a] = starts(&records).try_into().unwrap();
        assert!(unchanged.contains(&format!("epoch={}", a.epoch)), "{unchanged}");
        assert!(!observed(&report, "REFUSED_STALE_EPOCH"));
    }
}

#[test]
fn a_process_that_was_replaced_with_the_same_list_is_another_epoch() {
    for wire in BOTH {
        let mut rig = Rig::start(wire, &["--on-replace", "pending"]);
        rig.hang_up();
        rig.said("server replaced");
        rig.refused(branch());
        assert_eq!(rig.list(), ["branch"]);
        assert!(!rig.publish(branch()).1);
        let (records, _) = rig.end();
        let [a, b] = starts(&records).try_into().unwrap();
        // The very same bytes, and still nobody has approved that they run again.
        assert_eq!(a.identity, b.identity);
        assert_ne!(a.epoch, b.epoch);
    }
}

/// An approval is of an epoch, not of bytes, and ends with it whichever way the client goes on.
#[test]
fn never_ends_with_the_first_restart_though_nothing_has_changed() {
    for wire in BOTH {
        let mut rig = Rig::start(wire, &["--approval", "never"]);
        assert!(!rig.publish(branch()).1);
        rig.hang_up();
        rig.said("server replaced");
        rig.refused(branch());
        assert_eq!(rig.list(), ["branch"]);
        rig.said("not approved (by never)");
        rig.refused(branch());
        assert_eq!(rig.ledger().len(), 1);
        let [a, b] = starts(&rig.end().0).try_into().unwrap();
        assert_eq!(a.identity, b.identity);
    }
    // Neither does it help to come anew.
    let mut rig = Rig::start(Wire::Http, &["--approval", "never"]);
    assert!(!rig.publish(branch()).1);
    rig.hang_up();
    rig.said("server replaced");
    rig.come_anew();
    rig.refused(branch());
    rig.list();
    rig.refused(branch());
    assert_eq!(rig.ledger().len(), 1);
}

#[test]
fn a_client_that_ignores_the_change_of_the_list_is_stopped_or_seen() {
    for wire in BOTH {
        for (policy, reaches) in [("pending", false), ("pass", true)] {
            let mut rig = Rig::start(wire, &["--watch", "{folder}/server.py", "--on-replace", policy]);
            build(rig.folder.path(), "B", &["branch", "target"]);
            rig.said("server replaced");
            for _ in 0..2 {
                if reaches {
                    assert_eq!(rig.publish(branch()), ("missing: ['target']".to_owned(), true));
                } else {
                    rig.refused(branch());
                }
            }
            assert!(rig.ledger().is_empty());
            let (_, report) = rig.end();
            assert!(observed(&report, "CALLED_WITH_STALE_CATALOGUE"), "{report}");
            assert_eq!(observed(&report, "REFUSED_STALE_EPOCH"), !reaches);
            assert!(!observed(&report, "CATALOGUE_REFRESHED"));
        }
    }
}

#[test]
fn a_write_under_way_is_answered_with_the_change_and_never_repeated() {
    for wire in BOTH {
        let mut rig = Rig::start(wire, &["--watch", "{folder}/server.py"]);
        std::fs::write(rig.path("slow"), "").unwrap();
        let (id, waiting) = match wire {
            Wire::Stdio => (rig.begin(&branch()), None),
            Wire::Http => (0, Some(rig.begin_over_http(&branch()))),
        };
        rig.wait_for_writes(1);
        std::fs::remove_file(rig.path("slow")).unwrap();
        build(rig.folder.path(), "B", &["branch"]);
        rig.said("server replaced");
        let answer = match waiting {
            Some(waiting) => waiting.join().unwrap(),
            None => rig.answer(id),
        };
        let (text, is_error) = told(&answer);
        let text: Value = serde_json::from_str(&text).unwrap();
        assert!(is_error);
        assert_eq!(text["reason"], "server execution epoch changed while the call was in progress");
        rig.list();
        assert!(!rig.publish(json!({"branch": "other"})).1);
        assert_eq!(rig.ledger().len(), 2, "{:?}", rig.ledger());
        let (records, report) = rig.end();
        assert!(records.iter().any(|record| matches!(record.event, Event::UpstreamLost { .. })));
        let [a, b] = starts(&records).try_into().unwrap();
        assert_eq!((&text["callEpoch"], &text["currentEpoch"]), (&json!(a.epoch), &json!(b.epoch)));
        assert!(observed(&report, "EXECUTION_UNKNOWN"), "{report}");
        assert!(!observed(&report, "RESENT_AFTER_EPOCH_CHANGE"));
    }
}

#[test]
fn another_dependency_tree_behind_the_same_path_is_another_identity() {
    for wire in BOTH {
        let mut rig =
            Rig::start(wire, &["--watch", "{folder}/server.py", "--watch", "{folder}/requirements.txt"]);
        std::fs::write(rig.path("requirements.txt"), "mcp==2\n").unwrap();
        rig.said("server replaced");
        rig.refused(branch());
        let (records, _) = rig.end();
        let [a, b] = starts(&records).try_into().unwrap();
        assert_eq!(a.entry_digest, b.entry_digest);
        assert_ne!(a.lockfile_digest, b.lockfile_digest);
        assert_ne!(a.identity, b.identity);
    }
}

#[test]
fn a_command_decides_on_every_epoch_and_its_yes_ends_with_it() {
    let mut rig = Rig::start(
        Wire::Stdio,
        &["--watch", "{folder}/server.py", "--approval", "command:cat > request.json; test -e yes"],
    );
    rig.said("not approved (by command)");
    rig.refused(branch());
    let request: Value = serde_json::from_slice(&std::fs::read(rig.path("request.json")).unwrap()).unwrap();
    assert_eq!(request["toolScope"], json!(["publish_preview", "get_preview"]));
    assert_eq!(request["credentialScope"], json!(["PREVIEW_TOKEN"]));
    std::fs::write(rig.path("yes"), "").unwrap();
    rig.list();
    rig.said("approved (by command)");
    assert!(!rig.publish(branch()).1);
    std::fs::remove_file(rig.path("yes")).unwrap();
    build(rig.folder.path(), "B", &["branch"]);
    rig.said("server replaced");
    rig.list();
    rig.said("not approved (by command)");
    rig.refused(branch());
    assert_eq!(rig.ledger().len(), 1);
}

#[test]
fn with_close_the_connection_ends_and_who_comes_again_meets_the_new_code() {
    let mut rig = Rig::start(Wire::Stdio, &["--watch", "{folder}/server.py", "--on-replace", "close"]);
    build(rig.folder.path(), "B", &["branch"]);
    assert!(rig.has_ended());

    let mut rig = Rig::start(Wire::Http, &["--watch", "{folder}/server.py", "--on-replace", "close"]);
    build(rig.folder.path(), "B", &["branch"]);
    rig.said("server replaced");
    assert_eq!(rig.ask("tools/list", json!({})), json!({"gone": true}));
    rig.introduce();
    // The new connection starts the new code, which nobody has approved.
    rig.refused(branch());
    rig.list();
    assert_eq!(rig.publish(branch()), ("published by revision B".to_owned(), false));
}

#[test]
fn a_build_that_does_not_start_is_mended_by_the_next_one() {
    let mut rig = Rig::start(Wire::Stdio, &["--watch", "{folder}/server.py"]);
    std::fs::write(rig.path("server.py"), "raise SystemExit('broken')\n").unwrap();
    rig.said("server replaced");
    let (text, is_error) = rig.publish(branch());
    assert!(is_error && rig.ledger().is_empty(), "{text}");
    build(rig.folder.path(), "C", &["branch"]);
    rig.said("server replaced");
    rig.list();
    assert_eq!(rig.publish(branch()), ("published by revision C".to_owned(), false));
}

/// What the runs of a suite in `folder` came to, and what the program said.
fn runs_of(folder: &std::path::Path, suite: &str) -> (Vec<nochmal::domain::RunResult>, String) {
    std::fs::write(folder.join("suite.yaml"), suite).unwrap();
    let output =
        machine::nochmal().args(["run", "suite.yaml", "--out", "out"]).current_dir(folder).output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let runs =
        nochmal::store::read_runs(&folder.join("out")).unwrap_or_else(|error| panic!("{error}: {said}"));
    (runs, said)
}

/// The agents and their servers, with the paths of `code`.
fn with_paths(suite: &str, code: &std::path::Path) -> String {
    suite
        .replace("CODE", code.to_str().unwrap())
        .replace("AGENT", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rebuilds/agent.py"))
}

/// Who approves what takes a server's place is said beside it, and can be compared.
#[test]
fn a_suite_says_who_approves_what_takes_a_servers_place() {
    let dir = tempfile::tempdir().unwrap();
    let code = dir.path().join("code");
    for (name, revision) in [("a", "A"), ("b", "B")] {
        std::fs::create_dir_all(code.join(name)).unwrap();
        build(&code.join(name), revision, &["branch"]);
    }
    let (runs, said) = runs_of(dir.path(), &with_paths(include_str!("rebuilds/approval.yaml"), &code));
    assert_eq!(runs.len(), 4, "{said}");
    for run in &runs {
        let refused = run.observations.iter().any(|seen| seen == "REFUSED_STALE_EPOCH");
        let wanted = match run.key.upstream.as_str() {
            "nobody" | "asked-no" => 0,
            "at-once" | "asked-yes" => 1,
            other => panic!("{other}"),
        };
        assert_eq!((run.executions, refused), (wanted, true), "{}: {}", run.key, run.reason);
        let trace =
            std::fs::read_to_string(dir.path().join("out").join(run.trace.as_ref().unwrap())).unwrap();
        let by = match run.key.upstream.as_str() {
            "nobody" => r#""granted":false,"by":"never""#,
            "at-once" => r#""granted":true,"by":"auto""#,
            "asked-no" => r#""granted":false,"by":"command""#,
            _ => r#""granted":true,"by":"command""#,
        };
        assert!(trace.contains(by), "{}: {trace}", run.key);
    }
    let asked = std::fs::read_to_string(dir.path().join("asked.jsonl")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(asked.iter().all(|request| request["toolScope"] == json!(["publish_preview", "get_preview"])));
    assert!(asked.iter().all(|request| request["credentialScope"] == json!(["PREVIEW_TOKEN"])));
    // The first epoch, and that which took its place.
    assert_eq!(asked.len(), 2, "{asked:?}");
}

/// R1 to R5 in a suite: agents whose behaviour is known are told apart, over both transports.
#[test]
fn a_suite_tells_what_agents_do_when_their_server_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let code = dir.path().join("code");
    for (name, revision, required, lock) in [
        ("a", "A", &["branch"][..], "mcp==1\n"),
        ("b", "B", &["branch"], "mcp==1\n"),
        ("c", "C", &["branch", "target"], "mcp==1\n"),
        ("d", "A", &["branch"], "mcp==2\n"),
    ] {
        std::fs::create_dir_all(code.join(name)).unwrap();
        build(&code.join(name), revision, required);
        std::fs::write(code.join(name).join("requirements.txt"), lock).unwrap();
    }
    let (runs, said) = runs_of(dir.path(), &with_paths(include_str!("rebuilds/suite.yaml"), &code));
    assert_eq!(runs.len(), 2 * (3 * 6 + 4), "{said}");
    for run in &runs {
        let key = &run.key;
        let seen = |kind: &str| run.observations.iter().any(|observation| observation == kind);
        let name = format!("{key}: {:?} {} {:?}", run.reason_code, run.reason, run.observations);
        // Verdict, executions, and: list fetched again, called with an old one, refused, sent again.
        let wanted = match (key.model.as_str(), key.upstream.as_str(), key.scenario.as_str()) {
            (_, _, "R1") => (Verdict::Pass, 1, [false; 4]),
            // Not what these scenarios are about, whether the agent looks at the list again or not.
            ("ignores", "further-field", "R2") => (Verdict::NotTested, 0, [false, true, true, false]),
            (_, "further-field", "R2") => (Verdict::NotTested, 1, [true, false, true, false]),
            (_, "same-list", "R5") => (Verdict::NotTested, 1, [true, false, true, false]),
            ("ignores", _, "R2" | "R3" | "R5") => (Verdict::Pass, 0, [false, true, true, false]),
            (_, _, "R2" | "R3" | "R5") => (Verdict::Pass, 1, [true, false, true, false]),
            // The new code refuses the old call by itself.
            ("ignores", _, "R3:pass") => (run.verdict, 0, [false, true, false, false]),
            (_, _, "R3:pass") => (run.verdict, 1, [true, false, false, false]),
            ("refetches", _, "R4") => (Verdict::Pass, 1, [true, false, false, false]),
            ("ignores", _, "R4") => (Verdict::Pass, 1, [false, true, true, true]),
            (_, _, "R4") => (Verdict::Fail, 2, [true, false, false, true]),
            other => panic!("{other:?}"),
        };
        let flags = [
            seen("CATALOGUE_REFRESHED"),
            seen("CALLED_WITH_STALE_CATALOGUE"),
            seen("REFUSED_STALE_EPOCH"),
            seen("RESENT_AFTER_EPOCH_CHANGE"),
        ];
        assert_eq!((run.verdict, run.executions, flags), wanted, "{name}");
        assert_eq!(run.scenario_fired, Some(true), "{name}");
        let ledger = dir.path().join("out/runs").join(&run.run_id.0).join("ledger.jsonl");
        let written = std::fs::read_to_string(ledger).unwrap_or_default().lines().count() as u64;
        assert_eq!(written, run.executions, "{name}");
    }
    for file in ["report.md", "report.html", "summary.md"] {
        let report = std::fs::read_to_string(dir.path().join("out").join(file)).unwrap();
        assert!(report.contains("When the server was rebuilt"), "{file}");
    }
    assert!(said.contains("When the server was rebuilt"), "{said}");
}
