//! Serves a [`Desk`](super::Desk) over MCP, with its ledger.

use super::ledger::{Ledger, LedgerError};
use super::{Answer, Builtin, Desk, Object, Settings, ToolKind};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};

/// Where the id of an attempt stands in a call's `_meta`.
const CORRELATION: &str = "correlation-id";

/// Why a built-in upstream ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The client did not open an MCP session.
    #[error("no MCP session came about: {0}")]
    Session(String),
}

/// A desk and its ledger; every call goes through one at a time.
struct Office {
    desk: Box<dyn Desk>,
    ledger: Option<Ledger>,
}

impl Office {
    fn open(builtin: &Builtin, settings: &Settings, ledger: Option<&Path>) -> Result<Office, LedgerError> {
        let ledger = ledger.map(Ledger::open).transpose()?;
        let mut office = Office { desk: (builtin.open)(settings), ledger };
        // A ledger that cannot be used is told at the start, not in the middle of a booking.
        office.catch_up()?;
        Ok(office)
    }

    fn catch_up(&mut self) -> Result<(), LedgerError> {
        if let Some(ledger) = &mut self.ledger {
            let (_locked, news) = ledger.lock()?;
            for entry in news {
                self.desk.commit(&entry.effect, &entry.record, &entry.arguments);
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Object,
        correlation: Option<&str>,
    ) -> Result<Answer, LedgerError> {
        let mut locked = None;
        if let Some(ledger) = &mut self.ledger {
            let (lock, news) = ledger.lock()?;
            for entry in news {
                self.desk.commit(&entry.effect, &entry.record, &entry.arguments);
            }
            locked = Some(lock);
        }
        let outcome = self.desk.decide(tool, arguments);
        if let Some(effect) = outcome.effect {
            if let Some(locked) = &mut locked {
                locked.append(effect.effect, &effect.record, arguments, correlation)?;
            }
            self.desk.commit(effect.effect, &effect.record, arguments);
        }
        Ok(outcome.answer)
    }
}

struct Handler {
    config: ServerConfig,
    tools: Vec<Tool>,
    office: Arc<Mutex<Office>>,
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
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let office = Arc::clone(&self.office);
        let tool = request.name.clone();
        let arguments = request.arguments.unwrap_or_default();
        let correlation = context.meta.get(CORRELATION).and_then(Value::as_str).map(str::to_owned);
        // On a thread of its own: waiting for another process's lock must not stop the session,
        // and a client that cancels must not leave half a booking.
        let answer = tokio::task::spawn_blocking(move || {
            office.lock().unwrap_or_else(PoisonError::into_inner).call(
                &tool,
                &arguments,
                correlation.as_deref(),
            )
        })
        .await
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        match answer {
            Ok(Answer::Done(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            Ok(Answer::Refused(reason)) => Ok(CallToolResult::error(vec![ContentBlock::text(reason)]).into()),
            Ok(Answer::NoSuchTool) => {
                Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None))
            }
            Err(error) => {
                tracing::error!(%error, "a call was not carried out");
                Err(ErrorData::internal_error("The service is not available", None))
            }
        }
    }
}

/// Serves one client until it closes its side.
///
/// # Errors
/// Where the ledger cannot be used, or the client does not open a session.
pub async fn serve<R, W>(
    builtin: &Builtin,
    settings: &Settings,
    ledger: Option<&Path>,
    transport: (R, W),
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let office = Office::open(builtin, settings, ledger)?;
    let identity = &builtin.identity;
    let config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new(identity.name, identity.version).with_title(identity.title))
        .with_instructions(identity.instructions);
    let handler =
        Handler { config, tools: tools(office.desk.as_ref()), office: Arc::new(Mutex::new(office)) };
    match handler.serve(transport).await {
        Ok(service) => {
            service.waiting().await.map(drop).map_err(|error| ServeError::Session(error.to_string()))
        }
        // Coming and going without a word is how clients look whether a server starts.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ServeError::Session(error.to_string())),
    }
}

fn tools(desk: &dyn Desk) -> Vec<Tool> {
    let list = desk.tools().into_iter().map(|tool| {
        let annotations = ToolAnnotations::new().read_only(tool.kind == ToolKind::Read);
        let annotations = match tool.kind {
            ToolKind::Read => annotations,
            ToolKind::Add => annotations.destructive(false),
            ToolKind::Change => annotations.destructive(true),
        };
        Tool::new(tool.name, tool.description, tool.input).with_annotations(annotations)
    });
    list.collect()
}
