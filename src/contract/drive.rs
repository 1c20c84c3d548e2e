//! One case from end to end: a fresh backend, a fresh server, one call.

use super::answer::{Answer, Told};
use super::backend::Backend;
use super::check::{CaseResult, Observed, Seen, State, check};
use super::file::{Case, Contract};
use super::fixture::Fixture;
use crate::domain::secrets::{Secrets, is_secret, strong_enough};
use crate::log;
use crate::process::{CommandLine, Supervisor};
use crate::suite::Server;
use crate::suite::template::{self, TemplateError, map};
use crate::upstream::canary::{self, CANARY};
use crate::upstream::{Called, Launch, LaunchError, ProbeError, Remote, RemoteError, Session, Target};
use crate::upstream::{environment, stderr_part};
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use minijinja::value::Value;
use serde::Deserialize;
use std::path::Path;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// So much of an answer is shown, in characters.
const ANSWER_SHOWN: usize = 400;

/// Why a case could not be carried out: nothing is said of the tool.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The backend.
    #[error("the backend cannot listen: {0}")]
    Backend(std::io::Error),
    /// A template.
    #[error("the upstream's command cannot be rendered: {0}")]
    Template(#[from] TemplateError),
    /// The server's address.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The server.
    #[error(transparent)]
    Server(#[from] ProbeError),
    /// The server has no such tool.
    #[error("the upstream has no tool \"{tool}\"; it has {}", .known.join(", "))]
    NoTool {
        /// The tool.
        tool: String,
        /// The tools that there are.
        known: Vec<String>,
    },
    /// A server that has no backend.
    #[error("the built-in upstreams call no HTTP API")]
    Builtin,
    /// A variable that the server's address or headers use.
    #[error("the environment has no {0}, which the upstream's address or headers use")]
    Variable(String),
    /// A command line that everybody on this machine can read.
    #[error("the command line would show the value of {0} to everybody on this machine; pass it in `env`")]
    OnCommandLine(String),
    /// A secret without a value.
    #[error("the contract keeps {0} secret, but it has no value")]
    NoValue(String),
    /// A secret that cannot be told from ordinary text.
    #[error("the value of {name} cannot be kept secret: {reason}")]
    Secret {
        /// Its name.
        name: String,
        /// Why.
        reason: crate::domain::secrets::WeakSecret,
    },
}

impl From<LaunchError> for CaseError {
    fn from(error: LaunchError) -> CaseError {
        CaseError::Server(error.into())
    }
}

/// What was seen of a case that could be carried out.
struct Carried {
    answer: Answer,
    requests: Vec<Seen>,
    secrets: Secrets,
    stderr: String,
}

/// Carries out one case. `folder` is the contract's. `None` where it was cancelled.
pub async fn run(
    contract: &Contract,
    case: &Case,
    folder: &Path,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
) -> Option<CaseResult> {
    #[expect(clippy::disallowed_methods, reason = "a case tells how long it took")]
    let started = Instant::now();
    let carried = tokio::select! {
        biased;
        () = cancel.cancelled() => return None,
        carried = carry_out(contract, case, folder, supervisor) => carried,
    };
    let mut result = CaseResult {
        contract: contract.name.clone(),
        id: case.id.clone(),
        description: case.description.clone(),
        state: State::Error,
        failures: Vec::new(),
        error: None,
        is_error: None,
        category: None,
        retry: None,
        answer: None,
        requests: Vec::new(),
        stderr: String::new(),
        duration_ms: 0,
    };
    match carried {
        Ok(carried) => conclude(case, carried, &mut result),
        Err(error) => {
            let secrets = names(contract, folder, "").and_then(|names| declared(contract, &names));
            let secrets = secrets.unwrap_or_default();
            result.error = Some(secrets.hide(&error.to_string()).into_owned());
        }
    }
    result.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Some(result)
}

fn conclude(case: &Case, carried: Carried, result: &mut CaseResult) {
    let Carried { answer, requests, secrets, stderr } = carried;
    let told = answer.told();
    let found = told.map(|told| secrets.found_in_json(&told.json)).unwrap_or_default();
    result.failures = check(case, &Observed { answer: &answer, requests: &requests, secrets: found });
    result.state = if result.failures.is_empty() { State::Passed } else { State::Failed };
    let hidden = |text: &str| secrets.hide(text).into_owned();
    for failure in &mut result.failures {
        failure.reason = hidden(&failure.reason);
    }
    result.is_error = told.map(|told| told.is_error);
    result.category = told.and_then(Told::category).map(hidden);
    result.retry = told.and_then(Told::retry).map(hidden);
    result.answer = told.map(|told| {
        let text = if told.text.is_empty() { told.value.as_ref().map(ToString::to_string) } else { None };
        let hidden = hidden(text.as_deref().unwrap_or(&told.text));
        crate::report::shortened(&hidden, ANSWER_SHOWN)
    });
    result.requests = requests;
    for request in &mut result.requests {
        request.path = hidden(&request.path);
    }
    result.stderr = hidden(&stderr);
}

/// The values of a contract's templates.
fn names(contract: &Contract, folder: &Path, url: &str) -> Result<Value, CaseError> {
    let mut env = Vec::new();
    for name in contract.server.variables() {
        match std::env::var(&name) {
            Ok(value) if !value.is_empty() => env.push((name, Value::from(value))),
            _ => return Err(CaseError::Variable(name)),
        }
    }
    let env = env.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let vars = contract.vars.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str())));
    let own = [
        ("fixture", map([("url", Value::from(url))])),
        ("contract", map([("dir", Value::from(folder.to_string_lossy()))])),
        ("env", map(env)),
    ];
    Ok(map(vars.chain(own)))
}

/// The secrets that the contract names, and variables whose names say that they are one, with the values
/// that its server gets.
fn declared(contract: &Contract, names: &Value) -> Result<Secrets, CaseError> {
    let mut secrets = Secrets::default();
    for name in &contract.secrets {
        let value = match &contract.server {
            Server::Command { env, .. } => match env.get(name) {
                Some(value) => Some(template::render(value, names)?),
                None => None,
            },
            Server::Url { .. } | Server::Builtin(_) => std::env::var(name).ok(),
        };
        let value =
            value.filter(|value| !value.is_empty()).ok_or_else(|| CaseError::NoValue(name.clone()))?;
        strong_enough(&value).map_err(|reason| CaseError::Secret { name: name.clone(), reason })?;
        secrets.add(name.clone(), &value);
    }
    if let Server::Command { env, .. } = &contract.server {
        for (name, value) in env {
            let value = template::render(value, names)?;
            if is_secret(name, &value) {
                secrets.add(name.clone(), &value);
            }
        }
    }
    Ok(secrets)
}

/// The backend sends a cookie along, as many do: a credential that the caller has no use for.
fn with_cookie(fixtures: &[Fixture], canary: Option<&str>) -> Vec<Fixture> {
    let cookie =
        canary.and_then(|canary| HeaderValue::from_str(&format!("session={canary}; Path=/; HttpOnly")).ok());
    let mut fixtures = fixtures.to_vec();
    for fixture in &mut fixtures {
        if let Some(cookie) = &cookie
            && !fixture.headers.iter().any(|(name, _)| *name == SET_COOKIE)
        {
            fixture.headers.push((SET_COOKIE, cookie.clone()));
        }
    }
    fixtures
}

async fn carry_out(
    contract: &Contract,
    case: &Case,
    folder: &Path,
    supervisor: &Supervisor,
) -> Result<Carried, CaseError> {
    let canary = canary::new();
    let fixtures = with_cookie(&case.fixtures, canary.as_deref());
    let backend = Backend::start(&fixtures, contract.listen).await.map_err(CaseError::Backend)?;
    let names = names(contract, folder, &backend.url())?;
    let mut secrets = declared(contract, &names)?;
    let mut target = target(contract, &names, folder, supervisor)?;
    if let Target::Command(launch) = &target
        && let Some(name) = secrets.first_in(&launch.command.argv)
    {
        return Err(CaseError::OnCommandLine(name.to_owned()));
    }
    if let Some(canary) = &canary {
        target.plant(canary);
        secrets.add(CANARY, canary);
    }
    let _kept_out = log::keep_out(&secrets);
    let mut session = Session::open(&target, contract.limits.start).await?;
    let tools: Vec<String> = session.take_tools().iter().filter_map(|tool| name_of(tool.get())).collect();
    if !tools.contains(&case.tool) {
        session.end().await;
        return Err(CaseError::NoTool { tool: case.tool.clone(), known: tools });
    }
    let arguments = serde_json::Value::Object(case.arguments.clone()).to_string();
    let called = session.call(&case.tool, &arguments, contract.limits.call).await;
    let ended = session.end().await;
    // The server is gone, so nothing can come any more.
    let credentials = backend.credentials();
    let requests = backend.end().await;
    for (header, value) in credentials {
        if strong_enough(&value).is_ok() {
            secrets.add(format!("{header} of a request"), &value);
        }
    }
    let stderr = ended.as_ref().map(|ended| ended.stderr.clone()).unwrap_or_default();
    let answer = match called {
        Called::Result(result) => Answer::of_result(result.get()),
        Called::Error(error) => Answer::of_error(error.get()),
        Called::Silent => Answer::Silent(contract.limits.call),
        Called::Gone(how) => {
            let how = how.or(ended.map(|ended| ended.how)).unwrap_or_default();
            Answer::Gone(format!("{how}{}", stderr_part(&stderr)))
        }
    };
    Ok(Carried { answer, requests, secrets, stderr })
}

fn target(
    contract: &Contract,
    names: &Value,
    folder: &Path,
    supervisor: &Supervisor,
) -> Result<Target, CaseError> {
    let render = |text: &String| template::render(text, names);
    match &contract.server {
        Server::Command { command, args, env: set, cwd } => {
            let mut env = environment();
            for (name, value) in set {
                env.insert(name.into(), render(value)?.into());
            }
            let folder = match cwd {
                Some(cwd) => folder.join(render(cwd)?),
                None => folder.to_owned(),
            };
            let argv = std::iter::once(command).chain(args).map(render).collect::<Result<_, _>>()?;
            let command = CommandLine { argv, env, folder };
            Ok(Launch { command, supervisor: supervisor.clone() }.into())
        }
        Server::Builtin(_) => Err(CaseError::Builtin),
        Server::Url { url, headers } => {
            let headers: Result<Vec<_>, TemplateError> =
                headers.iter().map(|(name, value)| Ok((name.clone(), render(value)?))).collect();
            Ok(Remote::new(&render(url)?, &headers?)?.into())
        }
    }
}

fn name_of(tool: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Tool {
        name: String,
    }
    serde_json::from_str::<Tool>(tool).ok().map(|tool| tool.name)
}
