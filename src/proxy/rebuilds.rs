//! What is done about rebuilds beside the engine: the command that approves code is asked, here and in the runs
//! of a suite; the proxy that stands alone also watches files, listens for SIGHUP, and says what runs.

use super::engine::Input;
use super::epoch::Rules;
use super::hub::{Asked, Hub};
use super::watch::Watch;
use crate::domain::Approval;
use crate::process::{CommandLine, Stdin, Supervisor};
use crate::trace::{Decision, Event};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

/// How long a person may think.
const APPROVAL_LIMIT: Duration = Duration::from_secs(600);

/// What the flags say about rebuilds.
#[derive(Debug, Clone)]
pub struct Rebuilds {
    /// How clients are treated.
    pub rules: Rules,
    /// Files and folders whose change is a rebuild.
    pub watch: Vec<PathBuf>,
    /// A change restarts the upstream; otherwise only SIGHUP does.
    pub restart_on_change: bool,
}

/// Asks a command whether the code of an epoch may be used.
#[derive(Debug)]
pub struct Approver {
    /// What is asked. Exit code 0 is a yes.
    pub command: CommandLine,
    /// Starts and ends it.
    pub supervisor: Supervisor,
    /// The server, by the name that its user gave it.
    pub label: String,
}

impl Approver {
    /// One that asks `sh -c COMMAND`.
    pub fn new(
        command: &str,
        env: BTreeMap<OsString, OsString>,
        folder: PathBuf,
        supervisor: Supervisor,
        label: String,
    ) -> Approver {
        let argv = vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()];
        Approver { command: CommandLine { argv, env, folder }, supervisor, label }
    }

    /// Answers the questions of a run, one after the other, until it is dropped.
    pub(super) async fn answer(self, hub: Arc<Hub>, mut questions: UnboundedReceiver<Asked>) {
        while let Some(Asked { connection, mut decision }) = questions.recv().await {
            decision.granted = self.grants(&decision).await;
            hub.input(Input::Decided { connection, decision });
        }
    }

    /// The command gets on its stdin what it would approve.
    async fn grants(&self, decision: &Decision) -> bool {
        let request = serde_json::json!({
            "serverLabel": self.label,
            "executionEpoch": decision.epoch,
            "toolScope": decision.tools,
            "credentialScope": decision.credentials,
            "expiresWhen": "agent-run-ends",
        });
        let mut tree = self.supervisor.tree(&[]);
        let Ok(mut process) = tree.start(&self.command, Stdin::Piped) else { return false };
        if let Some(mut stdin) = process.take_stdin() {
            // A command that asks a person need not read it.
            let _ = stdin.write_all(format!("{request}\n").as_bytes()).await;
        }
        let granted = tokio::time::timeout(APPROVAL_LIMIT, process.wait()).await;
        tree.end(&mut [&mut process], Duration::ZERO).await;
        granted.is_ok_and(|exit| exit.code == Some(0))
    }
}

/// Watches until `ending` is cancelled.
pub(super) async fn watch(hub: Arc<Hub>, rebuilds: Rebuilds, label: String, ending: CancellationToken) {
    let files = async {
        if rebuilds.watch.is_empty() {
            return std::future::pending().await;
        }
        let mut watch = Watch::new(rebuilds.watch.clone());
        loop {
            let paths = watch.changed().await;
            hub.input(Input::Rebuilt { replaces: rebuilds.restart_on_change, paths });
        }
    };
    let asked = async {
        if let (Approval::Command(command), Ok(folder)) = (&rebuilds.rules.approval, std::env::current_dir())
        {
            let env = std::env::vars_os().collect();
            Approver::new(command, env, folder, Supervisor::default(), label)
                .answer(Arc::clone(&hub), hub.questions())
                .await;
        }
        std::future::pending().await
    };
    tokio::select! {
        () = files => {}
        () = asked => {}
        () = hung_up(&hub) => {}
        () = ending.cancelled() => {}
    }
}

/// SIGHUP restarts the upstream.
#[cfg(unix)]
async fn hung_up(hub: &Hub) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return std::future::pending().await };
    while hangup.recv().await.is_some() {
        hub.input(Input::Rebuilt { replaces: true, paths: Vec::new() });
    }
    std::future::pending().await
}

#[cfg(not(unix))]
async fn hung_up(_hub: &Hub) {
    std::future::pending().await
}

/// Says on stderr what runs and what changed.
#[derive(Debug, Default)]
pub(super) struct Status {
    /// `pid=48192 epoch=01JQ…`
    running: String,
}

impl Status {
    /// The line about an event, where there is one.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::UpstreamStarted { pid, execution: Some(execution), .. } => {
                let pid = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
                self.running = format!("pid={pid} epoch={}", execution.epoch);
                let what = if execution.replaces.is_some() { "server replaced" } else { "server started" };
                Some(format!("[nochmal] {what}: {}\n", self.running))
            }
            Event::Rebuilt { replaces, paths } => {
                let mut text = match paths.as_slice() {
                    [] => String::new(),
                    [one] => format!("[nochmal] build complete: {one} changed\n"),
                    several => format!("[nochmal] build complete: {} files changed\n", several.len()),
                };
                if !replaces {
                    text.push_str(&format!("[nochmal] running server unchanged: {}\n", self.running));
                }
                Some(text)
            }
            Event::Approval { decision, .. } => {
                let what = if decision.granted { "approved" } else { "not approved" };
                Some(format!("[nochmal] epoch={} {what} (by {})\n", decision.epoch, decision.by))
            }
            _ => None,
        }
    }
}
