//! Streamable HTTP on loopback, at a path that nobody can guess.
//!
//! `initialize` opens a session, which has an upstream of its own. Requests of MCP 2026-07-28 have
//! no session: they share one upstream, and since each client numbers its own requests, their
//! ids are replaced on the way up and put back on the way down.

use super::engine::Input;
use super::hub::Hub;
use super::message::{self, View};
use super::session::{Session, UpstreamSource, start_upstream, wait_for_answers};
use crate::domain::{ConnectionId, RawJson};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const SESSION_HEADER: &str = "mcp-session-id";

/// Starts serving; ends with the session.
pub(super) fn serve(session: &Session, listener: TcpListener, token: String) {
    let server = Arc::new(Server {
        hub: Arc::clone(&session.hub),
        upstream: Arc::clone(&session.upstream),
        ending: session.ending.clone(),
        tasks: session.tasks.clone(),
        sessions: Mutex::new(HashMap::new()),
        stateless: Mutex::new(None),
    });
    let app = Router::new()
        .route(&format!("/{token}/mcp"), axum::routing::any(endpoint))
        .layer(DefaultBodyLimit::disable())
        .with_state(server);
    let ending = session.ending.clone();
    session.tasks.spawn(async move {
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
    sessions: Mutex<HashMap<String, Arc<Client>>>,
    stateless: Mutex<Option<Arc<Client>>>,
}

/// One session, or all requests without one.
struct Client {
    connection: ConnectionId,
    closing: CancellationToken,
    mail: Mutex<Mail>,
}

/// Which of a client's open HTTP answers a message belongs to.
#[derive(Default)]
struct Mail {
    /// POSTs that wait for the answer to a request, oldest first.
    posts: BTreeMap<u64, Post>,
    last_post: u64,
    /// The stream that a client opened with GET.
    stream: Option<mpsc::UnboundedSender<String>>,
    /// What came while nobody listened.
    kept: Vec<String>,
}

struct Post {
    /// The id as it travels upstream.
    id: String,
    /// The id as the client wrote it, where it was replaced.
    original: Option<RawJson>,
    progress_token: Option<String>,
    answers: mpsc::UnboundedSender<Delivery>,
}

enum Delivery {
    /// Something that belongs to the request but does not answer it.
    Interim(String),
    /// The answer.
    Final(String),
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
    if let Some(origin) = headers.get(header::ORIGIN)
        && !is_local(origin.to_str().unwrap_or(""))
    {
        return plain(StatusCode::FORBIDDEN, "this origin is not allowed");
    }
    match method {
        Method::POST => post(&server, &headers, body).await,
        Method::GET => get(&server, &headers),
        Method::DELETE => delete(&server, &headers),
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "GET, POST or DELETE"),
    }
}

/// Pages of other hosts must not reach a server on loopback (DNS rebinding).
fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
    });
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn plain(status: StatusCode, text: &str) -> Response {
    (status, text.to_owned()).into_response()
}

async fn post(server: &Arc<Server>, headers: &HeaderMap, body: String) -> Response {
    let is_batch = message::batch(&body).is_some();
    let (method, id, modern) = match View::parse(&body) {
        Ok(view) => {
            (view.method.as_deref().map(str::to_owned), view.id.map(RawJson::from_raw), is_modern(&view))
        }
        Err(_) => (None, None, false),
    };
    let named = headers.get(SESSION_HEADER).and_then(|value| value.to_str().ok());
    if method.as_deref() == Some("initialize") && named.is_none() {
        let Some(name) = random_name() else {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "no random number could be had");
        };
        let client = server.open();
        lock(&server.sessions).insert(name.clone(), Arc::clone(&client));
        let mut response = exchange(server, &client, body, id, false).await;
        if let Ok(value) = name.parse() {
            response.headers_mut().insert(SESSION_HEADER, value);
        }
        return response;
    }
    let client = match named {
        Some(name) => match lock(&server.sessions).get(name) {
            Some(client) => Arc::clone(client),
            None => return plain(StatusCode::NOT_FOUND, "no such session"),
        },
        None if modern || method.as_deref() == Some("server/discover") => server.stateless(),
        None => return plain(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing"),
    };
    if is_batch {
        return batch(server, &client, body).await;
    }
    let answered = id.filter(|_| method.is_some());
    exchange(server, &client, body, answered, named.is_none()).await
}

/// Sends a message in and answers with what comes out: an object where the answer comes first,
/// a stream of events where something comes before it.
async fn exchange(
    server: &Arc<Server>,
    client: &Arc<Client>,
    body: String,
    id: Option<RawJson>,
    shared: bool,
) -> Response {
    let Some(id) = id else {
        server.hub.input(Input::FromClient { connection: client.connection, message: body });
        return StatusCode::ACCEPTED.into_response();
    };
    let (mut answers, number, body) = client.expect(id, body, shared);
    server.hub.input(Input::FromClient { connection: client.connection, message: body });
    let guard = PostGuard { client: Arc::clone(client), number };
    match answers.recv().await {
        Some(Delivery::Final(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Some(Delivery::Interim(first)) => {
            let rest = UnboundedReceiverStream::new(answers).map(move |delivery| {
                let _ = &guard;
                let (Delivery::Interim(text) | Delivery::Final(text)) = delivery;
                text
            });
            events(tokio_stream::once(first).chain(rest))
        }
        None => plain(StatusCode::SERVICE_UNAVAILABLE, "the server has ended"),
    }
}

/// A batch (R9): the engine takes it apart, and its answers come back as one stream of events.
async fn batch(server: &Arc<Server>, client: &Arc<Client>, body: String) -> Response {
    let ids: Vec<RawJson> = message::batch(&body)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|part| {
            View::parse(part.get()).ok().and_then(|view| view.method.and(view.id)).map(RawJson::from_raw)
        })
        .collect();
    if ids.is_empty() {
        server.hub.input(Input::FromClient { connection: client.connection, message: body });
        return StatusCode::ACCEPTED.into_response();
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut guards = Vec::new();
    for id in ids {
        let (mut answers, number, _) = client.expect(id, String::new(), false);
        let sender = sender.clone();
        guards.push(PostGuard { client: Arc::clone(client), number });
        server.tasks.spawn(async move {
            while let Some(Delivery::Interim(text) | Delivery::Final(text)) = answers.recv().await {
                let _ = sender.send(text);
            }
        });
    }
    drop(sender);
    server.hub.input(Input::FromClient { connection: client.connection, message: body });
    events(UnboundedReceiverStream::new(receiver).map(move |text| {
        let _ = &guards;
        text
    }))
}

fn events<S>(messages: S) -> Response
where
    S: tokio_stream::Stream<Item = String> + Send + 'static,
{
    let lines = messages.map(|message| {
        let line = if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message };
        Ok::<_, std::convert::Infallible>(format!("event: message\ndata: {line}\n\n"))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(lines)).into_response()
}

fn get(server: &Arc<Server>, headers: &HeaderMap) -> Response {
    let Some(client) = server.named(headers) else {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "a stream needs a session");
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut mail = lock(&client.mail);
    for message in mail.kept.drain(..) {
        let _ = sender.send(message);
    }
    mail.stream = Some(sender);
    events(UnboundedReceiverStream::new(receiver))
}

fn delete(server: &Arc<Server>, headers: &HeaderMap) -> Response {
    let Some(client) = server.named(headers) else {
        return plain(StatusCode::NOT_FOUND, "no such session");
    };
    client.closing.cancel();
    lock(&server.sessions).retain(|_, other| !Arc::ptr_eq(other, &client));
    StatusCode::OK.into_response()
}

impl Server {
    fn named(&self, headers: &HeaderMap) -> Option<Arc<Client>> {
        let name = headers.get(SESSION_HEADER)?.to_str().ok()?;
        lock(&self.sessions).get(name).map(Arc::clone)
    }

    fn stateless(self: &Arc<Server>) -> Arc<Client> {
        let mut stateless = lock(&self.stateless);
        Arc::clone(stateless.get_or_insert_with(|| self.open()))
    }

    /// A new client with its upstream, and the task that hands out its messages.
    fn open(self: &Arc<Server>) -> Arc<Client> {
        let (connection, mut messages) = self.hub.connect("http");
        let client = Arc::new(Client {
            connection,
            closing: self.ending.child_token(),
            mail: Mutex::new(Mail::default()),
        });
        let upstream = start_upstream(&self.hub, &self.upstream, connection, &self.ending);
        let (hub, handed) = (Arc::clone(&self.hub), Arc::clone(&client));
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    message = messages.recv() => match message {
                        Some(message) => handed.deliver(message),
                        None => break,
                    },
                    () = handed.closing.cancelled() => break,
                }
            }
            hub.input(Input::ClientDisconnected { connection });
            wait_for_answers(&hub, connection).await;
            hub.detach_upstream(connection);
            upstream.await.unwrap_or(());
            hub.detach_client(connection);
            *lock(&handed.mail) = Mail::default();
        });
        client
    }
}

impl Client {
    /// Registers a request: where its answers come out, its number, and its text with the id that
    /// travels upstream.
    fn expect(
        &self,
        id: RawJson,
        body: String,
        shared: bool,
    ) -> (mpsc::UnboundedReceiver<Delivery>, u64, String) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let progress_token = progress_token(&body);
        let mut mail = lock(&self.mail);
        mail.last_post += 1;
        let number = mail.last_post;
        let (travelling, original, body) = match replaced_id(&body, number).filter(|_| shared) {
            Some(replaced) => (number.to_string(), Some(id), replaced),
            None => (key(id.get()), None, body),
        };
        let post = Post { id: travelling, original, progress_token, answers: sender };
        mail.posts.insert(number, post);
        (receiver, number, body)
    }

    fn deliver(&self, message: String) {
        let mut mail = lock(&self.mail);
        let Ok(view) = View::parse(&message) else { return };
        if view.method.is_none()
            && let Some(id) = view.id
        {
            let id = key(id.get());
            let found = mail.posts.iter().find(|(_, post)| post.id == id).map(|(number, _)| *number);
            let Some(post) = found.and_then(|number| mail.posts.remove(&number)) else { return };
            let text = match &post.original {
                Some(original) => with_id(&message, original.get()).unwrap_or(message),
                None => message,
            };
            let _ = post.answers.send(Delivery::Final(text));
            return;
        }
        let token = notified_token(&view);
        let of_token = token
            .and_then(|token| mail.posts.values().find(|post| post.progress_token.as_ref() == Some(&token)));
        let mut message = message;
        if of_token.is_none()
            && let Some(stream) = &mail.stream
        {
            match stream.send(message) {
                Ok(()) => return,
                // The client closed its stream; the message finds another way.
                Err(unsent) => message = unsent.0,
            }
        }
        match of_token.or_else(|| mail.posts.values().next()) {
            Some(post) => {
                let _ = post.answers.send(Delivery::Interim(message));
            }
            None => mail.kept.push(message),
        }
    }
}

/// Forgets a request whose HTTP answer is finished or was given up by the client.
struct PostGuard {
    client: Arc<Client>,
    number: u64,
}

impl Drop for PostGuard {
    fn drop(&mut self) {
        lock(&self.client.mail).posts.remove(&self.number);
    }
}

fn key(id: &str) -> String {
    crate::domain::json::canonical(id)
}

/// MCP 2026-07-28 names its version in every request.
fn is_modern(view: &View<'_>) -> bool {
    let meta =
        view.params.and_then(|params| serde_json::from_str::<message::MetaParams<'_>>(params.get()).ok());
    meta.and_then(|params| params.meta).is_some_and(|meta| meta.protocol_version.is_some())
}

/// The text with the value of its `id` replaced, and nothing else touched.
fn with_id(message: &str, id: &str) -> Option<String> {
    let view = View::parse(message).ok()?;
    let old = view.id?.get();
    let start = (old.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?;
    let mut text = String::with_capacity(message.len() + id.len());
    text.push_str(message.get(..start)?);
    text.push_str(id);
    text.push_str(message.get(start + old.len()..)?);
    Some(text)
}

fn replaced_id(message: &str, number: u64) -> Option<String> {
    with_id(message, &number.to_string())
}

#[derive(Deserialize)]
struct ProgressParams<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<ProgressMeta<'a>>,
}

#[derive(Deserialize)]
struct ProgressMeta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// The token by which a request asked for progress.
fn progress_token(message: &str) -> Option<String> {
    let view = View::parse(message).ok()?;
    let params: ProgressParams<'_> = serde_json::from_str(view.params?.get()).ok()?;
    params.meta?.progress_token.map(|token| key(token.get()))
}

/// The token that a progress notification is about.
fn notified_token(view: &View<'_>) -> Option<String> {
    let params: ProgressParams<'_> = serde_json::from_str(view.params?.get()).ok()?;
    params.progress_token.map(|token| key(token.get()))
}

/// 128 random bits, in hexadecimal.
fn random_name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_replaced_and_nothing_else() {
        let message = r#"{"params": {"id": 1, "n": 1e400}, "id" : "a\u0062", "jsonrpc":"2.0"}"#;
        assert_eq!(
            with_id(message, "7").unwrap(),
            r#"{"params": {"id": 1, "n": 1e400}, "id" : 7, "jsonrpc":"2.0"}"#
        );
        assert_eq!(with_id(r#"{"method":"ping"}"#, "7"), None);
    }

    #[test]
    fn only_pages_of_this_machine_come_in() {
        for origin in ["http://localhost", "http://localhost:3000", "http://127.0.0.1:1", "http://[::1]:80"] {
            assert!(is_local(origin), "{origin}");
        }
        for origin in
            ["http://example.com", "http://localhost.example.com", "null", "http://127.0.0.1.evil.net:80"]
        {
            assert!(!is_local(origin), "{origin}");
        }
    }
}
