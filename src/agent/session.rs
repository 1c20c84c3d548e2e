//! An agent that keeps one process for the whole conversation and talks JSON lines.
//!
//! In: `{"type":"user","text":…}`. Out, once for each of them:
//! `{"type":"reply","text":…,"usage":{"input_tokens":…,"output_tokens":…,"cost_usd":…}}` or
//! `{"type":"error","message":…}`, with `"kind":"model_endpoint"` where the model did not answer.
//! Other lines are ignored. The end of the input is the end of the conversation.
//! `usage` may also have `cached_tokens`, `answers` and `retries`.
//! A `usage` whose `"unit"` is there and not `"tokens"` is passed over.

use super::output::{self, Count, Find, Format, Parsed, Spec};
use crate::process::{Exit, Process};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Why there is no reply.
#[derive(Debug)]
pub(super) enum SessionEnd {
    /// The agent reported a failure of its own.
    Error { message: String, of_model: bool },
    /// It ended, or closed its output.
    Ended { exit: Option<Exit>, garbage: Option<String> },
}

/// The open session.
pub(super) struct Session {
    stdin: ChildStdin,
    messages: mpsc::UnboundedReceiver<Value>,
    noise: Arc<Noise>,
    spec: Spec,
    reader: JoinHandle<()>,
}

/// Output that is not a message.
#[derive(Default)]
struct Noise {
    last: Mutex<Option<String>>,
    dropped: AtomicU64,
}

impl Session {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, spec: &Spec, limit: usize) -> Session {
        let (sender, messages) = mpsc::unbounded_channel();
        let noise = Arc::new(Noise::default());
        let reader = tokio::spawn(read(stdout, sender, Arc::clone(&noise), limit));
        Session { stdin, messages, noise, spec: with_defaults(spec), reader }
    }

    /// Says something and waits for the reply, without a limit of its own.
    pub(super) async fn ask(
        &mut self,
        say: &str,
        process: &mut Process,
        drain: Duration,
    ) -> Result<Parsed, SessionEnd> {
        // A second reply to what was said before must not be taken for the reply to this.
        while let Ok(message) = self.messages.try_recv() {
            if message["type"] == "error" {
                return self.understand(&message);
            }
            tracing::debug!(%message, "ignoring a reply that nothing asked for");
        }
        let mut line = serde_json::json!({"type": "user", "text": say}).to_string();
        line.push('\n');
        let sent = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        // An agent that has ended cannot be written to; how it ended is told below.
        let _ = sent.await;
        let message = tokio::select! {
            biased;
            message = self.messages.recv() => message,
            // Another process may hold the output open when the agent has ended.
            _ = process.wait() => tokio::time::timeout(drain, self.messages.recv()).await.ok().flatten(),
        };
        match message {
            Some(message) => self.understand(&message),
            None => {
                let exit = tokio::time::timeout(drain, process.wait()).await.ok();
                Err(SessionEnd::Ended { exit, garbage: self.stray() })
            }
        }
    }

    fn understand(&self, message: &Value) -> Result<Parsed, SessionEnd> {
        if message["type"] == "error" {
            let text = message["message"].as_str().unwrap_or("no message");
            let of_model = message["kind"] == "model_endpoint";
            return Err(SessionEnd::Error { message: text.to_owned(), of_model });
        }
        let mut parsed = output::read(&self.spec, std::slice::from_ref(message));
        let told = |name: &str| message["usage"][name].as_u64();
        parsed.usage.cached_tokens = told("cached_tokens");
        parsed.usage.answers = told("answers");
        parsed.usage.retries = told("retries");
        // A scripted model has no tokens; what it counts instead must not be added to them.
        if message["usage"]["unit"].as_str().is_some_and(|unit| unit != "tokens") {
            parsed.usage = crate::domain::Usage::default();
        }
        Ok(parsed)
    }

    /// The last line that was no message.
    pub(super) fn stray(&self) -> Option<String> {
        self.noise.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes of lines that were longer than the limit.
    pub(super) fn dropped(&self) -> u64 {
        self.noise.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The places of the protocol; a program may name its own for what is more than the reply.
fn with_defaults(spec: &Spec) -> Spec {
    let find = |find: &Option<Find>, pointer: &str| Some(find.clone().unwrap_or_else(|| Find::at(pointer)));
    let count =
        |count: &Option<Count>, pointer: &str| Some(count.clone().unwrap_or_else(|| Count::at(pointer)));
    Spec {
        format: Format::JsonLines,
        reply: find(&spec.reply, "/text"),
        session: find(&spec.session, "/session"),
        error: None,
        input_tokens: count(&spec.input_tokens, "/usage/input_tokens"),
        output_tokens: count(&spec.output_tokens, "/usage/output_tokens"),
        cost_usd: count(&spec.cost_usd, "/usage/cost_usd"),
    }
}

/// Reads to the end whatever comes: an agent must not block on its own output between two turns.
async fn read(
    mut stdout: ChildStdout,
    sender: mpsc::UnboundedSender<Value>,
    noise: Arc<Noise>,
    limit: usize,
) {
    let mut chunk = vec![0; 64 * 1024];
    let mut line = Vec::new();
    let mut too_long = false;
    while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
        for part in chunk.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            if too_long || line.len() + part.len() > limit {
                noise.dropped.fetch_add((line.len() + part.len()) as u64, Ordering::Relaxed);
                line = Vec::new();
                too_long = !part.ends_with(b"\n");
                continue;
            }
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                take(&line, &sender, &noise);
                line.clear();
            }
        }
    }
    take(&line, &sender, &noise);
}

fn take(line: &[u8], sender: &mpsc::UnboundedSender<Value>, noise: &Noise) {
    match serde_json::from_slice::<Value>(line) {
        Ok(message) if message["type"] == "reply" || message["type"] == "error" => {
            // Nobody listens any more: the conversation is over.
            let _ = sender.send(message);
        }
        _ => {
            let text = output::head(&String::from_utf8_lossy(line));
            if !text.is_empty() {
                *noise.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            }
        }
    }
}
