//! As little HTTP as shows what goes over the wire.

use nochmal::harness::endpoint::{Options, serve};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An endpoint for one test.
pub struct Served {
    pub address: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub async fn start(options: Options) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, options, async {
            let _ = stopped.await;
        }));
        Served { address, stop, task }
    }

    pub async fn end(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

/// An answer as it came.
pub struct Reply {
    pub status: u16,
    head: String,
    pub chunks: Vec<String>,
    /// It came to its end.
    pub complete: bool,
}

impl Reply {
    pub fn text(&self) -> String {
        self.chunks.concat()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The data of every event.
    pub fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub async fn post(served: &Served, path: &str, body: &Value) -> Reply {
    post_bytes(served, path, &[], body.to_string().as_bytes()).await
}

pub async fn post_bytes(served: &Served, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    request(&served.address, "POST", path, headers, body).await
}

pub async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut bytes = Vec::new();
    // A connection that is cut may end in an error.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut reply = Reply { status, head: head.to_owned(), chunks: Vec::new(), complete: false };
    if reply.header("transfer-encoding") == Some("chunked") {
        let mut rest = body;
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                reply.complete = true;
                break;
            }
            reply.chunks.push(after[..size].to_owned());
            rest = after[size..].trim_start_matches("\r\n");
        }
    } else {
        reply.chunks.push(body.to_owned());
        reply.complete = true;
    }
    reply
}
