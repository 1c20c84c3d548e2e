//! The file of a recording: one JSON object a line. The first says what it is; each other line is a
//! request with its answer. A request repeats nothing of the one before it: it says how many of
//! those messages it keeps, and what comes after them.

use crate::harness::message::{Message, ToolSpec};
use crate::harness::model::{Identity, ModelError, ModelTurn};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version that is written.
const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    recording: u32,
    provider: String,
    model: String,
}

/// A line after the first.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// How many messages of the request before stand at the beginning of this one.
    kept: usize,
    /// The messages after them.
    messages: Vec<Message>,
    /// The tools, where they are others than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ToolSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<ModelTurn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<StoredError>,
}

/// A [`ModelError`] as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredError {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<f64>,
}

impl From<&ModelError> for StoredError {
    fn from(error: &ModelError) -> StoredError {
        let retry_after_s = match error {
            ModelError::Refused { retry_after, .. } => retry_after.map(|wait| wait.as_secs_f64()),
            _ => None,
        };
        StoredError { kind: error.kind(), message: error.message().to_owned(), retry_after_s }
    }
}

impl From<StoredError> for ModelError {
    fn from(stored: StoredError) -> ModelError {
        let StoredError { kind, message, retry_after_s } = stored;
        if let Ok(status) = kind.parse() {
            let retry_after = retry_after_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            return ModelError::Refused { status, message, retry_after };
        }
        match kind.as_str() {
            "context_length" => ModelError::TooLong(message),
            "quota" => ModelError::Quota(message),
            "unreachable" => ModelError::Unreachable(message),
            "broken_stream" => ModelError::Broken(message),
            "malformed" => ModelError::Malformed(message),
            _ => ModelError::Recording(message),
        }
    }
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// It cannot be read or written.
    #[error("recording {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is none of a recording.
    #[error("recording {}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// A request and its answer, as they were recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Exchange {
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
    pub answer: Result<ModelTurn, ModelError>,
}

/// Makes the lines of a recording.
#[derive(Debug, Default)]
pub(super) struct Writer {
    messages: Vec<Message>,
    tools: Option<Vec<ToolSpec>>,
}

impl Writer {
    pub fn head(identity: &Identity) -> io::Result<Vec<u8>> {
        let Identity { provider, model } = identity.clone();
        line(&Head { recording: VERSION, provider, model })
    }

    pub fn exchange(
        &mut self,
        messages: &[Message],
        tools: &[ToolSpec],
        answer: &Result<ModelTurn, ModelError>,
    ) -> io::Result<Vec<u8>> {
        let kept = self.messages.iter().zip(messages).take_while(|(one, other)| one == other).count();
        let changed = self.tools.as_deref() != Some(tools);
        let (given, error) = match answer {
            Ok(turn) => (Some(turn.clone()), None),
            Err(error) => (None, Some(error.into())),
        };
        let line = line(&Line {
            kept,
            messages: messages.get(kept..).unwrap_or_default().to_vec(),
            tools: changed.then(|| tools.to_vec()),
            answer: given,
            error,
        })?;
        self.messages = messages.to_vec();
        self.tools = Some(tools.to_vec());
        Ok(line)
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a recording. A last line without its end is one that was being written: it is left out.
pub(super) fn read(path: &Path) -> Result<(Identity, Vec<Exchange>), TapeError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| TapeError::File { path: path.to_owned(), source })?;
    parse(&text).map_err(|(line, reason)| TapeError::Line { path: path.to_owned(), line, reason })
}

fn parse(text: &str) -> Result<(Identity, Vec<Exchange>), (usize, String)> {
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).enumerate();
    let wanted = || (1, "expected {\"recording\":1,…}: it is none, or an empty one".to_owned());
    let (_, first) = lines.next().ok_or_else(wanted)?;
    let head: Head = serde_json::from_str(first).map_err(|_| wanted())?;
    if head.recording != VERSION {
        return Err((1, format!("version {} of recordings is not known here", head.recording)));
    }
    let (mut messages, mut tools, mut exchanges) = (Vec::new(), Vec::new(), Vec::new());
    for (at, text) in lines {
        let bad = |reason: String| (at + 1, reason);
        let line: Line = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        if line.kept > messages.len() {
            let reason = format!("it keeps {} messages of {}", line.kept, messages.len());
            return Err(bad(reason));
        }
        messages.truncate(line.kept);
        messages.extend(line.messages);
        tools = line.tools.unwrap_or(tools);
        let answer = match (line.answer, line.error) {
            (Some(turn), None) => Ok(turn),
            (None, Some(error)) => Err(error.into()),
            _ => return Err(bad("expected one of `answer` and `error`".to_owned())),
        };
        exchanges.push(Exchange { messages: messages.clone(), tools: tools.clone(), answer });
    }
    Ok((Identity { provider: head.provider, model: head.model }, exchanges))
}
