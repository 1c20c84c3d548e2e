//! What the proxy adds to one call, against the same server without it, and whether that grows.
//!
//! `cargo bench --bench call_cost` · `-- OPERATIONS GROWTH` for other numbers than 5000 and 50000.
//!
//! All ways are open at the same time and take turns, call by call, so that whatever else the
//! machine does meets them alike. Nothing is asserted: the numbers are for people.
//!
//! One of the ways is a relay that copies bytes and knows nothing: what it adds is what the machine
//! asks for waking any further process, twice a call, and differs from machine to machine and with
//! how idle it is. What the proxy adds beyond it is its own work.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark starts processes, watches the clock, prints, and stops where it cannot go on"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The argument with which this program is the server.
const SERVE: &str = "serve";
/// The argument with which this program stands before the server and copies bytes.
const RELAY: &str = "relay";

/// A value to look for in all that passes.
const SECRET: [&str; 6] = [
    "--audit-tools",
    "off",
    "--upstream-env-var",
    "BENCH_TOKEN=tok-5f8e1c0b93a7d264",
    "--secret",
    "BENCH_TOKEN",
];

fn main() {
    let numbers: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if numbers.first().is_some_and(|word| word == SERVE) {
        serve();
        return;
    }
    if numbers.first().is_some_and(|word| word == RELAY) {
        relay();
        return;
    }
    let number =
        |at: usize, usual: usize| numbers.get(at).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let folder = tempfile::TempDir::new().unwrap();
    let report = folder.path().join("report.json");
    let trace = folder.path().join("trace.jsonl");
    let (report, trace) = (report.to_str().unwrap(), trace.to_str().unwrap());
    added(number(0, 5_000), report, trace);
    growth(number(1, 50_000));
}

/// Time added to a call, up to that number of distinct writes.
fn added(operations: usize, report: &str, trace: &str) {
    let mut ways = [
        Way::bare("bare server"),
        Way::relayed("relay of bytes"),
        Way::proxied("proxy", &["--audit-tools", "off"]),
        Way::proxied("proxy, audit tools", &["--audit-tools", "on"]),
        Way::proxied("proxy, a secret", &SECRET),
        Way::proxied("proxy, trace", &["--audit-tools", "off", "--trace", trace]),
        Way::proxied("proxy, report file", &["--audit-tools", "off", "--report-file", report]),
    ];
    take_turns(&mut ways, operations);
    println!("{operations} distinct writes, microseconds a call (last tenth)");
    println!(
        "{:<20} {:>8} {:>8} {:>10} {:>10} {:>14}",
        "", "p50", "p99", "added p50", "added p99", "beyond relay"
    );
    let last: Vec<[f64; 2]> = ways.iter().map(|way| way.last_tenth()).collect();
    for (way, [p50, p99]) in ways.iter().zip(&last) {
        let (plus50, plus99) = (p50 - last[0][0], p99 - last[0][1]);
        let beyond = p50 - last[1][0];
        println!("{:<20} {p50:>8.1} {p99:>8.1} {plus50:>10.1} {plus99:>10.1} {beyond:>14.1}", way.name);
    }
}

/// Median of the last tenth over that of the first.
fn growth(operations: usize) {
    let mut ways = [
        Way::bare("bare server"),
        Way::proxied("proxy", &["--audit-tools", "off"]),
        Way::proxied("proxy, audit tools", &["--audit-tools", "on"]),
    ];
    take_turns(&mut ways, operations);
    // Which core wakes which moves the median about; the quickest calls tell what the work costs.
    println!("\n{operations} distinct writes, microseconds a call, first tenth → last tenth");
    for way in &ways {
        let tenth = operations / 10;
        print!("{:<20}", way.name);
        for percent in [10, 50] {
            let first = percentile(&way.times[..tenth], percent);
            let last = percentile(&way.times[operations - tenth..], percent);
            print!("   p{percent} {first:>7.1} → {last:>7.1}  × {:.3}", last / first);
        }
        println!();
    }
}

fn take_turns(ways: &mut [Way], operations: usize) {
    for n in 0..operations {
        for way in ways.iter_mut() {
            way.call(n);
        }
    }
}

/// A server, with something before it or not.
struct Way {
    name: &'static str,
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: String,
    times: Vec<Duration>,
}

impl Way {
    fn bare(name: &'static str) -> Way {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(SERVE);
        Way::open(name, command)
    }

    fn relayed(name: &'static str) -> Way {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(RELAY);
        Way::open(name, command)
    }

    fn proxied(name: &'static str, flags: &[&str]) -> Way {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nochmal"));
        command.arg("proxy").arg("--upstream-command").arg(std::env::current_exe().unwrap());
        command.args(["--upstream-arg", SERVE]).args(flags);
        Way::open(name, command)
    }

    fn open(name: &'static str, mut command: Command) -> Way {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let mut way = Way { name, process, stdin, stdout, line: String::new(), times: Vec::new() };
        way.ask(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        );
        way.ask(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
        way
    }

    fn ask(&mut self, message: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        self.line.clear();
        self.stdout.read_line(&mut self.line).unwrap();
        assert!(self.line.contains("result"), "{}: {}", self.name, self.line);
    }

    fn call(&mut self, n: usize) {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"create_booking","arguments":{{"guest":"Guest {n}","room":{},"date":"2026-12-03"}}}}}}"#,
            n % 97
        );
        let begun = Instant::now();
        self.ask(&message);
        self.times.push(begun.elapsed());
    }

    fn last_tenth(&self) -> [f64; 2] {
        let last = &self.times[self.times.len() * 9 / 10..];
        [percentile(last, 50), percentile(last, 99)]
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.process.wait();
    }
}

/// In microseconds.
fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The least that can stand before a server.
fn relay() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut server = command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let back = std::thread::spawn(move || copy(&mut from, &mut std::io::stdout().lock()));
    copy(&mut std::io::stdin().lock(), &mut to);
    drop(to);
    let _ = (server.wait(), back.join());
}

/// Not `std::io::copy`, which may hand the copying to the kernel.
fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// The quickest server there is: it knows four messages and answers them.
fn serve() {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Some((_, rest)) = line.split_once(r#""id":"#) else { continue };
        let id = rest.split([',', '}']).next().unwrap_or("0");
        let result = if line.contains("tools/call") {
            r#"{"content":[{"type":"text","text":"done"}]}"#
        } else if line.contains("tools/list") {
            r#"{"tools":[{"name":"create_booking","inputSchema":{"type":"object"}}]}"#
        } else {
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"quick","version":"1"}}"#
        };
        let _ =
            stdout.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").as_bytes());
        let _ = stdout.flush();
    }
}
