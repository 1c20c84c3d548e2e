//! Signals that ask a command to end.

use std::io;
use tokio_util::sync::CancellationToken;

/// A signal that asks for an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// ctrl-C.
    Interrupt,
    /// SIGTERM, where there is one.
    Terminate,
    /// SIGHUP, where there is one.
    Hangup,
}

/// Every coming of one signal, from the moment on at which this was made.
#[cfg(unix)]
pub(super) struct Comings(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Comings {
    pub(super) fn of(kind: Kind) -> io::Result<Comings> {
        use tokio::signal::unix::{SignalKind, signal};
        let kind = match kind {
            Kind::Interrupt => SignalKind::interrupt(),
            Kind::Terminate => SignalKind::terminate(),
            Kind::Hangup => SignalKind::hangup(),
        };
        signal(kind).map(Comings)
    }

    /// Waits for the next one; false where none can come any more.
    pub(super) async fn next(&mut self) -> bool {
        self.0.recv().await.is_some()
    }
}

/// Every coming of ctrl-C; the other signals never come here.
#[cfg(not(unix))]
pub(super) struct Comings(Kind);

#[cfg(not(unix))]
impl Comings {
    pub(super) fn of(kind: Kind) -> io::Result<Comings> {
        Ok(Comings(kind))
    }

    /// Waits for the next one; false where none can come any more.
    pub(super) async fn next(&mut self) -> bool {
        match self.0 {
            Kind::Interrupt => tokio::signal::ctrl_c().await.is_ok(),
            Kind::Terminate | Kind::Hangup => std::future::pending().await,
        }
    }
}

/// Waits for SIGINT, SIGTERM or SIGHUP; false where the system gives none.
pub(super) async fn signalled() -> bool {
    let kinds = [Kind::Interrupt, Kind::Terminate, Kind::Hangup];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(Comings::of) else { return false };
    tokio::select! {
        came = interrupt.next() => came,
        came = terminate.next() => came,
        came = hangup.next() => came,
    }
}

/// Cancels at the first signal.
pub(super) async fn cancel_on_signal(token: CancellationToken) {
    if signalled().await {
        token.cancel();
    }
}

/// Cancels at the first signal that is no SIGHUP, which asks for something else.
pub(super) async fn cancel_unless_hung_up(token: CancellationToken) {
    let [Ok(mut interrupt), Ok(mut terminate)] = [Kind::Interrupt, Kind::Terminate].map(Comings::of) else {
        return;
    };
    tokio::select! {
        _ = interrupt.next() => {}
        _ = terminate.next() => {}
    }
    token.cancel();
}
