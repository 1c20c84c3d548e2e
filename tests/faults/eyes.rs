//! Runs of an agent without an SDK or a model, which books a room twice, looks, and writes down every byte that
//! came to it (`eyes.py`).

use super::rig::{command, fixture, python};
use nochmal::domain::RunResult;
use std::fmt::Write as _;
use std::path::Path;

/// A suite over these agents (`pipe` has stdio, `web` HTTP), forms, and scenarios: built-in ones, and own ones
/// as `{…}` in YAML.
fn suite(
    agents: &[&str],
    presents: &[&str],
    built_in: &[String],
    own: &[(&str, &str)],
    patience: u32,
) -> String {
    let mut text = String::from("suite: desk\nmatrix:\n  model: [none]\n");
    writeln!(text, "  agent: [{}]\n  present: [{}]\n  scenario:", agents.join(", "), presents.join(", "))
        .unwrap();
    for id in built_in.iter().map(String::as_str).chain(own.iter().map(|(id, _)| *id)) {
        writeln!(text, "    - \"{id}\"").unwrap();
    }
    text.push_str("scenarios:\n");
    for (id, fault) in own {
        writeln!(text, "  {id}: {{{fault}}}").unwrap();
    }
    let code = std::fs::read_to_string(fixture("eyes.py")).unwrap();
    let code = format!("{{% raw %}}{code}{{% endraw %}}");
    let code: String = code.lines().map(|line| format!("        {line}\n")).collect();
    text.push_str("agents:\n");
    for agent in agents {
        let (mcp, config) = match *agent {
            "pipe" => {
                ("stdio", r#"{"command": {{ mcp.command | tojson }}, "args": {{ mcp.args | tojson }}}"#)
            }
            _ => ("http", r#"{"url": {{ mcp.url | tojson }}}"#),
        };
        writeln!(
            text,
            "  {agent}:\n    agent: {agent}\n    mcp: {mcp}\n    isolate: {{home: true}}\n    first:\n      mode: \
             session\n      command: [\"{}\", \"{{{{ run.dir }}}}/eyes.py\", \"{{{{ run.dir }}}}/mcp.json\", \
             \"{{{{ run.dir }}}}/seen.txt\", \"{patience}\"]\n    files:\n      mcp.json: '{config}'\n      eyes.py: |\n{code}",
            python().display()
        )
        .unwrap();
    }
    text.push_str("prompts:\n  plain: {user: \"Please book room 12 for Ada Lovelace on 2026-12-03.\"}\n");
    text.push_str("conversations:\n  alone: []\n");
    text.push_str("upstreams:\n  booking: {builtin: booking, search: true}\n");
    if built_in.iter().any(|id| id == "chaos") {
        text.push_str("scenario_params: {delay: 100ms, late: 20s, error_rate: 1.0}\n");
    }
    text.push_str("limits: {run_timeout: 5m, parallel: 3}\n");
    text
}

/// Carries the runs out. The agent gives a call up that is not answered within `patience` seconds.
pub fn watch(
    out: &Path,
    agents: &[&str],
    presents: &[&str],
    built_in: &[String],
    own: &[(&str, &str)],
    patience: u32,
) -> Vec<RunResult> {
    let file = out.with_extension("yaml");
    std::fs::write(&file, suite(agents, presents, built_in, own, patience)).unwrap();
    let output = command(env!("CARGO_BIN_EXE_nochmal"))
        .arg("run")
        .arg(&file)
        .arg("--out")
        .arg(out)
        // Agents get it, and where a developer keeps programs is not what is looked for.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    nochmal::store::read_runs(out).unwrap()
}

/// Every byte that came to the agent of a run.
pub fn seen(out: &Path, run: &RunResult) -> String {
    std::fs::read_to_string(out.join("runs").join(&run.run_id.0).join("seen.txt")).unwrap_or_default()
}
