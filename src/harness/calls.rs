//! Carrying out what an answer of the model asks for: reads together, all else one by one, in the
//! order in which it was asked for.

use super::history;
use super::message::{Object, ToolCall};
use super::model::BoxFuture;
use super::reply::{Stop, TurnError};
use super::tools::ToolOutcome;
use super::turn::Turn;
use super::watch::Event;
use crate::domain::ToolClass;
use std::future::poll_fn;
use std::task::Poll;

/// How many reads are carried out at the same time.
const AT_ONCE: usize = 8;

const LIMIT: &str = "a limit was reached";
const STOPPED: &str = "the turn was ended before it was sent";
const NOT_KEPT: &str = "it could not be written down first";

impl Turn<'_, '_> {
    /// Carries the calls out. In every case each has a result afterwards.
    pub(super) async fn carry_out(
        &mut self,
        calls: &[ToolCall],
        mut stop: Stop<'_>,
    ) -> Result<(), TurnError> {
        let (allowed, over) = self.allowed(calls);
        let mut rest = &calls[..allowed];
        while let Some(first) = rest.first() {
            let is_read = |call: &ToolCall| self.agent.tools.class(&call.name) == ToolClass::Read;
            let count = if is_read(first) {
                rest.iter().take(AT_ONCE).take_while(|call| is_read(call)).count()
            } else {
                1
            };
            let (batch, later) = rest.split_at(count);
            if let Err(error) = self.batch(batch, stop.as_mut()).await {
                let why = if matches!(error, TurnError::Journal(_)) { NOT_KEPT } else { STOPPED };
                calls.iter().for_each(|call| self.state.conversation.not_sent(call, why));
                return Err(error);
            }
            rest = later;
        }
        let Some(error) = over else { return Ok(()) };
        calls.iter().for_each(|call| self.state.conversation.not_sent(call, LIMIT));
        self.save()?;
        Err(error)
    }

    /// How many of the calls may be carried out, and what forbids the next.
    fn allowed(&mut self, calls: &[ToolCall]) -> (usize, Option<TurnError>) {
        for (at, call) in calls.iter().enumerate() {
            let count = match &self.before {
                Some((before, count)) if same(before, call) => count + 1,
                _ => 1,
            };
            self.before = Some((call.clone(), count));
            if count > self.agent.limits.equal_calls {
                return (at, Some(TurnError::EqualCalls { tool: call.name.clone(), count }));
            }
        }
        (calls.len(), None)
    }

    /// Calls that leave together: reads, or one of another class. That they leave is kept before
    /// they do.
    async fn batch(&mut self, calls: &[ToolCall], mut stop: Stop<'_>) -> Result<(), TurnError> {
        tokio::select! {
            biased;
            error = stop.as_mut() => return Err(error),
            () = std::future::ready(()) => {}
        }
        let (tools, watch) = (self.agent.tools, self.agent.watch);
        let refusal = |call: &ToolCall| {
            call.unreadable.as_ref().map(|text| unreadable(call, text)).or_else(|| tools.refusal(call))
        };
        let mut outcomes: Vec<Option<ToolOutcome>> =
            calls.iter().map(|call| refusal(call).map(ToolOutcome::error)).collect();
        let leaving: Vec<usize> = (0..calls.len()).filter(|at| outcomes[*at].is_none()).collect();
        for (call, outcome) in calls.iter().zip(&outcomes) {
            if let Some(outcome) = outcome {
                watch.event(Event::ToolRefused(call, &outcome.text));
            }
        }
        if !leaving.is_empty() {
            self.journal.sending(&leaving.iter().map(|at| &calls[*at]).collect::<Vec<_>>())?;
        }
        let mut running: Vec<(usize, BoxFuture<'_, ToolOutcome>)> = Vec::new();
        for at in &leaving {
            watch.event(Event::ToolBegins(&calls[*at]));
            running.push((*at, tools.call(&calls[*at])));
        }
        let mut stopped = None;
        while !running.is_empty() && stopped.is_none() {
            tokio::select! {
                // A result that is there is told, also where the turn ends.
                biased;
                (at, outcome) = next(&mut running) => {
                    watch.event(Event::ToolEnds(&calls[at], Some(&outcome)));
                    if leaving.len() > 1
                        && let Err(error) = self.journal.finished(&calls[at], &outcome)
                    {
                        stopped = Some(error.into());
                    }
                    outcomes[at] = Some(outcome);
                }
                error = stop.as_mut() => stopped = Some(error),
            }
        }
        // Giving a request up tells its server so.
        drop(running);
        for (call, outcome) in calls.iter().zip(outcomes) {
            match outcome {
                Some(outcome) => self.state.conversation.result(&call.id, outcome.text, outcome.is_error),
                None => {
                    watch.event(Event::ToolEnds(call, None));
                    if let super::message::Message::ToolResult { text, is_error, .. } =
                        history::interrupted(call)
                    {
                        self.state.conversation.result(&call.id, text, is_error);
                    }
                }
            }
        }
        match stopped {
            Some(error) => Err(error),
            None => Ok(self.save()?),
        }
    }
}

/// The next call that ends.
async fn next(running: &mut Vec<(usize, BoxFuture<'_, ToolOutcome>)>) -> (usize, ToolOutcome) {
    poll_fn(|context| {
        for place in 0..running.len() {
            if let Poll::Ready(outcome) = running[place].1.as_mut().poll(context) {
                return Poll::Ready((running.swap_remove(place).0, outcome));
            }
        }
        Poll::Pending
    })
    .await
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
