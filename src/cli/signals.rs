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

/// Cancels at the first signal that is no SIGHUP, which asks for something else.
#[cfg(unix)]
pub(super) async fn cancel_unless_hung_up(token: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let [Ok(mut interrupt), Ok(mut terminate)] = kinds.map(signal) else { return };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    token.cancel();
}

#[cfg(not(unix))]
pub(super) async fn cancel_unless_hung_up(token: CancellationToken) {
    cancel_on_signal(token).await;
}
