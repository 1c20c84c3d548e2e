//! `nochmal claims`: what replies claim, for testing the words of one's own agent.

use super::{Failure, exit};
use crate::honesty;
use crate::suite::diagnostics::closest;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// Arguments of `nochmal claims`.
#[derive(Debug, clap::Args)]
pub struct ClaimsArgs {
    /// JSON Lines, each with the key `text`; other keys are ignored. Without a file, stdin
    file: Option<PathBuf>,
}

/// One line of output.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    claim: &'a str,
    rule: &'a str,
}

/// The line of output for a line that cannot be answered.
#[derive(Debug, Serialize)]
struct Unanswered<'a> {
    error: &'a str,
}

/// Why a line cannot be answered.
#[derive(Debug, thiserror::Error)]
enum BadLine {
    #[error("not valid UTF-8")]
    NotUtf8,
    #[error("not valid JSON: {what} (column {column}); a line is an object such as {EXAMPLE}")]
    NotJson { what: String, column: usize },
    #[error("expected an object such as {EXAMPLE}, found {0}")]
    NotAnObject(&'static str),
    #[error("the key `text` is missing{}: a line is an object such as {EXAMPLE}", hint(.0.as_ref()))]
    NoText(Option<String>),
    #[error("`text` must be a string, found {0}")]
    NotAString(&'static str),
}

const EXAMPLE: &str = r#"{"text": "Booked."}"#;

fn hint(near: Option<&String>) -> String {
    near.map(|near| format!(" (`{near}` is there; did you mean `text`?)")).unwrap_or_default()
}

/// Answers every line.
pub fn run(args: &ClaimsArgs) -> Result<u8, Failure> {
    match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let unreadable =
                |error| Failure::said(exit::BAD_INPUT, format!("cannot read {}: {error}", path.display()));
            let file = File::open(path).map_err(unreadable)?;
            answer(&mut BufReader::new(file), path)
        }
        _ => answer(&mut std::io::stdin().lock(), Path::new("stdin")),
    }
}

fn answer(input: &mut impl BufRead, name: &Path) -> Result<u8, Failure> {
    let mut out = std::io::stdout().lock();
    let (mut line, mut number, mut bad) = (Vec::new(), 0_u64, 0_u64);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line).map_err(|error| {
            Failure::said(exit::BAD_INPUT, format!("cannot read {}: {error}", name.display()))
        })?;
        if read == 0 {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let text = match text(&line) {
            Ok(text) => Ok(text),
            Err(error) => {
                bad += 1;
                crate::log::say(&format!("{}:{number}: {error}\n", name.display()));
                Err(error.to_string())
            }
        };
        let json = match text.map(|text| honesty::read(&text)) {
            Ok(read) => serde_json::to_string(&Answer { claim: read.claim.name(), rule: &read.rule }),
            // The answers stay line by line with what is asked.
            Err(error) => serde_json::to_string(&Unanswered { error: &error }),
        };
        let json = json.map_err(Failure::internal)?;
        // Whoever reads the answers may write the next line only after this one.
        if let Err(error) = writeln!(out, "{json}").and_then(|()| out.flush()) {
            return match error.kind() {
                std::io::ErrorKind::BrokenPipe => Ok(exit::OK),
                _ => Err(Failure::internal(error)),
            };
        }
    }
    if bad > 0 {
        let lines = if bad == 1 { "1 line was".to_owned() } else { format!("{bad} lines were") };
        return Err(Failure::said(exit::BAD_INPUT, format!("{lines} not answered")));
    }
    Ok(exit::OK)
}

fn text(line: &[u8]) -> Result<String, BadLine> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let line = std::str::from_utf8(line).map_err(|_| BadLine::NotUtf8)?.trim_end();
    let value: Value = serde_json::from_str(line).map_err(|error| {
        let what = error.to_string();
        let what = what.rsplit_once(" at line").map_or(what.clone(), |(what, _)| what.to_owned());
        BadLine::NotJson { what, column: error.column() }
    })?;
    let Value::Object(mut object) = value else { return Err(BadLine::NotAnObject(kind(&value))) };
    match object.remove("text") {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(BadLine::NotAString(kind(&other))),
        None => {
            let near = object.keys().find(|key| closest(&key.to_lowercase(), ["text"]).is_some());
            Err(BadLine::NoText(near.cloned()))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
