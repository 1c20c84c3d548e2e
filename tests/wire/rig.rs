//! Both ends of the proxy in the hands of a test: what one end says must reach the other to the
//! letter.

use super::machine::{PATIENCE, nochmal};
use super::tls;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::UnboundedReceiverStream;

/// How one side of the proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Stdio,
    Http,
    /// HTTP over TLS, of a server whose certificate an authority of its own has signed.
    Https,
}

pub const ALL: [(Wire, Wire); 4] = [
    (Wire::Stdio, Wire::Stdio),
    (Wire::Stdio, Wire::Http),
    (Wire::Http, Wire::Stdio),
    (Wire::Http, Wire::Http),
];

pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("nothing came: {what}"))
}

/// A proxy with a test at each end.
pub struct Rig {
    pub down: Down,
    pub up: Up,
    pub trace: tempfile::TempDir,
    child: Child,
}

impl Rig {
    pub async fn new(down: Wire, up: Wire) -> Rig {
        Rig::with(down, up, &[]).await
    }

    pub async fn with(down: Wire, up: Wire, flags: &[&str]) -> Rig {
        let trace = tempfile::tempdir().unwrap();
        let mut command = Command::from(nochmal());
        // How long an upstream may take is not asked here: huge messages take their time on a busy machine.
        command.args(["proxy", "--probe", "off", "--audit-tools", "off", "--upstream-timeout", "3600"]);
        command.arg("--trace");
        command.arg(trace.path().join("trace.jsonl")).args(flags);
        let (listener, mut up) = match up {
            Wire::Stdio => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let port = listener.local_addr().unwrap().port().to_string();
                let pipe = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/pipe.py");
                command.args([
                    "--upstream-command",
                    "python3",
                    "--upstream-arg",
                    pipe,
                    "--upstream-arg",
                    &port,
                ]);
                (Some(listener), None)
            }
            Wire::Http => {
                let server = HttpUp::start().await;
                command.args(["--upstream-url", &server.url]);
                (None, Some(Up::Http(server)))
            }
            Wire::Https => {
                let server = HttpUp::start().await;
                let authority = trace.path().join("authority.pem");
                let url = tls::in_front_of(&server.url, &authority).await;
                command.args(["--upstream-url", &url]).env("SSL_CERT_FILE", &authority);
                (None, Some(Up::Http(server)))
            }
        };
        if down == Wire::Http {
            command.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let down = match down {
            Wire::Stdio => Down::Stdio {
                stdin: child.stdin.take().unwrap(),
                stdout: BufReader::new(child.stdout.take().unwrap()),
            },
            Wire::Http | Wire::Https => Down::Http(HttpDown::new(url_of(&mut child).await)),
        };
        if let Some(listener) = listener {
            // Over HTTP an upstream is started for the first session, over stdio at once.
            up = Some(Up::Stdio(StdioUp { listener, open: None, earlier: Vec::new() }));
        }
        Rig { down, up: up.unwrap(), trace, child }
    }

    /// The handshake, at both ends.
    pub async fn initialized(down: Wire, up: Wire, version: &str) -> Rig {
        let mut rig = Rig::new(down, up).await;
        rig.handshake(version).await;
        rig
    }

    pub async fn handshake(&mut self, version: &str) {
        let hello = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"x":1.0}},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
        );
        self.up_gets(&hello).await;
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"u","version":"2"}},"more":null}}}}"#
        );
        self.down_gets(&answer).await;
        self.up_gets(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        if let Down::Http(down) = &mut self.down {
            down.listen().await;
        }
        if let Up::Http(up) = &mut self.up {
            up.stream_opened().await;
        }
    }

    /// The client says something, which must reach the upstream to the letter.
    pub async fn up_gets(&mut self, message: &str) {
        self.down.say(message).await;
        let got = self.up.next().await;
        assert!(got == message, "the upstream got {}\nand not {}", head(&got), head(message));
    }

    /// The upstream says something, which must reach the client to the letter.
    pub async fn down_gets(&mut self, message: &str) {
        self.up.say(message).await;
        let got = self.down.next().await;
        assert!(got == message, "the client got {}\nand not {}", head(&got), head(message));
    }

    /// A whole exchange, to the letter.
    pub async fn exchange(&mut self, request: &str, answer: &str) {
        self.up_gets(request).await;
        self.down_gets(answer).await;
    }

    /// The records of the trace so far.
    pub fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.trace.path().join("trace.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How many events of a kind the trace holds.
    pub fn count(&self, event: &str) -> usize {
        self.records().iter().filter(|record| record["event"].get(event).is_some()).count()
    }

    /// Waits until the trace holds an event.
    pub async fn recorded(&self, event: &str) -> Value {
        soon(event, async {
            loop {
                let found = self.records().into_iter().find(|record| record["event"].get(event).is_some());
                if let Some(record) = found {
                    return record;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    /// Ends the proxy as a user does, and waits for its end.
    pub async fn interrupt(&mut self) -> Option<i32> {
        rustix::process::kill_process(self.pid(), rustix::process::Signal::INT).unwrap();
        self.ended().await
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap()
    }

    /// Waits for the proxy's end, and gives its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        soon("the end of the proxy", self.child.wait()).await.unwrap().code()
    }
}

fn head(text: &str) -> String {
    text.chars().take(400).collect()
}

/// The URL that `nochmal proxy --listen` prints.
pub async fn url_of(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = soon("the URL", async {
        loop {
            let line = lines.next_line().await.unwrap().expect("a URL on stderr");
            if let Some(url) = line.strip_prefix("[nochmal] listening on ") {
                return url.to_owned();
            }
        }
    })
    .await;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    url
}

/// The client's end.
pub enum Down {
    Stdio { stdin: ChildStdin, stdout: BufReader<ChildStdout> },
    Http(HttpDown),
}

impl Down {
    pub async fn say(&mut self, message: &str) {
        match self {
            Down::Stdio { stdin, .. } => {
                stdin.write_all(message.as_bytes()).await.unwrap();
                stdin.write_all(b"\n").await.unwrap();
                stdin.flush().await.unwrap();
            }
            Down::Http(down) => down.post(message).await,
        }
    }

    pub async fn next(&mut self) -> String {
        match self {
            Down::Stdio { stdout, .. } => {
                let mut line = String::new();
                soon("a message for the client", stdout.read_line(&mut line)).await.unwrap();
                line.pop();
                line
            }
            Down::Http(down) => soon("a message for the client", down.messages.recv()).await.unwrap(),
        }
    }

    pub fn http(&mut self) -> &mut HttpDown {
        match self {
            Down::Http(down) => down,
            Down::Stdio { .. } => panic!("this client speaks stdio"),
        }
    }
}

/// A client that speaks HTTP, and puts everything that comes from any stream into one queue.
pub struct HttpDown {
    pub url: String,
    pub client: reqwest::Client,
    pub session: Arc<Mutex<Option<String>>>,
    messages: mpsc::UnboundedReceiver<String>,
    sender: mpsc::UnboundedSender<String>,
}

impl HttpDown {
    pub fn new(url: String) -> HttpDown {
        let (sender, messages) = mpsc::unbounded_channel();
        HttpDown { url, client: http_client(), session: Arc::default(), messages, sender }
    }

    pub fn request(&self, method: Method) -> reqwest::RequestBuilder {
        let request = self.client.request(method, &self.url);
        let request = request.header("accept", "application/json, text/event-stream");
        match self.session.lock().unwrap().as_deref() {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    /// Sends a message; its answer comes out of the queue. What is no request is waited for.
    async fn post(&mut self, message: &str) {
        let mut request = self.request(Method::POST).header("content-type", "application/json");
        let short = if message.len() > 1_000_000 { r#"{"id":1,"method":"huge"}"# } else { message };
        let parsed: Value = serde_json::from_str(&short.replace("1e400", "1")).unwrap_or_default();
        let meta = &parsed["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        if let Some(version) = meta.as_str() {
            request = request.header("mcp-protocol-version", version);
            request = request.header("mcp-method", parsed["method"].as_str().unwrap());
            if let Some(name) = parsed["params"]["name"].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        let request = request.body(message.to_owned());
        let (sender, session) = (self.sender.clone(), Arc::clone(&self.session));
        let sending = tokio::spawn(async move {
            let response = request.send().await.unwrap();
            if let Some(name) = response.headers().get("mcp-session-id") {
                *session.lock().unwrap() = Some(name.to_str().unwrap().to_owned());
            }
            drain(response, &sender).await;
        });
        let is_request = parsed.is_array() || (parsed.get("method").is_some() && parsed.get("id").is_some());
        if !is_request && !parsed.is_null() {
            sending.await.unwrap();
        }
    }

    /// Opens the stream of the session.
    pub async fn listen(&mut self) {
        let response = self.request(Method::GET).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let sender = self.sender.clone();
        tokio::spawn(async move { drain(response, &sender).await });
    }
}

pub fn http_client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).no_proxy().build().unwrap()
}

/// Puts every message of an answer into a queue.
async fn drain(mut response: reqwest::Response, messages: &mpsc::UnboundedSender<String>) {
    let events = response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
    if !events {
        let text = response.text().await.unwrap();
        if !text.is_empty() {
            let _ = messages.send(text);
        }
        return;
    }
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if !bytes.ends_with(b"\n\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut bytes)).unwrap();
        for event in text.split("\n\n") {
            if let Some((_, data)) = event.split_once("data: ")
                && !data.is_empty()
            {
                let _ = messages.send(data.to_owned());
            }
        }
    }
}

/// The upstream's end.
pub enum Up {
    Stdio(StdioUp),
    Http(HttpUp),
}

pub struct StdioUp {
    listener: TcpListener,
    open: Option<(BufReader<OwnedReadHalf>, OwnedWriteHalf)>,
    /// Earlier processes, which live on.
    earlier: Vec<(BufReader<OwnedReadHalf>, OwnedWriteHalf)>,
}

impl StdioUp {
    /// Takes the next process, in place of the one before.
    pub async fn accept(&mut self) {
        let (stream, _): (TcpStream, _) = soon("an upstream", self.listener.accept()).await.unwrap();
        let (reader, writer) = stream.into_split();
        self.earlier.extend(self.open.replace((BufReader::new(reader), writer)));
    }

    async fn pair(&mut self) -> &mut (BufReader<OwnedReadHalf>, OwnedWriteHalf) {
        if self.open.is_none() {
            self.accept().await;
        }
        self.open.as_mut().unwrap()
    }
}

impl Up {
    pub async fn next(&mut self) -> String {
        match self {
            Up::Stdio(up) => {
                let mut line = String::new();
                let reader = &mut up.pair().await.0;
                soon("a message for the upstream", reader.read_line(&mut line)).await.unwrap();
                line.pop();
                line
            }
            Up::Http(up) => up.next().await.body,
        }
    }

    /// Sends a message; over HTTP answers go where their request came from, all else where the
    /// server has a stream of its own.
    pub async fn say(&mut self, message: &str) {
        match self {
            Up::Stdio(up) => {
                let writer = &mut up.pair().await.1;
                writer.write_all(message.as_bytes()).await.unwrap();
                writer.write_all(b"\n").await.unwrap();
            }
            Up::Http(up) => up.say(message),
        }
    }

    /// Sends something about a request that is still open.
    pub async fn say_about(&mut self, id: &str, message: &str) {
        match self {
            Up::Http(up) => up.say_on(id, message),
            Up::Stdio(_) => self.say(message).await,
        }
    }

    pub fn http(&mut self) -> &mut HttpUp {
        match self {
            Up::Http(up) => up,
            Up::Stdio(_) => panic!("this upstream speaks stdio"),
        }
    }

    pub fn stdio(&mut self) -> &mut StdioUp {
        match self {
            Up::Stdio(up) => up,
            Up::Http(_) => panic!("this upstream speaks HTTP"),
        }
    }
}

/// A request as the scripted server got it.
pub struct Got {
    pub method: Method,
    pub headers: HeaderMap,
    pub body: String,
}

type Streams = Arc<Mutex<HashMap<String, mpsc::UnboundedSender<String>>>>;

/// A server over HTTP that answers every request with a stream of events.
pub struct HttpUp {
    pub url: String,
    got: mpsc::UnboundedReceiver<Got>,
    streams: Streams,
    pub scripted: Arc<Mutex<Option<Response>>>,
}

const OWN: &str = "GET";

#[derive(Clone)]
struct Shared {
    got: mpsc::UnboundedSender<Got>,
    streams: Streams,
    scripted: Arc<Mutex<Option<Response>>>,
}

impl HttpUp {
    pub async fn start() -> HttpUp {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/some/mcp?x=1", listener.local_addr().unwrap());
        let (sender, got) = mpsc::unbounded_channel();
        let (streams, scripted) = (Streams::default(), Arc::default());
        let shared = Shared { got: sender, streams: Arc::clone(&streams), scripted: Arc::clone(&scripted) };
        let app = axum::Router::new()
            .route("/some/mcp", axum::routing::any(answer))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        HttpUp { url, got, streams, scripted }
    }

    pub async fn next(&mut self) -> Got {
        loop {
            let got = soon("a message for the upstream", self.got.recv()).await.unwrap();
            if got.method == Method::POST {
                return got;
            }
        }
    }

    /// Whether no request has come.
    pub fn got_nothing(&mut self) -> bool {
        self.got.try_recv().is_err()
    }

    /// The next request of any method.
    pub async fn any(&mut self) -> Got {
        soon("a request for the upstream", self.got.recv()).await.unwrap()
    }

    async fn stream_opened(&mut self) {
        while self.any().await.method != Method::GET {}
    }

    fn say(&self, message: &str) {
        let (id, is_answer) = id_of(message);
        if is_answer {
            self.say_on(&id, message);
            // The answer ends its stream.
            self.streams.lock().unwrap().remove(&id);
        } else {
            self.say_on(OWN, message);
        }
    }

    pub fn say_on(&self, id: &str, message: &str) {
        let streams = self.streams.lock().unwrap();
        streams
            .get(id)
            .expect("an open stream")
            .send(format!("event: message\ndata: {message}\n\n"))
            .unwrap();
    }

    /// Breaks the answer to a request off.
    pub fn break_off(&self, id: &str) {
        self.streams.lock().unwrap().remove(id).expect("an open stream");
    }

    /// Resolves when the proxy has closed the answer to a request.
    pub async fn closed(&self, id: &str) {
        let sender = self.streams.lock().unwrap().get(id).expect("an open stream").clone();
        soon("the end of a stream", sender.closed()).await;
    }
}

/// The id of a message as text, and whether it is an answer.
fn id_of(message: &str) -> (String, bool) {
    let raw: HashMap<String, &serde_json::value::RawValue> =
        serde_json::from_str(message).unwrap_or_default();
    let id = raw.get("id").map(|id| id.get().to_owned()).unwrap_or_default();
    (id.clone(), !id.is_empty() && !raw.contains_key("method"))
}

async fn answer(State(shared): State<Shared>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8(body.to_vec()).unwrap();
    let (id, is_answer) = id_of(&body);
    let is_request = method == Method::POST && !id.is_empty() && !is_answer;
    let (sender, receiver) = mpsc::unbounded_channel();
    if is_request || method == Method::GET {
        let key = if is_request { id } else { OWN.to_owned() };
        shared.streams.lock().unwrap().insert(key, sender);
    }
    let session = headers.contains_key("mcp-session-id") || body.contains("\"initialize\"");
    let posted = method == Method::POST;
    let _ = shared.got.send(Got { method: method.clone(), headers, body });
    // What is scripted answers the next request, not a notification or a stream that comes in between.
    if posted
        && is_request
        && let Some(response) = shared.scripted.lock().unwrap().take()
    {
        return response;
    }
    if !is_request && method != Method::GET {
        return StatusCode::ACCEPTED.into_response();
    }
    let body =
        Body::from_stream(UnboundedReceiverStream::new(receiver).map(Ok::<_, std::convert::Infallible>));
    let mut response = ([("content-type", "text/event-stream")], body).into_response();
    if session {
        response.headers_mut().insert("mcp-session-id", "the-server's".parse().unwrap());
    }
    response
}
