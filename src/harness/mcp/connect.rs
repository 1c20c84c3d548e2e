//! Opening an MCP session with a server: one that is started, or one behind a URL.

use super::child::ServerProcess;
use super::config::{Launch, McpServer};
use super::{Handshake, Options, StartError};
use crate::upstream::remote::client as client_of;
use axum::http::HeaderName;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, Tool};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use std::collections::HashMap;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// An open session.
pub(super) struct Connection {
    pub(super) service: RunningService<RoleClient, ClientConfig>,
    /// None where the server runs elsewhere.
    pub(super) process: Option<ServerProcess>,
    pub(super) tools: Vec<Tool>,
}

type Opened = Result<(RunningService<RoleClient, ClientConfig>, Vec<Tool>), String>;

/// Opens a session and lists the tools.
pub(super) async fn open(
    server: &McpServer,
    options: Options,
    cancel: &CancellationToken,
) -> Result<Connection, StartError> {
    let failed = |reason: String, stderr: String| StartError {
        server: server.name.clone(),
        reason,
        stderr: if stderr.is_empty() { stderr } else { format!("\nits stderr ends with:\n{stderr}") },
    };
    let mode = lifecycle(options.handshake);
    match &server.launch {
        Launch::Command(command) => {
            let (mut process, stdout, stdin) = ServerProcess::start(command).map_err(|error| {
                failed(format!("cannot start {}: {error}", command.program), String::new())
            })?;
            let session = client().serve_with_lifecycle((stdout, stdin), mode);
            match opened(session, options, cancel).await {
                Ok((service, tools)) => Ok(Connection { service, process: Some(process), tools }),
                Err(mut reason) => {
                    if let Some(status) = process.ended().await {
                        reason = format!("it ended ({status}) before it was ready");
                    }
                    Err(failed(reason, process.end().await))
                }
            }
        }
        Launch::Url { url, headers } => {
            let transport = transport(url, headers).map_err(|reason| failed(reason, String::new()))?;
            let session = client().serve_with_lifecycle(transport, mode);
            let (service, tools) =
                opened(session, options, cancel).await.map_err(|reason| failed(reason, String::new()))?;
            Ok(Connection { service, process: None, tools })
        }
    }
}

async fn opened<E: std::fmt::Display>(
    session: impl Future<Output = Result<RunningService<RoleClient, ClientConfig>, E>>,
    options: Options,
    cancel: &CancellationToken,
) -> Opened {
    let opening = timeout(options.start, async {
        let service =
            session.await.map_err(|error| format!("no MCP session came about: {}", readable(&error)))?;
        let tools =
            service.list_all_tools().await.map_err(|error| format!("it does not list its tools: {error}"))?;
        Ok((service, tools))
    });
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err("cancelled before it was ready".to_owned()),
        opened = opening => opened.unwrap_or_else(|_| Err(format!("not ready after {:?}", options.start))),
    }
}

/// Without the types of the program that the library names.
fn readable(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    text.rsplit_once("] error: ").map_or(text.clone(), |(_, reason)| reason.to_owned())
}

fn client() -> ClientConfig {
    let identity = Implementation::new("nochmal-agent", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), identity).with_protocol_version(ProtocolVersion::LATEST)
}

/// Sends every message once: not again where a session has expired, since the loop knows better
/// than a transport whether a call may be repeated.
fn transport(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let address: reqwest::Url = url.parse().map_err(|_| format!("{url} is no URL"))?;
    let client = client_of(&address).map_err(|error| error.to_string())?;
    let mut custom = HashMap::new();
    for (name, value) in headers {
        // The value may be a key.
        let bad = || format!("the header {name} cannot be sent");
        let name: HeaderName = name.parse().map_err(|_| bad())?;
        custom.insert(name, value.parse().map_err(|_| bad())?);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn lifecycle(handshake: Handshake) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match handshake {
        Handshake::Initialize => ClientLifecycleMode::Initialize,
        Handshake::Discover => ClientLifecycleMode::Discover { preferred_versions },
        Handshake::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
    }
}
