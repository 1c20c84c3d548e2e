//! Which MCP servers an agent has: from a flag or from a file in the common format.

use crate::upstream::Remote;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A server whose tools an agent has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, unique in an agent.
    pub name: String,
    /// How it is reached.
    pub launch: Launch,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// The agent starts it and speaks to it over stdin and stdout.
    Command(Command),
    /// It runs elsewhere and speaks Streamable HTTP.
    Url {
        /// `http` or `https`.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// A server that the agent starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside `PATH` and `HOME`.
    pub env: BTreeMap<String, String>,
}

/// The value of a variable of the agent's own environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Why a server cannot be read from a flag or a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The flag is not `NAME=COMMAND LINE` or `NAME=URL`.
    #[error(
        "--mcp takes NAME=COMMAND LINE or NAME=URL, such as hotel=\"nochmal upstream booking\", not \"{0}\""
    )]
    Flag(String),
    /// Quotes that do not end.
    #[error("--mcp {name}: {reason}")]
    Quotes {
        /// The server.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
    /// Its address is none.
    #[error("MCP server \"{name}\": {reason}")]
    Url {
        /// The server.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file names a variable that is not set.
    #[error("{file}: MCP server \"{name}\" needs the variable {variable}, which is not set")]
    Variable {
        /// The file.
        file: String,
        /// The server.
        name: String,
        /// The variable.
        variable: String,
    },
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

/// Reads `NAME=COMMAND LINE`, the command line in a shell's quoting, but run without one; or `NAME=URL`.
///
/// # Errors
/// Where the flag has another form.
pub fn from_flag(flag: &str) -> Result<McpServer, ConfigError> {
    let (name, line) = flag
        .split_once('=')
        .filter(|(name, line)| !name.is_empty() && !line.trim().is_empty())
        .ok_or_else(|| ConfigError::Flag(flag.to_owned()))?;
    if line.starts_with("http://") || line.starts_with("https://") {
        return at_url(name, line.trim(), Vec::new());
    }
    let mut words = shell_words::split(line)
        .map_err(|error| ConfigError::Quotes { name: name.to_owned(), reason: error.to_string() })?
        .into_iter();
    let program = words.next().ok_or_else(|| ConfigError::Flag(flag.to_owned()))?;
    let command = Command { program, args: words.collect(), env: BTreeMap::new() };
    Ok(McpServer { name: name.to_owned(), launch: Launch::Command(command) })
}

fn at_url(name: &str, url: &str, headers: Vec<(String, String)>) -> Result<McpServer, ConfigError> {
    Remote::new(url, &[])
        .map_err(|error| ConfigError::Url { name: name.to_owned(), reason: error.to_string() })?;
    Ok(McpServer { name: name.to_owned(), launch: Launch::Url { url: url.to_owned(), headers } })
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
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Reads `{"mcpServers": {"NAME": {"command", "args", "env"}}}`, or with `"url", "headers"` in place
/// of the command. `${NAME}` in `env` and `headers` is a variable of the agent's own environment:
/// keys do not belong into files.
///
/// # Errors
/// Where the text has another form, with its place, or a variable is not set.
pub fn from_file(text: &str, file: &str, variables: Variables<'_>) -> Result<Vec<McpServer>, ConfigError> {
    let read: File = serde_json::from_str(text).map_err(|error| ConfigError::File {
        file: file.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: error.to_string(),
    })?;
    let entry = |(name, entry): (String, Entry)| {
        let filled = |values: BTreeMap<String, String>| {
            let one = |(key, value): (String, String)| {
                let value = fill(&value, variables).map_err(|variable| ConfigError::Variable {
                    file: file.to_owned(),
                    name: name.clone(),
                    variable,
                })?;
                Ok((key, value))
            };
            values.into_iter().map(one).collect::<Result<BTreeMap<_, _>, ConfigError>>()
        };
        match entry {
            Entry { command: Some(program), args, env, .. } => {
                let command = Command { program, args, env: filled(env)? };
                Ok(McpServer { name: name.clone(), launch: Launch::Command(command) })
            }
            Entry { url: Some(url), headers, .. } => {
                at_url(&name, &url, filled(headers)?.into_iter().collect())
            }
            Entry { .. } => Err(ConfigError::File {
                file: file.to_owned(),
                line: 1,
                column: 1,
                reason: format!("server \"{name}\" has neither \"command\" nor \"url\""),
            }),
        }
    };
    read.servers.into_iter().map(entry).collect()
}

/// Puts variables in; with the name of one that is not set.
fn fill(text: &str, variables: Variables<'_>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, behind)) = after.split_once('}') else { break };
        filled.push_str(before);
        filled.push_str(&variables(variable).ok_or_else(|| variable.to_owned())?);
        rest = behind;
    }
    Ok(filled + rest)
}

/// Checks that every name is there once.
///
/// # Errors
/// With the first name that is there twice.
pub fn distinct(servers: &[McpServer]) -> Result<(), ConfigError> {
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

    fn command(server: &McpServer) -> &Command {
        let Launch::Command(command) = &server.launch else { unreachable!("{server:?}") };
        command
    }

    fn read(text: &str) -> Result<Vec<McpServer>, ConfigError> {
        from_file(text, "mcp.json", &|name| (name == "KEY").then(|| "k1".to_owned()))
    }

    #[test]
    fn a_flag_is_split_like_a_shell_would() {
        let server = from_flag("hotel=nochmal upstream booking --ledger 'a file=1.jsonl'").unwrap();
        assert_eq!((server.name.as_str(), command(&server).program.as_str()), ("hotel", "nochmal"));
        assert_eq!(command(&server).args, ["upstream", "booking", "--ledger", "a file=1.jsonl"]);
        for wrong in ["hotel", "=x", "hotel=", "hotel=  "] {
            assert_eq!(from_flag(wrong).unwrap_err(), ConfigError::Flag(wrong.into()));
        }
        assert!(matches!(from_flag("hotel='x").unwrap_err(), ConfigError::Quotes { .. }));
        assert!(matches!(from_flag("hotel=http://").unwrap_err(), ConfigError::Url { .. }));
        let url = "http://127.0.0.1/mcp".to_owned();
        let server = from_flag(&format!("hotel={url}")).unwrap();
        assert_eq!(server.launch, Launch::Url { url, headers: Vec::new() });
    }

    #[test]
    fn the_common_file_is_read() {
        let text = r#"{"mcpServers": {"hotel": {"type": "stdio", "command": "x", "args": ["y"], "env": {"A": "b-${KEY}"}},
            "there": {"type": "http", "url": "https://a/mcp", "headers": {"authorization": "Bearer ${KEY}"}}}}"#;
        let servers = read(text).unwrap();
        assert_eq!(command(&servers[0]).args, ["y"]);
        assert_eq!(command(&servers[0]).env["A"], "b-k1");
        let headers = vec![("authorization".to_owned(), "Bearer k1".to_owned())];
        assert_eq!(servers[1].launch, Launch::Url { url: "https://a/mcp".into(), headers });
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(
            error("{\n  \"mcpServers\": []}").starts_with("mcp.json:2:"),
            "{}",
            error("{\n \"mcpServers\": []}")
        );
        assert_eq!(
            error(r#"{"mcpServers": {"a": {}}}"#),
            "mcp.json:1:1: server \"a\" has neither \"command\" nor \"url\""
        );
        assert_eq!(
            error(r#"{"mcpServers": {"a": {"url": "http://a/", "headers": {"x": "${NONE}"}}}}"#),
            "mcp.json: MCP server \"a\" needs the variable NONE, which is not set"
        );
        let twice = [servers[0].clone(), servers[0].clone()];
        assert_eq!(distinct(&twice).unwrap_err().to_string(), "two MCP servers are called \"hotel\"");
    }
}
