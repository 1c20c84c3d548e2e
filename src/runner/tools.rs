//! The tools of every upstream, asked for once, before any agent comes (C5).

use super::names::Names;
use super::servers;
use super::shared::Shared;
use crate::domain::classify;
use crate::domain::{RawJson, RunId, ToolInfo};
use crate::progress::RunEvent;
use crate::store::Folder;
use crate::suite::{Server, Trial, Upstream};
use crate::upstream::{self, Target};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long an upstream may take to list its tools before any agent comes. `npx` may have to
/// install it first. No longer than a run may take, though.
const PROBE_LIMIT: Duration = Duration::from_secs(120);

/// After how long, and how often again, somebody who waits for that is told so.
const PROBE_IS_SLOW: Duration = Duration::from_secs(10);

/// What an upstream lists, or why it lists nothing.
type Listed = Result<Vec<RawJson>, String>;

/// An upstream that is asked.
struct Probe {
    /// Its place among those that are asked.
    place: usize,
    target: Target,
    dir: PathBuf,
}

/// What is heard of an upstream while it is asked.
enum Heard {
    StillWaiting(usize),
    Listed(usize, Listed),
}

/// Asks every upstream of the matrix for its tools, as many at once as there may be runs. One that cannot be
/// asked says so in its runs. What came of it is told in the order of the runs.
pub(super) async fn learn(
    shared: &Shared,
    folder: &Folder,
    trials: &[Trial],
    events: &mut (dyn FnMut(RunEvent) + Send),
    cancel: &CancellationToken,
) -> BTreeMap<String, Vec<ToolInfo>> {
    let suite = &shared.loaded.suite;
    let secrets = super::secrets::of_suite(suite);
    let limit = PROBE_LIMIT.min(suite.limits.run_timeout);
    let mut seen = HashSet::new();
    let mut asked: Vec<(&String, &Upstream, Option<Listed>)> = Vec::new();
    let mut dirs = Vec::new();
    let mut queues: BTreeMap<String, Vec<Probe>> = BTreeMap::new();
    for trial in trials {
        let name = &trial.cell.key.upstream;
        if !seen.insert(name) {
            continue;
        }
        let Some(upstream) = suite.upstreams.get(name) else { continue };
        let Ok(dir) = folder.fresh_run_dir(&RunId(format!("probe-{}", trial.cell.id))) else { continue };
        dirs.push(dir.clone());
        let names = Names::of_suite(suite).with_run(trial, &dir);
        match servers::upstream_launch(shared, name, &upstream.server, &names, &dir) {
            Ok(target) => {
                let queue = queues.entry(installed_as(name, &upstream.server)).or_default();
                queue.push(Probe { place: asked.len(), target, dir });
                asked.push((name, upstream, None));
            }
            Err(error) => asked.push((name, upstream, Some(Err(error.to_string())))),
        }
    }
    let (tell, mut heard) = unbounded_channel();
    let room = Arc::new(Semaphore::new(usize::try_from(suite.limits.parallel).unwrap_or(1).max(1)));
    let mut tasks = JoinSet::new();
    for queue in queues.into_values() {
        tasks.spawn(ask_in_turn(queue, limit, Arc::clone(&room), tell.clone()));
    }
    drop(tell);
    let mut tools = BTreeMap::new();
    let mut told = 0;
    loop {
        while let Some((name, upstream, listed)) = asked.get_mut(told)
            && let Some(listed) = listed.take()
        {
            told += 1;
            match listed {
                Ok(listed) => {
                    let classifier = servers::classifier(upstream);
                    let infos: Vec<ToolInfo> =
                        listed.iter().filter_map(|tool| classifier.classify(tool.raw())).collect();
                    listing(name, &infos).into_iter().for_each(|line| events(RunEvent::Note(line)));
                    tools.insert((*name).clone(), infos);
                }
                Err(reason) => events(RunEvent::Note(format!("upstream {name}: {}", secrets.hide(&reason)))),
            }
        }
        if told == asked.len() {
            break;
        }
        let heard = tokio::select! {
            heard = heard.recv() => heard.ok_or("it was not asked"),
            () = cancel.cancelled() => Err("interrupted"),
        };
        match heard {
            Ok(Heard::StillWaiting(place)) => {
                if let Some((name, ..)) = asked.get(place) {
                    let limit = limit.as_secs();
                    events(RunEvent::Note(format!(
                        "upstream {name}: still waiting for the list of its tools, for up to {limit} s"
                    )));
                }
            }
            Ok(Heard::Listed(place, listed)) => {
                if let Some((.., known)) = asked.get_mut(place) {
                    *known = Some(listed);
                }
            }
            Err(reason) => {
                for (.., known) in asked.iter_mut().skip(told) {
                    known.get_or_insert_with(|| Err(reason.to_owned()));
                }
            }
        }
    }
    // Ends what is still asked, before its folder goes.
    tasks.shutdown().await;
    for dir in dirs {
        let _ = std::fs::remove_dir_all(dir);
    }
    tools
}

/// Two upstreams of the same package are asked one after the other: what starts them may have to install it, and
/// two installations of the same thing can break each other.
fn installed_as(name: &str, server: &Server) -> String {
    match server {
        Server::Command { command, args, .. } => {
            let package = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
            format!("{command} {package}")
        }
        Server::Builtin(_) | Server::Url { .. } => name.to_owned(),
    }
}

async fn ask_in_turn(queue: Vec<Probe>, limit: Duration, room: Arc<Semaphore>, tell: UnboundedSender<Heard>) {
    for Probe { place, target, dir } in queue {
        let Ok(_turn) = room.acquire().await else { return };
        let mut listing = std::pin::pin!(upstream::list_tools(&target, limit));
        let listed = loop {
            tokio::select! {
                listed = &mut listing => break listed.map_err(|error| error.to_string()),
                () = tokio::time::sleep(PROBE_IS_SLOW) => drop(tell.send(Heard::StillWaiting(place))),
            }
        };
        let _ = std::fs::remove_dir_all(dir);
        drop(tell.send(Heard::Listed(place, listed)));
    }
}

/// What every tool was taken for (C6).
fn listing(upstream: &str, tools: &[ToolInfo]) -> Vec<String> {
    let line =
        |tool: &ToolInfo| format!("upstream {upstream}: {:<12} {}  ({})", tool.class, tool.tool, tool.reason);
    let mut lines: Vec<String> = tools.iter().map(line).collect();
    lines.extend(tools.iter().filter_map(|tool| classify::warning_in_suite(upstream, tool)));
    lines
}
