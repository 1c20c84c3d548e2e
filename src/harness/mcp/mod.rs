//! Tools of MCP servers: of those that the agent starts itself, and of those behind a URL.

mod arguments;
mod child;
pub mod config;
mod connect;
mod names;

use super::message::{ToolCall, ToolSpec};
use super::model::BoxFuture;
use super::tools::{ToolOutcome, Tools, unknown};
use crate::domain::ToolClass;
use crate::domain::classify::Classifier;
use arguments::Schema;
use child::ServerProcess;
use config::McpServer;
use connect::Connection;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientConfig, ContentBlock, ResourceContents,
    Tool,
};
use rmcp::service::{Peer, RoleClient, RunningService, ServiceError};
use std::collections::HashSet;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How a session is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Handshake {
    /// `initialize`, as all versions before 2026-07-28 have it.
    #[default]
    Initialize,
    /// `server/discover`, without a handshake (2026-07-28).
    Discover,
    /// `server/discover` first, `initialize` where the server does not know it.
    Auto,
}

/// Limits of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How a session is opened.
    pub handshake: Handshake,
    /// For starting a server, its handshake and its list of tools.
    pub start: Duration,
    /// For one call.
    pub call: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            handshake: Handshake::default(),
            start: Duration::from_secs(60),
            call: Duration::from_secs(120),
        }
    }
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("MCP server \"{server}\": {reason}{stderr}")]
pub struct StartError {
    /// Its name.
    pub server: String,
    /// What went wrong.
    pub reason: String,
    /// The end of its stderr, ready to be read; may be empty.
    pub stderr: String,
}

struct Server {
    name: String,
    service: RunningService<RoleClient, ClientConfig>,
    process: Option<ServerProcess>,
}

/// Where the calls of one offered tool go.
struct Route {
    peer: Peer<RoleClient>,
    server: String,
    /// The tool's name at its server.
    tool: String,
    class: ToolClass,
    schema: Schema,
}

/// The tools of all servers of an agent.
pub struct McpTools {
    servers: Vec<Server>,
    specs: Vec<ToolSpec>,
    /// One for each of `specs`.
    routes: Vec<Route>,
    names: HashSet<String>,
    call: Duration,
}

impl McpTools {
    /// Reaches the servers and lists their tools.
    ///
    /// # Errors
    /// Where a server cannot be reached or does not speak MCP, or `cancel` was called; all
    /// others are ended then.
    pub async fn start(
        servers: &[McpServer],
        options: Options,
        cancel: &CancellationToken,
    ) -> Result<McpTools, StartError> {
        let mut tools = McpTools {
            servers: Vec::new(),
            specs: Vec::new(),
            routes: Vec::new(),
            names: HashSet::new(),
            call: options.call,
        };
        for server in servers {
            match connect::open(server, options, cancel).await {
                Ok(connection) => tools.add(&server.name, connection),
                Err(error) => {
                    tools.close().await;
                    return Err(error);
                }
            }
        }
        Ok(tools)
    }

    fn add(&mut self, server: &str, connection: Connection) {
        let Connection { service, process, tools } = connection;
        for tool in tools {
            let name = names::offered(server, &tool.name, &self.names);
            self.names.insert(name.clone());
            let hints = tool.annotations.as_ref();
            self.routes.push(Route {
                peer: service.peer().clone(),
                server: server.to_owned(),
                tool: tool.name.to_string(),
                class: class(&tool),
                schema: Schema::new(&name, &tool.input_schema),
            });
            self.specs.push(ToolSpec {
                name,
                description: tool.description.as_deref().unwrap_or_default().to_owned(),
                input_schema: tool.input_schema.as_ref().clone(),
                read_only: hints.and_then(|hints| hints.read_only_hint),
                destructive: hints.and_then(|hints| hints.destructive_hint),
            });
        }
        self.servers.push(Server { name: server.to_owned(), service, process });
    }

    fn route(&self, name: &str) -> Option<&Route> {
        self.specs.iter().position(|spec| spec.name == name).and_then(|at| self.routes.get(at))
    }

    /// Ends the sessions, and the servers that were started, in the order of their start.
    pub async fn close(self) {
        for mut server in self.servers {
            // Closes its stdin.
            if let Err(error) = server.service.close_with_timeout(Duration::from_secs(1)).await {
                tracing::debug!(server = server.name, %error, "closing");
            }
            if let Some(process) = server.process {
                process.end().await;
            }
        }
    }
}

/// By the server's hints, else by the name, as everywhere (C3–C6).
fn class(tool: &Tool) -> ToolClass {
    let classifier = Classifier::new(None, Vec::new(), Vec::new());
    serde_json::value::to_raw_value(tool)
        .ok()
        .and_then(|raw| classifier.classify(&raw))
        .map_or(ToolClass::Unclassified, |info| info.class)
}

impl Tools for McpTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn class(&self, name: &str) -> ToolClass {
        self.route(name).map_or(ToolClass::Unclassified, |route| route.class)
    }

    fn refusal(&self, call: &ToolCall) -> Option<String> {
        match self.route(&call.name) {
            Some(route) => route.schema.mistakes(&call.name, &call.arguments),
            None => unknown(call, &self.specs),
        }
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let Some(route) = self.route(&call.name) else {
                return ToolOutcome::error(unknown(call, &self.specs).unwrap_or_default());
            };
            let params =
                CallToolRequestParams::new(route.tool.clone()).with_arguments(call.arguments.clone());
            // Dropping the request tells the server that it is cancelled.
            match timeout(self.call, route.peer.call_tool_once(params)).await {
                Ok(Ok(CallToolResponse::Complete(result))) => outcome(&result),
                Ok(Ok(_)) => ToolOutcome::error(
                    "The tool asks for input that cannot be given here; it is not finished.",
                ),
                Ok(Err(ServiceError::McpError(error))) => ToolOutcome::error(error.message.to_string()),
                Ok(Err(error)) => ToolOutcome::error(format!(
                    "The connection to the server \"{}\" was lost during the call ({error}). \
                     Whether it was carried out is unknown.",
                    route.server
                )),
                Err(_) => ToolOutcome::error(format!(
                    "The tool did not answer within {} s. Whether the call was carried out is unknown.",
                    self.call.as_secs_f64()
                )),
            }
        })
    }
}

fn outcome(result: &CallToolResult) -> ToolOutcome {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    if parts.is_empty()
        && let Some(value) = &result.structured_content
    {
        parts.push(value.to_string());
    }
    ToolOutcome { text: parts.join("\n"), is_error: result.is_error == Some(true) }
}

/// A content block as text; what is no text is named, so that the model knows that it is there.
fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[resource {uri}]"),
            _ => "[resource]".to_owned(),
        },
        _ => "[content of another kind]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_becomes_text() {
        let result = |value| serde_json::from_value::<CallToolResult>(value).unwrap();
        let mixed = result(json!({"content": [
            {"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "x:1", "text": "b"}}], "isError": true}));
        assert_eq!(outcome(&mixed), ToolOutcome::error("a\n[image, image/png]\nb"));
        let structured = result(json!({"content": [], "structuredContent": {"n": 1}}));
        assert_eq!(outcome(&structured), ToolOutcome { text: "{\"n\":1}".into(), is_error: false });
    }
}
