//! What the wires have in common: waiting for answers and for deadlines.

use super::engine::Input;
use super::hub::Hub;
use crate::domain::ConnectionId;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long open calls may still be answered once a client is gone (R8).
const OPEN_CALL_GRACE: Duration = Duration::from_secs(2);

/// How long a process that took the place of another may take to shake hands and list its tools, though its
/// client is gone: without the list nobody knows whether the run tested what its scenario is about.
const CATALOGUE_GRACE: Duration = Duration::from_secs(30);

/// Gives the open requests of a connection the time that R8 allows.
pub(super) async fn wait_for_answers(hub: &Hub, connection: ConnectionId) {
    let _ = tokio::time::timeout(OPEN_CALL_GRACE, all_answered(hub, connection)).await;
    let listed = once(hub, || !hub.awaits_catalogue(connection));
    let _ = tokio::time::timeout(CATALOGUE_GRACE, listed).await;
}

/// Resolves when no request of a connection is open.
pub(super) async fn all_answered(hub: &Hub, connection: ConnectionId) {
    once(hub, || hub.open_requests(connection) == 0).await;
}

/// Resolves when something holds that only an answer can bring about.
async fn once(hub: &Hub, holds: impl Fn() -> bool) {
    loop {
        let answered = hub.answered.notified();
        if holds() {
            return;
        }
        answered.await;
    }
}

/// Wakes the engine at its deadlines.
pub(super) async fn deadlines(hub: Arc<Hub>, ending: CancellationToken) {
    loop {
        let changed = hub.deadline_changed.notified();
        let due = async {
            match hub.alarm() {
                Some(at) => tokio::time::sleep((at - hub.now()).as_duration()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => hub.input(Input::Tick),
            () = changed => {}
            () = ending.cancelled() => return,
        }
    }
}
