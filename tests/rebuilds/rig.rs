//! A proxy before a server that is rebuilt, and its client, over stdio or HTTP.

use crate::machine::{PATIENCE, nochmal, until};
use nochmal::trace::{Event, Record};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use tempfile::TempDir;

/// How the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Stdio,
    Http,
}

pub const BOTH: [Wire; 2] = [Wire::Stdio, Wire::Http];

pub struct Rig {
    pub folder: TempDir,
    process: Child,
    stderr: Receiver<String>,
    client: Client,
    last_id: u64,
}

enum Client {
    Stdio { stdin: Option<ChildStdin>, stdout: Receiver<String> },
    Http { address: String, session: Option<String> },
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes the server's code of a revision.
pub fn build(folder: &Path, revision: &str, required: &[&str]) {
    let code = include_str!("server.py")
        .replace("REVISION = \"A\"", &format!("REVISION = \"{revision}\""))
        .replace("REQUIRED = [\"branch\"]", &format!("REQUIRED = {}", json!(required)));
    // As a build does it: the new file takes the place of the old one at once.
    std::fs::write(folder.join("server.new"), code).unwrap();
    std::fs::rename(folder.join("server.new"), folder.join("server.py")).unwrap();
}

impl Rig {
    /// Revision A runs, and the client has its tools. `{folder}` in a flag is the folder.
    pub fn start(wire: Wire, flags: &[&str]) -> Rig {
        let folder = TempDir::new().unwrap();
        build(folder.path(), "A", &["branch"]);
        std::fs::write(folder.path().join("requirements.txt"), "mcp==1\n").unwrap();
        std::fs::write(folder.path().join("ledger.jsonl"), "").unwrap();
        let path = folder.path().to_str().unwrap();
        let mut command = nochmal();
        command.args(["proxy", "--upstream-command", "python3", "--upstream-arg", "server.py"]);
        command.args(["--upstream-arg", &format!("{path}/ledger.jsonl"), "--upstream-cwd", path]);
        command.args(["--write-tools", "publish_*"]);
        command.args(["--audit-tools", "off", "--upstream-env-var", "PREVIEW_TOKEN=s3cret-value"]);
        command.args(["--trace", &format!("{path}/trace.jsonl")]);
        command.args(["--report-file", &format!("{path}/report.json")]);
        command.args(flags.iter().map(|flag| flag.replace("{folder}", path)));
        if wire == Wire::Http {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.current_dir(path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stderr = lines(process.stderr.take().unwrap());
        let client = match wire {
            Wire::Stdio => {
                Client::Stdio { stdin: process.stdin.take(), stdout: lines(process.stdout.take().unwrap()) }
            }
            Wire::Http => {
                let line = await_line(&stderr, "listening on ");
                let address = line.split("http://").nth(1).unwrap().trim_end_matches("/mcp").to_owned();
                Client::Http { address, session: None }
            }
        };
        let mut rig = Rig { folder, process, stderr, client, last_id: 0 };
        rig.introduce();
        assert_eq!(rig.list(), ["branch"]);
        rig
    }

    pub fn introduce(&mut self) {
        let client = json!({"name": "client", "version": "1"});
        self.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Introduces itself in a session of its own, as a client that was started anew.
    pub fn come_anew(&mut self) {
        if let Client::Http { session, .. } = &mut self.client {
            *session = None;
        }
        self.introduce();
    }

    /// Fetches the list of tools; the required fields of the one that writes.
    pub fn list(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let required = answer["result"]["tools"][0]["inputSchema"]["required"].as_array().cloned();
        required.unwrap().iter().map(|field| field.as_str().unwrap().to_owned()).collect()
    }

    /// Publishes; the text that comes back, and whether it is an error.
    pub fn publish(&mut self, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": "publish_preview", "arguments": arguments}));
        told(&answer)
    }

    /// A refusal because of the epoch.
    pub fn refused(&mut self, arguments: Value) -> Value {
        let (text, is_error) = self.publish(arguments);
        let told: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no refusal: {text}"));
        assert!(is_error, "{told}");
        assert_eq!(told["error"], "authorization_stale", "{told}");
        assert_eq!(told["reason"], "server execution epoch changed");
        assert_eq!(told["retry"], "refresh tool metadata and request authorization");
        assert!(told["currentEpoch"].is_string() && told["currentEpoch"] != told["approvedEpoch"]);
        told
    }

    /// Sends a call without waiting for its answer.
    pub fn begin(&mut self, arguments: &Value) -> u64 {
        self.last_id += 1;
        let call = json!({"name": "publish_preview", "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": call}));
        self.last_id
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        match self.send(&request) {
            Some(answer) => answer,
            None => self.answer(id),
        }
    }

    /// The answer to a request, over stdio; what comes before it is passed over.
    pub fn answer(&mut self, id: u64) -> Value {
        let Client::Stdio { stdout, .. } = &self.client else { panic!("HTTP answers at once") };
        loop {
            let line = stdout.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("request {id}: {error}"));
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Whether the connection over stdio has ended.
    pub fn has_ended(&mut self) -> bool {
        let Client::Stdio { stdout, .. } = &self.client else { panic!("a connection over HTTP has no end") };
        loop {
            match stdout.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Sends a message; over HTTP, the answer that comes with it.
    pub fn send(&mut self, message: &Value) -> Option<Value> {
        match &mut self.client {
            Client::Stdio { stdin, .. } => {
                writeln!(stdin.as_mut().unwrap(), "{message}").unwrap();
                None
            }
            Client::Http { address, session } => {
                let (status, head, answer) = post(address, session.as_deref(), message);
                if let Some(named) = header(&head, "mcp-session-id") {
                    *session = Some(named);
                }
                if status == 404 {
                    *session = None;
                    return Some(json!({"gone": true}));
                }
                let id = message.get("id")?;
                let found = answer.into_iter().find(|part| part.get("id") == Some(id));
                Some(found.unwrap_or_else(|| panic!("no answer to {message}")))
            }
        }
    }

    /// The call in another thread, since HTTP waits for its answer.
    pub fn begin_over_http(&mut self, arguments: &Value) -> std::thread::JoinHandle<Value> {
        self.last_id += 1;
        let Client::Http { address, session } = &self.client else { panic!("over stdio one just sends") };
        let (address, session) = (address.clone(), session.clone());
        let call = json!({"name": "publish_preview", "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": "tools/call", "params": call});
        std::thread::spawn(move || {
            let (_, _, answers) = post(&address, session.as_deref(), &message);
            answers.into_iter().find(|part| part["id"] == message["id"]).unwrap()
        })
    }

    /// Waits for a line of the proxy on stderr.
    pub fn said(&self, text: &str) -> String {
        await_line(&self.stderr, text)
    }

    pub fn hang_up(&self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    /// What was really published.
    pub fn ledger(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("ledger.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until the server has carried out so many writes.
    pub fn wait_for_writes(&self, count: usize) {
        until("the server's writes", || self.ledger().len() >= count);
    }

    /// Ends the proxy; its trace, and its report.
    pub fn end(mut self) -> (Vec<Record>, Value) {
        match &mut self.client {
            Client::Stdio { stdin, .. } => drop(stdin.take()),
            Client::Http { .. } => {
                let pid = rustix::process::Pid::from_child(&self.process);
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            }
        }
        assert!(self.process.wait().unwrap().success());
        let trace = std::fs::read_to_string(self.path("trace.jsonl")).unwrap();
        assert!(!trace.contains("s3cret-value"), "a credential reached the trace");
        let report = serde_json::from_slice(&std::fs::read(self.path("report.json")).unwrap()).unwrap();
        (nochmal::trace::read(&trace).unwrap().records, report)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn told(answer: &Value) -> (String, bool) {
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no result: {answer}"));
    (text.to_owned(), answer["result"]["isError"] == true)
}

fn await_line(lines: &Receiver<String>, text: &str) -> String {
    loop {
        let line =
            lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("never said {text:?}: {error}"));
        if line.contains(text) {
            return line;
        }
    }
}

fn post(address: &str, session: Option<&str>, message: &Value) -> (u16, String, Vec<Value>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = message.to_string();
    let session = session.map(|name| format!("Mcp-Session-Id: {name}\r\n")).unwrap_or_default();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    // An object, or the lines of a stream of events; the sizes between chunks are no JSON objects.
    let texts = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let found = texts.filter(|text| text.starts_with('{')).filter_map(|text| serde_json::from_str(text).ok());
    (status, head.to_owned(), found.collect())
}

fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

/// The processes that were started, each with its epoch, code and lock file.
pub fn starts(records: &[Record]) -> Vec<nochmal::trace::Execution> {
    let started = records.iter().filter_map(|record| match &record.event {
        Event::UpstreamStarted { execution, .. } => execution.as_deref().cloned(),
        _ => None,
    });
    started.collect()
}

/// Every call with the epoch that it was made under.
pub fn calls(records: &[Record]) -> Vec<String> {
    let calls = records.iter().filter_map(|record| match &record.event {
        Event::CallReceived { binding, .. } => binding.as_ref().map(|binding| binding.epoch.clone()),
        _ => None,
    });
    calls.collect()
}

/// Every epoch that was approved, with who did.
pub fn approvals(records: &[Record]) -> Vec<(String, String)> {
    let decisions = records.iter().filter_map(|record| match &record.event {
        Event::Approval { decision, .. } if decision.granted => {
            Some((decision.epoch.clone(), decision.by.clone()))
        }
        _ => None,
    });
    decisions.collect()
}

/// Whether the report says that.
pub fn observed(report: &Value, kind: &str) -> bool {
    let observations = report["report"]["observations"].as_array().cloned().unwrap_or_default();
    observations.iter().any(|observation| observation["type"] == kind)
}
