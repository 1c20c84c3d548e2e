//! Whatever is done about a history's length, what is sent is a valid history.

use super::*;
use crate::harness::conversation::Conversation;
use crate::harness::history;
use crate::harness::message::ToolCall;
use proptest::prelude::*;

fn conversation() -> impl Strategy<Value = Conversation> {
    let text = "[a-z ]{0,40}( [A-Z]{2}-[0-9]{4}){0,2}";
    let exchange =
        (text, proptest::collection::vec(("[rw]", "(word |BK-[0-9]{4} ){0,200}", any::<bool>()), 0..4), text);
    proptest::collection::vec(exchange, 1..12).prop_map(|exchanges| {
        let mut conversation = Conversation::new("system");
        for (said, calls, reply) in exchanges {
            conversation.user(&said);
            let asked = calls
                .iter()
                .map(|(name, ..)| ToolCall { name: name.clone(), ..ToolCall::default() })
                .collect();
            let asked = conversation.assistant("", asked);
            for (call, (_, result, failed)) in asked.iter().zip(&calls) {
                conversation.result(&call.id, result.clone(), *failed);
            }
            if !calls.is_empty() {
                conversation.assistant(&reply, vec![]);
            }
        }
        conversation
    })
}

fn class(name: &str) -> ToolClass {
    if name == "r" { ToolClass::Read } else { ToolClass::Write }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_view_is_valid_and_smaller_and_forgets_no_identifier(
        conversation in conversation(),
        window in 200_u64..6_000,
        summary in "[a-z ]{0,600}",
    ) {
        let messages = conversation.messages();
        let room = Room { messages, tools: &[], window: Some(window) };
        let mut context = Context::default();
        let whole = context.size(room);
        context.cut_results(room);
        prop_assert_eq!(history::check(&context.view(messages)), Ok(()));
        prop_assert!(context.size(room) <= whole);
        if let Some(upto) = context.to_summarise(room) {
            let before = context.clone();
            let replaced = context.replace(room, upto, &summary, &class);
            prop_assert_eq!(replaced, context.size(room) < before.size(room));
            if replaced {
                let sent = format!("{:?}", context.view(messages));
                let Some(line) = facts::line(&messages[..upto]) else { return Ok(()) };
                for identifier in line.trim_start_matches("Facts: ").split(", ") {
                    prop_assert!(sent.contains(identifier), "{}", identifier);
                }
            }
        }
        prop_assert_eq!(history::check(&context.view(messages)), Ok(()));
        let before = context.size(room);
        context.squeeze(room);
        prop_assert!(context.size(room) <= before);
        prop_assert_eq!(history::check(&context.view(messages)), Ok(()));
        // The system prompt and the last message are always there, word for word.
        let view = context.view(messages);
        prop_assert_eq!(&view[0], &messages[0]);
        if let Some(Message::User { text }) = messages.last() {
            let kept = matches!(view.last(), Some(Message::User { text: sent }) if sent.ends_with(text.as_str()));
            prop_assert!(kept);
        }
    }

    #[test]
    fn a_result_cut_in_its_middle_keeps_both_ends(text in ".{0,2000}", longest in 10_usize..500) {
        let short = middle_out(text.clone(), longest);
        prop_assert!(short.chars().count() <= text.chars().count().max(longest + 40));
        if short != text {
            prop_assert!(short.ends_with(&text.chars().skip(text.chars().count() - longest / 2).collect::<String>()));
        }
    }
}

#[test]
fn nothing_is_done_where_nobody_told_how_much_fits() {
    let mut conversation = Conversation::new("");
    conversation.user(&"word ".repeat(100_000));
    let room = Room { messages: conversation.messages(), tools: &[], window: None };
    assert!(!Context::default().is_full(room));
}
