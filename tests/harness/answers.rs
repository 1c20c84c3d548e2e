//! An OpenAI-compatible endpoint whose answers are a closure's, which may also end the agent.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the endpoint does with a request.
pub enum Answer {
    /// A message of the assistant.
    Message(Value),
    /// A status and a body.
    Refusal(u16, Value),
    /// The agent is ended, with SIGKILL.
    Kill,
}

type Answers = dyn Fn(usize, &Value) -> Answer + Send + Sync;

pub struct Endpoint {
    pub url: String,
    /// What it was sent, in order.
    pub requests: Arc<Mutex<Vec<Value>>>,
    /// The process that [`Answer::Kill`] ends.
    pub agent: Arc<AtomicI32>,
}

impl Endpoint {
    pub async fn start(answers: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (requests, agent) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicI32::new(0)));
        let endpoint = Endpoint { url, requests: Arc::clone(&requests), agent: Arc::clone(&agent) };
        let answers: Arc<Answers> = Arc::new(answers);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&answers), Arc::clone(&requests), Arc::clone(&agent)));
            }
        });
        endpoint
    }
}

async fn answer(
    stream: TcpStream,
    answers: Arc<Answers>,
    requests: Arc<Mutex<Vec<Value>>>,
    agent: Arc<AtomicI32>,
) {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let number = {
        let mut requests = requests.lock().unwrap();
        requests.push(request.clone());
        requests.len() - 1
    };
    let (status, body) = match answers(number, &request) {
        Answer::Message(message) => {
            let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
            let usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
            (200, json!({"choices": [{"finish_reason": reason, "message": message}], "usage": usage}))
        }
        Answer::Refusal(status, body) => (status, body),
        Answer::Kill => {
            kill_process(Pid::from_raw(agent.load(Ordering::SeqCst)).unwrap(), Signal::KILL).unwrap();
            return;
        }
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes()).await;
}

/// The assistant asks for calls: id, tool, arguments.
pub fn asks(calls: &[(&str, &str, Value)]) -> Answer {
    let call = |(id, name, arguments): &(&str, &str, Value)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    Answer::Message(json!({"role": "assistant", "content": null,
                           "tool_calls": calls.iter().map(call).collect::<Vec<_>>()}))
}

/// The assistant says something.
pub fn says(text: &str) -> Answer {
    Answer::Message(json!({"role": "assistant", "content": text}))
}
