//! Messages as lines: the framing of MCP over stdio.

use super::hub::Outgoing;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

/// The longest message that is taken, in bytes: far beyond what any client or server sends, so
/// that a runaway line ends a connection and not the machine.
pub(super) const LONGEST: u64 = 1 << 30;

/// What a reader found.
pub(super) enum Line {
    /// A message, without its line break.
    Message(String),
    /// A line that is not UTF-8, and its first bytes made readable.
    NotText(String),
    /// The end, or a broken or runaway connection.
    End,
}

/// Reads the next line that is not blank.
pub(super) async fn next<R: AsyncBufRead + Unpin>(reader: &mut R) -> Line {
    loop {
        // A pipe that is always full gives no other task its turn.
        tokio::task::coop::consume_budget().await;
        let mut bytes = Vec::new();
        match (&mut *reader).take(LONGEST).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return Line::End,
            Ok(_) => {}
        }
        if bytes.len() as u64 >= LONGEST && bytes.last() != Some(&b'\n') {
            return Line::End;
        }
        while bytes.last().is_some_and(u8::is_ascii_whitespace) {
            bytes.pop();
        }
        if bytes.is_empty() {
            continue;
        }
        return match String::from_utf8(bytes) {
            Ok(text) => Line::Message(text),
            Err(error) => {
                let bytes = error.as_bytes();
                Line::NotText(String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned())
            }
        };
    }
}

/// Writes every message of a queue as a line, until the queue or the connection ends.
pub(super) async fn write_all<W: AsyncWrite + Unpin>(
    mut writer: W,
    queue: &mut mpsc::UnboundedReceiver<Outgoing>,
) -> std::io::Result<()> {
    while let Some(Outgoing { message, cut, .. }) = queue.recv().await {
        if cut.is_some() {
            break;
        }
        // A JSON text from HTTP may hold line breaks, which are white space there.
        let mut line = if memchr::memchr2(b'\n', b'\r', message.as_bytes()).is_some() {
            message.replace(['\n', '\r'], " ")
        } else {
            message
        };
        line.push('\n');
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}
