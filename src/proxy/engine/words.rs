//! What the engine says itself, and how it reads what others say.

use super::super::message::{CallResult, Implementation, Introduction, MetaParams, View};
use super::call::Call;
use super::{Action, Connection};
use crate::domain::{CallId, ConnectionId, Present, RawJson};
use crate::scenario::{self, Injection, Reply};
use crate::trace::{AnswerKind, Body, Category, Event, Peer, Retry, Told};
use serde_json::value::RawValue;

/// Answers longer than this are kept in the trace by length and digest only, in bytes.
const BODY_KEPT: usize = 64 * 1024;

/// What the agent gets in place of the upstream's answer.
#[derive(Default)]
pub(super) struct Composed {
    pub message: Option<String>,
    /// Absent where the agent gets the upstream's own answer, or none.
    pub body: Option<Body>,
}

/// Puts an answer of the scenario into words (J13).
pub(super) fn compose(call: &Call, injection: &Injection, own: Option<String>, present: Present) -> Composed {
    let answer = |result: RawJson| Composed {
        message: Some(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, call.id)),
        body: Some(keep(result.raw())),
    };
    let told = injection.told;
    // What no contract could notice is told as it is: a list that is only longer than it was.
    let noticed = told != Told::Altered || injection.field.is_some();
    let advice = told.advice().filter(|_| present == Present::Structured && noticed);
    match (&injection.reply, advice) {
        (Reply::Text { text, .. }, Some(advice)) => {
            let text = if advice.0 == Category::MalformedResponse { UNREADABLE } else { text.as_str() };
            answer(structured(call, advice, text))
        }
        (Reply::Result(_), Some(advice)) => answer(structured(call, advice, UNREADABLE)),
        (Reply::ProtocolError { message, .. }, Some(advice)) => answer(structured(call, advice, message)),
        (Reply::Text { text, is_error }, None) => answer(scenario::text_result(text, *is_error, call.modern)),
        (Reply::Result(result), None) => answer(result.clone()),
        (Reply::ProtocolError { code, message }, None) => {
            let error = RawJson::of(&serde_json::json!({"code": code, "message": message}));
            let error = error.unwrap_or_else(|_| RawJson::null());
            Composed {
                message: Some(format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, call.id)),
                body: Some(keep(error.raw())),
            }
        }
        (Reply::Own, _) => Composed { message: own, body: None },
        (Reply::Cut { .. }, _) => Composed::default(),
    }
}

/// What a tool says that checks what it is answered.
const UNREADABLE: &str = "The response does not have the promised form and cannot be used.";

fn structured(call: &Call, advice: (Category, Retry), text: &str) -> RawJson {
    let id = call.correlation.as_deref().unwrap_or_default();
    scenario::structured_result(advice, &call.tool, id, text, call.modern)
}

/// Tells the agent of a failure that no scenario made.
pub(super) fn tell(
    number: CallId,
    call: &Call,
    told: Told,
    text: &str,
    present: Present,
    actions: &mut Vec<Action>,
) {
    let result = match told.advice().filter(|_| present == Present::Structured) {
        Some(advice) => structured(call, advice, text),
        None => scenario::error_result(text, call.modern),
    };
    let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, call.id, result);
    let body = Some(keep(result.raw()));
    actions.push(Action::Record(Event::CallAnswered { call: number, told, injected: false, body }));
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
    Body::of(value, BODY_KEPT)
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
