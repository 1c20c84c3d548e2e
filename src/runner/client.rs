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
    let mut open: BTreeMap<CallId, Micros> = BTreeMap::new();
    let mut shortest: Option<Micros> = None;
    for record in records {
        match &record.event {
            Event::CallReceived { call, .. } => {
                open.insert(*call, record.at);
            }
            Event::CallAnswered { call, .. } => {
                open.remove(call);
            }
            Event::CallCancelled { call } => {
                if let Some(sent) = open.remove(call) {
                    let waited = record.at - sent;
                    shortest = Some(shortest.map_or(waited, |known| known.min(waited)));
                }
            }
            _ => {}
        }
    }
    shortest
}

/// The longest time that the agent's client waited for an answer which then came.
pub(super) fn waited(records: &[Record]) -> Option<Micros> {
    let mut open: BTreeMap<CallId, Micros> = BTreeMap::new();
    let waits = records.iter().filter_map(|record| match &record.event {
        Event::CallReceived { call, .. } => {
            open.insert(*call, record.at);
            None
        }
        Event::CallCancelled { call } => {
            open.remove(call);
            None
        }
        Event::CallAnswered { call, .. } => Some(record.at - open.remove(call)?),
        _ => None,
    });
    waits.max()
}

fn words(client: &Peer) -> String {
    let part = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".to_owned());
    format!("{} {} (MCP {})", part(&client.name), part(&client.version), part(&client.protocol))
}
