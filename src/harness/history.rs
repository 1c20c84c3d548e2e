//! The rule of a history, and how any history is made to follow it.
//!
//! The rule: every tool call has exactly one result, among the messages that directly follow the
//! answer that asked for it; no result is without a call; every call's id is there once and can be
//! sent to every vendor. Endpoints refuse a history that breaks it, so a session that was cut
//! anywhere could never go on.

use super::message::{Message, ToolCall};
use std::collections::HashSet;

/// How long an id may be, which is what the strictest vendor takes.
const LONGEST_ID: usize = 64;

/// Where a history breaks the rule. Indices count messages from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A call has no result.
    #[error("message {at} asks for the call {id}, which has no result")]
    NoResult {
        /// The message that asks.
        at: usize,
        /// The call.
        id: String,
    },
    /// A result has no call, or not directly before it.
    #[error(
        "message {at} is a result of the call {id}, which the answer before it does not ask for, or which has a result"
    )]
    NoCall {
        /// The result.
        at: usize,
        /// The call that it names.
        id: String,
    },
    /// An id is there twice, or no vendor takes it.
    #[error("message {at} asks for a call with the id {id:?}, which is there already or cannot be sent")]
    Id {
        /// The message that asks.
        at: usize,
        /// The id.
        id: String,
    },
}

/// Checks the rule.
///
/// # Errors
/// With the first place that breaks it.
pub fn check(messages: &[Message]) -> Result<(), HistoryError> {
    let mut seen = HashSet::new();
    let mut asked = 0;
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if let Message::ToolResult { call_id, .. } = message {
            let Some(place) = open.iter().position(|id| id == call_id) else {
                return Err(HistoryError::NoCall { at, id: call_id.clone() });
            };
            open.swap_remove(place);
            continue;
        }
        if let Some(id) = open.first() {
            return Err(HistoryError::NoResult { at: asked, id: (*id).to_owned() });
        }
        if let Message::Assistant { tool_calls, .. } = message {
            asked = at;
            for call in tool_calls {
                if !can_be_sent(&call.id) || !seen.insert(call.id.as_str()) {
                    return Err(HistoryError::Id { at, id: call.id.clone() });
                }
                open.push(&call.id);
            }
        }
    }
    match open.first() {
        Some(id) => Err(HistoryError::NoResult { at: asked, id: (*id).to_owned() }),
        None => Ok(()),
    }
}

/// Makes any list of messages follow the rule. A history that follows it is left as it is. What
/// the user and the model said is kept word for word; a call without a result gets one that says
/// that its outcome is unknown; results without a call, and second results, are dropped.
pub fn mend(messages: Vec<Message>) -> Vec<Message> {
    mended(messages, true)
}

/// As [`mend`], but calls of the last answer that have no result stay open.
pub(super) fn mend_but_the_end(messages: Vec<Message>) -> Vec<Message> {
    mended(messages, false)
}

fn mended(messages: Vec<Message>, the_end_too: bool) -> Vec<Message> {
    if check(&messages).is_ok() {
        return messages;
    }
    let mut mended: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    let mut ids = Ids::default();
    // The last answer's calls: as they were named, as they are named now, whether answered.
    let mut open: Vec<(String, ToolCall)> = Vec::new();
    for message in messages {
        match message {
            Message::ToolResult { call_id, text, is_error } => {
                if let Some(place) = open.iter().position(|(named, _)| *named == call_id) {
                    let (_, call) = open.remove(place);
                    mended.push(Message::ToolResult { call_id: call.id, text, is_error });
                }
            }
            Message::Assistant { text, mut tool_calls } => {
                mended.extend(open.drain(..).map(|(_, call)| interrupted(&call)));
                for call in &mut tool_calls {
                    let named = call.id.clone();
                    ids.claim(call);
                    open.push((named, call.clone()));
                }
                mended.push(Message::Assistant { text, tool_calls });
            }
            said => {
                mended.extend(open.drain(..).map(|(_, call)| interrupted(&call)));
                mended.push(said);
            }
        }
    }
    if the_end_too {
        mended.extend(open.drain(..).map(|(_, call)| interrupted(&call)));
    }
    mended
}

/// The result of a call of which nobody knows what became: a model that is told nothing, or of a
/// failure, would believe that it did not happen.
pub fn interrupted(call: &ToolCall) -> Message {
    Message::ToolResult {
        call_id: call.id.clone(),
        text: format!(
            "The call of {} was interrupted and its outcome is unknown: it may have been carried out.",
            call.name
        ),
        is_error: true,
    }
}

/// The result of a call that certainly never left.
pub fn not_sent(call: &ToolCall, why: &str) -> Message {
    Message::ToolResult { call_id: call.id.clone(), text: format!("Not carried out: {why}."), is_error: true }
}

/// The ids that a history uses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ids {
    used: HashSet<String>,
}

impl Ids {
    /// Takes the call's id, or gives it another one where that is used already or cannot be sent:
    /// some models number the calls of every answer anew, and some give no id.
    pub(super) fn claim(&mut self, call: &mut ToolCall) {
        if !can_be_sent(&call.id) || self.used.contains(&call.id) {
            let mut number = self.used.len() + 1;
            while self.used.contains(&format!("call_{number}")) {
                number += 1;
            }
            call.id = format!("call_{number}");
        }
        self.used.insert(call.id.clone());
    }
}

fn can_be_sent(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "create_booking".into(), ..ToolCall::default() }
    }

    fn asks(ids: &[&str]) -> Message {
        Message::Assistant { text: String::new(), tool_calls: ids.iter().map(|id| call(id)).collect() }
    }

    fn result(id: &str) -> Message {
        Message::ToolResult { call_id: id.into(), text: format!("result of {id}"), is_error: false }
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.into() }
    }

    #[test]
    fn what_breaks_the_rule_is_named() {
        let broken = |messages: &[Message]| check(messages).unwrap_err();
        assert_eq!(broken(&[user("a"), asks(&["x"])]), HistoryError::NoResult { at: 1, id: "x".into() });
        assert_eq!(
            broken(&[asks(&["x"]), user("a"), result("x")]),
            HistoryError::NoResult { at: 0, id: "x".into() }
        );
        assert_eq!(
            broken(&[asks(&["x"]), result("x"), result("x")]),
            HistoryError::NoCall { at: 2, id: "x".into() }
        );
        assert_eq!(broken(&[asks(&["x", "x"])]), HistoryError::Id { at: 0, id: "x".into() });
        assert_eq!(broken(&[asks(&["a b"])]), HistoryError::Id { at: 0, id: "a b".into() });
        assert_eq!(check(&[asks(&["x", "y"]), result("y"), result("x")]), Ok(()));
    }

    #[test]
    fn a_late_result_does_not_replace_the_word_unknown() {
        let mended = mend(vec![asks(&["x"]), user("and?"), result("x")]);
        assert_eq!(mended, [asks(&["x"]), interrupted(&call("x")), user("and?")]);
    }

    #[test]
    fn an_id_that_comes_again_is_renamed_with_its_result() {
        let mended = mend(vec![asks(&["0"]), result("0"), asks(&["0", ""]), result("0")]);
        assert_eq!(check(&mended), Ok(()));
        let Message::Assistant { tool_calls, .. } = &mended[2] else { unreachable!() };
        assert_eq!(
            mended[3],
            Message::ToolResult {
                call_id: tool_calls[0].id.clone(),
                text: "result of 0".into(),
                is_error: false
            }
        );
    }

    fn message() -> impl Strategy<Value = Message> {
        let id = prop_oneof!["[a-c]", Just(String::new()), Just("nö".to_owned()), "[a-z]{65}"];
        prop_oneof![
            "[a-z]{0,4}".prop_map(|text| Message::System { text }),
            "[a-z]{0,4}".prop_map(|text| Message::User { text }),
            (proptest::collection::vec(id.clone(), 0..4), "[a-z]{0,4}").prop_map(|(ids, text)| {
                Message::Assistant { text, tool_calls: ids.iter().map(|id| call(id)).collect() }
            }),
            (id, "[a-z]{0,4}", any::<bool>()).prop_map(|(call_id, text, is_error)| Message::ToolResult {
                call_id,
                text,
                is_error
            }),
        ]
    }

    fn said(messages: &[Message]) -> Vec<(&str, usize)> {
        let said = |message: &Message| !matches!(message, Message::ToolResult { .. });
        messages
            .iter()
            .filter(|message| said(message))
            .map(|message| match message {
                Message::System { text } | Message::User { text } => (text.as_str(), 0),
                Message::Assistant { text, tool_calls } => (text.as_str(), tool_calls.len()),
                Message::ToolResult { .. } => ("", 0),
            })
            .collect()
    }

    proptest! {
        #[test]
        fn every_list_of_messages_is_mended_and_stays_so(messages in proptest::collection::vec(message(), 0..24)) {
            let mended = mend(messages.clone());
            prop_assert_eq!(check(&mended), Ok(()));
            prop_assert_eq!(said(&mended), said(&messages));
            prop_assert_eq!(mend(mended.clone()), mended);
        }

        #[test]
        fn a_valid_history_cut_anywhere_keeps_every_result_it_had(
            messages in proptest::collection::vec(message(), 0..24),
            at in any::<proptest::sample::Index>(),
        ) {
            let mut cut = mend(messages);
            prop_assert_eq!(mend(cut.clone()), cut.clone());
            cut.truncate(at.index(cut.len() + 1));
            let mended = mend(cut.clone());
            prop_assert_eq!(check(&mended), Ok(()));
            prop_assert_eq!(&mended[..cut.len()], &cut[..]);
            // Whatever was added is the word that nobody knows.
            let unknown = |added: &Message| matches!(added, Message::ToolResult { text, is_error: true, .. } if text.contains("unknown"));
            let all = mended[cut.len()..].iter().all(unknown);
            prop_assert!(all);
        }
    }
}
