//! An endpoint of a model that answers as it is told.

use super::super::{Key, RemoteModel, Settings, Wire};
use crate::harness::model::Identity;
use reqwest::Url;
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What an endpoint sends for one request.
#[derive(Clone)]
pub(super) enum Sent {
    /// A whole answer: status, more headers, body.
    Whole(u16, &'static str, String),
    /// A stream that ends as it should, or whose connection breaks.
    Stream(String, bool),
    /// The connection is closed without a word.
    Nothing,
}

/// An endpoint that answers each request as told, and keeps what it was asked.
pub(super) struct Endpoint {
    pub(super) url: Url,
    pub(super) asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Endpoint {
    pub(super) async fn new(answers: Vec<Sent>) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&asked);
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await.unwrap();
                keep.lock().unwrap().push(request);
                // Whoever hangs up early has heard enough.
                let _ = send(&mut stream, answer).await;
            }
        });
        Endpoint { url, asked }
    }

    pub(super) fn model(&self, wire: Wire, stream: bool) -> RemoteModel {
        let identity = Identity { provider: "p".into(), model: "m".into() };
        let settings = Settings { stream, ..Settings::default() };
        RemoteModel::new(wire, &self.url, Key::Own("sk-secret".into()), identity, settings).unwrap()
    }

    pub(super) fn bodies(&self) -> Vec<Value> {
        self.asked.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

async fn read(stream: &mut TcpStream) -> io::Result<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").and_then(|length| length.trim().parse::<usize>().ok())
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok((head.to_owned(), serde_json::from_str(body).unwrap_or_default()));
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn send(stream: &mut TcpStream, answer: Sent) -> io::Result<()> {
    let text = match answer {
        Sent::Nothing => return Ok(()),
        Sent::Whole(status, headers, body) => format!(
            "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ),
        Sent::Stream(body, whole) => {
            let end = if whole { "0\r\n\r\n" } else { "" };
            format!(
                "HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{:x}\r\n{body}\r\n{end}",
                body.len()
            )
        }
    };
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}
