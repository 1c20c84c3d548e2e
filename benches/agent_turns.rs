//! The built-in agent's own time a turn, without the model and without the tool, and its memory
//! over many turns.
//!
//! `cargo bench --bench agent_turns` · `-- TURNS` for another number than 1000.
//!
//! The model answers from memory and at once, the tool too, so what is left is the loop: the
//! history and its check, the journal, the view. A turn is one message of the user, an answer with
//! one call, its result, and a reply: two requests, one call. Nothing is asserted: the numbers are
//! for people.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark starts itself, watches the clock, prints, and stops where it cannot go on"
)]

use nochmal::harness::journal::sqlite::SqliteJournal;
use nochmal::harness::journal::{Forgets, Journal};
use nochmal::harness::message::{Message, ToolCall, ToolSpec};
use nochmal::harness::model::{BoxFuture, Consumption, Identity, Model, ModelError, ModelTurn, Request};
use nochmal::harness::session::Session;
use nochmal::harness::state::State;
use nochmal::harness::tools::{ToolOutcome, Tools};
use nochmal::harness::turn::{Agent, Limits};
use std::process::Command;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Tokens that the model takes, where it takes so many only.
const WINDOW: u64 = 32_000;

/// What is measured, each in a process of its own: memory that one gave back the next would use.
const WAYS: [&str; 4] =
    ["nothing kept", "kept in memory", "kept in a file, on disk each step", "nothing kept, 32,000 tokens"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let turns: usize = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1_000);
    if let Some(way) = words.iter().find(|word| WAYS.contains(&word.as_str())) {
        run(way, turns);
        return;
    }
    println!("{turns} turns of two requests and one call each, microseconds a turn");
    println!(
        "{:<34} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "", "p50", "p99", "first 10%", "last 10%", "memory, KiB"
    );
    for way in WAYS {
        let mut own = Command::new(std::env::current_exe().unwrap());
        assert!(own.arg(way).arg(turns.to_string()).status().unwrap().success(), "{way}");
    }
}

fn run(way: &str, turns: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        match WAYS.iter().position(|name| *name == way) {
            Some(1) => measure(way, turns, None, SqliteJournal::in_memory().unwrap().0).await,
            Some(2) => {
                let journal = SqliteJournal::open(&folder.path().join("s.db")).unwrap().0;
                measure(way, turns, None, journal).await;
            }
            Some(3) => measure(way, turns, Some(WINDOW), Forgets).await,
            _ => measure(way, turns, None, Forgets).await,
        }
    });
}

async fn measure<J: Journal>(name: &str, turns: usize, window: Option<u64>, journal: J) {
    let (model, tools) = (Prompt, Desk::new());
    let limits = Limits { equal_calls: u32::MAX, ..Limits::default() };
    let agent = Agent { limits, window, ..Agent::new(&model, &tools) };
    let mut session = Session { agent, state: State::new("You book rooms."), journal };
    let cancel = CancellationToken::new();
    let before = memory();
    let mut times = Vec::with_capacity(turns);
    for number in 0..turns {
        let said = format!("Please book room {} for guest number {number}.", number % 40 + 1);
        let begun = Instant::now();
        session.say(&said, &cancel).await.unwrap();
        times.push(begun.elapsed());
    }
    let tenth = (turns / 10).max(1);
    let median = |times: &[Duration]| percentile(times, 50);
    println!(
        "{name:<34} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>12}",
        median(&times),
        percentile(&times, 99),
        median(&times[..tenth]),
        median(&times[turns - tenth..]),
        memory().saturating_sub(before),
    );
}

/// Resident memory in KiB, where the system tells.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// In microseconds.
fn percentile(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// A model that asks for one call, and says after its result that it is done.
struct Prompt;

impl Model for Prompt {
    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        let usage = Consumption { output: 20, answers: 1, ..Consumption::default() };
        let answer = |text: &str| ModelTurn { text: text.to_owned(), usage, ..ModelTurn::default() };
        let turn = match request.messages.last() {
            _ if request.tools.is_empty() => answer("Many rooms were booked."),
            Some(Message::User { text }) => {
                let mut arguments = serde_json::Map::new();
                arguments.insert("guest".to_owned(), text.clone().into());
                let call = ToolCall::new(String::new(), "create_booking".to_owned(), arguments);
                ModelTurn { tool_calls: vec![call], ..answer("") }
            }
            _ => answer("The room is booked."),
        };
        Box::pin(std::future::ready(Ok(turn)))
    }
}

/// A tool that answers at once, with a result of a usual length.
struct Desk {
    specs: [ToolSpec; 1],
    result: String,
}

impl Desk {
    fn new() -> Desk {
        let spec = ToolSpec { name: "create_booking".to_owned(), ..ToolSpec::default() };
        let result = r#"{"booking_id": "BK-1001", "status": "confirmed", "note": "breakfast from seven"}"#;
        Desk { specs: [spec], result: result.repeat(5) }
    }
}

impl Tools for Desk {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn call<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(std::future::ready(ToolOutcome { text: self.result.clone(), is_error: false }))
    }
}
