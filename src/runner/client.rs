//! What a trace tells of the agent's MCP client. Pure.

use crate::domain::{CallId, Micros};
use crate::trace::{Event, Peer, Record};
use std::collections::BTreeMap;

/// Name and version of the client, and the MCP version that it asked for.
pub(super) fn introduced(records: &[Record]) -> Option<String> {
    records.iter().find_map(|record| match &record.event {
        Event::ClientReady { client, .. } => Some(words(client)),
        _ => None,
    })
}

/// The shortest time after which the agent's client gave up a call that had no answer. What it gives up
/// because its turn is over is no time limit of its own.
pub(super) fn gave_up_after(records: &[Record]) -> Option<Micros> {
    waits(records).filter_map(|(waited, end)| (end == End::GivenUp).then_some(waited)).min()
}

/// The longest time that the agent's client waited for an answer which then came.
pub(super) fn waited(records: &[Record]) -> Option<Micros> {
    waits(records).filter_map(|(waited, end)| (end == End::Answered).then_some(waited)).max()
}

/// How a client's wait for an answer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    GivenUp,
}

/// How long each call was open, and how that ended.
fn waits(records: &[Record]) -> impl Iterator<Item = (Micros, End)> {
    let mut open: BTreeMap<CallId, Micros> = BTreeMap::new();
    records.iter().filter_map(move |record| {
        let (call, end) = match &record.event {
            Event::CallReceived { call, .. } => {
                open.insert(*call, record.at);
                return None;
            }
            Event::CallAnswered { call, .. } => (call, End::Answered),
            Event::CallCancelled { call } => (call, End::GivenUp),
            _ => return None,
        };
        Some((record.at - open.remove(call)?, end))
    })
}

fn words(client: &Peer) -> String {
    let part = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    format!("{} {} (MCP {})", part(&client.name), part(&client.version), part(&client.protocol))
}
