//! The upstream process of a connection: started, fed, read, ended, and replaced by another one while
//! its client stays.

use super::engine::Input;
use super::hub::{Hub, Queue};
use super::identity;
use super::lines::{self, Line};
use super::message::View;
use super::splice::key;
use super::waiting::wait_for_answers;
use crate::domain::ConnectionId;
use crate::trace::Execution;
use crate::upstream::{Ended, LaunchError, Running, Source, Target, launch};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How long a process that takes another one's place may take to answer the handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// How long a process that is being ended may take to read what was sent to it before.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// So many lines that are no messages are read before others get their turn.
const JUNK_AT_ONCE: u32 = 64;

/// Starts the upstream of a connection and the tasks around it; the handle resolves when it ended and
/// none can come in its place.
pub(super) fn start_upstream(
    hub: &Arc<Hub>,
    source: &Arc<UpstreamSource>,
    connection: ConnectionId,
    ending: &CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let (queue, replacements) = hub.attach_upstream(connection);
    let upstream = Upstream {
        hub: Arc::clone(hub),
        source: Arc::clone(source),
        connection,
        ending: ending.clone(),
        replacements,
    };
    tokio::spawn(async move {
        match &upstream.source.source.target {
            Target::Url(remote) => {
                let remote = remote.clone();
                super::remote::relay(upstream.hub, remote, connection, queue, upstream.ending).await;
            }
            Target::Command(_) => upstream.run(queue).await,
        }
    })
}

struct Upstream {
    hub: Arc<Hub>,
    source: Arc<UpstreamSource>,
    connection: ConnectionId,
    ending: CancellationToken,
    /// The queue for the process that is to take the place of the one that runs.
    replacements: mpsc::UnboundedReceiver<Queue>,
}

/// How the time of a process ended.
enum Over {
    /// Another one is to take its place.
    Replaced(Queue),
    Ended {
        expected: bool,
        killed: bool,
    },
}

impl Upstream {
    async fn run(mut self, mut queue: Queue) {
        let mut replaces = false;
        loop {
            let next = match self.source.take(&self.hub).await {
                Ok(started) => self.serve(started, queue, replaces).await,
                Err(error) => {
                    self.ended(error.to_string(), false, String::new());
                    None
                }
            };
            // A process that ended by itself can still be replaced.
            let next = match next {
                Some(next) => Some(next),
                None => tokio::select! {
                    next = self.replacements.recv() => next,
                    () = self.ending.cancelled() => None,
                },
            };
            match next {
                Some(next) => queue = next,
                None => return,
            }
            replaces = true;
        }
    }

    fn ended(&self, how: String, expected: bool, stderr: String) {
        self.hub.input(Input::UpstreamEnded { connection: self.connection, how, expected, stderr });
    }

    /// Serves a process to its end; the queue of the one that takes its place.
    async fn serve(&mut self, started: Started, mut queue: Queue, replaces: bool) -> Option<Queue> {
        let Started { mut running, execution, command, .. } = started;
        let connection = self.connection;
        let pid = running.pid();
        self.hub.input(Input::UpstreamStarted {
            connection,
            command,
            pid,
            execution: Some(Box::new(execution)),
        });
        let (mut stdin, stdout) = (running.take_stdin()?, running.take_stdout()?);
        let mut reader = BufReader::with_capacity(64 * 1024, stdout);
        if replaces
            && let Some(introduction) = self.hub.introduction_of(connection)
            && let Err(reason) = self.introduce(&mut stdin, &mut reader, &introduction).await
        {
            drop(stdin);
            let Ended { how, stderr } = running.end().await;
            self.ended(format!("{reason}; {how}"), false, stderr);
            return None;
        }
        // Writing ends when the queue does, which closes the upstream's stdin.
        let writing = tokio::spawn(async move { lines::write_all(stdin, &mut queue).await });
        let reading = tokio::spawn(read(Arc::clone(&self.hub), connection, reader));
        let mut writing = std::pin::pin!(writing);
        let mut reading = std::pin::pin!(reading);
        let kill = self.hub.kill_of(connection);
        let mut over = tokio::select! {
            next = self.replacements.recv() => match next {
                Some(next) => Over::Replaced(next),
                None => Over::Ended { expected: true, killed: false },
            },
            () = kill.cancelled() => Over::Ended { expected: true, killed: true },
            () = running.wait() => Over::Ended { expected: false, killed: false },
            result = &mut writing => match result {
                // The queue ended: we are the ones who end it.
                Ok(Ok(())) => Over::Ended { expected: true, killed: false },
                _ => {
                    running.wait().await;
                    Over::Ended { expected: false, killed: false }
                }
            },
            () = async { self.ending.cancelled().await; wait_for_answers(&self.hub, connection).await } => {
                Over::Ended { expected: true, killed: false }
            }
        };
        if let Over::Ended { killed: false, .. } = over
            && let Ok(next) = self.replacements.try_recv()
        {
            over = Over::Replaced(next);
        }
        if matches!(over, Over::Replaced(_)) && !writing.is_finished() {
            // What was sent to it before it was replaced is its own.
            let _ = tokio::time::timeout(LAST_WORDS, &mut writing).await;
        }
        writing.abort();
        let killed = matches!(over, Over::Ended { killed: true, .. });
        let Ended { how, stderr } = if killed { running.kill().await } else { running.end().await };
        // What it wrote before its end still counts.
        if tokio::time::timeout(Duration::from_millis(500), &mut reading).await.is_err() {
            reading.abort();
        }
        match over {
            Over::Replaced(next) => {
                self.hub.input(Input::UpstreamStopped { connection, how, stderr });
                Some(next)
            }
            Over::Ended { expected, .. } => {
                // It may see the end of its stdin, and end, before we see that we have closed it.
                let expected = expected || self.ending.is_cancelled() || self.hub.is_detached(connection);
                self.ended(how, expected, stderr);
                None
            }
        }
    }

    /// Shakes hands on behalf of the client, which did so with the process before.
    async fn introduce(
        &self,
        stdin: &mut ChildStdin,
        reader: &mut (impl AsyncBufRead + Unpin),
        introduction: &str,
    ) -> Result<(), String> {
        let failed = |what: &str| format!("the server that took the place of another {what}");
        let wanted = View::parse(introduction).ok().and_then(|view| view.id).map(|id| key(id.get()));
        let line = introduction.replace(['\n', '\r'], " ") + "\n";
        let shaking = async {
            if stdin.write_all(line.as_bytes()).await.is_err() {
                return Err(failed("ended"));
            }
            loop {
                let message = match lines::next(reader).await {
                    Line::Message(message) => message,
                    Line::NotText(_) => continue,
                    Line::End => return Err(failed("ended")),
                };
                let Ok(view) = View::parse(&message) else { continue };
                match (&view.method, view.id) {
                    (None, Some(id)) if Some(key(id.get())) == wanted => {
                        return match view.result {
                            Some(_) => Ok(()),
                            None => Err(failed("refused the handshake")),
                        };
                    }
                    _ => {
                        let connection = self.connection;
                        self.hub.input(Input::FromUpstream { connection, message });
                    }
                }
            }
        };
        tokio::time::timeout(HANDSHAKE, shaking)
            .await
            .unwrap_or_else(|_| Err(failed("did not answer the handshake")))?;
        let initialized = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        stdin.write_all(initialized).await.map_err(|_| failed("ended"))
    }
}

async fn read<R: AsyncBufRead + Unpin>(hub: Arc<Hub>, connection: ConnectionId, mut reader: R) {
    let mut junk = 0_u32;
    loop {
        let input = match lines::next(&mut reader).await {
            Line::Message(message) => {
                junk += u32::from(!message.trim_start().starts_with(['{', '[']));
                Input::FromUpstream { connection, message }
            }
            Line::NotText(head) => {
                junk += 1;
                Input::NotText { connection, by_client: false, head }
            }
            Line::End => return,
        };
        hub.input(input);
        // Whoever floods the pipe waits for us, and nobody else does.
        if junk >= JUNK_AT_ONCE {
            junk = 0;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// A process that runs, with what was known of its code before it did.
pub(super) struct Started {
    running: Running,
    execution: Execution,
    command: Vec<String>,
    /// The number of rebuilds before it was started.
    generation: u64,
}

/// Starts upstream processes: the first at once, one more for every further connection, and others in
/// place of those that are replaced.
pub(super) struct UpstreamSource {
    source: Source,
    /// Asks for the first process; gone once somebody asked.
    first: Mutex<Option<oneshot::Sender<oneshot::Sender<Started>>>>,
    /// Says that the first process ended while nobody had asked for it.
    first_ended: Mutex<Option<oneshot::Receiver<Ended>>>,
}

impl UpstreamSource {
    pub(super) async fn new(source: Source) -> Result<UpstreamSource, LaunchError> {
        let mut upstream = UpstreamSource { source, first: Mutex::default(), first_ended: Mutex::default() };
        if upstream.is_remote() {
            return Ok(upstream);
        }
        let mut started = upstream.start(0).await?;
        let (asking, asked) = oneshot::channel::<oneshot::Sender<Started>>();
        let (ending, ended) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                asker = asked => if let Ok(asker) = asker {
                    let _ = asker.send(started);
                },
                () = started.running.wait() => {
                    let _ = ending.send(started.running.end().await);
                }
            }
        });
        (upstream.first, upstream.first_ended) = (Mutex::new(Some(asking)), Mutex::new(Some(ended)));
        Ok(upstream)
    }

    /// It speaks Streamable HTTP.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.source.target, Target::Url(_))
    }

    /// Looks at the code, and then starts it.
    async fn start(&self, generation: u64) -> Result<Started, LaunchError> {
        let target = match &self.source.rebuilt {
            Some(rebuilt) if generation > 0 => rebuilt,
            _ => &self.source.target,
        };
        let Target::Command(command) = target else { return Err(LaunchError::not_a_process()) };
        let execution = identity::record(&command.command, &self.source.label, &command.supervisor).await;
        let running = launch(command)?;
        Ok(Started { running, execution, command: command.command.argv.clone(), generation })
    }

    async fn take_first(&self) -> Option<Started> {
        let asking = self.first.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (sender, receiver) = oneshot::channel();
        asking.send(sender).ok()?;
        receiver.await.ok()
    }

    /// A process of the newest code.
    async fn take(&self, hub: &Hub) -> Result<Started, LaunchError> {
        let mut started = self.take_first().await;
        loop {
            let generation = hub.rebuilds();
            match started {
                Some(started) if started.generation == generation => return Ok(started),
                // It was started before the last rebuild, and nobody has used it.
                Some(old) => drop(old.running.end().await),
                None => {}
            }
            started = Some(self.start(generation).await?);
        }
    }

    /// Resolves when the first process ends while it is still unused.
    pub(super) async fn first_ended(&self) -> Ended {
        let ended = self.first_ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        match ended {
            Some(ended) => match ended.await {
                Ok(ended) => ended,
                Err(_) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    pub(super) async fn end_unused(&self) {
        if let Some(started) = self.take_first().await {
            started.running.end().await;
        }
    }
}
