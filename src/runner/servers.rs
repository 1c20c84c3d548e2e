//! The servers of a run: how its upstream is reached, and what its agent starts in the upstream's place.

use super::environment::variable;
use super::names::Names;
use super::shared::{LEDGER, Shared, TrialError};
use crate::domain::classify::Classifier;
use crate::process::CommandLine;
use crate::proxy::Approver;
use crate::suite::template::map;
use crate::suite::{Server, Upstream};
use crate::upstream::{Launch, Remote, Target};
use minijinja::value::Value;
use std::path::Path;

/// The folder of a run that holds the commands of its servers.
pub(super) const SERVERS: &str = "servers";

/// Where the upstream is: its address, or its command with its environment, which is PATH, HOME and
/// what the suite says, no keys.
pub(super) fn upstream_launch(
    shared: &Shared,
    name: &str,
    server: &Server,
    names: &Names,
    dir: &Path,
) -> Result<Target, TrialError> {
    if let Server::Url { url, headers } = server {
        return remote(name, server, url, headers, names).map(Target::from);
    }
    let render = |text: &String| {
        names.render(text).map_err(|source| TrialError::Template { what: "the upstream's command", source })
    };
    let mut env = crate::upstream::environment();
    let mut folder = dir.to_owned();
    let argv = match server {
        Server::Builtin(builtin) => {
            let program = shared.program.to_string_lossy().into_owned();
            let settings = builtin.settings.iter().map(|(name, on)| format!("--{name}={on}"));
            [program, "upstream".to_owned(), builtin.name.clone()]
                .into_iter()
                .chain(settings)
                .chain([format!("--ledger={}", dir.join(LEDGER).display())])
                .collect()
        }
        Server::Command { command, args, env: set, cwd } => {
            for (name, value) in set {
                env.insert(name.into(), render(value)?.into());
            }
            if let Some(cwd) = cwd {
                folder = dir.join(render(cwd)?);
            }
            std::iter::once(command).chain(args).map(render).collect::<Result<_, _>>()?
        }
        Server::Url { .. } => Vec::new(),
    };
    let command = CommandLine { argv, env, folder };
    Ok(Launch { command, supervisor: shared.supervisor.clone() }.into())
}

fn remote(
    upstream: &str,
    server: &Server,
    url: &str,
    headers: &[(String, String)],
    names: &Names,
) -> Result<Remote, TrialError> {
    let mut env = Vec::new();
    for name in server.variables() {
        match variable(&name) {
            Some(value) => env.push((name, value)),
            None => return Err(TrialError::Variable { upstream: upstream.to_owned(), name }),
        }
    }
    let env = map(env.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))));
    let names = names.clone().with("env", env);
    let render = |text: &str| {
        names.render(text).map_err(|source| TrialError::Template { what: "the upstream's address", source })
    };
    let headers: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| Ok((name.clone(), render(value)?)))
        .collect::<Result<_, TrialError>>()?;
    Remote::new(&render(url)?, &headers).map_err(TrialError::Remote)
}

/// Names of what the suite puts into the environment of a server: keys go that way.
pub(super) fn credentials(upstream: &Upstream) -> Vec<String> {
    match &upstream.server {
        Server::Command { env, .. } => env.keys().cloned().collect(),
        Server::Builtin(_) | Server::Url { .. } => Vec::new(),
    }
}

/// Who is asked about what takes the place of an upstream. A script of one's own lies beside the suite.
pub(super) fn approver(
    shared: &Shared,
    upstream: &str,
    command: &str,
    names: &Names,
) -> Result<Approver, TrialError> {
    let command = names
        .render(command)
        .map_err(|source| TrialError::Template { what: "the command that approves", source })?;
    let folder = shared.loaded.folder().to_owned();
    let env = crate::upstream::environment();
    Ok(Approver::new(&command, env, folder, shared.supervisor.clone(), upstream.to_owned()))
}

/// How the tools of an upstream are classified.
pub(super) fn classifier(upstream: &Upstream) -> Classifier {
    Classifier::new(upstream.tools.write.clone(), upstream.tools.read.clone(), key_fields(upstream))
}

pub(super) fn key_fields(upstream: &Upstream) -> Vec<String> {
    upstream.key_fields.clone().unwrap_or_else(|| vec!["idempotency_key".to_owned()])
}

/// The path of this program under a name that says nothing: some agents tell their model the command of
/// a server.
pub(super) fn innocent_name(program: &Path, dir: &Path, server: &str) -> String {
    let link = dir.join(SERVERS).join(server);
    #[cfg(unix)]
    let made = std::fs::create_dir_all(dir.join(SERVERS))
        .and_then(|()| std::os::unix::fs::symlink(program, &link))
        .is_ok();
    #[cfg(not(unix))]
    let made = false;
    let path = if made { &link } else { program };
    path.to_string_lossy().into_owned()
}

/// A name that every MCP client takes: agents put it before the names of tools.
pub(super) fn server_name(upstream: &str) -> String {
    let name: String = upstream
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(32)
        .collect();
    if name.is_empty() { "server".to_owned() } else { name }
}
