//! Oracles: reading what an upstream really holds, apart from what it answers. One kind a file.
//!
//! What is read is never guessed at: a program that fails, a file that cannot be opened, an answer of
//! another form is an [`OracleError`], and the run is then no PASS.

mod command;
mod sqlite;
mod tool;

use super::Target;
use super::probe::ProbeError;
use crate::process::{CommandLine, StartError, Supervisor};
use crate::truth::Reading;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// An oracle that can be asked: its templates are rendered.
#[derive(Debug, Clone)]
pub enum Oracle {
    /// A program.
    Command {
        /// Its command line.
        command: CommandLine,
        /// Who starts it.
        supervisor: Supervisor,
    },
    /// A read tool, on a session of its own.
    Tool {
        /// The upstream.
        upstream: Target,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// JSON Pointer to the records in the answer.
        records: String,
    },
    /// A query.
    Sqlite {
        /// The file.
        file: PathBuf,
        /// The query.
        query: String,
    },
}

/// When an oracle is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the agent comes.
    Before,
    /// After the upstream was ended.
    After,
}

/// Why an oracle has no answer. Sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The program could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The program failed.
    #[error("`{command}` ended with {exit}{said}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        exit: crate::process::Exit,
        /// The end of its stderr.
        said: String,
    },
    /// It took too long.
    #[error("`{what}` did not answer within {} s", .limit.as_secs_f64())]
    Silent {
        /// The program or tool.
        what: String,
        /// How long it had.
        limit: Duration,
    },
    /// The upstream could not be asked.
    #[error(transparent)]
    Upstream(#[from] ProbeError),
    /// The tool answered with an error.
    #[error("the tool `{tool}` answered with an error: {said}")]
    Refused {
        /// The tool.
        tool: String,
        /// What it said.
        said: String,
    },
    /// The file is not there.
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
    /// SQLite refused.
    #[error("{}: {reason}", .file.display())]
    Sqlite {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// What came is neither a list nor a number.
    #[error("{what} gave no JSON list of records and no number, but {found}")]
    Form {
        /// Who.
        what: String,
        /// What came, shortened.
        found: String,
    },
}

/// Asks an oracle. `limit` is how long it may take.
///
/// # Errors
/// Where it has no answer, or one of another form.
pub async fn ask(oracle: &Oracle, moment: Moment, limit: Duration) -> Result<Reading, OracleError> {
    match oracle {
        Oracle::Command { command, supervisor } => command::ask(command, supervisor, limit).await,
        Oracle::Tool { upstream, tool, arguments, records } => {
            tool::ask(upstream, tool, arguments, records, limit).await
        }
        Oracle::Sqlite { file, query } => sqlite::ask(file, query, moment, limit).await,
    }
}

/// A JSON value as a reading.
fn reading(what: &str, value: Value) -> Result<Reading, OracleError> {
    match value {
        Value::Array(records) => Ok(Reading::Records(records)),
        Value::Number(number) if number.as_u64().is_some() => {
            Ok(Reading::Number(number.as_u64().unwrap_or_default()))
        }
        other => Err(OracleError::Form { what: what.to_owned(), found: shortened(&other.to_string()) }),
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(200).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    if short.is_empty() { "nothing".to_owned() } else { short }
}
