//! `nochmal proxy --listen`: Streamable HTTP for any number of clients.

use super::http::{Serving, serve};
use super::hub::Hub;
use super::supervise::UpstreamSource;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Where clients find the proxy at its address.
pub(super) const PATH: &str = "/mcp";

/// The URL for people and clients.
pub(super) fn url(address: SocketAddr) -> String {
    format!("http://{address}{PATH}")
}

/// Serves until `ending` is cancelled, and then until every client's upstream has ended (R8).
pub(super) async fn serve_http(
    hub: Arc<Hub>,
    upstream: Arc<UpstreamSource>,
    ending: CancellationToken,
    listener: TcpListener,
    session_timeout: Option<Duration>,
) {
    let tasks = TaskTracker::new();
    let serving = Serving { hub, upstream, ending: ending.clone(), tasks: tasks.clone(), session_timeout };
    serve(serving, listener, PATH);
    ending.cancelled().await;
    tasks.close();
    tasks.wait().await;
}
