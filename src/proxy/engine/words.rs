//! What the engine says itself, and how it reads what others say.

use super::super::message::{CallResult, Implementation, Introduction, MetaParams, View};
use super::{Action, Call, Connection};
use crate::domain::{CallId, ConnectionId, RawJson};
use crate::scenario::{self, Injection};
use crate::trace::{AnswerKind, Body, Event, Peer, Told};
use serde_json::value::RawValue;

/// Answers longer than this are kept in the trace by length and digest only, in bytes.
const BODY_KEPT: usize = 64 * 1024;

/// Records that the scenario struck and tells the agent what it says (J13).
pub(super) fn inject(number: CallId, call: &Call, injection: &Injection, actions: &mut Vec<Action>) {
    actions.push(Action::Record(Event::ScenarioFired { call: number, fault: injection.fault }));
    tell(number, call, injection.told, &injection.text, true, actions);
}

pub(super) fn tell(
    number: CallId,
    call: &Call,
    told: Told,
    text: &str,
    injected: bool,
    actions: &mut Vec<Action>,
) {
    let result = scenario::error_result(text, call.modern);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, call.id, result);
    let body = Some(keep(result.raw()));
    actions.push(Action::Record(Event::CallAnswered { call: number, told, injected, body }));
    actions.push(Action::ToClient { connection: call.connection, message });
}

/// Answers a message with a JSON-RPC error of the proxy's own.
pub(super) fn refuse(
    connection: ConnectionId,
    id: Option<&RawValue>,
    code: i32,
    reason: &str,
    actions: &mut Vec<Action>,
) {
    let id = id.map_or("null", RawValue::get);
    let reason = RawJson::string(reason);
    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{reason}}}}}"#);
    actions.push(Action::ToClient { connection, message });
}

/// How an answer counts, and its part that is kept. What cannot be read counts as a protocol
/// error, hence as unknown (J7): when in doubt, nothing is called executed or rejected.
pub(super) fn answer_kind<'a>(view: &View<'a>) -> (AnswerKind, &'a RawValue) {
    match (view.result, view.error) {
        (Some(result), None) => match serde_json::from_str::<CallResult<'_>>(result.get()) {
            Ok(parsed) => {
                let is_error = parsed.is_error.map(RawValue::get);
                let result_type = parsed.result_type.map(RawValue::get);
                let kind = match (is_error, result_type) {
                    (Some("true"), _) => AnswerKind::ErrorResult,
                    (None | Some("false"), Some(r#""input_required""#)) => AnswerKind::InputRequired,
                    (None | Some("false"), _) => AnswerKind::Result,
                    (Some(_), _) => AnswerKind::ProtocolError,
                };
                (kind, result)
            }
            Err(_) => (AnswerKind::ProtocolError, result),
        },
        (_, Some(error)) => (AnswerKind::ProtocolError, error),
        (None, None) => (AnswerKind::ProtocolError, RawValue::NULL),
    }
}

pub(super) fn keep(value: &RawValue) -> Body {
    let text = value.get();
    Body {
        json: (text.len() <= BODY_KEPT).then(|| RawJson::from_raw(value)),
        bytes: text.len() as u64,
        digest: crate::domain::json::digest(text),
    }
}

/// Ids are compared as JSON values, so that an upstream may spell `1` as `1.0`.
pub(super) fn id_key(id: &str) -> String {
    crate::domain::json::canonical(id)
}

pub(in crate::proxy) fn introduction(raw: Option<&RawValue>) -> Introduction<'_> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

pub(super) fn peer(info: Option<Implementation<'_>>, protocol: Option<&str>) -> Peer {
    let info = info.unwrap_or_default();
    Peer {
        name: info.name.map(|name| name.into_owned()),
        version: info.version.map(|version| version.into_owned()),
        protocol: protocol.map(str::to_owned),
    }
}

/// MCP 2026-07-28 has no handshake: every request says who sent it. Returns whether this one did.
pub(super) fn introduce_modern(
    connection: ConnectionId,
    state: &mut Connection,
    view: &View<'_>,
    actions: &mut Vec<Action>,
) -> bool {
    let meta = view
        .params
        .and_then(|params| serde_json::from_str::<MetaParams<'_>>(params.get()).ok())
        .and_then(|params| params.meta);
    let Some(version) = meta.as_ref().and_then(|meta| meta.protocol_version.as_deref()) else { return false };
    if !state.introduced {
        state.introduced = true;
        let info = meta.as_ref().and_then(|meta| meta.client_info);
        let info = info.and_then(|info| serde_json::from_str(info.get()).ok());
        let client = peer(info, Some(version));
        actions.push(Action::Record(Event::ClientReady { connection, client }));
    }
    true
}
