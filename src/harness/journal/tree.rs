//! From the steps that were kept to the conversation as it stands.

use super::record::{Entry, Said};
use crate::harness::conversation::Conversation;
use crate::harness::history;
use crate::harness::message::{Message, ToolCall};
use crate::harness::state::State;
use std::collections::{HashMap, HashSet};

const NOT_SENT: &str = "the session was interrupted before it was sent";

/// A conversation that was kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resumed {
    /// As it stands; every call has a result.
    pub state: State,
    /// How many of its messages are kept; the rest was mended.
    pub kept: usize,
    /// The calls that had left when the session was interrupted, and have no result.
    pub unknown: Vec<ToolCall>,
    /// The last turn has no reply.
    pub pending: bool,
}

/// Plays the steps of one branch, from the first to the last.
pub(super) fn rebuild(entries: Vec<Entry>) -> Resumed {
    let mut messages: Vec<Message> = Vec::new();
    let mut sent: HashSet<String> = HashSet::new();
    let mut finished: HashMap<String, (String, bool)> = HashMap::new();
    let mut resumed = Resumed::default();
    for entry in entries {
        match Said::from(entry) {
            Said::Message(message) => messages.push(message),
            Said::Sending(calls) => sent.extend(calls),
            Said::Finished(call, text, is_error) => {
                finished.insert(call, (text, is_error));
            }
            Said::Context(context) => resumed.state.context = context,
            Said::Spent(spent) => resumed.state.spent = spent,
        }
    }
    resumed.kept = messages.len();
    resumed.state.conversation = Conversation::resume(messages);
    let conversation = &mut resumed.state.conversation;
    for call in conversation.open_calls() {
        if let Some((text, is_error)) = finished.remove(&call.id) {
            conversation.result(&call.id, text, is_error);
        } else if sent.contains(&call.id) {
            if let Message::ToolResult { text, is_error, .. } = history::interrupted(&call) {
                conversation.result(&call.id, text, is_error);
            }
            resumed.unknown.push(call);
        } else {
            conversation.not_sent(&call, NOT_SENT);
        }
    }
    resumed.pending = match conversation.messages().last() {
        None | Some(Message::System { .. }) => false,
        Some(Message::Assistant { tool_calls, .. }) => !tool_calls.is_empty(),
        Some(Message::User { .. } | Message::ToolResult { .. }) => true,
    };
    resumed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::message::ToolCall;
    use proptest::prelude::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "create_booking".into(), ..ToolCall::default() }
    }

    fn steps() -> Vec<Entry> {
        let asks = |ids: &[&str]| {
            Entry::from(&Message::Assistant {
                text: String::new(),
                tool_calls: ids.iter().map(|id| call(id)).collect(),
            })
        };
        let result = |id: &str| Entry::Result { call: id.into(), text: format!("did {id}"), error: false };
        let finished =
            |id: &str| Entry::Finished { call: id.into(), text: format!("did {id}"), error: false };
        let sending =
            |ids: &[&str]| Entry::Sending { calls: ids.iter().map(|id| (*id).to_owned()).collect() };
        vec![
            Entry::User { text: "book".into() },
            asks(&["r1", "r2", "w1", "w2"]),
            sending(&["r1", "r2"]),
            finished("r2"),
            finished("r1"),
            result("r1"),
            result("r2"),
            sending(&["w1"]),
            result("w1"),
            sending(&["w2"]),
            result("w2"),
            Entry::Assistant { text: "done".into(), calls: vec![] },
        ]
    }

    fn results(resumed: &Resumed) -> Vec<(&str, &str)> {
        let mut results: Vec<_> = resumed
            .state
            .conversation
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::ToolResult { call_id, text, .. } => Some((call_id.as_str(), text.as_str())),
                _ => None,
            })
            .collect();
        results.sort_unstable();
        results
    }

    #[test]
    fn what_left_is_unknown_what_finished_is_kept_what_never_left_is_said_so() {
        let cut = |steps: &[Entry]| rebuild(steps.to_vec());
        let steps = steps();
        let begun = cut(&steps[..8]);
        assert_eq!(begun.unknown, [call("w1")]);
        let results_then = results(&begun);
        assert_eq!((results_then[0], results_then[1]), (("r1", "did r1"), ("r2", "did r2")));
        assert!(results_then[2].1.contains("outcome is unknown"), "{results_then:?}");
        assert!(results_then[3].1.starts_with("Not carried out"), "{results_then:?}");
        // A read of several that had its result before the others is not lost.
        let reads = cut(&steps[..4]);
        assert_eq!(results(&reads)[1], ("r2", "did r2"));
        assert_eq!(reads.unknown, [call("r1")]);
        assert!(begun.pending && reads.pending && !cut(&steps).pending);
        assert_eq!(cut(&steps).kept, 7);
    }

    proptest! {
        #[test]
        fn cut_anywhere_a_session_is_a_valid_history_and_no_sent_call_is_called_not_sent(at in 0_usize..=12) {
            let cut = steps()[..at].to_vec();
            let resumed = rebuild(cut.clone());
            prop_assert_eq!(history::check(resumed.state.conversation.messages()), Ok(()));
            for (id, text) in results(&resumed) {
                let left = cut.iter().any(|entry| matches!(entry, Entry::Sending { calls } if calls.iter().any(|call| call == id)));
                prop_assert_eq!(left, !text.starts_with("Not carried out"), "{}: {}", id, text);
            }
        }
    }
}
