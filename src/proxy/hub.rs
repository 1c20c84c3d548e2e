//! Where the wires of one run meet: inputs go through the engine one by one, what happened goes
//! into the trace, and messages go out in the order in which the engine gave them.

use super::engine::{Action, Engine, Input, Question, audit_answer};
use crate::domain::secrets::{Pieces, Secrets};
use crate::domain::{CallId, ConnectionId, Micros, RawJson, ToolInfo};
use crate::trace::{Decision, Encoder, Event, Record, SecretPlace};
use axum::http::HeaderMap;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Where records go as they are made. Called in the order of the trace, before the message that a
/// record announces leaves.
pub trait Sink: Send {
    /// Whether it wants lines: making them costs more than all else that is done for a call.
    fn wants_lines(&self) -> bool {
        true
    }

    /// Takes one record and its line, which is empty where none is wanted.
    ///
    /// # Errors
    /// Where it cannot be kept. No further message is passed on then.
    fn put(&mut self, record: &Record, line: &str) -> std::io::Result<()>;

    /// Everything that one input caused was put.
    ///
    /// # Errors
    /// As [`Sink::put`].
    fn flush(&mut self) -> std::io::Result<()>;

    /// What is to be said of the run by now; asked only where the engine offers the tools for it.
    fn tell(&mut self, _question: Question) -> String {
        String::new()
    }
}

/// A message on its way out, and what of its way in is not in its text.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub message: String,
    pub carried: Carried,
    /// In place of a message: the answer to the request with this id breaks off, and over stdio
    /// the whole connection with it.
    pub cut: Option<RawJson>,
}

impl Outgoing {
    fn new(message: String, carried: Carried) -> Outgoing {
        Outgoing { message, carried, cut: None }
    }
}

/// Messages for an upstream.
pub(super) type Queue = mpsc::UnboundedReceiver<Outgoing>;

/// A question to the command that approves code.
#[derive(Debug)]
pub(super) struct Asked {
    pub connection: ConnectionId,
    /// What it would be granted.
    pub decision: Decision,
}

/// What HTTP says beside a message. It goes along with every message that the engine passes on
/// because of it, so that two sides that both speak HTTP see what they would see without a proxy.
#[derive(Debug, Clone, Default)]
pub(super) struct Carried {
    /// Upstream only: the headers with which the client sent it.
    pub headers: Option<Arc<HeaderMap>>,
    /// Upstream only: its text before its id was replaced.
    pub original: Option<Arc<str>>,
    /// To the client only: the stream on which it came, where the upstream speaks HTTP.
    pub stream: Option<Stream>,
    /// To the client only: the status with which the upstream answered, where it was an error.
    pub refusal: Option<Arc<Refusal>>,
}

/// A stream of an upstream that speaks HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stream {
    /// The answer to the request with this id, in its canonical form.
    Of(String),
    /// The one that was opened with GET.
    Own,
}

/// An answer of an upstream that was no success for HTTP.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: u16,
    /// Where it asks for authorization: how.
    pub authenticate: Option<axum::http::HeaderValue>,
}

/// The meeting point. Shared by all tasks of a run.
pub struct Hub {
    state: Mutex<State>,
    started: Instant,
    /// Told when the engine wants to be woken before [`Hub::alarm`] said so.
    pub(super) deadline_changed: Notify,
    /// Told when an upstream answered something or ended.
    pub(super) answered: Notify,
    /// Told when the trace can no longer be kept.
    pub(super) broken: Notify,
}

struct State {
    engine: Engine,
    /// When the engine will be woken.
    alarm: Option<Micros>,
    encoder: Encoder,
    /// What no message and no record may hold, and the names whose sight is told in the trace.
    secrets: Secrets,
    watched: BTreeSet<String>,
    /// What can be the beginning of a secret whose rest comes with a later message to the same client.
    pieces: Pieces<ConnectionId>,
    sink: Box<dyn Sink>,
    clients: HashMap<ConnectionId, mpsc::UnboundedSender<Outgoing>>,
    upstreams: HashMap<ConnectionId, mpsc::UnboundedSender<Outgoing>>,
    /// Gives a connection the queue for the process that takes the place of another.
    replacers: HashMap<ConnectionId, mpsc::UnboundedSender<Queue>>,
    rebuilds: u64,
    asks: Option<mpsc::UnboundedSender<Asked>>,
    /// Kills the upstream of a connection.
    kills: HashMap<ConnectionId, CancellationToken>,
    /// Connections that were broken; what their clients began goes on.
    cut: HashSet<ConnectionId>,
    last_connection: u32,
    failure: Option<std::io::Error>,
    closed: bool,
}

impl Hub {
    /// A hub whose clock starts now.
    pub fn new(engine: Engine, sink: Box<dyn Sink>) -> Hub {
        #[expect(clippy::disallowed_methods, reason = "the clock of a trace starts with its hub")]
        let started = Instant::now();
        let state = State {
            engine,
            alarm: None,
            encoder: if sink.wants_lines() { Encoder::default() } else { Encoder::without_lines() },
            secrets: Secrets::default(),
            watched: BTreeSet::new(),
            pieces: Pieces::default(),
            sink,
            clients: HashMap::new(),
            upstreams: HashMap::new(),
            replacers: HashMap::new(),
            rebuilds: 0,
            asks: None,
            kills: HashMap::new(),
            cut: HashSet::new(),
            last_connection: 0,
            failure: None,
            closed: false,
        };
        Hub {
            state: Mutex::new(state),
            started,
            deadline_changed: Notify::new(),
            answered: Notify::new(),
            broken: Notify::new(),
        }
    }

    /// The same, keeping secrets out of the trace. That one of the `watched` was seen, in a record or in
    /// a message to a client, is told in the trace. Messages are passed on as they are.
    #[must_use]
    pub fn hiding(mut self, secrets: Secrets, watched: BTreeSet<String>) -> Hub {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.encoder = std::mem::take(&mut state.encoder).hiding(secrets.clone());
        state.secrets = secrets;
        state.watched = watched;
        self
    }

    /// Now, on the clock of the trace.
    pub fn now(&self) -> Micros {
        Micros::from_duration(self.started.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves whole records behind; going on is better than losing the run.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a new connection, and where its messages come out.
    pub(super) fn connect(
        &self,
        transport: &'static str,
    ) -> (ConnectionId, mpsc::UnboundedReceiver<Outgoing>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let connection = {
            let mut state = self.lock();
            state.last_connection += 1;
            let connection = ConnectionId(state.last_connection);
            state.clients.insert(connection, sender);
            connection
        };
        self.input(Input::ClientConnected { connection, transport });
        (connection, receiver)
    }

    /// Where the messages for the upstream of a connection come out, and those for the processes that
    /// take its place.
    pub(super) fn attach_upstream(
        &self,
        connection: ConnectionId,
    ) -> (Queue, mpsc::UnboundedReceiver<Queue>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (replacer, replacements) = mpsc::unbounded_channel();
        let mut state = self.lock();
        state.upstreams.insert(connection, sender);
        state.replacers.insert(connection, replacer);
        (receiver, replacements)
    }

    /// How often the upstream was rebuilt.
    pub(super) fn rebuilds(&self) -> u64 {
        self.lock().rebuilds
    }

    /// How the client of a connection introduced itself.
    pub(super) fn introduction_of(&self, connection: ConnectionId) -> Option<String> {
        self.lock().engine.introduction_of(connection)
    }

    /// Where the questions come out that a command is to answer. Without a taker nobody answers.
    pub(super) fn questions(&self) -> mpsc::UnboundedReceiver<Asked> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.lock().asks = Some(sender);
        receiver
    }

    /// Told when the upstream of a connection is to be killed.
    pub(super) fn kill_of(&self, connection: ConnectionId) -> CancellationToken {
        self.lock().kills.entry(connection).or_default().clone()
    }

    /// Whether the connection was broken, so that its client is gone while its calls go on.
    pub(super) fn is_cut(&self, connection: ConnectionId) -> bool {
        self.lock().cut.contains(&connection)
    }

    /// Ends the queue to a client: its writer sees the end once it has written everything.
    pub(super) fn detach_client(&self, connection: ConnectionId) {
        self.lock().clients.remove(&connection);
    }

    /// Ends the queue to an upstream: its writer closes the upstream's stdin.
    pub(super) fn detach_upstream(&self, connection: ConnectionId) {
        let mut state = self.lock();
        state.upstreams.remove(&connection);
        state.replacers.remove(&connection);
    }

    /// Whether [`Hub::detach_upstream`] was called: the upstream is meant to end.
    pub(super) fn is_detached(&self, connection: ConnectionId) -> bool {
        !self.lock().upstreams.contains_key(&connection)
    }

    /// Takes an input through the engine and does what the engine says.
    pub fn input(&self, input: Input) {
        self.input_with(input, Carried::default());
    }

    /// The same for a message that carries something beside its text.
    pub(super) fn input_with(&self, input: Input, carried: Carried) {
        let now = self.now();
        let mut state = self.lock();
        let answer = matches!(
            input,
            Input::FromUpstream { .. } | Input::UpstreamEnded { .. } | Input::RequestLost { .. }
        );
        let actions = state.engine.handle(input, now);
        state.carry_out(actions, now, &carried);
        // A deadline that was met is left to pass: setting the clock anew for every call costs more.
        let due_sooner = match (state.engine.next_deadline(), state.alarm) {
            (Some(due), Some(alarm)) => due < alarm,
            (due, None) => due.is_some(),
            (None, Some(_)) => false,
        };
        let failed = state.failure.is_some();
        drop(state);
        if due_sooner {
            self.deadline_changed.notify_one();
        }
        if answer {
            self.answered.notify_waiters();
        }
        if failed {
            self.broken.notify_one();
        }
    }

    /// Says to a client that speaks HTTP that its request is being answered with a stream.
    pub(super) fn begun(&self, connection: ConnectionId, stream: Stream) {
        let carried = Carried { stream: Some(stream), ..Carried::default() };
        let state = self.lock();
        let client = state.clients.get(&connection);
        let _ = client.map(|client| client.send(Outgoing::new(String::new(), carried)));
    }

    /// Makes tools known before a client comes.
    pub fn know_tools(&self, tools: Vec<ToolInfo>) {
        let now = self.now();
        let mut state = self.lock();
        let action = state.engine.know_tools(tools);
        state.carry_out(vec![action], now, &Carried::default());
    }

    /// Puts an event that does not come from a wire into the trace.
    pub fn record(&self, event: Event) {
        let now = self.now();
        self.lock().carry_out(vec![Action::Record(event)], now, &Carried::default());
    }

    /// When the engine wants to be woken; whoever asks does so then, or is told of an earlier time.
    pub(super) fn alarm(&self) -> Option<Micros> {
        let mut state = self.lock();
        state.alarm = state.engine.next_deadline();
        state.alarm
    }

    /// Requests of a connection that are open at its upstream.
    pub(super) fn open_requests(&self, connection: ConnectionId) -> usize {
        self.lock().engine.open_requests(connection)
    }

    /// See [`super::engine::Engine::awaits_catalogue`].
    pub(super) fn awaits_catalogue(&self, connection: ConnectionId) -> bool {
        self.lock().engine.awaits_catalogue(connection)
    }

    /// Closes the trace and gives the end of its chain. What comes later is not recorded.
    ///
    /// # Errors
    /// The first failure to keep a record, if there was one.
    pub fn close(&self) -> std::io::Result<String> {
        let now = self.now();
        let mut state = self.lock();
        state.clients.clear();
        state.upstreams.clear();
        state.replacers.clear();
        // After a failure records are missing; what was written before it stands.
        if !state.closed && state.failure.is_none() {
            let closing = state.encoder.close(now).map_err(std::io::Error::other);
            let kept = closing.and_then(|(record, line)| {
                state.sink.put(&record, &line)?;
                state.sink.flush()
            });
            if let Err(error) = kept {
                state.failure.get_or_insert(error);
            }
            state.closed = true;
        }
        match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(state.encoder.digest().to_owned()),
        }
    }
}

impl State {
    fn carry_out(&mut self, actions: Vec<Action>, now: Micros, carried: &Carried) {
        if self.closed || self.failure.is_some() {
            return;
        }
        // Records are kept before any message of the same step leaves, and written in one go.
        let mut messages = Vec::with_capacity(1);
        let mut kept = Ok(());
        let mut told = BTreeSet::new();
        for action in actions {
            match action {
                Action::Record(event) if kept.is_ok() => {
                    kept = self.keep(now, event).map(|names| told.extend(names));
                }
                Action::Record(_) => {}
                message => messages.push(message),
            }
        }
        if kept.is_ok() && !self.watched.is_empty() {
            kept = self.look_at(&messages, now, &told);
        }
        if let Err(error) = kept.and_then(|()| self.sink.flush()) {
            self.failure = Some(error);
            return;
        }
        for message in messages {
            // A receiver that is gone belongs to a connection that has ended.
            match message {
                Action::ToClient { connection, message } => {
                    self.send_to_client(connection, Outgoing::new(message, carried.clone()));
                }
                Action::Cut { connection, id } => {
                    self.cut.insert(connection);
                    let cut = Outgoing { cut: Some(id), ..Outgoing::new(String::new(), carried.clone()) };
                    self.send_to_client(connection, cut);
                }
                Action::Rebuild => self.rebuilds += 1,
                Action::Replace { connection } => {
                    let (sender, queue) = mpsc::unbounded_channel();
                    // The old queue ends with its sender, which must not be seen before there is another.
                    let _ = self.replacers.get(&connection).map(|replacer| replacer.send(queue));
                    self.upstreams.insert(connection, sender);
                    self.kills.remove(&connection);
                }
                Action::Close { connection } => {
                    self.clients.remove(&connection);
                }
                Action::Ask { connection, decision } => {
                    let _ = self.asks.as_ref().map(|asks| asks.send(Asked { connection, decision }));
                }
                Action::Kill { connection } => self.kills.entry(connection).or_default().cancel(),
                Action::ToUpstream { connection, message } => {
                    let _ = self
                        .upstreams
                        .get(&connection)
                        .map(|upstream| upstream.send(Outgoing::new(message, carried.clone())));
                }
                Action::Tell { connection, id, question, modern } => {
                    let message = audit_answer(&id, &self.sink.tell(question), modern);
                    self.send_to_client(connection, Outgoing::new(message, carried.clone()));
                }
                Action::Record(_) => {}
            }
        }
    }

    /// Keeps an event, and that it held watched secrets. Gives their names.
    fn keep(&mut self, now: Micros, event: Event) -> std::io::Result<BTreeSet<String>> {
        let (record, line, hidden) = self.encoder.encode_hiding(now, event).map_err(std::io::Error::other)?;
        self.sink.put(&record, &line)?;
        let names: BTreeSet<String> = hidden.intersection(&self.watched).cloned().collect();
        if !names.is_empty()
            && let Some((place, call)) = record.event.secret_place()
        {
            self.tell_of_secrets(now, &names, place, call)?;
        }
        Ok(names)
    }

    /// Looks for watched secrets in what clients are about to get, beside those `told` of already: a
    /// record keeps only the beginning of a long answer, and nothing of other messages.
    fn look_at(&mut self, messages: &[Action], now: Micros, told: &BTreeSet<String>) -> std::io::Result<()> {
        let mut names = BTreeSet::new();
        for action in messages {
            if let Action::ToClient { connection, message } = action {
                let mut found = self.secrets.found_in_json(message);
                found.extend(self.pieces.found(&self.secrets, connection, message));
                names.extend(
                    found
                        .into_iter()
                        .filter(|name| self.watched.contains(*name) && !told.contains(*name))
                        .map(str::to_owned),
                );
            }
        }
        if names.is_empty() { Ok(()) } else { self.tell_of_secrets(now, &names, SecretPlace::Message, None) }
    }

    fn tell_of_secrets(
        &mut self,
        now: Micros,
        names: &BTreeSet<String>,
        place: SecretPlace,
        call: Option<CallId>,
    ) -> std::io::Result<()> {
        let event = Event::SecretSeen { names: names.iter().cloned().collect(), place, call };
        let (record, line) = self.encoder.encode(now, event).map_err(std::io::Error::other)?;
        self.sink.put(&record, &line)
    }

    fn send_to_client(&self, connection: ConnectionId, outgoing: Outgoing) {
        let _ = self.clients.get(&connection).map(|client| client.send(outgoing));
    }
}
