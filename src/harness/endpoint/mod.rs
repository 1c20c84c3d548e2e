//! The scripted models behind an OpenAI-compatible Chat Completions endpoint, so that any
//! agent program can be driven without a model, a key or a network.
//!
//! Stateless: all that decides an answer is in the request. `model` is the name of a script;
//! `error:STATUS` answers with that status, `hang` never answers.

mod answer;
mod wire;

use super::script::Script;
use super::script::behaviour::BEHAVIOURS;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use wire::Request;

/// Long conversations are larger than axum's default of 2 MB.
const BODY: usize = 64 * 1024 * 1024;

/// How an endpoint is served.
#[derive(Debug, Default)]
pub struct Options {
    /// For scripts that choose at random, where a request has no `seed`.
    pub seed: u64,
    /// Where every request is kept, one JSON object a line.
    pub log: Option<File>,
}

struct Endpoint {
    seed: u64,
    log: Option<Mutex<File>>,
    answers: AtomicU64,
    /// Lets requests go that would hang for ever.
    closing: CancellationToken,
}

/// Serves until `shutdown` is there.
///
/// # Errors
/// Where the listener fails.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let closing = CancellationToken::new();
    let endpoint = Arc::new(Endpoint {
        seed: options.seed,
        log: options.log.map(Mutex::new),
        answers: AtomicU64::new(0),
        closing: closing.clone(),
    });
    let router =
        Router::new().fallback(handle).layer(DefaultBodyLimit::max(BODY)).with_state(Arc::clone(&endpoint));
    axum::serve(listener, router)
        .with_graceful_shutdown(async move {
            shutdown.await;
            closing.cancel();
        })
        .await
}

async fn handle(State(endpoint): State<Arc<Endpoint>>, method: Method, uri: Uri, body: Bytes) -> Response {
    // With and without the prefix: agents differ in what they take a base URL for.
    let path = uri.path().trim_end_matches('/');
    match (method, path.strip_prefix("/v1").unwrap_or(path)) {
        (Method::POST, "/chat/completions") => endpoint.complete(&body).await,
        (Method::GET, "/models") => {
            let list: Vec<Value> = BEHAVIOURS.iter().map(|behaviour| model(&behaviour.name)).collect();
            json_response(StatusCode::OK, &json!({"object": "list", "data": list}))
        }
        (Method::GET, path) if path.starts_with("/models/") => {
            json_response(StatusCode::OK, &model(path.trim_start_matches("/models/")))
        }
        (method, path) => refuse(404, &format!("there is no {method} {path} here")),
    }
}

fn model(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "script"})
}

impl Endpoint {
    async fn complete(&self, body: &Bytes) -> Response {
        if let Err(error) = self.keep(body) {
            return refuse(500, &format!("the log cannot be written: {error}"));
        }
        let request = match Request::parse(body) {
            Ok(request) => request,
            Err(reason) => return refuse(400, &reason),
        };
        if request.model == "hang" {
            self.closing.cancelled().await;
            return refuse(503, "shutting down");
        }
        if let Some(status) = request.model.strip_prefix("error:") {
            return match status.parse() {
                Ok(status @ 400..=599) => {
                    refuse(status, &format!("answered {status}, as the model's name says"))
                }
                _ => refuse(404, "error: takes a status from 400 to 599"),
            };
        }
        let script = match Script::parse(&request.model) {
            Ok(script) => script,
            Err(error) => return refuse(404, &error.to_string()),
        };
        let turn = script.respond(request.seed.unwrap_or(self.seed), &request.messages, &request.tools);
        let id = format!("chatcmpl-{}", self.answers.fetch_add(1, Ordering::Relaxed) + 1);
        if request.stream {
            let events = answer::stream(&id, &request.model, &turn, request.include_usage);
            response(StatusCode::OK, "text/event-stream", events)
        } else {
            json_response(StatusCode::OK, &answer::whole(&id, &request.model, &turn))
        }
    }

    fn keep(&self, body: &[u8]) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let request = serde_json::from_slice::<Value>(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write_all(&line)?;
        log.flush()
    }
}

fn refuse(status: u16, message: &str) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(code, &answer::error(status, message));
    if status == 429 {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

fn json_response(status: StatusCode, value: &Value) -> Response {
    response(status, "application/json", value.to_string())
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}
