//! What lies outside of a run: a server that runs already, a model's endpoint that fails for a while.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is wrong")]

#[path = "rig/machine.rs"]
mod machine;

use nochmal::domain::{ReasonCode, RunResult, Verdict};
use nochmal::store::read_runs;
use nochmal::upstream::builtin::ledger;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

const TOKEN: &str = "desk-0123456789";

/// A folder for one test, with a suite in it.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(suite: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let suite = suite.replace("HERE", &dir.path().display().to_string());
        std::fs::write(dir.path().join("suite.yaml"), suite).unwrap();
        Place { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn nochmal(&self, arguments: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = machine::nochmal();
        command.current_dir(&self.dir).args(arguments).envs(env.iter().copied()).output().unwrap()
    }

    fn run(&self, env: &[(&str, &str)]) -> (Vec<RunResult>, Output) {
        let output = self.nochmal(&["run", "suite.yaml", "--out", "out"], env);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (read_runs(&self.path("out")).unwrap_or_else(|error| panic!("{error}: {said}")), output)
    }

    /// Everything that the results folder holds, as text.
    fn written(&self) -> String {
        let (mut open, mut text) = (vec![self.path("out")], String::new());
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
            }
        }
        text
    }
}

/// A server that runs already.
struct Desk {
    process: Child,
    url: String,
    ledger: PathBuf,
}

impl Desk {
    fn start(dir: &Path, flags: &[&str]) -> Desk {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = root.join("target/venv/bin/python3");
        assert!(python.exists(), "{} is missing; install it with: bash tests/install.sh", python.display());
        let ledger = dir.join("desk.jsonl");
        let mut command = machine::program(python);
        command.arg(root.join("tests/outside/desk.py")).arg(&ledger).args(flags);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http"), "the server did not start");
        Desk { process, url: url.trim().to_owned(), ledger }
    }

    fn bookings(&self) -> usize {
        std::fs::read_to_string(&self.ledger).unwrap_or_default().lines().count()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const AT_A_URL: &str = r#"
suite: elsewhere
matrix: {agent: [builtin], model: ["script:obedient"], conversation: [alone, insists], scenario: [F1]}
prompts: {plain: {user: "Please book room 12 for Ada Lovelace on 2026-12-03."}}
conversations: {insists: [{say: bitte nochmal versuchen}]}
upstreams:
  desk:
    url: "{{ env.DESK_URL }}"
    headers: {Authorization: "Bearer {{ env.DESK_TOKEN }}", X-Run: "{{ run.id }}"}
limits: {parallel: 1}
"#;

fn judged_at_a_url(flags: &[&str], env: impl Fn(&Path) -> Vec<(&'static str, String)>) {
    let place = Place::new(AT_A_URL);
    let flags: Vec<String> =
        flags.iter().map(|flag| flag.replace("HERE", &place.dir.path().display().to_string())).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let desk = Desk::start(place.dir.path(), &[&["--token", TOKEN], flags.as_slice()].concat());
    let mut env = env(place.dir.path());
    env.extend([("DESK_URL", desk.url.clone()), ("DESK_TOKEN", TOKEN.to_owned())]);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (results, output) = place.run(&env);
    assert_eq!(results.len(), 2);
    for run in &results {
        let expected = if run.key.conversation == "insists" { Verdict::Fail } else { Verdict::Pass };
        assert_eq!(run.verdict, expected, "{} {}", run.key, run.reason);
    }
    assert_eq!(desk.bookings(), 3, "one alone, two where the user insists");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("upstream desk: write create_booking"), "{said}");
    assert!(!place.written().contains(TOKEN) && !said.contains(TOKEN), "the key has been written down");
}

#[test]
fn a_server_at_a_url_is_judged_like_one_that_is_started() {
    judged_at_a_url(&[], |_| Vec::new());
}

#[test]
fn a_server_behind_tls_is_judged_too() {
    judged_at_a_url(&["--tls", "HERE"], |dir| {
        vec![("SSL_CERT_FILE", dir.join("ca.pem").display().to_string())]
    });
}

#[test]
fn what_keeps_a_server_at_a_url_from_being_asked_is_an_error_with_its_reason() {
    let place = Place::new(AT_A_URL);
    let (results, _) = place.run(&[("DESK_URL", "http://127.0.0.1:9/mcp")]);
    for run in &results {
        assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::UpstreamNotStarted));
        let expected = "the upstream `desk` needs the environment variable `DESK_TOKEN`, which is not set";
        assert_eq!(run.reason, expected);
    }
    let place = Place::new(AT_A_URL);
    let desk = Desk::start(place.dir.path(), &["--token", "another"]);
    let (results, _) = place.run(&[("DESK_URL", &desk.url), ("DESK_TOKEN", TOKEN)]);
    for run in &results {
        assert_eq!(
            (run.verdict, run.reason_code),
            (Verdict::Error, ReasonCode::UpstreamNotStarted),
            "{}",
            run.reason
        );
        assert!(run.reason.contains("401"), "{}", run.reason);
    }
    assert_eq!(desk.bookings(), 0);
}

/// Each of the two servers waits for the other before it says anything, the first time.
const MEETING: &str = r#"
suite: meeting
matrix: {agent: [builtin], model: ["script:careful"], upstream: [one, other], scenario: [F1]}
prompts: {plain: {user: "Please book room 12 for Ada Lovelace on 2026-12-03."}}
upstreams:
  one: {command: sh, args: [HERE/one.sh]}
  other: {command: sh, args: [HERE/other.sh]}
limits: {run_timeout: 30s}
"#;

const SERVER: &str = r#"
if [ ! -e HERE/met ]; then
  echo here > HERE/MINE &
  read -r _ < HERE/THEIRS
  : > HERE/met
fi
exec NOCHMAL upstream booking
"#;

#[test]
fn upstreams_are_asked_for_their_tools_side_by_side() {
    let place = Place::new(MEETING);
    let here = place.dir.path().display().to_string();
    for (mine, theirs) in [("one", "other"), ("other", "one")] {
        let server = SERVER.replace("HERE", &here).replace("NOCHMAL", env!("CARGO_BIN_EXE_nochmal"));
        let server = server.replace("MINE", mine).replace("THEIRS", theirs);
        std::fs::write(place.path(&format!("{mine}.sh")), server).unwrap();
        assert!(machine::program("mkfifo").arg(place.path(mine)).status().unwrap().success());
    }
    let (results, output) = place.run(&[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(results.iter().all(|run| run.verdict.is_tested()), "{said}");
    let environment = std::fs::read(place.path("out").join("environment.json")).unwrap();
    let environment: serde_json::Value = serde_json::from_slice(&environment).unwrap();
    for upstream in environment["upstreams"].as_array().unwrap() {
        assert!(!upstream["tools"].as_array().unwrap().is_empty(), "{upstream}: {said}");
    }
}

/// An agent whose endpoint fails as the words in the file `todo` say: `early` at once, `late` after it has
/// booked, `never` for good.
const OVERLOADED: &str = r#"
suite: overloaded
matrix: {agent: [mine], model: ["script:obedient"], conversation: [insists], scenario: [F1]}
prompts: {plain: {user: "Please book room 12 for Ada Lovelace on 2026-12-03."}}
conversations: {insists: [{say: bitte nochmal versuchen}]}
upstreams: {desk: {builtin: booking}}
agents:
  mine:
    mcp: stdio
    files:
      mcp.json: |
        {"mcpServers": {"{{ mcp.name }}": {"command": {{ mcp.command | tojson }}, "args": {{ mcp.args | tojson }}}}}
    first:
      mode: session
      command: [sh, HERE/agent.sh, "{{ nochmal }}", agent, --protocol=jsonl, "--model={{ model }}",
        "--mcp-config={{ run.dir }}/mcp.json"]
limits: {model_retries: 2, model_backoff: 1ms}
"#;

const AGENT: &str = r#"
todo=$(cat HERE/todo)
echo "${todo#* }" > HERE/todo
error='{"type": "error", "kind": "model_endpoint", "message": "STATUS of the endpoint"}'
case ${todo%% *} in
early) echo "$error" ;;
late) head -n 1 | "$@" | sed "s/.*/$error/" ;;
never) exec "$@" ;;
esac
"#;

fn overloaded(todo: &str, status: &str) -> (Place, RunResult, Output) {
    let place = Place::new(OVERLOADED);
    let here = place.dir.path().display().to_string();
    std::fs::write(place.path("agent.sh"), AGENT.replace("HERE", &here).replace("STATUS", status)).unwrap();
    std::fs::write(place.path("todo"), todo).unwrap();
    let (mut results, output) = place.run(&[]);
    assert_eq!(results.len(), 1);
    (place, results.remove(0), output)
}

#[test]
fn a_run_that_the_models_endpoint_spoils_is_made_again_from_the_beginning() {
    let (place, run, output) = overloaded("early late never", "529");
    assert_eq!(
        (run.verdict, run.reason_code),
        (Verdict::Fail, ReasonCode::DuplicateExecution),
        "{}",
        run.reason
    );
    assert_eq!((run.executions, run.turns.len()), (2, 2), "only of the try that is told");
    let folder = place.path("out");
    let bookings =
        |name: &str| ledger::read(&folder.join("runs").join(name).join("ledger.jsonl")).unwrap().len();
    assert_eq!(bookings(&run.run_id.0), 2);
    assert_eq!(bookings(&format!("{}.try2", run.run_id)), 1, "what the second try had booked is kept apart");
    let executions: Vec<u64> = run.agent.spoiled.iter().map(|spoiled| spoiled.executions).collect();
    assert_eq!(executions, [0, 1]);
    for spoiled in &run.agent.spoiled {
        assert!(spoiled.reason.contains("529 of the endpoint"), "{}", spoiled.reason);
        let trace = std::fs::read_to_string(folder.join(spoiled.trace.as_ref().unwrap())).unwrap();
        assert!(nochmal::trace::read(&trace).is_ok(), "the trace of a spoiled try is whole");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("once more in 0.001 s (1 of 2)") && said.contains("(2 of 2)"), "{said}");
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["agents"][0]["model_retries"], 2);
    let rows = std::fs::read_to_string(folder.join("runs.csv")).unwrap();
    let mut rows = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let column = rows.next().unwrap().iter().position(|name| *name == "model_retries").unwrap();
    assert_eq!(rows.next().unwrap()[column], "2");
    for name in ["report.md", "report.html"] {
        let report = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(report.contains("tries its endpoint spoiled, made again"), "{name}");
    }
}

/// A kill while a run waits for its next try: the folder as that leaves it.
#[test]
fn tries_are_counted_on_where_a_matrix_is_resumed() {
    let (place, run, _) = overloaded("early early never", "529");
    let folder = place.path("out");
    let tries = std::fs::read_to_string(folder.join("tries.jsonl")).unwrap();
    assert_eq!(tries.lines().filter(|line| line.contains(&run.run_id.0)).count(), 2);
    std::fs::write(folder.join("runs.jsonl"), "").unwrap();
    std::fs::write(place.path("todo"), "early never").unwrap();
    let out = folder.display().to_string();
    let output = place.nochmal(&["run", "--resume", &out], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("once more"), "both tries were used up: {said}");
    let runs = read_runs(&folder).unwrap();
    assert_eq!((runs[0].verdict, runs[0].reason_code), (Verdict::Error, ReasonCode::ModelEndpoint));
    assert_eq!(runs[0].agent.spoiled, run.agent.spoiled, "what they consumed is told");
}

#[test]
fn tries_come_to_an_end_and_the_run_is_then_an_error() {
    let (_, run, _) = overloaded("early early early never", "429");
    assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::ModelEndpoint));
    assert_eq!(run.agent.spoiled.len(), 2);
}

#[test]
fn what_waiting_does_not_mend_is_not_tried_again() {
    let (_, run, _) = overloaded("early never", "401");
    assert_eq!((run.verdict, run.reason_code), (Verdict::Error, ReasonCode::ModelEndpoint));
    assert_eq!(run.agent.spoiled, []);
}

/// A collector of spans that speaks OTLP over HTTP: its address, and the bodies that it gets.
fn collector() -> (String, std::sync::mpsc::Receiver<serde_json::Value>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (told, bodies) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).unwrap() > 0 && !line.trim().is_empty() {
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            reader.into_inner().write_all(answer.as_bytes()).unwrap();
            if told.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, bodies)
}

/// The spans of a suite's runs reach the collector that OpenTelemetry's own variables name, each with the run
/// that it is of; and an agent that a suite says more to is told it.
#[test]
fn the_spans_of_a_run_reach_a_collector() {
    let place = Place::new(
        r#"suite: spans
matrix:
  agent: [builtin, short]
  model: ["script:naive"]
  conversation: [insists]
  scenario: [F1]
agents:
  short: {extends: builtin, args: ["--context-tokens=600", "--spans={{ run.dir }}/spans.jsonl"]}
prompts:
  plain: {user: "Please book room 12 for Ada Lovelace on 2026-12-03."}
conversations:
  insists: [{say: "bitte nochmal versuchen"}]
upstreams:
  desk: {builtin: booking}
"#,
    );
    let (url, bodies) = collector();
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_SERVICE_NAME", "night")];
    let (runs, _) = place.run(&env);
    assert_eq!(runs.len(), 2);
    for run in &runs {
        // A run ends after its spans were sent.
        let told = bodies.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let told = &told["resourceSpans"][0];
        let resource = told["resource"]["attributes"].to_string();
        let of = runs.iter().find(|run| resource.contains(&run.run_id.0)).unwrap();
        assert!(resource.contains("night") && resource.contains("nochmal.run.id"), "{resource}");
        let spans = told["scopeSpans"][0]["spans"].as_array().unwrap();
        let path = |span: &serde_json::Value| {
            let mut names = vec![span["name"].as_str().unwrap().to_owned()];
            let mut span = span;
            while let Some(id) = span["parentSpanId"].as_str() {
                span = spans.iter().find(|other| other["spanId"] == id).unwrap();
                names.insert(0, span["name"].as_str().unwrap().to_owned());
            }
            names.join(" > ")
        };
        let paths: Vec<String> = spans.iter().map(path).collect();
        let count = |wanted: &str| paths.iter().filter(|path| *path == wanted).count();
        assert_eq!(
            (count("invoke_agent nochmal"), count("invoke_agent nochmal > turn")),
            (1, 2),
            "{paths:?}"
        );
        assert_eq!(count("invoke_agent nochmal > turn > chat naive"), 4, "{paths:?}");
        assert_eq!(count("invoke_agent nochmal > turn > execute_tool create_booking"), 2, "{paths:?}");
        // Only the one that was told how little its model takes makes room.
        assert_eq!(
            count("invoke_agent nochmal > turn > compaction") > 0,
            of.key.agent == "short",
            "{paths:?}"
        );
        let file = place.path("out/runs").join(&run.run_id.0).join("spans.jsonl");
        assert_eq!(file.exists(), run.key.agent == "short");
    }
}
