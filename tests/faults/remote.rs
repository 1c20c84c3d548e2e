//! What became of the work of a call that a fault struck: by an oracle where there is one, and why it stays
//! unknown where there is none.

use super::rig::{command, fixture, python};

const ORACLE: &str = "import json, os, sys; path = sys.argv[1]; \
                      lines = open(path) if os.path.exists(path) else []; \
                      print(json.dumps([line for line in map(json.loads, lines) if line['state'] == 'done']))";

fn suite() -> String {
    let (python, server) = (python(), fixture("upstream.py"));
    let mut text = "suite: shop\nmatrix:\n  agent: [builtin]\n  model: [script:careful]\n  upstream: [quick, slow, \
                    quick-mute, slow-mute]\n  scenario: [F1, I2]\nexclude:\n  - {upstream: [quick, quick-mute], \
                    scenario: I2}\n  - {upstream: [slow, slow-mute], scenario: F1}\nprompts:\n  plain: {user: \"Please \
                    order a lamp.\"}\nconversations:\n  alone: []\nlimits: {run_timeout: 5m, parallel: 2}\nupstreams:\n"
        .to_owned();
    for (name, takes, asks) in
        [("quick", 0, true), ("slow", 30_000, true), ("quick-mute", 0, false), ("slow-mute", 30_000, false)]
    {
        let ledger = "{{ run.dir }}/orders.jsonl";
        text.push_str(&format!(
            "  {name}:\n    command: {:?}\n    args: [{:?}, {ledger:?}, \"{takes}\"]\n",
            python.display().to_string(),
            server.display().to_string()
        ));
        if asks {
            text.push_str(&format!(
                "    oracle: {{command: [{:?}, \"-c\", {ORACLE:?}, {ledger:?}]}}\n",
                python.display().to_string()
            ));
        }
    }
    text
}

#[test]
fn an_oracle_has_the_last_word_and_without_one_the_unknown_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("shop.yaml"), folder.path().join("out"));
    std::fs::write(&file, suite()).unwrap();
    let nochmal = || command(env!("CARGO_BIN_EXE_nochmal"));
    let output = nochmal().arg("run").arg(&file).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let runs = nochmal::store::read_runs(&out).unwrap();
    assert_eq!(runs.len(), 4);
    for run in &runs {
        let shown =
            nochmal().args(["trace", "show"]).arg(out.join(run.trace.as_ref().unwrap())).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let wanted = match run.key.upstream.as_str() {
            "quick" => "server: executed: its oracle has it once; the server answered it\n",
            "quick-mute" => "server: executed: the server answered it\n",
            "slow" => "server: unknown: the server never answered it; by its oracle nothing came to be\n",
            _ => "server: unknown: the server never answered it, and it has neither ledger nor oracle\n",
        };
        assert!(shown.contains(wanted), "{}: {wanted} is not in\n{shown}", run.key.upstream);
        // The row of the run says the same.
        let [struck] = run.struck.as_slice() else { panic!("{:?}", run.struck) };
        for line in struck.lines() {
            assert!(shown.contains(&line), "{line} is not in\n{shown}");
        }
    }
}
