//! One run: a fresh folder, a fresh upstream, a proxy for this run alone, the agent, the trace.

use super::account::{Bookkeeping, Learned};
use super::client;
use super::conclude::{Circumstances, Conclusion, conclude};
use super::names::Names;
use super::profile::program;
use super::prompts::Prompts;
use super::proxied::{hub, keeps_given, session_code};
use super::reader;
use super::recordings::{self, Recordings};
use super::rehearsal::Rehearsal;
use super::rehearsal::findings::Expected;
use super::secrets::RunSecrets;
use super::servers::{SERVERS, approver, innocent_name, server_name, upstream_launch};
use super::shared::{Shared, TrialError, missing};
use super::{sweep, told};
use crate::agent::{self, AgentOutcome, Ended, Observed};
use crate::attribution::{Case, attribute};
use crate::domain::{Approval, MOST_STRUCK, Micros, RawJson, ReasonCode, RunResult, Verdict, hex};
use crate::honesty::Truth;
use crate::proxy::{Front, Session, SessionError, random_hex};
use crate::store::Folder;
use crate::suite::profile::McpTransport;
use crate::suite::template::map;
use crate::suite::{AgentProfile, Server, Trial, Upstream};
use crate::trace::{Body, Event, SecretPlace};
use crate::upstream::{Source, Target};
use crate::{judge, trace};
use minijinja::value::Value;
use std::fs::File;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Carries out one run in `dir`, which is empty. `patch` is the text for the system prompt.
/// `None` where it was cancelled: such a run does not count and leaves no trace.
///
/// # Errors
/// Where this machine cannot carry it out. It does not count either.
pub async fn run(
    shared: &Shared,
    trial: &Trial,
    dir: &Path,
    patch: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Option<RunResult>, TrialError> {
    #[expect(clippy::disallowed_methods, reason = "the runner owns time")]
    let (started, started_at) = (std::time::Instant::now(), jiff::Timestamp::now());
    let mut result = blank(trial, started_at.to_string());
    if let Some(rehearsal) = &shared.rehearsal {
        rehearsal.begin(&trial.run_id);
    }
    let forget = || {
        let _ = std::fs::remove_file(shared.results.join(Folder::trace_name(&trial.run_id)));
    };
    let mut secrets = RunSecrets::default();
    let mut truths = Truths::new();
    let carried_out = carry_out(shared, trial, dir, patch, cancel, &mut secrets, &mut result).await;
    // Whatever came of it: what is left behind is looked through.
    let leave = || {
        tidy(dir);
        sweep::folder(&secrets.hidden, dir);
        if let Some(file) = recordings::written(shared.recordings.as_ref(), trial) {
            sweep::file(&secrets.hidden, &file);
        }
    };
    match carried_out {
        Ok(Some(known)) => truths = known,
        Ok(None) => {
            leave();
            forget();
            return Ok(None);
        }
        Err(error) if error.is_of_the_machine() => {
            leave();
            forget();
            return Err(error);
        }
        Err(error) => {
            result.reason_code = error.code();
            result.reason = error.to_string();
        }
    }
    result.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if result.trace.is_none() {
        result.attribution = attribute(&Case { run: &result, judgement: None, records: &[] });
    }
    if let Some(rehearsal) = &shared.rehearsal {
        rehearsed(shared, rehearsal, trial, dir, patch, &result);
    }
    reader::read(shared, trial, &truths, &mut result, cancel).await;
    leave();
    Ok(Some(secrets.hide_result(result)))
}

/// Compares what a rehearsed run should have been with what it was.
fn rehearsed(
    shared: &Shared,
    rehearsal: &Rehearsal,
    trial: &Trial,
    dir: &Path,
    patch: Option<&str>,
    result: &RunResult,
) {
    let names = Names::of_suite(&shared.loaded.suite).with_run(trial, dir);
    let system = Prompts::render(shared, trial, &names, patch).map(|prompts| prompts.system);
    let tools = shared.tools.get(&trial.cell.key.upstream).into_iter().flatten();
    let expected = Expected {
        system: system.unwrap_or_default(),
        patch: patch.map(str::to_owned),
        tools: tools.map(|tool| tool.tool.clone()).collect(),
    };
    // A run that never began has no trace.
    let text = result.trace.as_ref().and_then(|name| std::fs::read_to_string(shared.results.join(name)).ok());
    let records = text.and_then(|text| trace::read(&text).ok()).map(|trace| trace.records);
    rehearsal.conclude(result, &expected, &records.unwrap_or_default());
}

/// The result of a run that was not begun because it could test nothing.
pub(super) fn untested(trial: &Trial, dir: &Path, code: ReasonCode, reason: String) -> RunResult {
    #[expect(clippy::disallowed_methods, reason = "the runner owns time")]
    let started_at = jiff::Timestamp::now();
    tidy(dir);
    let mut run = RunResult {
        verdict: Verdict::NotTested,
        reason_code: code,
        reason,
        ..blank(trial, started_at.to_string())
    };
    run.attribution = attribute(&Case { run: &run, judgement: None, records: &[] });
    run
}

fn blank(trial: &Trial, started_at: String) -> RunResult {
    let blank = RunResult::blank(trial.cell.id.clone(), trial.cell.key.clone(), trial.repeat);
    RunResult { started_at, ..blank }
}

/// Removes what an agent's home and temporary files take; what upstream and agent wrote into the
/// run's folder stays.
fn tidy(dir: &Path) {
    for name in ["home", "tmp", SERVERS] {
        let _ = std::fs::remove_dir_all(dir.join(name));
    }
    // Only where nothing is in them.
    let _ = std::fs::remove_dir(dir.join("work"));
    let _ = std::fs::remove_dir(dir);
}

/// What had really happened by the end of each turn; empty where nobody was told how the run ended.
type Truths = Vec<Option<Truth>>;

/// `None` where it was cancelled.
async fn carry_out(
    shared: &Shared,
    trial: &Trial,
    dir: &Path,
    patch: Option<&str>,
    cancel: &CancellationToken,
    secrets: &mut RunSecrets,
    result: &mut RunResult,
) -> Result<Option<Truths>, TrialError> {
    let suite = &shared.loaded.suite;
    let key = &trial.cell.key;
    let profile = suite.agents.get(&key.agent).ok_or_else(|| missing("agent", &key.agent))?;
    let upstream = suite.upstreams.get(&key.upstream).ok_or_else(|| missing("upstream", &key.upstream))?;
    let names = Names::of_suite(suite).with_run(trial, dir);
    let prompts = Prompts::render(shared, trial, &names, patch)?;
    let variable = |name: &str| shared.variable(trial, name);
    *secrets = RunSecrets::new(suite, profile, upstream, &names, &variable)?;
    let launched = |server: &Server| -> Result<Target, TrialError> {
        let mut launch = upstream_launch(shared, &key.upstream, server, &names, dir)?;
        if let Target::Command(launch) = &launch {
            secrets.check_command(&launch.command.argv)?;
        }
        secrets.plant(&mut launch);
        Ok(launch)
    };
    let target = launched(&upstream.server)?;
    let rebuilt = upstream.rebuilt.as_ref().map(launched).transpose()?;
    let source = Source { target, rebuilt, label: key.upstream.clone() };
    let bookkeeping = tokio::select! {
        opened = Bookkeeping::open(shared, trial, upstream, &names, dir) => opened?,
        () = cancel.cancelled() => return Ok(None),
    };

    let trace_name = Folder::trace_name(&trial.run_id);
    let trace_path = shared.results.join(&trace_name);
    let file =
        File::create(&trace_path).map_err(|source| TrialError::Write { path: trace_path.clone(), source })?;
    let approver = match &upstream.approval {
        Approval::Command(command) => Some(approver(shared, &key.upstream, command, &names)?),
        Approval::Auto | Approval::Never => None,
    };
    let hub = hub(shared, trial, upstream, secrets, file, &result.started_at)?;
    let front = match profile.mcp {
        McpTransport::Http => Front::Http,
        McpTransport::Stdio => Front::Stdio,
    };
    let session =
        match Session::start(hub, source, front, random_hex::<16>().map_err(TrialError::Random)?).await {
            Ok(session) => session,
            Err(error) => {
                let _ = std::fs::remove_file(&trace_path);
                result.reason_code = session_code(&error);
                result.reason = error.to_string();
                return Ok(Some(Truths::new()));
            }
        };

    if let Some(approver) = approver {
        session.approving(approver);
    }
    recordings::begin_anew(shared.recordings.as_ref(), trial, dir);
    let names = recordings::with_files(names, shared.recordings.as_ref(), trial, dir);
    let names = agent_names(shared, trial, dir, &names, &prompts, profile, upstream, &session);
    let (mut outcome, failure) =
        converse(shared, trial, profile, dir, &prompts, &names, &session, cancel).await?;
    let hub = std::sync::Arc::clone(session.hub());
    session.end().await;
    let seen = secrets.seen_in(&outcome);
    if !seen.is_empty() {
        hub.record(Event::SecretSeen { names: seen, place: SecretPlace::AgentOutput, call: None });
    }
    secrets.hide_outcome(&mut outcome);
    if outcome.ended == Ended::Cancelled && failure.is_none() {
        return Ok(None);
    }
    if let Ended::NotWritten { path, kind } = &outcome.ended {
        return Err(TrialError::Write { path: path.clone(), source: (*kind).into() });
    }
    let mut learned = tokio::select! {
        learned = bookkeeping.close() => learned,
        () = cancel.cancelled() => return Ok(None),
    };
    if let Some(event) = learned.event.take() {
        hub.record(event);
    }
    let closed = hub.close();
    if shared.recordings.as_ref().and_then(Recordings::replayed).is_some() {
        outcome.facts.drift = recordings::drifts(dir);
    }
    result.turns = outcome.turns.clone();
    told::read_claims(&mut result.turns);
    result.conditions = outcome.conditions.clone();
    result.usage = outcome.usage;
    result.agent = outcome.facts.clone();
    result.trace = Some(trace_name);
    let failure = failure.map(|error| (session_code(&error), error.to_string()));
    match closed {
        Ok(digest) => result.trace_digest = Some(digest),
        Err(source) => return Err(TrialError::Write { path: trace_path, source }),
    }
    let circumstances = Ending {
        outcome: &outcome,
        failure: failure.as_ref(),
        run_timeout: suite.limits.run_timeout,
        bookkeeping: &bookkeeping,
        learned: &learned,
    };
    Ok(Some(judge_trace(&trace_path, &circumstances, result)))
}

#[expect(clippy::too_many_arguments, reason = "all that a template can name meets here, once")]
fn agent_names(
    shared: &Shared,
    trial: &Trial,
    dir: &Path,
    names: &Names,
    prompts: &Prompts,
    profile: &AgentProfile,
    upstream: &Upstream,
    session: &Session,
) -> Names {
    let server = match &upstream.server {
        Server::Builtin(builtin) => builtin.name.clone(),
        Server::Command { .. } | Server::Url { .. } => server_name(&trial.cell.key.upstream),
    };
    let program = shared.program.to_string_lossy().into_owned();
    let command = innocent_name(&shared.program, dir, &server);
    let args = vec!["connect".to_owned(), session.address().to_owned()];
    let mcp = map([
        ("name", Value::from(server)),
        (
            "transport",
            Value::from(match profile.mcp {
                McpTransport::Http => "http",
                McpTransport::Stdio => "stdio",
            }),
        ),
        ("url", Value::from(session.address())),
        ("command", Value::from(command)),
        ("args", Value::from(args)),
    ]);
    let prompt =
        map([("system", Value::from(prompts.system.as_str())), ("user", Value::from(prompts.user.as_str()))]);
    let dir = shared.loaded.profile_dirs.get(&trial.cell.key.agent);
    let variable = |name: &str| shared.variable(trial, name)?.into_string().ok();
    let env = map(profile.env_pass.iter().filter_map(|name| Some((name.as_str(), variable(name)?.into()))));
    let profile = map([("dir", dir.map_or(Value::UNDEFINED, |dir| Value::from(dir.to_string_lossy())))]);
    let model = &trial.cell.key.model;
    names
        .clone()
        .with("model", shared.loaded.model_files.get(model).unwrap_or(model).as_str())
        .with("nochmal", program)
        .with("mcp", mcp)
        .with("prompt", prompt)
        .with("env", env)
        .with("profile", profile)
}

#[expect(clippy::too_many_arguments, reason = "everything that a run is made of meets here, once")]
async fn converse(
    shared: &Shared,
    trial: &Trial,
    profile: &AgentProfile,
    dir: &Path,
    prompts: &Prompts,
    names: &Names,
    session: &Session,
    cancel: &CancellationToken,
) -> Result<(AgentOutcome, Option<SessionError>), TrialError> {
    let limits = &shared.loaded.suite.limits;
    let mut program = program(profile);
    if let Some(rehearsal) = &shared.rehearsal {
        program.pass.extend(rehearsal.variables().map(str::to_owned));
    }
    let render = |text: &str, vars: &agent::Vars| {
        let names = names.clone().with("say", vars.say.as_str()).with("session", vars.session.as_str());
        names.render(text).map_err(|error| error.to_string())
    };
    let environment = |name: &str| shared.variable(trial, name);
    let launch = agent::Launch {
        program: &program,
        folder: dir,
        prompt: &prompts.user,
        turns: &prompts.turns,
        session: &uuid().map_err(TrialError::Random)?,
        render: &render,
        environment: &environment,
        limits: agent::Limits {
            time: limits.run_timeout,
            output: usize::try_from(limits.output).unwrap_or(usize::MAX),
            ..agent::Limits::default()
        },
    };
    tracing::debug!(run = %trial.run_id, agent = profile.name, "launching");
    let hub = session.hub();
    if keeps_given(shared, trial) {
        let body = Body::of(RawJson::string(&prompts.system).raw(), usize::MAX);
        hub.record(Event::Given { body });
    }
    let mut observer = |observed| {
        hub.record(match observed {
            Observed::TurnStarted { turn, text } => Event::TurnStarted { turn, text },
            Observed::TurnEnded { turn, reply } => Event::TurnEnded { turn, reply },
        });
    };
    // A proxy that cannot work ends the conversation, which then still tells how far it came.
    let stop = cancel.child_token();
    let conversation = agent::converse(&launch, &shared.supervisor, &stop, &mut observer);
    let mut conversation = std::pin::pin!(conversation);
    tokio::select! {
        outcome = &mut conversation => Ok((outcome, None)),
        failure = session.failed() => {
            stop.cancel();
            Ok((conversation.await, Some(failure)))
        }
    }
}

/// How a run ended, and what its upstream says of it.
struct Ending<'a> {
    outcome: &'a AgentOutcome,
    failure: Option<&'a (ReasonCode, String)>,
    run_timeout: std::time::Duration,
    bookkeeping: &'a Bookkeeping,
    learned: &'a Learned,
}

/// Reads the trace back and judges it: what is judged is what was saved.
fn judge_trace(path: &Path, ending: &Ending<'_>, result: &mut RunResult) -> Truths {
    let records = std::fs::read_to_string(path)
        .map_err(|error| error.to_string())
        .and_then(|text| trace::read(&text).map_err(|error| error.to_string()));
    let records = match records {
        Ok(trace) => trace.records,
        Err(reason) => {
            result.reason_code = ReasonCode::Unjudgeable;
            result.reason = format!("the trace cannot be judged: {reason}");
            result.attribution = attribute(&Case { run: result, judgement: None, records: &[] });
            return Truths::new();
        }
    };
    let judgement = judge::judge(&records);
    let circumstances = Circumstances {
        records: &records,
        agent: ending.outcome,
        session_failure: ending.failure,
        run_timeout: ending.run_timeout,
    };
    let audit = ending.bookkeeping.audit(ending.learned, &judgement, &records);
    let conclusion = audit.correct(conclude(&judgement, &circumstances));
    let Conclusion { verdict, code, reason } = conclusion;
    result.effects = audit.effects;
    result.disagreements = audit.compared.disagreements;
    result.completion = audit.completion;
    result.verdict = verdict;
    result.reason_code = code;
    result.reason = reason;
    result.calls = judgement.calls;
    result.writes = judgement.writes;
    result.executions = judgement.executions;
    result.violations = judgement.violations.iter().map(|violation| violation.kind.to_owned()).collect();
    result.observations = judgement.observations.iter().map(|seen| seen.kind.to_owned()).collect();
    result.patches = judgement.patches.clone();
    result.approvals = judgement.approvals.clone();
    result.struck = trace::struck_calls(&records);
    result.struck.truncate(MOST_STRUCK);
    // A score goes with a tested run only (J20).
    result.score = verdict.is_tested().then(|| judgement.score.as_ref().map(|score| score.overall)).flatten();
    result.scenario_fired = judgement.coverage.scenario_triggered;
    result.agent.client = client::introduced(&records);
    // An agent that is ended gives up what is open; that is not a limit of its own.
    let own = (!ending.outcome.facts.timed_out).then(|| client::gave_up_after(&records)).flatten();
    result.agent.gave_up_after_ms = own.map(Micros::as_millis);
    result.agent.resent = judgement.resent;
    let truths = told::hold_against_truth(&records, &judgement, result);
    result.attribution = attribute(&Case { run: result, judgement: Some(&judgement), records: &records });
    truths
}

/// A random UUID (version 4), for agents that are told which session to open.
fn uuid() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(&bytes);
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
