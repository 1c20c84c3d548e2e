//! `nochmal demo`: the demo server on stdin and stdout.

use super::{Failure, exit};
use crate::proxy::demo;

/// Serves until stdin ends.
pub fn run() -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::said(exit::FAILED, format!("the runtime could not be started: {error}")))?;
    let served = runtime.block_on(async { demo::serve(rmcp::transport::io::stdio_pipes()).await });
    // A read of stdin that is still pending must not hold the process.
    runtime.shutdown_background();
    served.map_err(Failure::internal)?;
    Ok(exit::OK)
}
