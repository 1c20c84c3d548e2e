//! The wire to an upstream that speaks Streamable HTTP.
//!
//! Every request is a POST of its own, so that a slow one holds up no other. The handshake, and
//! what is no request, is sent one by one: it must arrive before what the client sends after it.

mod state;

use super::engine::{Input, introduction};
use super::hub::{Carried, Hub, Outgoing, Refusal, Stream};
use super::message::{self, ToolsResult, View};
use super::splice::{correlation, key, named, with_correlation, with_id};
use super::waiting::wait_for_answers;
use crate::domain::{ConnectionId, RawJson, chain};
use crate::trace::{Event, LogKind};
use crate::upstream::remote::{Events, Remote, SESSION, content_type};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use state::{Open, State};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long something that is no request holds up what comes after it.
const ACCEPTANCE: Duration = Duration::from_secs(5);

/// How long the end of a session may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// The wait before a broken stream is taken up again, where the server does not say.
const RETRY: Duration = Duration::from_secs(1);

/// How often in a row taking up a stream may bring nothing.
const MOST_RETRIES: u32 = 5;

/// Carries messages between the engine and one upstream, until the queue ends or the run does.
pub(super) async fn relay(
    hub: Arc<Hub>,
    remote: Remote,
    connection: ConnectionId,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    ending: CancellationToken,
) {
    hub.input(Input::UpstreamStarted {
        connection,
        command: vec![remote.address()],
        pid: None,
        execution: None,
    });
    let link = Arc::new(Link {
        hub: Arc::clone(&hub),
        remote,
        connection,
        closing: CancellationToken::new(),
        tasks: TaskTracker::new(),
        state: Mutex::default(),
    });
    let kill = hub.kill_of(connection);
    let sending = async {
        while let Some(outgoing) = queue.recv().await {
            link.send(outgoing).await;
        }
    };
    tokio::select! {
        () = sending => {}
        () = kill.cancelled() => {}
        () = async { ending.cancelled().await; wait_for_answers(&hub, connection).await } => {}
    }
    link.closing.cancel();
    link.tasks.close();
    link.tasks.wait().await;
    if link.state().session.is_some() {
        let farewell = link.remote.delete(link.headers(None, None));
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }
    let trouble = link.state().trouble.take();
    let expected = trouble.is_none();
    let how = trouble.unwrap_or_else(|| "the session was ended".to_owned());
    hub.input(Input::UpstreamEnded { connection, how, expected, stderr: String::new() });
}

struct Link {
    hub: Arc<Hub>,
    remote: Remote,
    connection: ConnectionId,
    closing: CancellationToken,
    tasks: TaskTracker,
    state: Mutex<State>,
}

/// One request on its way.
struct Request {
    id: RawJson,
    /// Its id as the server sees it, canonical.
    wire_id: String,
    method: String,
    modern: bool,
    /// Its client speaks HTTP itself and says in its headers what it wants to say.
    client_headers: bool,
    /// The id was replaced, and is put back before it leaves.
    restored: bool,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(self: &Arc<Link>, outgoing: Outgoing) {
        let Outgoing { message, carried, .. } = outgoing;
        if carried.headers.is_some() {
            self.state().client.clone_from(&carried.headers);
        }
        let Ok(view) = View::parse(&message) else { return };
        let headers = self.headers(carried.headers.as_deref(), Some(&view));
        let (Some(method), Some(id)) = (view.method.as_deref(), view.id) else {
            if view.method.as_deref() == Some("notifications/cancelled") && self.cancelled(&view) {
                return;
            }
            let initialized = view.method.as_deref() == Some("notifications/initialized");
            self.tell(message, headers).await;
            if initialized {
                self.tasks.spawn(Arc::clone(self).listen());
            }
            return;
        };
        let request = Request {
            id: RawJson::from_raw(id),
            wire_id: wire_id(carried.original.as_deref(), id.get()),
            method: method.to_owned(),
            modern: named(view.params).protocol_version().is_some(),
            client_headers: carried.headers.is_some(),
            restored: carried.original.is_some(),
        };
        let first = request.method == "initialize";
        let text = match carried.original {
            // The client's own text, with what was added to the one that was renumbered.
            Some(original) => correlation(&message)
                .and_then(|id| with_correlation(&original, &id))
                .unwrap_or_else(|| original.as_ref().to_owned()),
            None => message,
        };
        let running = Arc::clone(self).request(request, text, headers);
        if first {
            running.await;
        } else {
            self.tasks.spawn(running);
        }
    }

    /// Sends what is no request. It holds up what comes after it, but not for long.
    async fn tell(self: &Arc<Link>, message: String, headers: HeaderMap) {
        let link = Arc::clone(self);
        let sending = self.tasks.spawn(async move {
            let sent = tokio::select! {
                sent = link.remote.post(message, headers) => sent,
                () = link.closing.cancelled() => return,
            };
            match sent {
                Ok(response) if response.status().is_success() => {}
                Ok(response) => {
                    link.log(format!("the upstream refused a message: HTTP {}", response.status()))
                }
                Err(error) => {
                    link.log(format!("a message could not be sent to the upstream: {}", chain(&error)))
                }
            }
        });
        let _ = tokio::time::timeout(ACCEPTANCE, sending).await;
    }

    /// Closes the stream of a request, where that is what cancels it.
    fn cancelled(&self, view: &View<'_>) -> bool {
        let Some(id) = named(view.params).request_id.map(|id| key(id.get())) else { return false };
        match self.state().open.get(&id) {
            Some(open) if open.modern => {
                open.cancel.cancel();
                true
            }
            _ => false,
        }
    }

    async fn request(self: Arc<Link>, request: Request, text: String, headers: HeaderMap) {
        let cancel = self.closing.child_token();
        let id = key(request.id.get());
        let number = {
            let mut state = self.state();
            state.last_request += 1;
            let number = state.last_request;
            state.open.insert(id.clone(), Open { number, modern: request.modern, cancel: cancel.clone() });
            number
        };
        let answered = tokio::select! {
            answered = self.exchange(&request, text, headers) => answered,
            () = cancel.cancelled() => false,
        };
        {
            let mut state = self.state();
            if state.open.get(&id).is_some_and(|open| open.number == number) {
                state.open.remove(&id);
            }
        }
        if !answered {
            self.hub.input(Input::RequestLost { connection: self.connection, id: request.id });
        }
    }

    /// One POST and all that comes of it; whether it was answered.
    async fn exchange(&self, request: &Request, text: String, headers: HeaderMap) -> bool {
        let response = match self.remote.post(text, headers).await {
            Ok(response) => response,
            Err(error) => {
                let trouble = format!(
                    "`{}` did not reach the upstream or was not answered: {}",
                    request.method,
                    chain(&error)
                );
                self.state().in_trouble(trouble.clone());
                self.log(trouble);
                return false;
            }
        };
        if request.method == "initialize" && response.status().is_success() {
            self.state().session = response.headers().get(&SESSION).cloned();
        }
        if !response.status().is_success() {
            self.state().in_trouble(format!("it refused `{}`: HTTP {}", request.method, response.status()));
            return self.refused(request, response).await;
        }
        {
            let mut state = self.state();
            state.serves = true;
            state.trouble = None;
        }
        if content_type(response.headers()) == "text/event-stream" {
            if request.client_headers {
                self.hub.begun(self.connection, Stream::Of(key(request.id.get())));
            }
            return self.streamed(request, response).await;
        }
        match response.bytes().await {
            Ok(body) => self.incoming(body.into(), Some(request)),
            Err(error) => {
                self.log(format!("the answer to `{}` broke off: {}", request.method, chain(&error)));
                false
            }
        }
    }

    /// Reads a stream, and what is left of it after it broke where the server allows that.
    async fn streamed(&self, request: &Request, response: reqwest::Response) -> bool {
        let mut events = Events::default();
        let mut response = Some(response);
        let mut failures = 0;
        loop {
            if let Some(response) = response.take() {
                let (answered, some) = self.read(response, &mut events, Some(request)).await;
                if answered {
                    return true;
                }
                if some {
                    failures = 0;
                }
            }
            let Some(last) = events.last_id.clone().filter(|_| !request.modern && failures < MOST_RETRIES)
            else {
                self.log(format!("the stream that would have answered `{}` ended", request.method));
                return false;
            };
            failures += 1;
            tokio::time::sleep(events.retry.unwrap_or(RETRY)).await;
            match self.remote.stream(self.headers(None, None), Some(&last)).await {
                Ok(next) if next.status().is_success() => response = Some(next),
                Ok(_) => failures = MOST_RETRIES,
                Err(_) => {}
            }
        }
    }

    /// Reads a stream to its end, or to the answer: whether that came, and whether anything did.
    async fn read(
        &self,
        mut response: reqwest::Response,
        events: &mut Events,
        request: Option<&Request>,
    ) -> (bool, bool) {
        let mut some = false;
        let mut answered = false;
        while let Ok(Some(chunk)) = response.chunk().await {
            for event in events.push(&chunk) {
                some = true;
                if !event.data.is_empty() {
                    answered |= self.incoming(event.data, request);
                }
            }
            if answered {
                break;
            }
        }
        (answered, some)
    }

    /// The stream of the session, which a server need not have.
    async fn listen(self: Arc<Link>) {
        let reading = async {
            let mut events = Events::default();
            let mut failures = 0;
            while failures < MOST_RETRIES {
                failures += 1;
                match self.remote.stream(self.headers(None, None), events.last_id.as_deref()).await {
                    Ok(response)
                        if response.status().is_success()
                            && content_type(response.headers()) == "text/event-stream" =>
                    {
                        if self.read(response, &mut events, None).await.1 {
                            failures = 0;
                        }
                    }
                    Ok(_) => return,
                    Err(_) => {}
                }
                tokio::time::sleep(events.retry.unwrap_or(RETRY)).await;
            }
        };
        tokio::select! {
            () = reading => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// Takes a message of the server; whether it answers the request on whose stream it came.
    fn incoming(&self, bytes: Vec<u8>, request: Option<&Request>) -> bool {
        let mut message = match String::from_utf8(bytes) {
            Ok(message) => message,
            Err(_) => {
                self.log("the upstream sent something that is not UTF-8, which was dropped".to_owned());
                return false;
            }
        };
        let answers = request.is_some_and(|request| self.answers(request, &message));
        let mut carried = Carried { stream: Some(Stream::Own), ..Carried::default() };
        if let Some(request) = request {
            carried.stream = Some(Stream::Of(key(request.id.get())));
            if answers && request.restored {
                message = with_id(&message, request.id.get()).unwrap_or(message);
            }
        }
        self.hub.input_with(Input::FromUpstream { connection: self.connection, message }, carried);
        answers
    }

    fn answers(&self, request: &Request, message: &str) -> bool {
        if let Some(parts) = message::batch(message) {
            return parts.iter().any(|part| self.answers(request, part.get()));
        }
        let Ok(view) = View::parse(message) else { return false };
        let (None, Some(id)) = (&view.method, view.id) else { return false };
        if key(id.get()) != request.wire_id {
            return false;
        }
        let mut state = self.state();
        match request.method.as_str() {
            "initialize" => {
                let version = introduction(view.result).protocol_version;
                state.version = version.and_then(|version| HeaderValue::from_str(&version).ok());
            }
            "tools/list" if request.modern && !request.client_headers => {
                let result =
                    view.result.and_then(|result| serde_json::from_str::<ToolsResult<'_>>(result.get()).ok());
                let tools = result
                    .and_then(|result| serde_json::from_str::<Vec<&RawValue>>(result.tools?.get()).ok());
                for tool in tools.into_iter().flatten() {
                    state.mirrored.learn(tool);
                }
            }
            _ => {}
        }
        true
    }

    /// An answer that is no success for HTTP: an error for JSON-RPC, which knows no other.
    async fn refused(&self, request: &Request, response: reqwest::Response) -> bool {
        let status = response.status();
        let authenticate = response.headers().get(header::WWW_AUTHENTICATE).cloned();
        let body = response.text().await.unwrap_or_default();
        let message = refusal(request, status, &body);
        let carried = Carried {
            stream: Some(Stream::Of(key(request.id.get()))),
            refusal: Some(Arc::new(Refusal { status: status.as_u16(), authenticate })),
            ..Carried::default()
        };
        self.hub.input_with(Input::FromUpstream { connection: self.connection, message }, carried);
        true
    }

    fn headers(&self, client: Option<&HeaderMap>, view: Option<&View<'_>>) -> HeaderMap {
        self.state().headers(client, view)
    }

    fn log(&self, text: String) {
        self.hub.record(Event::Log { kind: LogKind::Upstream, text });
    }
}

/// The id of a request as the server sees it, canonical.
fn wire_id(original: Option<&str>, id: &str) -> String {
    let before = original.and_then(|text| View::parse(text).ok()).and_then(|view| view.id);
    key(before.map_or(id, |id| id.get()))
}

/// What an answer of HTTP that is no success says to a client that speaks JSON-RPC.
fn refusal(request: &Request, status: StatusCode, body: &str) -> String {
    let id = request.id.get();
    if let Ok(view) = View::parse(body)
        && let (None, Some(error)) = (&view.method, view.error)
    {
        return match view.id {
            Some(given) if key(given.get()) == request.wire_id => {
                with_id(body, id).filter(|_| request.restored).unwrap_or_else(|| body.to_owned())
            }
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        };
    }
    let head: String = body.chars().take(200).collect();
    let reason =
        RawJson::string(format!("the server answered with HTTP {status}: {head}").trim_end_matches(": "));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{reason}}}}}"#)
}
