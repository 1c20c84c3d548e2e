//! Tools of MCP servers that the agent starts itself.

mod child;
pub mod config;

use super::message::{ToolCall, ToolSpec};
use super::model::BoxFuture;
use super::tools::{ToolOutcome, Tools};
use child::ServerProcess;
use config::ServerCommand;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    Implementation, ProtocolVersion, ResourceContents,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService, ServiceError};
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
    process: ServerProcess,
}

struct Route {
    peer: Peer<RoleClient>,
    server: String,
    /// The tool's name at its server.
    tool: String,
}

/// The tools of all servers of an agent.
pub struct McpTools {
    servers: Vec<Server>,
    specs: Vec<ToolSpec>,
    routes: Vec<Route>,
    call: Duration,
}

impl McpTools {
    /// Starts the servers and lists their tools.
    ///
    /// # Errors
    /// Where a server cannot be started or does not speak MCP, or `cancel` was called; all
    /// others are ended then.
    pub async fn start(
        servers: &[ServerCommand],
        options: Options,
        cancel: &CancellationToken,
    ) -> Result<McpTools, StartError> {
        let mut tools =
            McpTools { servers: Vec::new(), specs: Vec::new(), routes: Vec::new(), call: options.call };
        for server in servers {
            if let Err(error) = tools.add(server, options, cancel).await {
                tools.close().await;
                return Err(error);
            }
        }
        Ok(tools)
    }

    async fn add(
        &mut self,
        server: &ServerCommand,
        options: Options,
        cancel: &CancellationToken,
    ) -> Result<(), StartError> {
        let failed = |reason: String, stderr: String| StartError {
            server: server.name.clone(),
            reason,
            stderr: if stderr.is_empty() { stderr } else { format!("\nits stderr ends with:\n{stderr}") },
        };
        let (mut process, stdout, stdin) = ServerProcess::start(server)
            .map_err(|error| failed(format!("cannot start {}: {error}", server.program), String::new()))?;
        let identity = Implementation::new("nochmal-agent", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), identity)
            .with_protocol_version(ProtocolVersion::LATEST);
        let opening = timeout(options.start, async {
            let service = client
                .serve_with_lifecycle((stdout, stdin), lifecycle(options.handshake))
                .await
                .map_err(|error| format!("no MCP session came about: {error}"))?;
            let tools = service
                .list_all_tools()
                .await
                .map_err(|error| format!("it does not list its tools: {error}"))?;
            Ok::<_, String>((service, tools))
        });
        let opened = tokio::select! {
            biased;
            () = cancel.cancelled() => Err("cancelled before it was ready".to_owned()),
            opened = opening => {
                opened.unwrap_or_else(|_| Err(format!("not ready after {:?}", options.start)))
            }
        };
        let (service, tools) = match opened {
            Ok(opened) => opened,
            Err(mut reason) => {
                if let Some(status) = process.ended().await {
                    reason = format!("it ended ({status}) before it was ready");
                }
                let stderr = process.end().await;
                return Err(failed(reason, stderr));
            }
        };
        for tool in tools {
            let mut name = tool.name.to_string();
            if self.specs.iter().any(|spec| spec.name == name) {
                name = format!("{}__{name}", server.name);
            }
            let hints = tool.annotations.as_ref();
            self.specs.push(ToolSpec {
                name,
                description: tool.description.as_deref().unwrap_or_default().to_owned(),
                input_schema: tool.input_schema.as_ref().clone(),
                read_only: hints.and_then(|hints| hints.read_only_hint),
                destructive: hints.and_then(|hints| hints.destructive_hint),
            });
            self.routes.push(Route {
                peer: service.peer().clone(),
                server: server.name.clone(),
                tool: tool.name.to_string(),
            });
        }
        self.servers.push(Server { name: server.name.clone(), service, process });
        Ok(())
    }

    /// Ends the servers, one after the other in the order of their start.
    pub async fn close(self) {
        for mut server in self.servers {
            // Closes its stdin.
            if let Err(error) = server.service.close_with_timeout(Duration::from_secs(1)).await {
                tracing::debug!(server = server.name, %error, "closing");
            }
            server.process.end().await;
        }
    }
}

fn lifecycle(handshake: Handshake) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match handshake {
        Handshake::Initialize => ClientLifecycleMode::Initialize,
        Handshake::Discover => ClientLifecycleMode::Discover { preferred_versions },
        Handshake::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
    }
}

impl Tools for McpTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let Some(at) = self.specs.iter().position(|spec| spec.name == call.name) else {
                return ToolOutcome::error(format!("There is no tool \"{}\".", call.name));
            };
            let route = &self.routes[at];
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
