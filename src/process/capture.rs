//! What is kept of a stream: its beginning and its end, in bounded memory.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// The kept part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; follows `head` directly where nothing was dropped.
    pub tail: Vec<u8>,
    /// Bytes between the two that were read and dropped.
    pub dropped: u64,
}

impl Captured {
    /// The kept bytes as text; a gap is a line of its own that says how much is missing.
    pub fn text(&self) -> String {
        let mut text = lossy(&self.head).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n… {} bytes dropped …\n", self.dropped));
            text.push_str(&lossy(&self.tail));
            return text;
        }
        // A character can lie across the two parts.
        let mut bytes = self.head.clone();
        bytes.extend_from_slice(&self.tail);
        lossy(&bytes).into_owned()
    }

    /// All bytes that were read.
    pub fn total(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.dropped
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// How much of a stream is kept, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Of its beginning.
    pub head: usize,
    /// Of its end.
    pub tail: usize,
}

impl Keep {
    /// At most `limit` bytes of memory: half for the beginning, a quarter for the end, which is
    /// moved rarely because it may grow to twice its size.
    pub fn within(limit: usize) -> Keep {
        Keep { head: limit / 2, tail: limit / 4 }
    }

    /// The end alone.
    pub fn tail(tail: usize) -> Keep {
        Keep { head: 0, tail }
    }
}

#[derive(Debug)]
struct Buffer {
    keep: Keep,
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: u64,
}

impl Buffer {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.keep.head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > self.keep.tail.saturating_mul(2) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let excess = self.tail.len().saturating_sub(self.keep.tail);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }
}

/// Reads a stream to its end in the background, whatever its length, so that the writer never
/// blocks. Reading stops when this is dropped.
#[derive(Debug)]
pub struct Capture {
    buffer: Arc<Mutex<Buffer>>,
    task: JoinHandle<()>,
}

impl Capture {
    /// Starts reading.
    pub fn start(stream: impl AsyncRead + Send + 'static, keep: Keep) -> Capture {
        let buffer = Arc::new(Mutex::new(Buffer { keep, head: Vec::new(), tail: Vec::new(), dropped: 0 }));
        let shared = Arc::clone(&buffer);
        let task = tokio::spawn(async move {
            let mut stream = pin!(stream);
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                let mut buffer = shared.lock().unwrap_or_else(PoisonError::into_inner);
                buffer.push(chunk.get(..count).unwrap_or_default());
            }
        });
        Capture { buffer, task }
    }

    /// Waits for the end of the stream, but not longer than `bound`: another process may hold
    /// it open. Says whether the end was reached.
    pub async fn drain(&mut self, bound: Duration) -> bool {
        self.task.is_finished() || tokio::time::timeout(bound, &mut self.task).await.is_ok()
    }

    /// Bytes that were read and not kept.
    pub fn dropped(&self) -> u64 {
        let buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.dropped + buffer.tail.len().saturating_sub(buffer.keep.tail) as u64
    }

    /// Goes on reading, but keeps nothing any more; what was kept does not count as dropped.
    pub fn forget(&mut self) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.trim();
        buffer.keep = Keep::tail(0);
        buffer.head = Vec::new();
        buffer.tail = Vec::new();
    }

    /// What has been read so far.
    pub fn so_far(&self) -> Captured {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.trim();
        Captured { head: buffer.head.clone(), tail: buffer.tail.clone(), dropped: buffer.dropped }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn capture(text: &[u8], keep: Keep) -> Captured {
        let mut capture = Capture::start(std::io::Cursor::new(text.to_vec()), keep);
        assert!(capture.drain(Duration::from_secs(180)).await);
        capture.so_far()
    }

    #[tokio::test]
    async fn a_short_stream_is_kept_whole() {
        let kept = capture("grüße".as_bytes(), Keep { head: 3, tail: 10 }).await;
        assert_eq!((kept.text().as_str(), kept.dropped, kept.total()), ("grüße", 0, 7));
    }

    #[tokio::test]
    async fn of_a_long_stream_the_beginning_and_the_end_are_kept() {
        let kept = capture(b"0123456789abcdefghij", Keep { head: 4, tail: 3 }).await;
        assert_eq!(
            kept,
            Captured { head: b"0123".to_vec(), tail: b"hij".to_vec(), dropped: 13 },
            "what is between is counted"
        );
        assert_eq!(kept.text(), "0123\n… 13 bytes dropped …\nhij");
    }
}
