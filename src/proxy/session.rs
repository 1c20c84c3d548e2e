//! The proxy of one run with its wires: a listener on loopback, one upstream process for every
//! connection of a client, the clock that fires deadlines.

use super::engine::Input;
use super::http::{Serving, serve};
use super::hub::Hub;
use super::lines::{self, Line};
use super::rebuilds::Approver;
use super::supervise::{UpstreamSource, start_upstream};
use super::waiting::{all_answered, deadlines, wait_for_answers};
use crate::upstream::{Ended, LaunchError, Source, stderr_part};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long what a client began may go on once its connection was broken on purpose.
const BROKEN_GRACE: Duration = Duration::from_secs(60);

/// How the agent reaches the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// Over stdio, through `nochmal connect ADDRESS`.
    Stdio,
    /// Over Streamable HTTP.
    Http,
}

/// The proxy of one run.
pub struct Session {
    pub(super) hub: Arc<Hub>,
    pub(super) upstream: Arc<UpstreamSource>,
    pub(super) ending: CancellationToken,
    pub(super) tasks: TaskTracker,
    address: String,
}

impl Session {
    /// Starts listening, and starts the first upstream so that a server that cannot start is found
    /// before the agent is launched.
    ///
    /// # Errors
    /// Where the upstream cannot be started, or no port is to be had.
    pub async fn start(
        hub: Hub,
        upstream: impl Into<Source>,
        front: Front,
        token: String,
    ) -> Result<Session, SessionError> {
        let hub = Arc::new(hub);
        let upstream = Arc::new(UpstreamSource::new(upstream.into()).await?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(SessionError::Listen)?;
        let local = listener.local_addr().map_err(SessionError::Listen)?;
        let session = Session {
            address: address(front, local, &token),
            hub,
            upstream,
            ending: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        session.tasks.spawn(deadlines(Arc::clone(&session.hub), session.ending.clone()));
        match front {
            Front::Stdio => session.accept_stdio(listener, token),
            Front::Http => {
                let serving = Serving {
                    hub: Arc::clone(&session.hub),
                    upstream: Arc::clone(&session.upstream),
                    ending: session.ending.clone(),
                    tasks: session.tasks.clone(),
                    // A session lasts as long as its run.
                    session_timeout: None,
                };
                serve(serving, listener, &format!("/{token}/mcp"));
            }
        }
        Ok(session)
    }

    /// What the agent is given: `HOST:PORT/TOKEN` for `nochmal connect`, or a URL.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The meeting point of the run's wires.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Has somebody answer the run's questions about approvals. To be called before the agent comes.
    pub fn approving(&self, approver: Approver) {
        let (hub, ending) = (Arc::clone(&self.hub), self.ending.clone());
        let questions = hub.questions();
        self.tasks.spawn(async move {
            tokio::select! {
                () = approver.answer(hub, questions) => {}
                () = ending.cancelled() => {}
            }
        });
    }

    /// Resolves when the first upstream ends before a client came to it, or when the trace can no
    /// longer be kept: the run cannot be carried out then.
    pub async fn failed(&self) -> SessionError {
        tokio::select! {
            ended = self.upstream.first_ended() => SessionError::UpstreamEnded(ended),
            () = self.hub.broken.notified() => SessionError::Trace,
        }
    }

    fn accept_stdio(&self, listener: TcpListener, token: String) {
        let hub = Arc::clone(&self.hub);
        let upstream = Arc::clone(&self.upstream);
        let ending = self.ending.clone();
        let tasks = self.tasks.clone();
        self.tasks.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = ending.cancelled() => return,
                };
                let Ok((stream, _)) = accepted else { continue };
                let _ = stream.set_nodelay(true);
                let (hub, upstream, ending) = (Arc::clone(&hub), Arc::clone(&upstream), ending.clone());
                let token = token.clone();
                tasks.spawn(async move {
                    let (reader, writer) = stream.into_split();
                    let mut reader = BufReader::new(reader);
                    if !greeted(&mut reader, &token).await {
                        return;
                    }
                    serve_lines(hub, upstream, ending, reader, writer, || {}).await;
                });
            }
        });
    }

    /// Ends everything: no further connection, upstreams ended, open calls given a last chance.
    /// The trace can be closed afterwards.
    pub async fn end(self) {
        self.ending.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.upstream.end_unused().await;
    }
}

fn address(front: Front, local: SocketAddr, token: &str) -> String {
    match front {
        Front::Stdio => format!("{local}/{token}"),
        Front::Http => format!("http://{local}/{token}/mcp"),
    }
}

/// Why the proxy of a run could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The upstream's program.
    #[error(transparent)]
    Upstream(#[from] LaunchError),
    /// The upstream ended before any client came to it.
    #[error("the upstream ended before the agent came: {}{}", .0.how, stderr_part(&.0.stderr))]
    UpstreamEnded(Ended),
    /// No port.
    #[error("no port on loopback could be opened")]
    Listen(#[source] std::io::Error),
    /// The trace's file.
    #[error("the trace could not be written")]
    Trace,
}

/// The first line of a connection must be the token, so that no other process can come in.
async fn greeted<R: AsyncRead + Unpin>(reader: &mut BufReader<R>, token: &str) -> bool {
    let mut line = Vec::new();
    let greeting = reader.take(token.len() as u64 + 1);
    let mut greeting = BufReader::with_capacity(1, greeting);
    let read = tokio::time::timeout(Duration::from_secs(5), greeting.read_until(b'\n', &mut line)).await;
    matches!(read, Ok(Ok(_))) && line.strip_suffix(b"\n") == Some(token.as_bytes())
}

/// Serves one client whose messages are lines, until it goes away or the run ends. `let_go` is called once
/// nothing more is written: what began may go on for a while after that, and the client must not wait for it.
pub(super) async fn serve_lines<R, W>(
    hub: Arc<Hub>,
    upstream: Arc<UpstreamSource>,
    ending: CancellationToken,
    mut reader: R,
    writer: W,
    let_go: fn(),
) where
    R: tokio::io::AsyncBufRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (connection, mut to_client) = hub.connect("stdio");
    let upstream = start_upstream(&hub, &upstream, connection, &ending);
    let writing = tokio::spawn(async move {
        let written = lines::write_all(writer, &mut to_client).await;
        let_go();
        written
    });
    let mut written = std::pin::pin!(writing);
    loop {
        let line = tokio::select! {
            line = lines::next(&mut reader) => line,
            () = ending.cancelled() => break,
            // The client no longer reads.
            _ = &mut written => break,
        };
        match line {
            Line::Message(message) => hub.input(Input::FromClient { connection, message }),
            Line::NotText(head) => hub.input(Input::NotText { connection, by_client: true, head }),
            Line::End => break,
        }
    }
    hub.input(Input::ClientDisconnected { connection });
    if hub.is_cut(connection) {
        tokio::select! {
            _ = tokio::time::timeout(BROKEN_GRACE, all_answered(&hub, connection)) => {}
            () = ending.cancelled() => {}
        }
    }
    wait_for_answers(&hub, connection).await;
    hub.detach_upstream(connection);
    upstream.await.unwrap_or(());
    hub.detach_client(connection);
    if !written.is_finished() {
        let _ = tokio::time::timeout(Duration::from_millis(500), written).await;
    }
}
