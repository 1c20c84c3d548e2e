//! Which MCP servers an agent starts: from a flag or from a file in the common format.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A server that the agent starts and speaks to over stdin and stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    /// Its name, unique in an agent.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside `PATH` and `HOME`.
    pub env: BTreeMap<String, String>,
}

/// Why a server cannot be read from a flag or a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The flag is not `NAME=COMMAND LINE`.
    #[error("--mcp takes NAME=COMMAND LINE, such as hotel=\"nochmal upstream booking\", not \"{0}\"")]
    Flag(String),
    /// Quotes that do not end.
    #[error("--mcp {name}: {reason}")]
    Quotes {
        /// The server.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
    /// Only servers that are started are supported so far.
    #[error("MCP server \"{0}\": only servers over stdio are supported, not a URL")]
    Url(String),
    /// The file has another form.
    #[error("{file}:{line}:{column}: {reason}")]
    File {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// Two servers have one name.
    #[error("two MCP servers are called \"{0}\"")]
    Twice(String),
}

/// Reads `NAME=COMMAND LINE`, the command line in a shell's quoting, but run without one.
///
/// # Errors
/// Where the flag has another form.
pub fn from_flag(flag: &str) -> Result<ServerCommand, ConfigError> {
    let (name, line) = flag
        .split_once('=')
        .filter(|(name, line)| !name.is_empty() && !line.trim().is_empty())
        .ok_or_else(|| ConfigError::Flag(flag.to_owned()))?;
    if line.starts_with("http://") || line.starts_with("https://") {
        return Err(ConfigError::Url(name.to_owned()));
    }
    let mut words = shell_words::split(line)
        .map_err(|error| ConfigError::Quotes { name: name.to_owned(), reason: error.to_string() })?
        .into_iter();
    let program = words.next().ok_or_else(|| ConfigError::Flag(flag.to_owned()))?;
    Ok(ServerCommand { name: name.to_owned(), program, args: words.collect(), env: BTreeMap::new() })
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

/// Other keys (`type`, `timeout`, `trust` …) are for other programs that read the same file.
#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
}

/// Reads `{"mcpServers": {"NAME": {"command", "args", "env"}}}`.
///
/// # Errors
/// Where the text has another form, with its place.
pub fn from_file(text: &str, file: &str) -> Result<Vec<ServerCommand>, ConfigError> {
    let read: File = serde_json::from_str(text).map_err(|error| ConfigError::File {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: error.to_string(),
    })?;
    read.servers
        .into_iter()
        .map(|(name, entry)| match entry {
            Entry { command: Some(program), args, env, .. } => Ok(ServerCommand { name, program, args, env }),
            Entry { url: Some(_), .. } => Err(ConfigError::Url(name)),
            Entry { .. } => Err(ConfigError::File {
                file: file.to_owned(),
                line: 1,
                column: 1,
                reason: format!("server \"{name}\" has no \"command\""),
            }),
        })
        .collect()
}

/// Checks that every name is there once.
///
/// # Errors
/// With the first name that is there twice.
pub fn distinct(servers: &[ServerCommand]) -> Result<(), ConfigError> {
    for (at, server) in servers.iter().enumerate() {
        if servers[..at].iter().any(|before| before.name == server.name) {
            return Err(ConfigError::Twice(server.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_split_like_a_shell_would() {
        let server = from_flag("hotel=nochmal upstream booking --ledger 'a file=1.jsonl'").unwrap();
        assert_eq!((server.name.as_str(), server.program.as_str()), ("hotel", "nochmal"));
        assert_eq!(server.args, ["upstream", "booking", "--ledger", "a file=1.jsonl"]);
        for wrong in ["hotel", "=x", "hotel=", "hotel=  "] {
            assert_eq!(from_flag(wrong).unwrap_err(), ConfigError::Flag(wrong.into()));
        }
        assert!(matches!(from_flag("hotel='x").unwrap_err(), ConfigError::Quotes { .. }));
        assert!(matches!(from_flag("hotel=http://127.0.0.1/mcp").unwrap_err(), ConfigError::Url(_)));
    }

    #[test]
    fn the_common_file_is_read() {
        let text = r#"{"mcpServers": {"hotel": {"type": "stdio", "command": "x", "args": ["y"], "env": {"A": "b"}}}}"#;
        let servers = from_file(text, "mcp.json").unwrap();
        assert_eq!(servers[0].args, ["y"]);
        assert_eq!(servers[0].env["A"], "b");
        let error = |text: &str| from_file(text, "mcp.json").unwrap_err().to_string();
        assert!(
            error("{\n  \"mcpServers\": []}").starts_with("mcp.json:2:"),
            "{}",
            error("{\n \"mcpServers\": []}")
        );
        assert_eq!(error(r#"{"mcpServers": {"a": {}}}"#), "mcp.json:1:1: server \"a\" has no \"command\"");
        let twice = [servers[0].clone(), servers[0].clone()];
        assert_eq!(distinct(&twice).unwrap_err().to_string(), "two MCP servers are called \"hotel\"");
    }
}
