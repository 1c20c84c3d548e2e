//! A whole matrix: starts runs as the schedule allows, keeps each as it ends, writes the reports
//! while it goes on and at its end, however that comes.

use super::load::Loaded;
use super::options::Options;
use super::prompts::known_patch;
use super::reader;
use super::recordings::Recordings;
use super::reports::{FromTraces, Rendered, Reports};
use super::retry;
use super::schedule::{OBSERVED, Room, Schedule};
use super::shared::{Shared, TrialError};
use super::stopping::Early;
use super::tools;
use super::trial;
use crate::domain::{Axis, CellKey, OfferedPatch, ReasonCode, RunId, RunResult, Verdict};
use crate::harness::provider::ProviderError;
use crate::judge::patches;
use crate::process::Supervisor;
use crate::progress::RunEvent;
use crate::report::GateResult;
use crate::store::{Folder, MatrixRecord, StoreError, read_tries};
use crate::suite::{Cell, Filter, Gate, GateError, Scope, Trial};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How often the reports are written again while runs end.
const REPORTS_EVERY: Duration = Duration::from_secs(2);

/// A matrix that is over.
#[derive(Debug)]
pub struct Outcome {
    /// The results folder.
    pub folder: PathBuf,
    /// All finished runs, those of an earlier session included.
    pub results: Vec<RunResult>,
    /// It was interrupted, and some runs are missing.
    pub interrupted: bool,
    /// The table for a terminal.
    pub table: String,
    /// How the gates stand.
    pub gates: Vec<GateResult>,
}

/// Why a matrix could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// A filter.
    #[error(transparent)]
    Filter(#[from] crate::suite::FilterError),
    /// A gate.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A secret that cannot be kept.
    #[error(transparent)]
    Secret(#[from] super::secrets::SecretError),
    /// The second reader.
    #[error("the second reader of `honesty:` cannot be asked")]
    Reader(#[source] ProviderError),
    /// The results folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The filters leave nothing.
    #[error("no cell of the suite is left by the filter; `--dry-run` without it shows the cells")]
    NothingLeft,
    /// An agent that would ask its model all the same, or keep nothing.
    #[error(
        "the agent `{agent}` cannot be recorded and replayed: its profile uses {{{{ {field} }}}} nowhere; `--filter` can \
         leave it out"
    )]
    NotRecordable {
        /// The agent.
        agent: String,
        /// What its profile would have to use.
        field: &'static str,
    },
    /// The folder is the result of something else.
    #[error(
        "`{}` was started from another state of the suite (digest {then}, now {now}): results of the two must not be \
         mixed; undo the change, or start anew with `--out`", .folder.display()
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What it was started from.
        then: String,
        /// What is there now.
        now: String,
    },
    /// The folder is that of a rehearsal.
    #[error(
        "`{}` holds a rehearsal with scripted models: its runs cannot be mixed with measured ones; start anew without \
         `--resume`", .folder.display()
    )]
    Rehearsed {
        /// The folder.
        folder: PathBuf,
    },
    /// The processes could not be watched.
    #[error("the watchdog that ends agents when this program is killed could not be started")]
    Watchdog(#[source] std::io::Error),
    /// A run that this machine could not carry out, so that it does not count.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// It had begun, and its results could no longer be kept.
    #[error(
        "the matrix broke off; finished runs are kept, and once this is mended `nochmal run --resume '{}'` goes on",
        .folder.display()
    )]
    BrokeOff {
        /// The results folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: Box<MatrixError>,
    },
    /// A report.
    #[error("the reports could not be made")]
    Report(#[from] crate::report::ReportError),
}

/// Where the results of a matrix go.
pub enum Target {
    /// A new folder.
    New,
    /// The folder of an interrupted matrix, with what it says of itself and its finished runs.
    Resumed(Box<(Folder, MatrixRecord, Vec<RunResult>)>),
}

/// Carries out a matrix. Ends early, and cleanly, when `cancel` is cancelled.
///
/// # Errors
/// Where it cannot begin, or its results cannot be kept. What was kept before stays.
pub async fn run(
    loaded: Loaded,
    program: &Path,
    options: &Options,
    target: Target,
    events: &mut (dyn FnMut(RunEvent) + Send),
    cancel: &CancellationToken,
) -> Result<Outcome, MatrixError> {
    let filter = Filter::parse_all(&options.filters, &loaded.suite)?;
    let trials = loaded.suite.trials(&filter, options.repeats);
    if trials.is_empty() {
        return Err(MatrixError::NothingLeft);
    }
    if let Some(recordings) = &options.recordings
        && let Some((agent, field)) = recordings.not_passed_on(&loaded.suite, &trials)
    {
        return Err(MatrixError::NotRecordable { agent: agent.to_owned(), field });
    }
    let gates = all_gates(&loaded, options)?;
    super::secrets::check(&loaded.suite)?;
    let secrets = super::secrets::of_suite(&loaded.suite);
    crate::log::keep_out(&secrets).for_good();
    // A replay and a rehearsal ask nobody.
    if options.rehearsal.is_none() && options.recordings.as_ref().and_then(Recordings::replayed).is_none() {
        reader::check(&loaded.suite).map_err(MatrixError::Reader)?;
    }
    let supervisor = Supervisor::start(Some(program)).map_err(MatrixError::Watchdog)?;
    let (folder, matrix, before) = open(&loaded, options, target)?;
    let finished: HashSet<RunId> = before.iter().map(|run| run.run_id.clone()).collect();
    let mut schedule = Schedule::new(trials.clone(), &finished, Room::of(&loaded.suite));
    let stopping = options.stopping(&loaded.suite).map(|rule| Early {
        rule,
        level: options.level,
        cells: distinct(&trials),
    });
    let left_out = stopping.as_ref().map_or(0, |early| schedule.leave_out(&early.done(&before)));
    let mut shared = Shared {
        loaded,
        program: program.to_owned(),
        supervisor,
        results: folder.path().to_owned(),
        tools: BTreeMap::new(),
        spoiled: read_tries(folder.path())?,
        rehearsal: options.rehearsal.clone(),
        recordings: options.recordings.clone(),
    };
    events(RunEvent::Started {
        total: trials.len() - left_out,
        finished_before: trials.len() - left_out - schedule.waiting(),
        cells: cells(&trials),
    });
    if schedule.waiting() > 0 {
        shared.tools = tools::learn(&shared, &folder, &trials, events, cancel).await;
    }
    let (reports, environment) = Reports::gather(&shared, &matrix, options, &gates, &trials, cancel).await;
    let environment = String::from_utf8_lossy(&environment);
    folder.write("environment.json", secrets.hide_json(&environment).as_bytes())?;
    folder.write_plan(reports.plan())?;
    let mut matrix = Matrix {
        shared: Arc::new(shared),
        folder,
        schedule,
        stopping,
        results: before,
        tasks: JoinSet::new(),
        notes: tokio::sync::mpsc::unbounded_channel(),
        reports,
        started: now(),
        written: None,
    };
    let outcome = matrix.carry_out(events, cancel).await;
    // Whatever happened, what is known is written.
    let rendered = matrix.write_reports(matrix.schedule.waiting() > 0 || outcome.is_err());
    if let Some(rehearsal) = &options.rehearsal {
        let told = rehearsal.told();
        matrix.folder.write("REHEARSAL.txt", told.text().as_bytes())?;
        matrix.folder.write("rehearsal.json", &told.json())?;
    }
    events(RunEvent::Finished);
    let folder = matrix.folder.path().to_owned();
    let broke_off = |source| MatrixError::BrokeOff { folder: folder.clone(), source: Box::new(source) };
    let interrupted = outcome.map_err(broke_off)? || matrix.schedule.waiting() > 0;
    let rendered = rendered.map_err(broke_off)?;
    Ok(Outcome { results: matrix.results, interrupted, table: rendered.table, gates: rendered.gates, folder })
}

/// The gates of a suite, and those of the command line.
///
/// # Errors
/// Where one of the command line cannot be read, or is about a value that no cell has.
pub fn all_gates(loaded: &Loaded, options: &Options) -> Result<Vec<Gate>, GateError> {
    let values = |axis| loaded.suite.values(axis).into_iter().map(str::to_owned).collect();
    let own = options.gates.iter().map(|gate| Gate::parse(gate, Scope::One, &values));
    loaded.suite.gates.iter().cloned().map(Ok).chain(own).collect()
}

#[expect(clippy::disallowed_methods, reason = "the runner owns time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the runner owns time")]
fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

fn cells(trials: &[Trial]) -> Vec<CellKey> {
    distinct(trials).iter().map(|cell| cell.key.clone()).collect()
}

fn distinct(trials: &[Trial]) -> Vec<Arc<Cell>> {
    let mut seen = HashSet::new();
    trials.iter().filter(|trial| seen.insert(&trial.cell.id)).map(|trial| Arc::clone(&trial.cell)).collect()
}

fn open(
    loaded: &Loaded,
    options: &Options,
    target: Target,
) -> Result<(Folder, MatrixRecord, Vec<RunResult>), MatrixError> {
    if let Target::Resumed(resumed) = target {
        let (folder, matrix, before) = *resumed;
        if matrix.rehearsal.is_some() {
            return Err(MatrixError::Rehearsed { folder: folder.path().to_owned() });
        }
        if matrix.digest != loaded.suite.digest {
            return Err(MatrixError::Changed {
                folder: folder.path().to_owned(),
                then: short(&matrix.digest),
                now: short(&loaded.suite.digest),
            });
        }
        return Ok((folder, matrix, before));
    }
    let started_at = wall_clock();
    let matrix = MatrixRecord {
        version: 1,
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        suite: loaded.suite.name.clone(),
        suite_file: loaded.file.clone(),
        digest: loaded.suite.digest.clone(),
        repeats: options.repeats,
        filters: options.filters.clone(),
        gates: options.gates.clone(),
        level: Some(options.level.value()),
        started_at: started_at.to_string(),
        rehearsal: options.rehearsal.as_ref().map(|rehearsal| rehearsal.script().to_owned()),
        record: match &options.recordings {
            Some(Recordings::Record(folder)) => Some(folder.clone()),
            _ => None,
        },
        replay: options.recordings.as_ref().and_then(Recordings::replayed).map(Path::to_owned),
    };
    let path = match &options.out {
        Some(path) => path.clone(),
        None => default_folder(&loaded.suite.name, started_at, options.rehearsal.is_some()),
    };
    Ok((Folder::create(&path, &matrix)?, matrix, Vec::new()))
}

fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// `reports/<suite>/<time>-<id>`, or `reports/<suite>/rehearsal-<time>-<id>`
fn default_folder(suite: &str, at: jiff::Timestamp, rehearsal: bool) -> PathBuf {
    let mut bytes = [0_u8; 2];
    // Without randomness the time alone has to do; an existing folder is refused anyway.
    let _ = getrandom::fill(&mut bytes);
    let time = at.strftime("%Y%m%dT%H%M%SZ");
    let mark = if rehearsal { "rehearsal-" } else { "" };
    Path::new("reports").join(suite).join(format!("{mark}{time}-{:02x}{:02x}", bytes[0], bytes[1]))
}

/// A run that is over; `None` where it was cancelled.
type Ended = (RunId, Result<Option<RunResult>, TrialError>);

struct Matrix {
    shared: Arc<Shared>,
    folder: Folder,
    schedule: Schedule,
    stopping: Option<Early>,
    results: Vec<RunResult>,
    tasks: JoinSet<Ended>,
    /// What runs tell while they go on.
    notes: (UnboundedSender<String>, UnboundedReceiver<String>),
    reports: Reports,
    started: Instant,
    written: Option<Instant>,
}

impl Matrix {
    /// Runs what is left; true where it was interrupted.
    async fn carry_out(
        &mut self,
        events: &mut (dyn FnMut(RunEvent) + Send),
        cancel: &CancellationToken,
    ) -> Result<bool, MatrixError> {
        let mut interrupted = false;
        let result = loop {
            while !cancel.is_cancelled() {
                let Some(trial) = self.schedule.start_next() else { break };
                if let Err(error) = self.start(trial, events, cancel) {
                    cancel.cancel();
                    interrupted = true;
                    let _ = self.drain(events, &mut interrupted).await;
                    return Err(error);
                }
            }
            let joined = tokio::select! {
                joined = self.tasks.join_next() => joined,
                Some(note) = self.notes.1.recv() => {
                    events(RunEvent::Note(note));
                    continue;
                }
            };
            let Some(joined) = joined else { break Ok(()) };
            if let Err(error) = self.ended(joined, events, &mut interrupted) {
                // Nothing more can be kept: end what runs, and say why.
                cancel.cancel();
                let _ = self.drain(events, &mut interrupted).await;
                break Err(error);
            }
        };
        result.map(|()| interrupted || cancel.is_cancelled() && self.schedule.waiting() > 0)
    }

    async fn drain(
        &mut self,
        events: &mut (dyn FnMut(RunEvent) + Send),
        interrupted: &mut bool,
    ) -> Result<(), MatrixError> {
        let mut first = Ok(());
        while let Some(joined) = self.tasks.join_next().await {
            first = first.and(self.ended(joined, events, interrupted));
        }
        first
    }

    fn start(
        &mut self,
        trial: Trial,
        events: &mut (dyn FnMut(RunEvent) + Send),
        cancel: &CancellationToken,
    ) -> Result<(), MatrixError> {
        events(RunEvent::RunStarted {
            run_id: trial.run_id.clone(),
            key: trial.cell.key.clone(),
            repeat: trial.repeat,
        });
        let patch = self.patch_text(&trial);
        let dir = self.folder.fresh_run_dir(&trial.run_id)?;
        let shared = Arc::clone(&self.shared);
        let cancel = cancel.clone();
        let notes = self.notes.0.clone();
        let tell = move |note| drop(notes.send(note));
        self.tasks.spawn(async move {
            let result = match patch {
                Ok(patch) => retry::run(&shared, &trial, &dir, patch.as_deref(), &cancel, tell).await,
                Err(reason) => Ok(Some(trial::untested(&trial, &dir, ReasonCode::NoPatchObserved, reason))),
            };
            (trial.run_id, result)
        });
        Ok(())
    }

    fn ended(
        &mut self,
        joined: Result<Ended, tokio::task::JoinError>,
        events: &mut (dyn FnMut(RunEvent) + Send),
        interrupted: &mut bool,
    ) -> Result<(), MatrixError> {
        let (run_id, result) = match joined {
            Ok(ended) => ended,
            Err(error) => {
                // A bug of ours in one run must not take the others with it; which one it was the
                // runtime does not say, so it stays unfinished and can be resumed.
                events(RunEvent::Note(format!("a run broke off: {error}")));
                *interrupted = true;
                return Ok(());
            }
        };
        self.schedule.ended(&run_id);
        let Some(result) = result? else {
            *interrupted = true;
            events(RunEvent::RunDropped { run_id });
            return Ok(());
        };
        self.folder.append(&result)?;
        self.results.push(result.clone());
        if let Some(early) = &self.stopping {
            let runs = self.schedule.leave_out(&early.done_after(&result.key, &self.results));
            if runs > 0 {
                events(RunEvent::LeftOut { runs });
            }
        }
        events(RunEvent::RunFinished { result: Box::new(result), elapsed: self.started.elapsed() });
        if self.written.is_none_or(|at| at.elapsed() >= REPORTS_EVERY) && self.schedule.running() > 0 {
            self.write_reports(true)?;
            self.written = Some(now());
        }
        Ok(())
    }

    /// The text that goes into the system prompt; an error is the reason why the run tests nothing.
    fn patch_text(&self, trial: &Trial) -> Result<Option<String>, String> {
        let key = &trial.cell.key;
        match key.patch.as_str() {
            "off" => Ok(None),
            OBSERVED => observed(&self.results, key).map(Some),
            name => known_patch(&self.shared.loaded.suite, name)
                .map(Some)
                .ok_or_else(|| format!("there is no patch `{name}`")),
        }
    }

    fn write_reports(&self, unfinished: bool) -> Result<Rendered, MatrixError> {
        // Reports that are made while runs go on are made often: only the last ones read the traces.
        let traces = match self.schedule.running() {
            0 => FromTraces::read(self.folder.path(), &self.results),
            _ => FromTraces::default(),
        };
        let rendered = self.reports.render(&self.results, unfinished, wall_clock(), traces)?;
        for (name, bytes) in &rendered.files {
            self.folder.write(name, bytes)?;
        }
        Ok(rendered)
    }
}

/// What the runs without a patch yielded, word for word, each patch once.
fn observed(results: &[RunResult], key: &CellKey) -> Result<String, String> {
    let partner = key.with(Axis::Patch, "off");
    let mut patches: BTreeMap<&str, &OfferedPatch> = BTreeMap::new();
    let runs = results.iter().filter(|run| run.key == partner);
    let mut seen = 0_usize;
    for run in runs {
        seen += 1;
        for patch in &run.patches {
            patches.entry(&patch.id).or_insert(patch);
        }
    }
    if patches.is_empty() {
        return Err(format!(
            "the {seen} runs of this cell without a patch yielded none, so there is nothing to try"
        ));
    }
    let mut ordered: Vec<&OfferedPatch> = Vec::new();
    for id in patches::ids() {
        ordered.extend(patches.remove(id));
    }
    ordered.extend(patches.into_values());
    Ok(ordered.iter().map(|patch| patch.text.as_str()).collect::<Vec<_>>().join("\n\n"))
}

/// Whether any run was tested: with none, a matrix has shown nothing.
pub fn anything_tested(results: &[RunResult]) -> bool {
    results.iter().any(|run| matches!(run.verdict, Verdict::Pass | Verdict::Fail))
}
