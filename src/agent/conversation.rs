//! Drives one run: the prompt, the reply, then each further turn in the same session.

use super::launch::{First, Launch, LaunchError, Prepared, Step, Turn, Vars, render, render_all};
use super::outcome::{AgentOutcome, Ended, Observed, Observer};
use super::output;
use super::session::{Session, SessionEnd};
use crate::domain::TurnResult;
use crate::process::{Capture, Captured, Exit, Keep, Process, StartError, Stdin, Supervisor, Tree};
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Holds the conversation, then ends all that the agent started. Where the future is dropped, the
/// processes are killed on the spot. What an agent said may hold what it was passed: keeping keys out
/// of what is kept is the caller's affair.
pub async fn converse(
    launch: &Launch<'_>,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
    observer: Observer<'_>,
) -> AgentOutcome {
    let prepared = match Prepared::new(launch) {
        Ok(prepared) => prepared,
        Err(error) => {
            let outcome = AgentOutcome::not_started(launch, String::new());
            return AgentOutcome { ended: not_prepared(error), ..outcome };
        }
    };
    let tree = supervisor.tree(&prepared.marks);
    let until = Until { deadline: now() + launch.limits.time, cancel };
    let talk = Talk {
        launch,
        prepared,
        tree,
        until,
        observer,
        process: None,
        outputs: None,
        earlier: Vec::new(),
        outcome: AgentOutcome::not_started(launch, String::new()),
    };
    talk.hold().await
}

#[expect(clippy::disallowed_methods, reason = "the agent room enforces the run's time limit")]
fn now() -> Instant {
    Instant::now()
}

/// What can stop a wait.
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    deadline: Instant,
    cancel: &'a CancellationToken,
}

impl Until<'_> {
    /// Waits for `work`, but not beyond the end of the run.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Ended::Cancelled),
            () = tokio::time::sleep_until(self.deadline) => Err(Ended::TimedOut),
            done = work => Ok(done),
        }
    }
}

/// The captured streams of one command.
struct Outputs {
    stdout: Option<Capture>,
    stderr: Option<Capture>,
}

struct Talk<'a> {
    launch: &'a Launch<'a>,
    prepared: Prepared,
    tree: Tree,
    until: Until<'a>,
    observer: Observer<'a>,
    /// The present command's process.
    process: Option<Process>,
    outputs: Option<Outputs>,
    /// Streams of earlier turns. They go on being read: something left running for the next turn
    /// would otherwise be ended by a closed pipe.
    earlier: Vec<Outputs>,
    outcome: AgentOutcome,
}

/// End of the error output that is kept while an agent runs, and in a run's result, in bytes.
const STDERR_KEPT: usize = 64 * 1024;
const STDERR_TOLD: usize = 4 * 1024;
/// Bytes of a reply that are kept.
const REPLY_KEPT: usize = 64 * 1024;

impl Talk<'_> {
    async fn hold(mut self) -> AgentOutcome {
        let ended = match &self.launch.program.first {
            First::Command(first) => self.by_commands(first).await,
            First::Session(command) => self.by_session(command).await,
        };
        self.outcome.ended = ended.err().unwrap_or(Ended::Completed);
        self.close().await
    }

    async fn by_commands(&mut self, first: &Step) -> Result<(), Ended> {
        let launch = self.launch;
        let mut reply = self.command_turn(launch.prompt, first, "first command").await?;
        for (turn, place) in launch.turns.iter().zip(1..) {
            if !self.is_said(turn, place, reply.as_deref()) {
                continue;
            }
            let Some(next) = &launch.program.next else {
                return Err(self.failed(
                    "cannot go on: its profile has no `next` command; add one, or use a conversation without \
                     further turns",
                    None,
                ));
            };
            self.until.wait(tokio::time::sleep(turn.after)).await?;
            reply = self.command_turn(&turn.say, next, "next command").await?;
        }
        Ok(())
    }

    async fn by_session(&mut self, command: &[String]) -> Result<(), Ended> {
        let launch = self.launch;
        let started = self.begin(launch.prompt);
        let session = match self.open_session(command) {
            Ok(session) => session,
            Err(ended) => {
                self.end(started, None);
                return Err(ended);
            }
        };
        let mut session = Some(session);
        let result = self.session_turns(&mut session, started).await;
        // The closed input tells the agent that the conversation is over.
        drop(session);
        if result.is_ok()
            && let Some(process) = &mut self.process
        {
            let _ = self.until.wait(tokio::time::timeout(launch.limits.grace, process.wait())).await;
        }
        result
    }

    async fn session_turns(&mut self, session: &mut Option<Session>, started: Instant) -> Result<(), Ended> {
        let launch = self.launch;
        let Some(session) = session else { return Ok(()) };
        let mut reply = self.session_turn(session, launch.prompt, started).await?;
        for (turn, place) in launch.turns.iter().zip(1..) {
            if !self.is_said(turn, place, reply.as_deref()) {
                continue;
            }
            self.until.wait(tokio::time::sleep(turn.after)).await?;
            let started = self.begin(&turn.say);
            reply = self.session_turn(session, &turn.say, started).await?;
        }
        Ok(())
    }

    async fn session_turn(
        &mut self,
        session: &mut Session,
        say: &str,
        started: Instant,
    ) -> Result<Option<String>, Ended> {
        let result = self.ask_session(session, say).await;
        self.end(started, result.as_ref().ok().cloned().flatten());
        result
    }

    async fn command_turn(&mut self, say: &str, step: &Step, what: &str) -> Result<Option<String>, Ended> {
        let started = self.begin(say);
        let result = self.command(say, step, what).await;
        self.end(started, result.as_ref().ok().cloned().flatten());
        result
    }

    /// Whether a further turn is said; keeps what was decided.
    fn is_said(&mut self, turn: &Turn, place: u32, reply: Option<&str>) -> bool {
        let Some(decided) = turn.when.decide(place, reply) else { return true };
        let said = decided.said;
        self.outcome.conditions.push(decided);
        said
    }

    fn begin(&mut self, say: &str) -> Instant {
        let turn = u32::try_from(self.outcome.turns.len()).unwrap_or(u32::MAX);
        (self.observer)(Observed::TurnStarted { turn, text: say.to_owned() });
        self.outcome.turns.push(TurnResult { say: say.to_owned(), ..TurnResult::default() });
        now()
    }

    fn end(&mut self, started: Instant, reply: Option<String>) {
        let turn = u32::try_from(self.outcome.turns.len().saturating_sub(1)).unwrap_or(u32::MAX);
        if let Some(last) = self.outcome.turns.last_mut() {
            last.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            last.reply.clone_from(&reply);
        }
        (self.observer)(Observed::TurnEnded { turn, reply });
    }

    async fn command(&mut self, say: &str, step: &Step, what: &str) -> Result<Option<String>, Ended> {
        let launch = self.launch;
        let limits = launch.limits;
        let vars = self.vars(say);
        let input = step.stdin.as_ref().map(|input| render(launch, what, input, &vars)).transpose();
        let input = input.map_err(not_prepared)?;
        let file = self.prepared.output_file(launch, &vars).map_err(not_prepared)?;
        self.start(&vars, &step.command, what, if input.is_some() { Stdin::Piped } else { Stdin::Null })?;
        let (Some(process), Some(outputs)) = (&mut self.process, &mut self.outputs) else {
            return Err(self.failed("is not running", None));
        };
        if let Some(stdout) = process.take_stdout() {
            outputs.stdout = Some(Capture::start(stdout, Keep::within(limits.output)));
        }
        let stdin = process.take_stdin();
        let feed = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A program may end without reading all; its exit code tells whether that was well.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            std::future::pending::<Exit>().await
        };
        let exit = self.until.wait(async {
            tokio::select! { exit = process.wait() => exit, exit = feed => exit }
        });
        let exit = exit.await?;
        let mut stdout = drained(&mut outputs.stdout, limits.drain).await;
        let stderr = drained(&mut outputs.stderr, limits.drain).await;
        if let Some(file) = file {
            match read_bounded(&file, limits.output) {
                Ok(content) => stdout = content,
                // Where the command failed its exit code says more than the missing file.
                Err(error) if exit.code.is_some_and(|code| launch.program.ok_exit.contains(&code)) => {
                    let what =
                        format!("ended well, but its output file {} cannot be read: {error}", file.display());
                    return Err(self.failed(&what, exit.code));
                }
                Err(_) => {}
            }
        }
        self.read(exit, &stdout, &stderr)
    }

    fn vars(&self, say: &str) -> Vars {
        Vars { say: say.to_owned(), session: self.outcome.session.clone() }
    }

    /// Starts the command of a turn; its error output is captured, its output is the caller's.
    fn start(&mut self, vars: &Vars, templates: &[String], what: &str, stdin: Stdin) -> Result<(), Ended> {
        let argv = render_all(self.launch, what, templates, vars).map_err(not_prepared)?;
        let started = self.tree.start(&self.prepared.command(argv), stdin);
        let mut process = started.map_err(|error| self.not_started(&error))?;
        if let Some(mut outputs) = self.outputs.take() {
            outputs.stdout.iter_mut().chain(&mut outputs.stderr).for_each(Capture::forget);
            self.earlier.push(outputs);
        }
        let stderr = process.take_stderr().map(|stderr| Capture::start(stderr, Keep::tail(STDERR_KEPT)));
        self.outputs = Some(Outputs { stdout: None, stderr });
        self.process = Some(process);
        Ok(())
    }

    fn not_started(&self, error: &StartError) -> Ended {
        let hint = match (error, &self.launch.program.install) {
            (StartError::NotFound { .. } | StartError::NoInterpreter { .. }, Some(install)) => {
                format!("; install it with: {install}")
            }
            (StartError::NotFound { .. }, None) => {
                "; install it, or correct the profile's command".to_owned()
            }
            _ => String::new(),
        };
        Ended::NotStarted { reason: format!("{error}{hint}") }
    }

    /// Makes sense of a command that has ended.
    fn read(&mut self, exit: Exit, stdout: &Captured, stderr: &Captured) -> Result<Option<String>, Ended> {
        let program = self.launch.program;
        let (out, err) = (stdout.text(), stderr.text());
        let parsed = output::parse(&program.output, &out);
        if let Ok(parsed) = &parsed {
            self.outcome.usage = output::add_usage(&program.output, self.outcome.usage, parsed.usage);
            if let Some(session) = &parsed.session {
                self.outcome.session.clone_from(session);
            }
        }
        let succeeded = exit.code.is_some_and(|code| program.ok_exit.contains(&code));
        let words = match &parsed {
            Ok(parsed) => parsed.reply.clone().filter(|reply| !reply.trim().is_empty()),
            Err(_) => None,
        };
        let flag = parsed.as_ref().ok().and_then(|parsed| parsed.failed.clone());
        if !succeeded || flag.is_some() {
            let why = flag.filter(|why| why != "true");
            let model = output::model_error(&program.model_errors, &[&err, &out]);
            let said = why.or(words).or_else(|| model.map(str::to_owned));
            let said = said.or_else(|| last_line(&err)).or_else(|| last_line(&out));
            let said = said.map_or_else(|| "it printed nothing".to_owned(), |said| output::head(&said));
            if model.is_some() {
                return Err(self.model_failed(&said));
            }
            let how = if succeeded { "says that it failed".to_owned() } else { format!("ended with {exit}") };
            return Err(self.failed(&format!("{how}: {said}"), exit.code));
        }
        match parsed {
            Err(error) => {
                if output::is_model_error(&program.model_errors, &[&err, &out]) {
                    return Err(self.model_failed(&output::head(&last_line(&err).unwrap_or(out))));
                }
                let cut = match stdout.dropped {
                    0 => String::new(),
                    dropped => format!(" ({dropped} bytes of it beyond the limit `output` were dropped)"),
                };
                Err(self.failed(&format!("ended well, but {error}{cut}"), exit.code))
            }
            Ok(parsed) => {
                // Some programs end well and report the failed request as their last words.
                if output::is_model_error(&program.model_errors, &[words.as_deref().unwrap_or_default()]) {
                    return Err(self.model_failed(&output::head(words.as_deref().unwrap_or_default())));
                }
                if program.next.is_some() && program.output.session.is_some() && parsed.session.is_none() {
                    let find = program.output.session.as_ref().map(ToString::to_string).unwrap_or_default();
                    let head = output::head(&out);
                    return Err(self.failed(
                        &format!("ended well, but its output has no session at {find}; it begins: {head}"),
                        exit.code,
                    ));
                }
                Ok(parsed.reply.map(|reply| cut(reply, REPLY_KEPT)))
            }
        }
    }

    fn open_session(&mut self, command: &[String]) -> Result<Session, Ended> {
        let vars = self.vars(self.launch.prompt);
        self.start(&vars, command, "first command", Stdin::Piped)?;
        let process = self.process.as_mut();
        let streams = process.and_then(|process| Some((process.take_stdin()?, process.take_stdout()?)));
        let Some((stdin, stdout)) = streams else { return Err(self.failed("has no input or output", None)) };
        Ok(Session::new(stdin, stdout, &self.launch.program.output, self.launch.limits.output))
    }

    async fn ask_session(&mut self, session: &mut Session, say: &str) -> Result<Option<String>, Ended> {
        let limits = self.launch.limits;
        let Some(process) = &mut self.process else { return Err(self.failed("is not running", None)) };
        let answer = self.until.wait(session.ask(say, process, limits.drain)).await;
        self.outcome.facts.output_dropped = session.dropped();
        self.outcome.stray = session.stray();
        match answer? {
            Ok(parsed) => {
                let spec = &self.launch.program.output;
                self.outcome.usage = output::add_usage(spec, self.outcome.usage, parsed.usage);
                if let Some(session) = parsed.session {
                    self.outcome.session = session;
                }
                let reply = parsed.reply.map(|reply| cut(reply, REPLY_KEPT));
                let words = reply.as_deref().unwrap_or_default();
                if output::is_model_error(&self.launch.program.model_errors, &[words]) {
                    return Err(self.model_failed(&output::head(words)));
                }
                Ok(reply)
            }
            Err(SessionEnd::Error { message, of_model }) => {
                let said = output::head(&message);
                if of_model || output::is_model_error(&self.launch.program.model_errors, &[&message]) {
                    return Err(self.model_failed(&said));
                }
                Err(self.failed(&format!("reported an error: {said}"), None))
            }
            Err(SessionEnd::Ended { exit, garbage }) => {
                let err = match &mut self.outputs {
                    Some(outputs) => drained(&mut outputs.stderr, limits.drain).await.text(),
                    None => String::new(),
                };
                let how =
                    exit.map_or_else(|| "closed its output".to_owned(), |exit| format!("ended with {exit}"));
                let garbage = garbage.map(|line| format!("its last output was no message: {line}"));
                let said = last_line(&err).or(garbage).unwrap_or_else(|| "it printed nothing".to_owned());
                let said = output::head(&said);
                if output::is_model_error(&self.launch.program.model_errors, &[&err]) {
                    return Err(self.model_failed(&said));
                }
                Err(self.failed(&format!("{how} before it replied: {said}"), exit.and_then(|exit| exit.code)))
            }
        }
    }

    fn failed(&self, what: &str, exit: Option<i32>) -> Ended {
        Ended::Failed { reason: format!("the agent `{}` {what}", self.launch.program.name), exit }
    }

    fn model_failed(&self, said: &str) -> Ended {
        let name = &self.launch.program.name;
        Ended::ModelEndpoint {
            reason: format!(
                "the agent `{name}` could not use its model: {}; check the endpoint's address, the key and the model",
                said.trim_end_matches('.')
            ),
        }
    }

    async fn close(mut self) -> AgentOutcome {
        let mut processes: Vec<&mut Process> = self.process.iter_mut().collect();
        let end = self.tree.end(&mut processes, self.launch.limits.grace).await;
        let facts = &mut self.outcome.facts;
        facts.timed_out = self.outcome.ended == Ended::TimedOut;
        facts.leaked = end.leaked;
        if let Some(exit) = self.process.as_mut().and_then(Process::poll) {
            facts.exit_code = exit.code;
            facts.signal = exit.signal;
        }
        if let Some(outputs) = &mut self.outputs {
            let stderr = drained(&mut outputs.stderr, self.launch.limits.drain).await;
            facts.stderr = tail(&stderr.text(), STDERR_TOLD).to_owned();
        }
        for outputs in self.earlier.iter().chain(&self.outputs) {
            facts.output_dropped += outputs.stdout.as_ref().map_or(0, Capture::dropped);
            // Of error output only the end is ever kept; what counts is what exceeds the limit.
            let limit = self.launch.limits.output as u64;
            facts.output_dropped +=
                outputs.stderr.as_ref().map_or(0, |stderr| stderr.dropped().saturating_sub(limit));
        }
        self.outcome
    }
}

fn not_prepared(error: LaunchError) -> Ended {
    match error {
        LaunchError::Write { path, source } => Ended::NotWritten { path, kind: source.kind() },
        other => Ended::NotStarted { reason: other.to_string() },
    }
}

fn read_bounded(file: &Path, limit: usize) -> std::io::Result<Captured> {
    let (limit, length) = (limit as u64, std::fs::metadata(file)?.len());
    let mut head = Vec::new();
    std::fs::File::open(file)?.take(limit).read_to_end(&mut head)?;
    Ok(Captured { head, tail: Vec::new(), dropped: length.saturating_sub(limit) })
}

async fn drained(capture: &mut Option<Capture>, bound: Duration) -> Captured {
    match capture {
        Some(capture) => {
            capture.drain(bound).await;
            capture.so_far()
        }
        None => Captured::default(),
    }
}

fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// At most the last `limit` bytes, from the start of a character.
fn tail(text: &str, limit: usize) -> &str {
    let mut from = text.len().saturating_sub(limit);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

/// At most the first `limit` bytes, to the end of a character.
fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let mut to = limit;
        while !text.is_char_boundary(to) {
            to -= 1;
        }
        text.truncate(to);
        text.push('…');
    }
    text
}
