//! The loop: one user message in, one reply out, with as many tool calls between as the model
//! asks for.

use super::message::{Conversation, Object, ToolCall};
use super::model::{Consumption, Model, ModelError, Request};
use super::tools::Tools;
use tokio_util::sync::CancellationToken;

/// What ends a turn that would not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the model for one user message.
    pub turns: u32,
    /// Calls of one tool with equal arguments, one directly after the other.
    pub equal_calls: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 20, equal_calls: 5 }
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The model's last words.
    pub text: String,
    /// What the turn consumed.
    pub usage: Consumption,
}

/// Why a turn ended without a reply. The conversation can go on after each of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model kept asking for tools.
    #[error("no reply after {0} requests to the model")]
    Turns(u32),
    /// The model asked for the same call over and over.
    #[error("the model asked {count} times in a row for {tool} with the same arguments")]
    EqualCalls {
        /// The tool.
        tool: String,
        /// How often, the last of which was not carried out.
        count: u32,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Lets the model answer what was said last. Calls are carried out one by one, each once.
///
/// # Errors
/// Where a limit was reached, the model gave no answer, or `cancel` was called. Every call
/// that was asked for has a result in the conversation then, too.
pub async fn run(
    model: &dyn Model,
    tools: &dyn Tools,
    conversation: &mut Conversation,
    limits: Limits,
    cancel: &CancellationToken,
) -> Result<Reply, TurnError> {
    let mut usage = Consumption::default();
    let mut last: Option<(ToolCall, u32)> = None;
    for _ in 0..limits.turns {
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(TurnError::Cancelled),
            turn = model.respond(Request::new(conversation.messages(), tools.specs())) => turn?,
        };
        usage += turn.usage;
        conversation.assistant(&turn.text, turn.tool_calls.clone());
        if turn.tool_calls.is_empty() {
            return Ok(Reply { text: turn.text, usage });
        }
        for call in &turn.tool_calls {
            let count = match &last {
                Some((before, count)) if same(before, call) => count + 1,
                _ => 1,
            };
            last = Some((call.clone(), count));
            if count > limits.equal_calls {
                for open in conversation.open_calls() {
                    conversation.result(&open.id, "Not carried out: a limit was reached.".to_owned(), true);
                }
                return Err(TurnError::EqualCalls { tool: call.name.clone(), count });
            }
            if let Some(written) = &call.unreadable {
                conversation.result(&call.id, unreadable(call, written), true);
                continue;
            }
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    conversation.mend();
                    return Err(TurnError::Cancelled);
                }
                outcome = tools.call(call) => outcome,
            };
            conversation.result(&call.id, outcome.text, outcome.is_error);
        }
    }
    Err(TurnError::Turns(limits.turns))
}

/// What a model is told whose arguments are no JSON object: nothing was sent.
fn unreadable(call: &ToolCall, written: &str) -> String {
    let why = match serde_json::from_str::<Object>(written) {
        Err(error) => error.to_string(),
        Ok(_) => "they are empty".to_owned(),
    };
    format!("The arguments of {} are not a JSON object ({why}). The call was not sent.", call.name)
}

fn same(one: &ToolCall, other: &ToolCall) -> bool {
    one.name == other.name && one.arguments == other.arguments && one.unreadable == other.unreadable
}

#[cfg(test)]
mod tests {
    use super::super::message::{Message, ToolSpec};
    use super::super::model::{BoxFuture, Identity, ModelTurn};
    use super::super::tools::ToolOutcome;
    use super::*;
    use std::sync::Mutex;

    /// Asks for the same call until it has seen `calls` results.
    struct Asks {
        calls: usize,
    }

    impl Model for Asks {
        fn identity(&self) -> Identity {
            Identity::default()
        }

        fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
            Box::pin(async move {
                let results = request
                    .messages
                    .iter()
                    .filter(|message| matches!(message, Message::ToolResult { .. }))
                    .count();
                let call = ToolCall {
                    id: format!("call_{results}"),
                    name: "create_booking".into(),
                    ..ToolCall::default()
                };
                let usage = Consumption { input: 2, output: 1, ..Consumption::default() };
                Ok(if results < self.calls {
                    ModelTurn { tool_calls: vec![call], usage, ..ModelTurn::default() }
                } else {
                    ModelTurn { text: "done".into(), usage, ..ModelTurn::default() }
                })
            })
        }
    }

    /// Fails every call, and counts them.
    #[derive(Default)]
    struct Fails(Mutex<Vec<ToolCall>>);

    impl Tools for Fails {
        fn specs(&self) -> &[ToolSpec] {
            &[]
        }

        fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
            Box::pin(async move {
                self.0.lock().unwrap().push(call.clone());
                ToolOutcome::error("timed out")
            })
        }
    }

    async fn turn(calls: usize, limits: Limits) -> (Result<Reply, TurnError>, usize, Conversation) {
        let (model, tools) = (Asks { calls }, Fails::default());
        let mut conversation = Conversation::new("system");
        conversation.user("book");
        let reply = run(&model, &tools, &mut conversation, limits, &CancellationToken::new()).await;
        let carried_out = tools.0.lock().unwrap().len();
        (reply, carried_out, conversation)
    }

    #[tokio::test]
    async fn a_failed_call_goes_back_to_the_model_and_is_not_sent_again() {
        let (reply, carried_out, conversation) = turn(1, Limits::default()).await;
        assert_eq!(carried_out, 1);
        let usage = Consumption { input: 4, output: 2, ..Consumption::default() };
        assert_eq!(reply.unwrap(), Reply { text: "done".into(), usage });
        assert!(conversation.messages().iter().any(
            |message| matches!(message, Message::ToolResult { text, is_error: true, .. } if text == "timed out")
        ));
    }

    #[tokio::test]
    async fn equal_calls_in_a_row_end_the_turn() {
        let (reply, carried_out, conversation) = turn(99, Limits { turns: 20, equal_calls: 3 }).await;
        assert_eq!(reply.unwrap_err(), TurnError::EqualCalls { tool: "create_booking".into(), count: 4 });
        assert_eq!(carried_out, 3);
        assert!(conversation.open_calls().is_empty());
    }

    #[tokio::test]
    async fn too_many_requests_end_the_turn() {
        let (reply, carried_out, _) = turn(99, Limits { turns: 4, equal_calls: 99 }).await;
        assert_eq!(reply.unwrap_err(), TurnError::Turns(4));
        assert_eq!(carried_out, 4);
    }

    #[tokio::test]
    async fn a_cancelled_turn_leaves_no_call_without_a_result() {
        struct Hangs(CancellationToken);
        impl Tools for Hangs {
            fn specs(&self) -> &[ToolSpec] {
                &[]
            }
            fn call<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, ToolOutcome> {
                self.0.cancel();
                Box::pin(std::future::pending())
            }
        }
        let cancel = CancellationToken::new();
        let mut conversation = Conversation::new("");
        conversation.user("book");
        let tools = Hangs(cancel.clone());
        let reply =
            run(&Asks { calls: 1 }, &tools, &mut conversation, Limits::default(), &cancel).await.unwrap_err();
        assert_eq!(reply, TurnError::Cancelled);
        assert!(conversation.open_calls().is_empty());
        assert!(matches!(conversation.messages().last(), Some(Message::ToolResult { is_error: true, .. })));
    }
}
