//! `nochmal rehearse` with a real agent program, the OpenAI Agents SDK: what it says of a profile
//! that works, and of the same profile with one mistake each.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A suite with the profile as it is under the name `well`, and with a mistake under each other name.
fn suite(mistakes: &[(&str, &str, &str)]) -> String {
    let suite = std::fs::read_to_string(root().join("suites/openai-agents.yaml")).unwrap();
    let profile = std::fs::read_to_string(root().join("agents/openai-agents.yaml")).unwrap();
    let mut names = vec!["well"];
    let mut agents = String::from("\nagents:\n");
    for (name, from, to) in [("well", "", "")].iter().chain(mistakes) {
        agents.push_str(&format!("  {name}:\n"));
        let mut found = from.is_empty();
        for line in profile.lines().filter(|line| !line.starts_with('#') && !line.starts_with("agent:")) {
            found |= line.contains(from);
            let line = if from.is_empty() { line.to_owned() } else { line.replace(from, to) };
            let line = line.replace("{{ profile.dir }}", &root().join("agents").display().to_string());
            agents.push_str(&format!("    {line}\n"));
        }
        assert!(found, "{name}: no {from:?} in the profile");
        if *name != "well" {
            names.push(name);
        }
    }
    suite
        .replace("agent: [openai-agents]", &format!("agent: [{}]", names.join(", ")))
        .replace("model: [script:obedient]", "model: [some-model]")
        + &agents
}

fn rehearse(dir: &Path, suite: &str, arguments: &[&str]) -> Output {
    let venv = root().join("target/venv/bin");
    assert!(venv.is_dir(), "run tests/install.sh first: {} is missing", venv.display());
    std::fs::write(dir.join("suite.yaml"), suite).unwrap();
    machine::nochmal()
        .current_dir(root())
        .arg("rehearse")
        .arg(dir.join("suite.yaml"))
        .arg("--out")
        .arg(dir.join("out"))
        .args(arguments)
        .env("PATH", format!("{}:{}", venv.display(), std::env::var("PATH").unwrap()))
        // What the user has set must not be asked.
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .env("OPENAI_API_KEY", "sk-the-users-own")
        .output()
        .unwrap()
}

fn agent<'a>(told: &'a Value, name: &str) -> &'a Value {
    told["agents"].as_array().unwrap().iter().find(|agent| agent["agent"] == name).unwrap()
}

fn problems(agent: &Value) -> Vec<&str> {
    agent["problems"].as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap()).collect()
}

#[test]
fn a_profile_that_works_has_nothing_to_mend_and_the_folder_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    let output = rehearse(dir.path(), &suite(&[]), &["--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let well = agent(&told, "well");
    assert_eq!(well["problems"], serde_json::json!([]), "{told:#}");
    assert_eq!(well["notes"], serde_json::json!([]), "{told:#}");
    assert_eq!(
        (&well["runs"], &well["calls_asked"], &well["calls_arrived"]),
        (&4.into(), &7.into(), &7.into())
    );
    assert_eq!((&well["patch"]["yes"], &well["patch"]["of"]), (&2.into(), &2.into()));
    // The duplicate is the script's, and only without the patch.
    assert_eq!(well["verdicts"], serde_json::json!({"FAIL": 1, "PASS": 3}));
    // Nothing of it can be taken for a measurement.
    let read = |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).unwrap();
    assert!(read("REHEARSAL.txt").starts_with("REHEARSAL, not a measurement"));
    for (file, mark) in [
        ("matrix.json", "\"rehearsal\""),
        ("environment.json", "\"rehearsal\""),
        ("report.md", "nothing measured"),
        ("summary.json", "nothing measured"),
    ] {
        assert!(read(file).contains(mark), "{file} has no {mark}");
    }
    let folder = std::fs::read_dir(dir.path().join("out/traces")).unwrap().count();
    assert_eq!(folder, 4);
    let resumed = machine::nochmal().args(["run", "--resume"]).arg(dir.path().join("out")).output().unwrap();
    assert_eq!(resumed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("holds a rehearsal"));
    let compared = machine::nochmal()
        .arg("compare")
        .args([dir.path().join("out"), dir.path().join("out")])
        .output()
        .unwrap();
    assert_eq!(compared.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&compared.stderr).contains("holds a rehearsal"));
}

#[test]
fn every_mistake_of_a_profile_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let mistakes = [
        ("no-system", "\"--system={{ prompt.system }}\"", "\"--system=\""),
        ("no-session", "session: /session", "session: /reply"),
        ("no-reply", "reply: /reply", "reply: /session"),
        ("own-endpoint", "PYTHONUTF8: \"1\"", "OPENAI_BASE_URL: \"http://127.0.0.1:9/v1\""),
        ("no-program", "- python3", "- python3-of-nobody"),
    ];
    let suite = suite(&mistakes);
    let output = rehearse(
        dir.path(),
        &suite,
        &["--json", "--filter", "conversation=insists", "--filter", "patch=GHOST_WRITE"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, expected) in [
        ("well", &[][..]),
        ("no-system", &["system_lost", "patch_lost"]),
        ("no-session", &["session_lost"]),
        ("no-reply", &["other_reply"]),
        ("own-endpoint", &["no_request", "run_failed"]),
        ("no-program", &["run_failed"]),
    ] {
        assert_eq!(problems(agent(&told, name)), expected, "{name}: {:#}", agent(&told, name));
    }
}

#[test]
fn another_script_behaves_in_another_way() {
    let dir = tempfile::tempdir().unwrap();
    let filter = ["--script", "naive", "--filter", "conversation=alone", "--filter", "patch=off", "--json"];
    let output = rehearse(dir.path(), &suite(&[]), &filter);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(agent(&told, "well")["verdicts"], serde_json::json!({"FAIL": 1}));
    let output = rehearse(dir.path(), &suite(&[]), &["--script", "naif"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean \"naive\"?"));
}

/// How long a client waits for a tool is learned with any suite: it gives up, or it waits for as long as it is let.
#[test]
fn a_client_is_probed_for_its_patience() {
    let dir = tempfile::tempdir().unwrap();
    let suite = r#"suite: patience
matrix:
  agent: [builtin, hasty]
  model: ["script:careful", "script:naive"]
  conversation: [alone, insists]
  scenario: [F1, F2]
  patch: [off, GHOST_WRITE]
repeats: 5
agents:
  hasty: {extends: builtin, args: ["--tool-timeout=1s"]}
prompts:
  plain: {user: "Please book room 12 for Ada Lovelace on 2026-12-03."}
conversations:
  insists: [{say: "bitte nochmal versuchen"}]
upstreams:
  desk: {builtin: booking}
gates:
  - {where: {patch: GHOST_WRITE}, fail_rate: {upper: 0.1}}
"#;
    std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
    let rehearse = |arguments: &[&str]| {
        let mut command = machine::nochmal();
        command.current_dir(&dir).args(["rehearse", "suite.yaml", "--probe-client", "10s"]).args(arguments);
        command.output().unwrap()
    };
    let output = rehearse(&["--json", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (builtin, hasty) = (agent(&told, "builtin"), agent(&told, "hasty"));
    // One run each, whatever the suite's axes and repeats.
    assert_eq!((&builtin["runs"], &hasty["runs"]), (&1.into(), &1.into()));
    assert!(hasty["gave_up_after_ms"].is_u64(), "{hasty:#}");
    assert_eq!((&hasty["resent"], &builtin["gave_up_after_ms"]), (&0.into(), &Value::Null));
    assert!(builtin["waited_ms"].is_u64(), "{builtin:#}");
    let said = rehearse(&["--filter", "agent=builtin"]);
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.contains("tool timeout         more than 10 s") && !text.contains("hasty"), "{text}");
    let said = rehearse(&["--filter", "agent=hasyt"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("hasty"));
}
