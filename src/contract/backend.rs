//! The backend of a case: HTTP on loopback, which answers as the case's fixtures say, breaks
//! connections where they say so, and writes down what reached it.

use super::check::Seen;
use super::credential;
use super::fixture::{Asked, Fixture, Phase};
use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use axum::serve::IncomingStream;
use axum::{Router, body};
use std::io;
use std::net::Shutdown;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

/// The largest body of a request that is read, in bytes.
const LARGEST: usize = 16 << 20;
/// How long open connections may take to end.
const GRACE: Duration = Duration::from_millis(500);

/// A running backend. Dropping it ends every connection.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Keeps a port that refuses from being given to somebody else.
    _refusing: Option<TcpSocket>,
    serving: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
struct Shared {
    fixtures: Vec<Fixture>,
    state: Mutex<Written>,
    begun: Instant,
    closing: CancellationToken,
}

/// What was written down.
#[derive(Debug, Default)]
struct Written {
    /// How often each fixture has answered.
    used: Vec<u64>,
    requests: Vec<Seen>,
    /// Values of headers that carry credentials: names, and what stands behind the scheme.
    credentials: Vec<(String, String)>,
}

impl Backend {
    /// Begins to listen, or to refuse; at a free port of loopback where no address is given.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub async fn start(fixtures: &[Fixture], listen: Option<SocketAddr>) -> io::Result<Backend> {
        let wanted = listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        #[expect(clippy::disallowed_methods, reason = "the backend tells when requests came")]
        let begun = Instant::now();
        let shared = Arc::new(Shared {
            fixtures: fixtures.to_vec(),
            state: Mutex::new(Written { used: vec![0; fixtures.len()], ..Written::default() }),
            begun,
            closing: CancellationToken::new(),
        });
        if fixtures.iter().any(|fixture| fixture.phase == Phase::Refuse) {
            // Bound but not listening: whoever connects is refused.
            let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.bind(wanted)?;
            let address = socket.local_addr()?;
            return Ok(Backend { address, shared, _refusing: Some(socket), serving: None });
        }
        let listener = TcpListener::bind(wanted).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let service = router.into_make_service_with_connect_info::<Wire>();
        let closing = shared.closing.clone();
        let serving = tokio::spawn(async move {
            axum::serve(listener, service).with_graceful_shutdown(closing.cancelled_owned()).await
        });
        Ok(Backend { address, shared, _refusing: None, serving: Some(serving) })
    }

    /// Its address, as `{{ fixture.url }}`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Milliseconds since it began.
    pub fn elapsed_ms(&self) -> u64 {
        self.shared.elapsed_ms()
    }

    /// Values of credentials that requests carried, each once: the header's name, and the value.
    pub fn credentials(&self) -> Vec<(String, String)> {
        self.shared.written().credentials.clone()
    }

    /// Ends it, and tells what reached it.
    pub async fn end(mut self) -> Vec<Seen> {
        self.shared.closing.cancel();
        if let Some(serving) = self.serving.take() {
            // A connection that somebody holds open must not hold the next case.
            let _ = tokio::time::timeout(GRACE, serving).await;
        }
        std::mem::take(&mut self.shared.written().requests)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

impl Shared {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Takes the fixture whose turn it is among those that fit: the first that has not answered yet,
    /// or the last one again. It is taken only where it is `wanted`.
    fn take(&self, fits: impl Fn(&Fixture) -> bool, wanted: impl Fn(&Fixture) -> bool) -> Option<usize> {
        let mut written = self.written();
        let mut turn = None;
        for (at, fixture) in self.fixtures.iter().enumerate().filter(|(_, fixture)| fits(fixture)) {
            turn = Some((at, fixture));
            if written.used.get(at) == Some(&0) {
                break;
            }
        }
        let (at, _) = turn.filter(|(_, fixture)| wanted(fixture))?;
        if let Some(used) = written.used.get_mut(at) {
            *used += 1;
        }
        Some(at)
    }

    fn write_down(&self, asked: &Asked<'_>, fixture: Option<usize>, answered: String) {
        let committed =
            fixture.and_then(|at| self.fixtures.get(at)).is_some_and(|fixture| fixture.commits(asked.method));
        let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
        let seen = Seen {
            at_ms: self.elapsed_ms(),
            method: asked.method.to_owned(),
            path: format!("{}{query}", asked.path),
            fixture: fixture.map(|at| at + 1),
            committed,
            answered,
        };
        let mut written = self.written();
        written.requests.push(seen);
        let headers = asked.headers.iter().filter(|(name, _)| credential::is_credential(name));
        let headers = headers.flat_map(|(name, value)| {
            credential::values(name, value).into_iter().map(|value| (name.clone(), value))
        });
        for credential in headers.chain(credential::of_query(asked.query)) {
            if !written.credentials.contains(&credential) {
                written.credentials.push(credential);
            }
        }
    }
}

/// A connection, which can be broken.
#[derive(Debug, Clone)]
struct Wire(Option<Arc<std::net::TcpStream>>);

impl Connected<IncomingStream<'_, TcpListener>> for Wire {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Wire {
        Wire(second_handle(stream.io()).ok().map(Arc::new))
    }
}

impl Wire {
    /// What was written before still arrives.
    fn cut(&self) {
        if let Some(socket) = &self.0 {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(unix)]
fn second_handle(stream: &TcpStream) -> io::Result<std::net::TcpStream> {
    use std::os::fd::AsFd as _;
    stream.as_fd().try_clone_to_owned().map(Into::into)
}

#[cfg(windows)]
fn second_handle(stream: &TcpStream) -> io::Result<std::net::TcpStream> {
    use std::os::windows::io::AsSocket as _;
    stream.as_socket().try_clone_to_owned().map(Into::into)
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let headers = texts(&head.headers);
    let method = head.method.as_str().to_owned();
    let asked = Asked {
        method: &method,
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: &headers,
        body: None,
    };
    let early = |fixture: &Fixture| fixture.phase == Phase::AfterHeaders;
    let fits_head = |fixture: &Fixture| fixture.matches.fits_head(&asked);
    if let Some(at) = shared.take(fits_head, early) {
        return shared.close_early(&asked, at, &wire).await;
    }
    let Ok(bytes) = body::to_bytes(body, LARGEST).await else {
        shared.write_down(&asked, None, "its body did not arrive".to_owned());
        return nothing();
    };
    let text = String::from_utf8_lossy(&bytes);
    let asked = Asked { body: Some(&text), ..asked };
    let chosen = shared.take(|fixture| !early(fixture) && fixture.matches.fits(&asked), |_| true);
    let Some((at, fixture)) = chosen.and_then(|at| Some((at, shared.fixtures.get(at)?))) else {
        // What fits by its headers alone may have waited for one that needed the body.
        if let Some(at) = shared.take(|fixture| early(fixture) && fits_head(fixture), |_| true) {
            return shared.close_early(&asked, at, &wire).await;
        }
        shared.write_down(&asked, None, "404, no fixture matches".to_owned());
        return not_found();
    };
    let answered = match fixture.phase {
        Phase::Whole => fixture.status.to_string(),
        Phase::MidBody => format!("{}, closed in the body", fixture.status),
        _ => "closed without an answer".to_owned(),
    };
    shared.write_down(&asked, Some(at), answered);
    match fixture.phase {
        Phase::Whole => {
            shared.wait(fixture.delay).await;
            respond(fixture, Body::from(fixture.body.clone()))
        }
        Phase::MidBody => respond(fixture, half(Arc::clone(&shared), fixture)),
        _ => {
            shared.wait(fixture.delay).await;
            wire.cut();
            nothing()
        }
    }
}

impl Shared {
    async fn close_early(&self, asked: &Asked<'_>, at: usize, wire: &Wire) -> Response<Body> {
        self.write_down(asked, Some(at), "closed behind the headers".to_owned());
        if let Some(fixture) = self.fixtures.get(at) {
            self.wait(fixture.delay).await;
        }
        wire.cut();
        nothing()
    }

    async fn wait(&self, delay: Duration) {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = self.closing.cancelled() => {}
        }
    }
}

fn respond(fixture: &Fixture, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(fixture.status).unwrap_or(StatusCode::OK);
    for (name, value) in &fixture.headers {
        response.headers_mut().append(name.clone(), value.clone());
    }
    if fixture.phase == Phase::MidBody {
        response.headers_mut().insert(header::CONTENT_LENGTH, fixture.body.len().into());
    }
    response
}

/// The first half of the body under the length of the whole, then the end of the connection.
fn half(shared: Arc<Shared>, fixture: &Fixture) -> Body {
    let whole = fixture.body.as_bytes();
    let first = Bytes::copy_from_slice(&whole[..whole.len() / 2]);
    // Waiting lets the first half leave.
    let delay = fixture.delay.max(Duration::from_millis(1));
    let pieces = tokio_stream::iter([Ok(first), Err(io::Error::from(io::ErrorKind::ConnectionAborted))]);
    Body::from_stream(pieces.then(move |piece| {
        let shared = Arc::clone(&shared);
        async move {
            if piece.is_err() {
                shared.wait(delay).await;
            }
            piece
        }
    }))
}

fn nothing() -> Response<Body> {
    Response::new(Body::empty())
}

fn not_found() -> Response<Body> {
    let mut response = Response::new(Body::from(r#"{"error":"not_found"}"#));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::file::Contract;
    use super::*;

    fn fixtures(text: &str) -> Vec<Fixture> {
        let text = format!(
            "contract: c\nupstream: {{command: x}}\ncases:\n- {{id: a, call: {{tool: t}}, fixture: {text}, expect: {{is_error: true}}}}\n"
        );
        Contract::parse(&text, "c.yaml")
            .unwrap_or_else(|mistakes| panic!("{mistakes}"))
            .cases
            .remove(0)
            .fixtures
    }

    fn client() -> reqwest::Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .no_proxy()
            .retry(reqwest::retry::never())
            .tls_certs_only([])
            .build()
            .unwrap()
    }

    /// What a client sees of one POST, and what was written down.
    async fn post(text: &str) -> (String, Vec<Seen>) {
        let backend = Backend::start(&fixtures(text), None).await.unwrap();
        let sent = client().post(format!("{}/v1/a?b=1", backend.url())).body(r#"{"n":1,"m":2}"#).send().await;
        let seen = match sent {
            Err(error) if error.is_connect() => "no connection".to_owned(),
            Err(_) => "no answer".to_owned(),
            Ok(mut response) => {
                let mut body = Vec::new();
                let whole = loop {
                    match response.chunk().await {
                        Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                        Ok(None) => break "",
                        Err(_) => break " and no more",
                    }
                };
                format!("{} {}{whole}", response.status().as_u16(), String::from_utf8(body).unwrap())
            }
        };
        (seen, backend.end().await)
    }

    #[tokio::test]
    async fn each_phase_ends_where_it_says() {
        for (text, client, committed, answered) in [
            ("{phase: after_headers}", "no answer", false, "closed behind the headers"),
            ("{phase: after_commit}", "no answer", true, "closed without an answer"),
            ("{phase: mid_body, body: abcdef}", "200 abc and no more", true, "200, closed in the body"),
            (
                "{phase: mid_body, status: 401, body: abcdef}",
                "401 abc and no more",
                false,
                "401, closed in the body",
            ),
            ("{status: 201, body: {a: 1}}", "201 {\"a\":1}", true, "201"),
            ("{status: 500, committed: true}", "500 ", true, "500"),
            ("{status: 201, committed: false}", "201 ", false, "201"),
            ("{match: {path: '/v1/*', body: {n: 1}}, status: 403}", "403 ", false, "403"),
            (
                "{match: {path: '/v1/a?b=2'}}",
                "404 {\"error\":\"not_found\"}",
                false,
                "404, no fixture matches",
            ),
            ("{match: {body: {n: 2}}}", "404 {\"error\":\"not_found\"}", false, "404, no fixture matches"),
        ] {
            let (seen, written) = post(text).await;
            assert_eq!(seen, client, "{text}");
            let written: Vec<_> =
                written.iter().map(|seen| (seen.committed, seen.answered.as_str())).collect();
            assert_eq!(written, [(committed, answered)], "{text}");
        }
        let (seen, written) = post("{phase: refuse}").await;
        assert_eq!((seen.as_str(), written), ("no connection", Vec::new()));
    }

    #[tokio::test]
    async fn a_list_answers_in_its_order_and_its_last_again() {
        let list = "[{match: {method: POST}, status: 429}, {match: {method: GET}, status: 204}, {match: {method: POST}, status: 201}]";
        let backend = Backend::start(&fixtures(list), None).await.unwrap();
        let mut statuses = Vec::new();
        for method in ["POST", "GET", "POST", "POST", "GET"] {
            let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
            let request = client().request(method, backend.url()).header("authorization", "Bearer abc-def");
            statuses.push(request.send().await.unwrap().status().as_u16());
        }
        assert_eq!(statuses, [429, 204, 201, 201, 204]);
        assert_eq!(backend.credentials(), [("authorization".to_owned(), "abc-def".to_owned())]);
        let fixtures: Vec<_> = backend.end().await.iter().map(|seen| seen.fixture).collect();
        assert_eq!(fixtures, [Some(1), Some(2), Some(3), Some(3), Some(2)]);
    }
}
