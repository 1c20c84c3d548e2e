//! A client of an official SDK, `nochmal proxy` before it, and a small shop behind that.

use crate::machine::until;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sdk {
    Python,
    /// The same, with MCP 2026-07-28.
    PythonModern,
    TypeScript,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire {
    Stdio,
    Http,
}

/// What is played.
#[derive(Debug, Clone)]
pub struct Setup {
    pub scenario: String,
    /// More flags of the proxy.
    pub flags: Vec<String>,
    /// How long the server works on an order, in milliseconds.
    pub takes: u32,
    /// How the server answers an order: see `upstream.py`.
    pub form: &'static str,
    pub calls: Vec<Value>,
    /// How long the client stays after its calls, in seconds.
    pub linger: f64,
    /// What its user does with a form that the server asks for; none where it shows none.
    pub elicits: Option<&'static str>,
    /// Whether the server began to work, so that its end is waited for.
    pub begins: bool,
}

impl Setup {
    pub fn new(scenario: &str) -> Setup {
        Setup {
            scenario: scenario.to_owned(),
            flags: Vec::new(),
            takes: 0,
            form: "json",
            calls: Vec::new(),
            linger: 0.0,
            elicits: None,
            begins: false,
        }
    }

    /// Another order, which may take so many seconds.
    pub fn order(mut self, item: &str, seconds: f64) -> Setup {
        self.calls.push(json!({"tool": "create_order", "arguments": {"item": item}, "timeout": seconds}));
        self
    }

    pub fn look(mut self) -> Setup {
        self.calls.push(json!({"tool": "find_orders"}));
        self
    }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults").join(name)
}

pub use crate::machine::program as command;

pub fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python")
}

fn sdk(sdk: Sdk) -> Command {
    let (program, script) = match sdk {
        Sdk::Python | Sdk::PythonModern => (python(), fixture("client.py")),
        Sdk::TypeScript => (PathBuf::from("node"), fixture("client.mjs")),
    };
    let mut command = command(program);
    command.arg(script);
    command
}

pub struct Played {
    /// Everything that the client wrote down of what it saw.
    pub seen: Vec<Value>,
    pub ledger: Vec<Value>,
    pub events: Vec<Value>,
    /// The trace as it was written.
    pub trace: String,
    pub report: Value,
}

impl Played {
    pub fn event(&self, name: &str) -> Option<&Value> {
        self.events.iter().find_map(|record| record["event"].get(name))
    }

    pub fn all(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter_map(|record| record["event"].get(name)).collect()
    }

    /// What the client saw of its calls, in their order.
    pub fn answers(&self) -> Vec<&Value> {
        let aside = ["unasked", "listed", "elicited", "closing"];
        self.seen.iter().filter(|seen| aside.iter().all(|name| seen.get(name).is_none())).collect()
    }

    /// The words of what the client saw that would give the test away.
    pub fn betraying(&self) -> Vec<String> {
        let text = self.seen.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        betraying(&text)
    }
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

pub fn play(setup: &Setup, sdk_of: Sdk, wire: Wire) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut proxy: Vec<String> = vec![env!("CARGO_BIN_EXE_nochmal").into(), "proxy".into()];
    let mut flag = |name: &str, value: String| proxy.extend([name.to_owned(), value]);
    flag("--upstream-command", python().display().to_string());
    // The clients list the tools themselves.
    flag("--probe", "off".into());
    flag("--upstream-arg", fixture("upstream.py").display().to_string());
    flag("--upstream-arg", at("ledger.jsonl").display().to_string());
    flag("--upstream-arg", setup.takes.to_string());
    flag("--upstream-arg", setup.form.to_owned());
    flag("--scenario", setup.scenario.clone());
    flag("--trace", at("trace.jsonl").display().to_string());
    flag("--report-file", at("report.json").display().to_string());
    proxy.extend(["--audit-tools", "off"].map(str::to_owned));
    proxy.extend(setup.flags.iter().cloned());

    let mut spec = json!({"calls": setup.calls, "linger": setup.linger});
    if let Some(action) = setup.elicits {
        spec["elicits"] = json!(action);
    }
    if sdk_of == Sdk::PythonModern {
        spec["mode"] = json!("2026-07-28");
    }
    let mut listening = None;
    match wire {
        Wire::Stdio => spec["command"] = json!(proxy),
        Wire::Http => {
            let mut server = command(&proxy[0])
                .args(&proxy[1..])
                .args(["--listen", "127.0.0.1:0"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stderr = BufReader::new(server.stderr.take().unwrap()).lines();
            let url = stderr
                .find_map(|line| line.unwrap().strip_prefix("[nochmal] listening on ").map(str::to_owned))
                .expect("a URL on stderr");
            std::thread::spawn(move || stderr.for_each(drop));
            spec["url"] = json!(url);
            listening = Some(server);
        }
    }
    let output = sdk(sdk_of).arg(spec.to_string()).output().expect("`bash tests/install.sh` brings the SDKs");
    let text = String::from_utf8(output.stdout).unwrap();
    let seen: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!seen.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));

    let settled =
        |name: &str| lines(&at("trace.jsonl")).iter().any(|record| record["event"].get(name).is_some());
    if let Some(server) = listening {
        // What was begun is completed, or is known to be lost, before the proxy is told to end.
        if setup.begins {
            until("the end of the work", || settled("upstream_answered") || settled("upstream_lost"));
        }
        interrupt(server);
    }
    until(&format!("the end of the trace of {}", setup.scenario), || settled("closed"));
    let report = std::fs::read_to_string(at("report.json")).unwrap();
    Played {
        seen,
        ledger: lines(&at("ledger.jsonl")),
        events: lines(&at("trace.jsonl")),
        trace: std::fs::read_to_string(at("trace.jsonl")).unwrap(),
        report: serde_json::from_str(&report).unwrap(),
    }
}

fn interrupt(mut server: Child) {
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    server.wait().unwrap();
}

/// Words that would give the test away.
const BETRAYING: [&str; 14] = [
    "inject",
    "chaos",
    "nochmal",
    "test",
    "scenario",
    "simulat",
    "proxy",
    "fault",
    "mock",
    "fake",
    "benchmark",
    "harness",
    "experiment",
    "synthetic",
];

/// Those of them that stand in a text.
pub fn betraying(text: &str) -> Vec<String> {
    // A word that MCP itself has everywhere.
    let text = text.to_lowercase().replace("default", "");
    let found = BETRAYING.iter().filter_map(|word| {
        let at = text.find(word)?;
        let around: String =
            text.chars().skip(text[..at].chars().count().saturating_sub(40)).take(90).collect();
        Some(format!("{word}: …{around}…"))
    });
    found.collect()
}
