//! Streamable HTTP, as a server.
//!
//! `initialize` opens a session, which has an upstream of its own. Requests of MCP 2026-07-28 have
//! no session: they share one upstream, and since each client numbers its own requests, their
//! ids are replaced on the way up and put back on the way down.

mod answers;
mod headers;
mod mail;

use super::engine::Input;
use super::hub::{Carried, Hub};
use super::message::{self, View};
use super::random::random_hex;
use super::splice::named;
use super::supervise::{UpstreamSource, start_upstream};
use super::waiting::wait_for_answers;
use crate::domain::RawJson;
use crate::trace::{Event, LogKind};
use answers::{Broken, EventIds, QUIET, broken, events, json, missing_session, plain, refuse, with_refusal};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use headers::{Accepted, accepted};
use mail::{Client, Delivery, Expected, Resumable};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a front is made of.
pub(super) struct Serving {
    pub hub: Arc<Hub>,
    pub upstream: Arc<UpstreamSource>,
    pub ending: CancellationToken,
    pub tasks: TaskTracker,
    /// After how long without a client a session ends, and its upstream with it; never where absent.
    pub session_timeout: Option<Duration>,
}

/// Starts serving at `path`; ends with `ending`.
pub(super) fn serve(serving: Serving, listener: TcpListener, path: &str) {
    let local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let (ending, tasks) = (serving.ending.clone(), serving.tasks.clone());
    let server = Arc::new(Server {
        hub: serving.hub,
        upstream: serving.upstream,
        ending: serving.ending,
        tasks: serving.tasks,
        local,
        session_timeout: serving.session_timeout,
        sessions: Mutex::new(HashMap::new()),
        stateless: Mutex::new(None),
    });
    let app = Router::new()
        .route(path, axum::routing::any(endpoint))
        .layer(DefaultBodyLimit::disable())
        .with_state(server);
    tasks.spawn(async move {
        tokio::select! {
            _ = axum::serve(listener, app) => {}
            () = ending.cancelled() => {}
        }
    });
}

struct Server {
    hub: Arc<Hub>,
    upstream: Arc<UpstreamSource>,
    ending: CancellationToken,
    tasks: TaskTracker,
    /// It listens on loopback only.
    local: bool,
    session_timeout: Option<Duration>,
    sessions: Mutex<HashMap<String, Arc<Client>>>,
    stateless: Mutex<Option<Arc<Client>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn endpoint(
    State(server): State<Arc<Server>>,
    method: Method,
    headers: HeaderMap,
    body: String,
) -> Response {
    if let Some(refused) = server.foreign(&headers) {
        return refused;
    }
    if !headers::version_is_readable(&headers) {
        return refuse(StatusCode::BAD_REQUEST, None, -32600, "the MCP-Protocol-Version is not a version");
    }
    match method {
        Method::POST => post(&server, &headers, body).await,
        Method::GET => get(&server, &headers),
        Method::DELETE => delete(&server, &headers),
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "GET, POST or DELETE"),
    }
}

async fn post(server: &Arc<Server>, headers: &HeaderMap, body: String) -> Response {
    let accepted = accepted(headers);
    if !accepted.json && !accepted.events {
        let reason = "Not Acceptable: application/json or text/event-stream is what there is";
        return refuse(StatusCode::NOT_ACCEPTABLE, None, -32000, reason);
    }
    let named_session = headers.get(headers::SESSION).and_then(|value| value.to_str().ok());
    let session = server.named(headers);
    if message::batch(&body).is_some() {
        return match session {
            Some(client) if client.has_batches() => batch(server, &client, headers, body).await,
            Some(_) => {
                let reason = "Invalid Request: batches are not supported by this protocol version";
                refuse(StatusCode::BAD_REQUEST, None, -32600, reason)
            }
            None => missing_session(named_session, None),
        };
    }
    let view = match View::parse(&body) {
        Ok(view) => view,
        Err(error) => {
            let (code, reason) = match error.classify() {
                serde_json::error::Category::Data => (-32600, "Invalid Request"),
                _ => (-32700, "Parse error"),
            };
            if let Some(client) = session {
                // The trace says so.
                server.hub.input(Input::FromClient { connection: client.connection, message: body });
            }
            return refuse(StatusCode::BAD_REQUEST, None, code, reason);
        }
    };
    let id = view.id.filter(|_| view.method.is_some()).map(RawJson::from_raw);
    if view.method.as_deref() == Some("initialize") && named_session.is_none() {
        let Ok(name) = random_hex::<16>() else {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "no random number could be had");
        };
        let client = server.open(false);
        lock(&server.sessions).insert(name.clone(), Arc::clone(&client));
        let mut response = exchange(server, &client, headers, body, id, accepted).await;
        if let Ok(value) = name.parse() {
            response.headers_mut().insert(headers::SESSION, value);
        }
        return response;
    }
    if let Some(client) = session {
        return exchange(server, &client, headers, body, id, accepted).await;
    }
    let stateless =
        named(view.params).protocol_version().is_some() || view.method.as_deref() == Some("server/discover");
    if !stateless {
        return missing_session(named_session, id.as_ref());
    }
    if !server.upstream.is_remote()
        && named(view.params).protocol_version().is_some()
        && let Some(reason) = headers::mismatch(headers, &view)
    {
        return json(StatusCode::BAD_REQUEST, headers::mismatch_body(id.as_ref(), &reason));
    }
    if view.method.as_deref() == Some("notifications/cancelled") {
        // Its request has an id of ours; a client of this version closes the stream instead.
        return StatusCode::ACCEPTED.into_response();
    }
    let client = server.stateless();
    exchange(server, &client, headers, body, id, accepted).await
}

/// Sends a message in and answers with what comes out: an object where the answer comes first,
/// a stream of events where something comes before it.
async fn exchange(
    server: &Arc<Server>,
    client: &Arc<Client>,
    headers: &HeaderMap,
    body: String,
    id: Option<RawJson>,
    accepted: Accepted,
) -> Response {
    let connection = client.connection;
    let mut carried = server.carried(headers);
    let Some(id) = id else {
        server.hub.input_with(Input::FromClient { connection, message: body }, carried);
        return StatusCode::ACCEPTED.into_response();
    };
    let tokens = !server.upstream.is_remote();
    let Expected { mut answers, number, message, original } =
        client.expect(id, body, accepted.events, tokens);
    carried.original = original;
    server.hub.input_with(Input::FromClient { connection, message }, carried);
    let guard = PostGuard { hub: Arc::clone(&server.hub), client: Arc::clone(client), number };
    let first = if accepted.events {
        tokio::time::timeout(QUIET, answers.recv()).await
    } else {
        Ok(answers.recv().await)
    };
    let first = match first {
        Ok(Some(Delivery::Final(text, refusal))) if accepted.json => {
            let modern = client.shared && tokens;
            let status = if modern { headers::modern_status(&text) } else { StatusCode::OK };
            return with_refusal(json(status, text), refusal.as_deref());
        }
        Ok(None) => return plain(StatusCode::SERVICE_UNAVAILABLE, "the server has ended"),
        Ok(Some(Delivery::Cut)) => return broken(accepted),
        Ok(Some(first)) => Some(first),
        Err(_) => None,
    };
    let resumable = client.make_resumable(number);
    let mut ids = EventIds { number: (resumable != Resumable::No).then_some(number), last: 0 };
    let primer = match resumable {
        Resumable::Primed => ids.primer(),
        _ => ":\n\n".to_owned(),
    };
    let first = first.and_then(Delivery::text).map(|text| ids.event(&text));
    let rest = UnboundedReceiverStream::new(answers).filter_map(move |delivery| {
        let _ = &guard;
        match delivery {
            Delivery::Cut => Some(Err(Broken)),
            other => other.text().map(|text| Ok(ids.event(&text))),
        }
    });
    events(tokio_stream::iter([Some(primer), first].into_iter().flatten().map(Ok)).chain(rest))
}

/// A batch (R9): the engine takes it apart, and its answers come back as one stream of events.
async fn batch(server: &Arc<Server>, client: &Arc<Client>, headers: &HeaderMap, body: String) -> Response {
    let connection = client.connection;
    let carried = server.carried(headers);
    let ids: Vec<RawJson> = message::batch(&body)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|part| {
            View::parse(part.get()).ok().and_then(|view| view.method.and(view.id)).map(RawJson::from_raw)
        })
        .collect();
    if ids.is_empty() {
        server.hub.input_with(Input::FromClient { connection, message: body }, carried);
        return StatusCode::ACCEPTED.into_response();
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut guards = Vec::new();
    for id in ids {
        let Expected { mut answers, number, .. } = client.expect(id, String::new(), true, false);
        let sender = sender.clone();
        guards.push(PostGuard { hub: Arc::clone(&server.hub), client: Arc::clone(client), number });
        server.tasks.spawn(async move {
            while let Some(delivery) = answers.recv().await {
                let _ = delivery.text().map(|text| sender.send(text));
            }
        });
    }
    drop(sender);
    server.hub.input_with(Input::FromClient { connection, message: body }, carried);
    let mut ids = EventIds { number: None, last: 0 };
    events(UnboundedReceiverStream::new(receiver).map(move |text: String| {
        let _ = &guards;
        Ok(ids.event(&text))
    }))
}

fn get(server: &Arc<Server>, headers: &HeaderMap) -> Response {
    if !headers.contains_key(headers::SESSION) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "a stream needs a session");
    }
    let Some(client) = server.named(headers) else {
        return missing_session(Some(""), None);
    };
    if !accepted(headers).events {
        let reason = "Not Acceptable: text/event-stream is what there is";
        return refuse(StatusCode::NOT_ACCEPTABLE, None, -32000, reason);
    }
    if let Some((number, after)) = last_event(headers) {
        let Some(rest) = client.resume(number, after) else {
            return refuse(StatusCode::NOT_FOUND, None, -32000, "this stream is no longer known");
        };
        waits(&server.hub, &client, number, true);
        let mut ids = EventIds { number: Some(number), last: after };
        let rest = UnboundedReceiverStream::new(rest).filter_map(Delivery::text);
        return events(rest.map(move |text| Ok(ids.event(&text))));
    }
    let mut ids = EventIds { number: None, last: 0 };
    events(UnboundedReceiverStream::new(client.listen()).map(move |text| Ok(ids.event(&text))))
}

/// The stream that a client comes back for, and how many of its events it has.
fn last_event(headers: &HeaderMap) -> Option<(u64, usize)> {
    let (number, last) = headers.get("last-event-id")?.to_str().ok()?.split_once('/')?;
    Some((number.parse().ok()?, last.parse().ok()?))
}

fn delete(server: &Arc<Server>, headers: &HeaderMap) -> Response {
    if !headers.contains_key(headers::SESSION) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "there is no session to end");
    }
    let Some(client) = server.named(headers) else {
        return missing_session(Some(""), None);
    };
    client.closing.cancel();
    server.forget(&client);
    StatusCode::OK.into_response()
}

impl Server {
    /// Pages of other hosts must not reach a server on loopback (DNS rebinding).
    fn foreign(&self, headers: &HeaderMap) -> Option<Response> {
        if self.local && !headers::host_is_local(headers) {
            return Some(refuse(StatusCode::FORBIDDEN, None, -32000, "this Host is not allowed"));
        }
        let origin = headers.get(header::ORIGIN)?.to_str().unwrap_or("");
        let own = headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(|_| !self.local);
        let same = origin.split_once("://").is_some_and(|(_, host)| Some(host) == own);
        (!headers::is_local(origin) && !same)
            .then(|| refuse(StatusCode::FORBIDDEN, None, -32000, "this Origin is not allowed"))
    }

    fn carried(&self, headers: &HeaderMap) -> Carried {
        let headers = self.upstream.is_remote().then(|| Arc::new(headers::forwarded(headers)));
        Carried { headers, ..Carried::default() }
    }

    fn named(&self, headers: &HeaderMap) -> Option<Arc<Client>> {
        let name = headers.get(headers::SESSION)?.to_str().ok()?;
        let sessions = lock(&self.sessions);
        let client = sessions.get(name)?;
        client.touch();
        Some(Arc::clone(client))
    }

    /// Ends a session that nobody has used for long: its upstream may be a process of its own. Who comes
    /// back is told that it is gone, and introduces itself anew.
    async fn expire(self: Arc<Server>, client: Arc<Client>, timeout: Duration) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(timeout.saturating_sub(client.quiet())) => {}
                () = client.closing.cancelled() => return,
            }
            // What is under way is being used; what comes now finds the session, or finds it gone.
            let mut sessions = lock(&self.sessions);
            if client.is_listened_to() || self.hub.open_requests(client.connection) > 0 {
                client.touch();
            } else if client.quiet() >= timeout {
                sessions.retain(|_, other| !Arc::ptr_eq(other, &client));
                break;
            }
        }
        let text = format!("a session that nobody had used for {} s was ended", timeout.as_secs_f64());
        self.hub.record(Event::Log { kind: LogKind::Proxy, text });
        client.closing.cancel();
    }

    fn stateless(self: &Arc<Server>) -> Arc<Client> {
        let mut stateless = lock(&self.stateless);
        Arc::clone(stateless.get_or_insert_with(|| self.open(true)))
    }

    fn forget(&self, client: &Arc<Client>) {
        lock(&self.sessions).retain(|_, other| !Arc::ptr_eq(other, client));
        let mut stateless = lock(&self.stateless);
        if stateless.as_ref().is_some_and(|other| Arc::ptr_eq(other, client)) {
            *stateless = None;
        }
    }

    /// A new client with its upstream, and the task that hands out its messages.
    fn open(self: &Arc<Server>, shared: bool) -> Arc<Client> {
        let (connection, mut messages) = self.hub.connect("http");
        let client = Arc::new(Client::new(connection, self.ending.child_token(), shared));
        let upstream = start_upstream(&self.hub, &self.upstream, connection, &self.ending);
        let (hub, handed) = (Arc::clone(&self.hub), Arc::clone(&client));
        if let (Some(timeout), false) = (self.session_timeout, shared) {
            self.tasks.spawn(Arc::clone(self).expire(Arc::clone(&client), timeout));
        }
        let server = Arc::clone(self);
        self.tasks.spawn(async move {
            let ended = async {
                handed.closing.cancelled().await;
                hub.input(Input::ClientDisconnected { connection });
                wait_for_answers(&hub, connection).await;
                hub.detach_upstream(connection);
                upstream.await.unwrap_or(());
                hub.detach_client(connection);
            };
            let delivering = async {
                while let Some(message) = messages.recv().await {
                    handed.deliver(message);
                }
                // The connection was ended from this side: who comes again introduces itself anew.
                server.forget(&handed);
                handed.closing.cancel();
            };
            tokio::join!(ended, delivering);
            handed.close();
        });
        client
    }
}

/// The stream of a request that is not answered yet ended, or was taken up again.
fn waits(hub: &Hub, client: &Client, number: u64, waits: bool) {
    if let Some(id) = client.kept(number).and_then(|id| RawJson::parse(&id).ok()) {
        hub.input(Input::ClientWaits { connection: client.connection, id, waits });
    }
}

/// Forgets a request whose HTTP answer is finished or was given up by the client. Without a
/// session (MCP 2026-07-28) giving up is how a client cancels.
struct PostGuard {
    hub: Arc<Hub>,
    client: Arc<Client>,
    number: u64,
}

impl Drop for PostGuard {
    fn drop(&mut self) {
        self.client.touch();
        waits(&self.hub, &self.client, self.number, false);
        if let Some(id) = self.client.forget(self.number)
            && self.client.shared
        {
            let message = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client closed the stream"}}}}"#
            );
            self.hub.input(Input::FromClient { connection: self.client.connection, message });
        }
    }
}
