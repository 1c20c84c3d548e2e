//! Signals that ask a command to end.

use tokio_util::sync::CancellationToken;

/// Waits for SIGINT, SIGTERM or SIGHUP; false where the system gives none.
#[cfg(unix)]
pub(super) async fn signalled() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else { return false };
    tokio::select! {
        signal = interrupt.recv() => signal.is_some(),
        signal = terminate.recv() => signal.is_some(),
        signal = hangup.recv() => signal.is_some(),
    }
}

/// Waits for ctrl-C; false where the system gives none.
#[cfg(not(unix))]
pub(super) async fn signalled() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}

/// Cancels at the first signal.
pub(super) async fn cancel_on_signal(token: CancellationToken) {
    if signalled().await {
        token.cancel();
    }
}
