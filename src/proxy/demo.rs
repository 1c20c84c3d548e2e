//! `nochmal demo`: the sessions of [`rehearsal::demo`](super::rehearsal::demo) as an MCP server.

use super::rehearsal::demo::{Demo, TOOLS};
use crate::domain::{Micros, RawJson};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, ServiceExt};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The client did not open an MCP session, or its session broke.
    #[error("no MCP session came about: {0}")]
    Session(String),
}

struct Handler {
    config: ServerConfig,
    demo: Mutex<Demo>,
    started: Instant,
}

impl rmcp::ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().filter_map(|tool| {
            let serde_json::Value::Object(input) = (tool.input)() else { return None };
            let annotations = ToolAnnotations::new().read_only(tool.read_only);
            Some(Tool::new(tool.name, tool.description, input).with_annotations(annotations))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let now = Micros::from_duration(self.started.elapsed());
        let arguments = RawJson::of(&request.arguments.unwrap_or_default())
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let mut demo = self.demo.lock().unwrap_or_else(PoisonError::into_inner);
        match demo.call(&request.name, &arguments, now) {
            Ok(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            Err(Some(reason)) => Ok(CallToolResult::error(vec![ContentBlock::text(reason)]).into()),
            Err(None) => Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None)),
        }
    }
}

/// Serves one client until it closes its side.
///
/// # Errors
/// Where the client does not open a session, or its session breaks.
pub async fn serve<R, W>(transport: (R, W)) -> Result<(), DemoError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new("nochmal-demo", env!("CARGO_PKG_VERSION")))
        .with_instructions(
            "A demo without a backend: start a session, send writes through execute_call, read the report. \
             To measure an agent, put `nochmal proxy` before a real server.",
        );
    #[expect(clippy::disallowed_methods, reason = "retry_after is measured from here")]
    let started = Instant::now();
    let handler = Handler { config, demo: Mutex::new(Demo::default()), started };
    match handler.serve(transport).await {
        Ok(service) => {
            service.waiting().await.map(drop).map_err(|error| DemoError::Session(error.to_string()))
        }
        // Coming and going without a word is how clients look whether a server starts.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(DemoError::Session(error.to_string())),
    }
}
