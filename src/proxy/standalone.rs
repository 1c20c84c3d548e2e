//! `nochmal proxy`: the proxy in front of one upstream, for one client on stdin and stdout.

use super::engine::{Engine, Format, Question, Settings};
use super::hub::{Hub, Sink};
use super::listen;
use super::random::random_hex;
use super::rebuilds::{self, Rebuilds, Status};
use super::report_sink::{ReportFile, ReportSink};
use super::session::serve_lines;
use super::supervise::UpstreamSource;
use super::waiting::deadlines;
use crate::domain::classify::{Classifier, warning};
use crate::domain::secrets::Secrets;
use crate::domain::{Present, RawJson, ToolInfo};
use crate::judge::markdown;
use crate::judge::report_file::ReportFile as Content;
use crate::log::say;
use crate::scenario::{self, Parameters};
use crate::trace::{Event, Record, Started, TRACE_VERSION};
use crate::upstream::{LaunchError, ProbeError, Source, Target, list_tools};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long the upstream may take to list its tools before the agent comes.
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// After so long people want to know what is being waited for.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// Whether the agent sees the tools that read the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditTools {
    /// For trying things out.
    On,
    /// For measuring: they tell the agent what really happened.
    Off,
}

/// Everything that the flags say.
#[derive(Debug)]
pub struct Config {
    /// The upstream.
    pub upstream: Target,
    /// Where Streamable HTTP is spoken; the client is on stdin and stdout where absent.
    pub listen: Option<SocketAddr>,
    /// After how long without a client a session over HTTP ends; never where absent.
    pub session_timeout: Option<Duration>,
    /// The scenario's id, [`scenario::NONE`] or [`scenario::CHAOS`].
    pub scenario: String,
    /// What it is told.
    pub parameters: Parameters,
    /// How failures are told that are not the upstream's own.
    pub present: Present,
    /// Replaces the default write patterns (C2).
    pub write_tools: Option<Vec<String>>,
    /// Further reads (C2).
    pub read_tools: Vec<String>,
    /// Key fields (J2).
    pub key_fields: Vec<String>,
    /// Whether the agent sees them.
    pub audit_tools: AuditTools,
    /// Whether the tools are asked for before the agent comes (C5).
    pub probe: bool,
    /// The upstream time limit (J7).
    pub upstream_timeout: Duration,
    /// Where the report goes.
    pub report_file: Option<PathBuf>,
    /// Where the trace goes.
    pub trace: Option<PathBuf>,
    /// What the server is called.
    pub label: String,
    /// Rebuilds are to be expected.
    pub rebuilds: Option<Rebuilds>,
    /// What report, trace and messages must not hold, and whose sight is a violation (J30).
    pub secrets: Secrets,
}

/// Why the proxy could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum StandaloneError {
    /// The report's file.
    #[error("the report file `{}` cannot be written: {source}", .path.display())]
    Report {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The trace's file.
    #[error("the trace `{}` cannot be written: {source}", .path.display())]
    Trace {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The address to listen at.
    #[error("{address} cannot be listened at: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The upstream does not start.
    #[error(transparent)]
    Upstream(#[from] LaunchError),
    /// The upstream does not list its tools.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// Tools that both flags name (C2).
    #[error("{}", .0.join("\n"))]
    Conflicts(Vec<String>),
    /// A signal came before the upstream had listed its tools.
    #[error("a signal ended the proxy before the upstream had listed its tools")]
    Interrupted,
    /// Report or trace could no longer be written while the proxy ran (R4).
    #[error(
        "report or trace can no longer be written, so nothing more is answered; do not use the verdict in it"
    )]
    Broken(#[source] std::io::Error),
}

/// Says in a report file that the start failed (R5, R6).
///
/// # Errors
/// Where the file cannot be written.
pub fn write_failed(path: &Path, reason: &str) -> std::io::Result<()> {
    ReportFile::open(path)?.failed(reason)
}

/// Serves one client until it goes or `ending` is cancelled.
///
/// # Errors
/// Where the upstream does not start, or report or trace cannot be written. The report file says
/// so too, as far as it can be written.
pub async fn run(config: Config, ending: CancellationToken) -> Result<(), StandaloneError> {
    let report = match &config.report_file {
        Some(path) => {
            let failed = |source| StandaloneError::Report { path: path.clone(), source };
            let file = ReportFile::open(path).map_err(failed)?;
            file.starting().map_err(failed)?;
            Some(file)
        }
        None => None,
    };
    let result = serve(&config, report.clone(), ending).await;
    if let (Err(error), Some(file)) = (&result, &report)
        && !matches!(error, StandaloneError::Broken(_))
    {
        let reason = config.secrets.hide(&error.to_string()).into_owned();
        file.failed(&reason)
            .map_err(|source| StandaloneError::Report { path: file.path().to_owned(), source })?;
    }
    result
}

async fn serve(
    config: &Config,
    report: Option<ReportFile>,
    ending: CancellationToken,
) -> Result<(), StandaloneError> {
    let classifier =
        Classifier::new(config.write_tools.clone(), config.read_tools.clone(), config.key_fields.clone());
    let listener = match config.listen {
        Some(address) => Some(
            TcpListener::bind(address).await.map_err(|source| StandaloneError::Listen { address, source })?,
        ),
        None => None,
    };
    let tools = match config.probe {
        true => tokio::select! {
            tools = probe(config, &classifier) => tools?,
            () = ending.cancelled() => return Err(StandaloneError::Interrupted),
        },
        false => Vec::new(),
    };
    let source = Source { target: config.upstream.clone(), rebuilt: None, label: config.label.clone() };
    let upstream = Arc::new(UpstreamSource::new(source).await?);
    let hub = Arc::new(hub(config, classifier, tools, report)?);
    let watching = config.rebuilds.clone().map(|rebuilds| {
        let label = config.label.clone();
        tokio::spawn(rebuilds::watch(Arc::clone(&hub), rebuilds, label, ending.child_token()))
    });
    let ticking = tokio::spawn(deadlines(Arc::clone(&hub), ending.child_token()));
    let client = async {
        let (hub, upstream, ending) = (Arc::clone(&hub), Arc::clone(&upstream), ending.clone());
        match listener {
            Some(listener) => {
                if let Ok(address) = listener.local_addr() {
                    say(&format!("[nochmal] listening on {}\n", listen::url(address)));
                }
                listen::serve_http(hub, upstream, ending, listener, config.session_timeout).await;
            }
            None => {
                if std::io::stdin().is_terminal() {
                    say(
                        "[nochmal] speaking MCP on stdin and stdout: an agent starts this in place of its server; ctrl-D ends it\n",
                    );
                }
                // Threads between the client and us would cost more than everything else (R7).
                let (stdin, stdout) = rmcp::transport::io::stdio_pipes();
                let stdin = BufReader::with_capacity(64 * 1024, stdin);
                serve_lines(hub, upstream, ending, stdin, stdout, let_go_of_stdout).await;
            }
        }
    };
    tokio::select! {
        () = client => {}
        () = hub.broken.notified() => {}
    }
    ending.cancel();
    let _ = ticking.await;
    if let Some(watching) = watching {
        let _ = watching.await;
    }
    upstream.end_unused().await;
    hub.close().map(drop).map_err(StandaloneError::Broken)
}

/// A client sees the end of a pipe once no process has it open for writing, and ours may have work to wait for.
fn let_go_of_stdout() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(null);
    }
}

async fn probe(config: &Config, classifier: &Classifier) -> Result<Vec<ToolInfo>, StandaloneError> {
    let mut listing_tools = std::pin::pin!(list_tools(&config.upstream, PROBE_LIMIT));
    let listed: Vec<RawJson> = tokio::select! {
        listed = &mut listing_tools => listed?,
        () = tokio::time::sleep(PROBE_PATIENCE) => {
            say("[nochmal] still waiting for the upstream to list its tools\n");
            listing_tools.await?
        }
    };
    let tools: Vec<ToolInfo> = listed.iter().filter_map(|tool| classifier.classify(tool.raw())).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.tool.as_str()).collect();
    let conflicts = classifier.conflicts(&names);
    if !conflicts.is_empty() {
        return Err(StandaloneError::Conflicts(conflicts.iter().map(ToString::to_string).collect()));
    }
    say(&listing(&tools));
    Ok(tools)
}

/// What every tool was taken for (C6).
fn listing(tools: &[ToolInfo]) -> String {
    let mut text = format!("[nochmal] upstream tools ({}):\n", tools.len());
    for tool in tools {
        text.push_str(&format!("[nochmal]   {:<12} {}  ({})", tool.class.name(), tool.tool, tool.reason));
        if !tool.key_fields.is_empty() {
            text.push_str(&format!("  key fields: {}", tool.key_fields.join(", ")));
        }
        text.push('\n');
    }
    for tool in tools.iter().filter_map(warning) {
        text.push_str(&format!("[nochmal] WARNING: {tool}\n"));
    }
    text
}

fn hub(
    config: &Config,
    classifier: Classifier,
    tools: Vec<ToolInfo>,
    report: Option<ReportFile>,
) -> Result<Hub, StandaloneError> {
    let trace = match &config.trace {
        Some(path) => {
            Some(File::create(path).map_err(|source| StandaloneError::Trace { path: path.clone(), source })?)
        }
        None => None,
    };
    let armed = scenario::build(&config.scenario, &config.parameters)
        .or_else(|| scenario::build(scenario::NONE, &config.parameters));
    let Some(armed) = armed else {
        return Err(StandaloneError::Broken(std::io::Error::other("there is no scenario")));
    };
    // Without a scenario messages pass to the letter.
    let correlation = (config.scenario != scenario::NONE).then(|| random_hex::<8>().ok()).flatten();
    let engine = Engine::new(Settings {
        scenario: armed,
        classify: Box::new(move |tool| classifier.classify(tool)),
        upstream_timeout: config.upstream_timeout,
        present: config.present,
        correlation,
    });
    let audited = config.audit_tools == AuditTools::On;
    let engine = engine.keeping_given(scenario::breaks_answers(&config.scenario));
    let engine = if audited { engine.with_audit_tools() } else { engine };
    let engine = match &config.rebuilds {
        Some(rebuilds) => engine.with_rebuilds(rebuilds.rules.clone()),
        None => engine,
    };
    // Without a reader nobody judges.
    let report = (audited || report.is_some()).then(|| ReportSink::new(report));
    let sink: Box<dyn Sink> = Box::new(StandaloneSink {
        report,
        trace,
        lines: String::new(),
        closed: false,
        status: config.rebuilds.is_some().then(Status::default),
    });
    let hub = Hub::new(engine, sink);
    let hub = match config.secrets.is_empty() {
        true => hub,
        false => {
            let watched: BTreeSet<String> = config.secrets.names().into_iter().map(str::to_owned).collect();
            hub.hiding(config.secrets.clone(), watched)
        }
    };
    #[expect(clippy::disallowed_methods, reason = "a trace says when it was begun")]
    let started_at = jiff::Timestamp::now();
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let chaos = config.scenario == scenario::CHAOS;
    let id = (!chaos && config.scenario != scenario::NONE).then(|| config.scenario.clone());
    hub.record(Event::Started(Started {
        version: TRACE_VERSION,
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id: None,
        kind: "proxy".to_owned(),
        scenario: id,
        error_rate: chaos.then_some(config.parameters.error_rate),
        retry_after_ms: millis(config.parameters.retry_after),
        seed: config.parameters.seed,
        key_fields: config.key_fields.clone(),
        upstream_timeout_ms: millis(config.upstream_timeout),
        started_at: started_at.to_string(),
        expect: None,
        present: config.present,
    }));
    if !tools.is_empty() {
        hub.know_tools(tools);
    }
    Ok(hub)
}

/// Judge and trace, where they are wanted.
struct StandaloneSink {
    report: Option<ReportSink>,
    trace: Option<File>,
    lines: String,
    closed: bool,
    /// Where rebuilds are expected people want to know what runs.
    status: Option<Status>,
}

impl Sink for StandaloneSink {
    fn wants_lines(&self) -> bool {
        self.trace.is_some()
    }

    fn put(&mut self, record: &Record, line: &str) -> std::io::Result<()> {
        if let Some(report) = &mut self.report {
            report.put(record);
        }
        if let Some(line) = self.status.as_mut().and_then(|status| status.line(&record.event)) {
            say(&line);
        }
        if self.trace.is_some() {
            self.lines.push_str(line);
        }
        self.closed |= matches!(record.event, Event::Closed { .. });
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if let Some(trace) = &mut self.trace {
            trace.write_all(self.lines.as_bytes())?;
            self.lines.clear();
        }
        match &mut self.report {
            Some(report) if self.closed => report.finish(),
            Some(report) => report.bring_up_to_date(),
            None => Ok(()),
        }
    }

    fn tell(&mut self, question: Question) -> String {
        self.report.as_ref().map(|report| told(&report.content(), question)).unwrap_or_default()
    }
}

/// What an audit tool answers.
fn told(file: &Content, question: Question) -> String {
    let json = match question {
        Question::Report(Format::Markdown) => return markdown::report(file),
        Question::Score(Format::Markdown) => return markdown::score(file),
        Question::Report(Format::Json) => serde_json::to_string_pretty(file),
        Question::Score(Format::Json) => {
            let reason = file.report.as_ref().map(|report| &report.verdict_reason);
            serde_json::to_string_pretty(&serde_json::json!({
                "verdict": file.verdict,
                "verdictReason": reason,
                "certification": file.certification,
                "score": file.score,
                "patches": file.patches,
            }))
        }
    };
    json.unwrap_or_default()
}
