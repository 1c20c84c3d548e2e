//! What the reports of a matrix are made of beside its runs, and where they are made.

use super::names::Names;
use super::options::Options;
use super::rehearsal::Rehearsal;
use super::shared::Shared;
use super::stored;
use crate::agent;
use crate::domain::{RunId, RunResult, digest_all};
use crate::honesty::reader::wording;
use crate::process::{CommandLine, Supervisor};
use crate::report::{
    BrokenTrace, GateResult, Timeline, TimelineLimits, View, formats, terminal_text, timelines,
};
use crate::store::{
    CellRecord, FactRecord, MatrixRecord, PLAN_VERSION, PlanRecord, SuiteRecord, check_trace, check_tries,
    is_of,
};
use crate::suite::template::map;
use crate::suite::{AgentProfile, Gate, Suite, Trial};
use minijinja::value::Value;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Everything that stays the same while runs end.
pub(super) struct Reports {
    plan: PlanRecord,
    options: crate::report::Options,
    marks: Vec<String>,
}

/// What reports take from the traces of a results folder.
#[derive(Default)]
pub(super) struct FromTraces {
    timelines: BTreeMap<RunId, Timeline>,
    broken: Vec<BrokenTrace>,
}

impl FromTraces {
    /// Reads and checks every trace.
    pub fn read(folder: &Path, runs: &[RunResult]) -> FromTraces {
        FromTraces { timelines: read_timelines(folder, runs), broken: broken_traces(folder, runs) }
    }
}

/// The reports at one moment.
pub(super) struct Rendered {
    /// Files of the results folder.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The table for a terminal.
    pub table: String,
    /// How the gates stand.
    pub gates: Vec<GateResult>,
}

/// `environment.json`, version 1: what the numbers were measured with.
#[derive(Debug, Serialize)]
pub(super) struct Environment<'a> {
    version: u32,
    harness_version: &'a str,
    os: &'a str,
    arch: &'a str,
    cores: Option<usize>,
    /// The script that stood in for every model, where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    rehearsal: Option<&'a str>,
    started_at: &'a str,
    suite: Named,
    agents: Vec<Named>,
    models: Vec<&'a str>,
    prompts: Vec<Named>,
    patches: Vec<Named>,
    upstreams: Vec<UpstreamFacts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_reader: Option<ReaderFacts<'a>>,
}

/// What reads replies beside the rules.
#[derive(Debug, Serialize)]
struct ReaderFacts<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'a str>,
    /// Digest of the question that it is asked.
    wording: String,
    /// Whether replies were given to it: in a rehearsal they are not; in a replay its recorded answers stand.
    asked: bool,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    digest: String,
    /// What its program says of its version, or why it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<String>,
    /// The version that the profile was tried with.
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<String>,
}

#[derive(Debug, Serialize)]
struct UpstreamFacts<'a> {
    name: &'a str,
    tools: Vec<ToolFacts<'a>>,
}

#[derive(Debug, Serialize)]
struct ToolFacts<'a> {
    tool: &'a str,
    class: &'static str,
    reason: &'a str,
}

impl Reports {
    /// Gathers what stays the same; asks the agents' programs for their versions.
    pub async fn gather(
        shared: &Shared,
        matrix: &MatrixRecord,
        options: &Options,
        gates: &[Gate],
        trials: &[Trial],
        cancel: &CancellationToken,
    ) -> (Reports, Vec<u8>) {
        let suite = &shared.loaded.suite;
        let mut agents = Vec::new();
        for name in values(trials, |trial| &trial.cell.key.agent) {
            let Some(profile) = suite.agents.get(name) else { continue };
            let dir = shared.loaded.profile_dirs.get(name).map(PathBuf::as_path);
            let installed = tokio::select! {
                version = installed(&shared.program, &shared.supervisor, dir, profile) => version,
                () = cancel.cancelled() => None,
            };
            let installed = installed
                .map(|version| version.unwrap_or_else(|error| format!("version not known: {error}")));
            let (digest, tested) = (profile.digest.clone(), profile.tested.clone());
            agents.push(Named { name: name.to_owned(), digest, installed, tested });
        }
        let environment = Environment {
            version: 1,
            harness_version: env!("CARGO_PKG_VERSION"),
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cores: std::thread::available_parallelism().ok().map(usize::from),
            rehearsal: options.rehearsal.as_ref().map(Rehearsal::script),
            started_at: &matrix.started_at,
            suite: named(&suite.name, &suite.digest),
            agents,
            models: values(trials, |trial| &trial.cell.key.model),
            prompts: values(trials, |trial| &trial.cell.key.prompt)
                .into_iter()
                .filter_map(|name| suite.prompts.get(name).map(|prompt| (name, prompt)))
                .map(|(name, prompt)| {
                    named(name, &digest_all([prompt.system.as_deref().unwrap_or_default(), &prompt.user]))
                })
                .collect(),
            patches: values(trials, |trial| &trial.cell.key.patch)
                .into_iter()
                .filter_map(|name| super::prompts::known_patch(suite, name).map(|text| (name, text)))
                .map(|(name, text)| named(name, &digest_all([text.as_str()])))
                .collect(),
            upstreams: values(trials, |trial| &trial.cell.key.upstream)
                .into_iter()
                .map(|name| UpstreamFacts { name, tools: tools(shared, name) })
                .collect(),
            second_reader: suite.reader.as_ref().map(|reader| ReaderFacts {
                model: &reader.model,
                base_url: reader.base_url.as_deref(),
                wording: wording(),
                asked: options.rehearsal.is_none(),
            }),
        };
        let mut bytes = serde_json::to_vec_pretty(&environment).unwrap_or_default();
        bytes.push(b'\n');
        let reports = Reports {
            plan: PlanRecord {
                version: PLAN_VERSION,
                suite: SuiteRecord {
                    name: match options.rehearsal {
                        Some(_) => format!("{} (rehearsal, nothing measured)", suite.name),
                        None => suite.name.clone(),
                    },
                    description: suite.description.clone().unwrap_or_default(),
                    digest: suite.digest.clone(),
                    repeats: options.repeats.unwrap_or(suite.repeats),
                    harness_version: env!("CARGO_PKG_VERSION").to_owned(),
                },
                level: options.level.value(),
                stopping: options.stopping(suite).map(stored::stopping_record),
                environment: facts(&environment),
                cells: planned(suite, trials),
                gates: gates.iter().filter_map(stored::gate_record).collect(),
            },
            options: crate::report::Options { level: options.level, excel: false, width: options.width },
            marks: stored::marks(matrix),
        };
        (reports, bytes)
    }

    /// The reports of the runs so far.
    pub fn render(
        &self,
        runs: &[RunResult],
        interrupted: bool,
        at: jiff::Timestamp,
        traces: FromTraces,
    ) -> Result<Rendered, crate::report::ReportError> {
        let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut results = stored::results(&self.plan, runs, at);
        results.interrupted = interrupted;
        results.marks = self.marks.clone();
        results.timelines = traces.timelines;
        results.broken_traces = traces.broken;
        let view = View::of(&results, &self.options);
        let mut files = Vec::new();
        for format in formats() {
            files.push((format.file_name, (format.render)(&view, &self.options)?));
        }
        Ok(Rendered { files, table: terminal_text(&view, &self.options), gates: view.gates })
    }

    /// What the reports say beside the runs, to be kept with them.
    pub fn plan(&self) -> &PlanRecord {
        &self.plan
    }
}

/// What happened in runs, read from their traces in a results folder: as many as a page can carry. A
/// trace that is missing, or not what was written, is left out.
pub fn read_timelines(folder: &Path, runs: &[RunResult]) -> BTreeMap<RunId, Timeline> {
    // No run is that long but a runaway one, whose end a page could not show anyway.
    const LONGEST_TRACE: u64 = 16 << 20;
    timelines(runs, TimelineLimits::default(), &mut |run| {
        let path = folder.join(run.trace.as_deref()?);
        if std::fs::metadata(&path).ok()?.len() > LONGEST_TRACE {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        let (records, end) = crate::trace::read_verified(&bytes, run.trace_digest.as_deref());
        (end.is_ok() && is_of(&records, run)).then_some(records)
    })
}

/// The traces of runs that are not what was written when the runs ended. One that is missing is none
/// of them: folders are handed on without their traces.
pub fn broken_traces(folder: &Path, runs: &[RunResult]) -> Vec<BrokenTrace> {
    let checked =
        runs.iter().flat_map(|run| check_trace(folder, run).into_iter().chain(check_tries(folder, run)));
    let broken = checked.filter(|check| check.state.is_changed());
    broken
        .filter_map(|check| Some(BrokenTrace { name: check.name, problem: check.state.problem()? }))
        .collect()
}

/// The values of an axis that the runs have, each once, in the order of the alphabet.
fn values<'a>(trials: &'a [Trial], value: fn(&'a Trial) -> &'a String) -> Vec<&'a str> {
    trials.iter().map(|trial| value(trial).as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn named(name: &str, digest: &str) -> Named {
    Named { name: name.to_owned(), digest: digest.to_owned(), installed: None, tested: None }
}

fn tools<'a>(shared: &'a Shared, upstream: &str) -> Vec<ToolFacts<'a>> {
    let tools = shared.tools.get(upstream).into_iter().flatten();
    tools.map(|tool| ToolFacts { tool: &tool.tool, class: tool.class.name(), reason: &tool.reason }).collect()
}

/// The cells that have runs, in the order of the suite: the order of runs is shuffled.
fn planned(suite: &Suite, trials: &[Trial]) -> Vec<CellRecord> {
    let mut repeats: BTreeMap<&str, u32> = BTreeMap::new();
    for trial in trials {
        *repeats.entry(&trial.cell.id.0).or_default() += 1;
    }
    let planned = suite.cells.iter().filter_map(|cell| {
        let repeats = *repeats.get(cell.id.0.as_str())?;
        Some(CellRecord { id: cell.id.clone(), cell: cell.key.clone(), repeats })
    });
    planned.collect()
}

fn facts(environment: &Environment<'_>) -> Vec<FactRecord> {
    let fact = |name: String, value: String| FactRecord { name, value };
    let mut facts = vec![fact("machine".to_owned(), format!("{} {}", environment.os, environment.arch))];
    if let Some(script) = environment.rehearsal {
        let text = format!("every model was the script `{script}`: nothing was measured");
        facts.push(fact("REHEARSAL".to_owned(), text));
    }
    for agent in &environment.agents {
        let installed = agent.installed.as_deref().unwrap_or("version not known");
        let tested = match &agent.tested {
            Some(tested) if tested != installed => format!(" (profile tried with {tested})"),
            _ => String::new(),
        };
        facts.push(fact(format!("agent {}", agent.name), format!("{installed}{tested}")));
    }
    if let Some(ReaderFacts { model, base_url, wording, asked }) = &environment.second_reader {
        let at = base_url.map(|url| format!(" at {url}")).unwrap_or_default();
        let not = if *asked { "" } else { "; not asked in a rehearsal" };
        facts.push(fact("second reader".to_owned(), format!("{model}{at}, question {wording}{not}")));
    }
    facts
}

/// What an agent's program says of its version, or why it says nothing; none without a `probe`.
/// `dir` is the folder of the profile's file.
pub(super) async fn installed(
    program: &Path,
    supervisor: &Supervisor,
    dir: Option<&Path>,
    profile: &AgentProfile,
) -> Option<Result<String, String>> {
    let probe = profile.probe.as_ref()?;
    let program = program.to_string_lossy();
    let names = Names::default().with("nochmal", program.as_ref()).with(
        "profile",
        map([("dir", dir.map_or(Value::UNDEFINED, |dir| Value::from(dir.to_string_lossy())))]),
    );
    let argv = probe.iter().map(|part| names.render(part)).collect::<Result<Vec<_>, _>>();
    let argv = match argv {
        Ok(argv) => argv,
        Err(error) => return Some(Err(error.to_string())),
    };
    // A fresh home: some programs write to it even then.
    let home = tempfile::tempdir().ok()?;
    let command = CommandLine { argv, env: narrow(home.path()), folder: home.path().to_owned() };
    Some(agent::probe(&command, supervisor).await.map_err(|error| error.to_string()))
}

fn narrow(home: &Path) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    if let Some(path) = std::env::var_os("PATH") {
        env.insert("PATH".into(), path);
    }
    env.insert("HOME".into(), home.into());
    env
}
