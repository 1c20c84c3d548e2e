//! One `nochmal proxy` before the scripted upstream, and its agent.

use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub use crate::machine::{PATIENCE as LIMIT, nochmal};

/// What the upstream lists where nothing else is said.
const TOOLS: [&str; 4] = ["create_booking", "find_bookings", "get_booking", "sync_ledger"];

/// The arguments that put the scripted upstream behind the proxy, its settings written.
pub fn upstream(folder: &Path, settings: &Value) -> Vec<String> {
    let named = |tool: &Value| match tool {
        Value::String(name) => json!({"name": name, "inputSchema": {"type": "object"}}),
        whole => whole.clone(),
    };
    let tools: Vec<Value> = match settings.get("tools") {
        Some(Value::Array(tools)) => tools.iter().map(named).collect(),
        _ => TOOLS.iter().map(|name| named(&json!(name))).collect(),
    };
    let behave = settings.get("behave").cloned().unwrap_or_else(|| json!({}));
    let text = json!({"tools": tools, "behave": behave, "page": settings.get("page")}).to_string();
    fs::write(folder.join("settings.json"), text).unwrap();
    fs::write(folder.join("ledger.jsonl"), "").unwrap();
    let script = format!("{}/tests/proxy/upstream.py", env!("CARGO_MANIFEST_DIR"));
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let parts = [script, path("settings.json"), path("ledger.jsonl")];
    let mut arguments = vec!["--upstream-command".to_owned(), "python3".to_owned()];
    for part in parts {
        arguments.extend(["--upstream-arg".to_owned(), part]);
    }
    arguments
}

/// A running proxy, seen from the agent's side.
pub struct Agent {
    folder: TempDir,
    process: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    answers: HashMap<u64, Value>,
    /// What came that is no answer.
    pub others: Vec<Value>,
    last_id: u64,
}

impl Agent {
    pub fn start(settings: &Value, flags: &[String]) -> Agent {
        let folder = TempDir::new().unwrap();
        let arguments = upstream(folder.path(), settings);
        let report = folder.path().join("report.json");
        let mut command = nochmal();
        command.arg("proxy").args(arguments);
        if !flags.iter().any(|flag| flag.starts_with("--audit-tools")) {
            command.args(["--audit-tools", "off"]);
        }
        command.arg("--report-file").arg(&report).args(flags);
        Agent::spawn(command, folder)
    }

    /// Whatever the command is: it speaks MCP on stdin and stdout.
    pub fn spawn(mut command: Command, folder: TempDir) -> Agent {
        let stderr = File::create(folder.path().join("stderr.txt")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Agent { folder, process, stdin, lines, answers: HashMap::new(), others: Vec::new(), last_id: 0 }
    }

    pub fn report_path(&self) -> PathBuf {
        self.folder.path().join("report.json")
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// A message, or several lines of them, as they are.
    pub fn write(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A proxy that has ended is found by what it leaves.
            let _ = stdin.write_all(format!("{text}\n").as_bytes());
        }
    }

    pub fn request(&mut self, method: &str, params: &str) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        id
    }

    pub fn notify(&mut self, method: &str, params: &str) {
        self.write(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
    }

    fn take(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap();
        let parts = match message {
            Value::Array(parts) => parts,
            one => vec![one],
        };
        for part in parts {
            match part.get("id").and_then(Value::as_u64) {
                Some(id) if part.get("method").is_none() => drop(self.answers.insert(id, part)),
                _ => self.others.push(part),
            }
        }
    }

    /// The answer to a request, or why there is none.
    pub fn answer(&mut self, id: u64, limit: Duration) -> Result<Value, String> {
        let end = Instant::now() + limit;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return Ok(answer);
            }
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(&line),
                Err(error) => return Err(format!("no answer to request {id}: {error}")),
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: &str) -> Result<Value, String> {
        let id = self.request(method, params);
        self.answer(id, LIMIT)
    }

    /// The handshake, in that version.
    pub fn introduce(&mut self, protocol: &str) -> Result<(), String> {
        let client = r#""capabilities":{},"clientInfo":{"name":"agent","version":"1"}"#;
        self.ask("initialize", &format!(r#"{{"protocolVersion":"{protocol}",{client}}}"#))?;
        self.notify("notifications/initialized", "{}");
        Ok(())
    }

    /// All pages of the tool list, as names.
    pub fn list(&mut self) -> Result<Vec<String>, String> {
        let (mut names, mut params) = (Vec::new(), "{}".to_owned());
        loop {
            let answer = self.ask("tools/list", &params)?;
            let tools = answer["result"]["tools"].as_array().cloned().unwrap_or_default();
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap_or("?").to_owned()));
            match answer["result"].get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}).to_string(),
                None => return Ok(names),
            }
        }
    }

    /// Sends a call; `step` is one of a case.
    pub fn send(&mut self, step: &Value) -> u64 {
        let arguments = match step.get("raw") {
            Some(Value::String(raw)) => raw.clone(),
            _ => step.get("args").cloned().unwrap_or_else(|| json!({})).to_string(),
        };
        let more: String = step.get("params").and_then(Value::as_object).map_or_else(String::new, |params| {
            params.iter().map(|(name, value)| format!(",{}:{value}", json!(name))).collect()
        });
        self.request("tools/call", &format!(r#"{{"name":{},"arguments":{arguments}{more}}}"#, step["call"]))
    }

    /// Closes stdin and gives the exit code, once the proxy has ended.
    pub fn finish(&mut self) -> Result<i32, String> {
        self.stdin = None;
        let end = Instant::now() + LIMIT;
        // The end of stdout is the event; the exit follows it at once.
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(&line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => {
                    let _ = self.process.kill();
                    return Err(format!("the proxy did not end: {error}"));
                }
            }
        }
        let status = self.process.wait().map_err(|error| error.to_string())?;
        Ok(status.code().unwrap_or(-1))
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr.txt")).unwrap()
    }

    /// What waits at a `gate` of the upstream goes on.
    pub fn open_the_gate(&self) {
        fs::write(self.folder.path().join("open"), "").unwrap();
    }

    /// The report file.
    pub fn report(&self) -> Result<Value, String> {
        let text = fs::read_to_string(self.report_path()).map_err(|error| format!("report: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("report: {error} in {text}"))
    }

    /// What the upstream really wrote.
    pub fn ledger(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("ledger.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Real writes by tool.
    pub fn written(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for entry in self.ledger() {
            *counts.entry(entry["tool"].as_str().unwrap_or("?").to_owned()).or_insert(0) += 1;
        }
        counts
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
