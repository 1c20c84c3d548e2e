//! The loop: one user message in, one reply out, with as many tool calls between as the model
//! asks for.

use super::context::Room;
use super::history;
use super::journal::{Journal, JournalError};
use super::message::ToolCall;
use super::model::{Consumption, Listener, Model, ModelError, ModelTurn, Prices, Request};
use super::reply::{Reply, Stop, TurnError};
use super::state::State;
use super::tools::Tools;
use super::watch::{Event, Unwatched, Watch};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often a request that is too long for the model is shortened and sent again.
const SHORTENINGS: u32 = 3;

/// What ends a turn that would not end by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Requests to the model for one user message.
    pub turns: u32,
    /// Calls of one tool with equal arguments, one directly after the other.
    pub equal_calls: u32,
    /// Wall clock for one user message.
    pub time: Option<Duration>,
    /// Sent to the model and written by it, in the whole conversation.
    pub tokens: Option<u64>,
    /// US dollars, in the whole conversation.
    pub cost_usd: Option<f64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 20, equal_calls: 5, time: None, tokens: None, cost_usd: None }
    }
}

/// Who leads a conversation: the parts of an agent, each of which can be exchanged.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Carries out what the model asks for.
    pub tools: &'a dyn Tools,
    /// What ends a turn.
    pub limits: Limits,
    /// What the model takes at once, in its unit; none where nobody told.
    pub window: Option<u64>,
    /// What the model costs; none where nobody told.
    pub prices: Option<Prices>,
    /// Hears what happens.
    pub watch: &'a dyn Watch,
    /// Hears the answers while they arrive.
    pub listener: Option<&'a dyn Listener>,
}

impl<'a> Agent<'a> {
    /// A model and tools, with the usual limits, unwatched.
    pub fn new(model: &'a dyn Model, tools: &'a dyn Tools) -> Agent<'a> {
        Agent {
            model,
            tools,
            limits: Limits::default(),
            window: None,
            prices: None,
            watch: &Unwatched,
            listener: None,
        }
    }
}

/// Lets the model answer what was said last. Every call is carried out once.
///
/// # Errors
/// Where a limit was reached, the model gave no answer, a step could not be kept, or `cancel` was
/// called. Every call that was asked for has a result in the conversation then, too.
pub async fn run(
    agent: &Agent<'_>,
    state: &mut State,
    journal: &mut dyn Journal,
    cancel: &CancellationToken,
) -> Result<Reply, TurnError> {
    agent.watch.event(Event::TurnBegins);
    let stop = stopped(cancel, agent.limits.time);
    tokio::pin!(stop);
    let mut turn = Turn { agent, state, journal, before: None, usage: Consumption::default(), cost: 0.0 };
    let mut done = turn.answer(stop).await;
    if done.is_err() {
        turn.state.conversation.mend();
        if let Err(error) = turn.save() {
            done = Err(error.into());
        }
    }
    agent.watch.event(Event::TurnEnds(&done));
    done
}

/// What ends a turn from outside.
async fn stopped(cancel: &CancellationToken, time: Option<Duration>) -> TurnError {
    let over = async {
        match time {
            Some(time) => {
                tokio::time::sleep(time).await;
                TurnError::Time(time)
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => TurnError::Cancelled,
        error = over => error,
    }
}

/// One turn while it runs.
pub(super) struct Turn<'t, 'a> {
    pub(super) agent: &'t Agent<'a>,
    pub(super) state: &'t mut State,
    pub(super) journal: &'t mut dyn Journal,
    /// The last call, and how often it was asked for in a row.
    pub(super) before: Option<(ToolCall, u32)>,
    usage: Consumption,
    cost: f64,
}

impl Turn<'_, '_> {
    async fn answer(&mut self, mut stop: Stop<'_>) -> Result<Reply, TurnError> {
        self.save()?;
        for _ in 0..self.agent.limits.turns {
            self.within_budget()?;
            let asked = tokio::select! {
                biased;
                error = stop.as_mut() => Err(error),
                answer = self.ask() => answer,
            };
            let ModelTurn { text, tool_calls, .. } = asked?;
            let calls = self.state.conversation.assistant(&text, tool_calls);
            self.save()?;
            if calls.is_empty() {
                let cost_usd = self.agent.prices.map(|_| self.cost);
                return Ok(Reply { text, usage: self.usage, cost_usd });
            }
            self.carry_out(&calls, stop.as_mut()).await?;
        }
        Err(TurnError::Turns(self.agent.limits.turns))
    }

    fn within_budget(&self) -> Result<(), TurnError> {
        let (limits, spent) = (&self.agent.limits, &self.state.spent);
        if let Some(limit) = limits.tokens.filter(|limit| spent.tokens() >= *limit) {
            return Err(TurnError::Tokens { used: spent.tokens(), limit, unit: spent.usage.unit.name() });
        }
        match limits.cost_usd.filter(|limit| spent.cost_usd >= *limit) {
            Some(limit) => Err(TurnError::Cost { used: spent.cost_usd, limit }),
            None => Ok(()),
        }
    }

    /// Asks the model. Where it says that the request is too long, the request is shortened.
    async fn ask(&mut self) -> Result<ModelTurn, TurnError> {
        self.make_room().await;
        self.save()?;
        let mut shortenings = 0;
        loop {
            let answer = {
                let view = self.state.context.view(self.state.conversation.messages());
                history::check(&view)?;
                self.request(&view, true).await
            };
            match answer {
                Ok(turn) => {
                    self.count(turn.usage);
                    let room = room(self.agent, self.state.conversation.messages());
                    self.state.context.measured(room, turn.usage.input);
                    return Ok(turn);
                }
                Err(ModelError::TooLong(_)) if shortenings < SHORTENINGS => {
                    shortenings += 1;
                    let room = room(self.agent, self.state.conversation.messages());
                    let before = self.state.context.size(room);
                    self.state.context.refused(room);
                    self.make_room().await;
                    let messages = self.state.conversation.messages();
                    if self.state.context.size(self::room(self.agent, messages)) >= before {
                        return answer.map_err(TurnError::from);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// One request to the model, with or without the tools.
    pub(super) async fn request(
        &self,
        messages: &[super::message::Message],
        with_tools: bool,
    ) -> Result<ModelTurn, ModelError> {
        let tools = if with_tools { self.agent.tools.specs() } else { &[] };
        let listener = self.agent.listener.filter(|_| with_tools);
        self.agent.watch.event(Event::ModelBegins { messages });
        let mut ending = Ending { watch: self.agent.watch, ended: false };
        let answer = self.agent.model.respond(Request { messages, tools, listener }).await;
        ending.ended = true;
        self.agent.watch.event(Event::ModelEnds(Some(&answer)));
        answer
    }

    /// Counts an answer.
    pub(super) fn count(&mut self, usage: Consumption) {
        self.usage += usage;
        self.state.spent.add(usage, self.agent.prices.as_ref());
        self.cost += self.agent.prices.and_then(|prices| prices.of(usage)).unwrap_or(0.0);
    }

    pub(super) fn save(&mut self) -> Result<(), JournalError> {
        self.journal.keep(self.state)
    }
}

/// Tells of the end of a request that was given up.
struct Ending<'a> {
    watch: &'a dyn Watch,
    ended: bool,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.watch.event(Event::ModelEnds(None));
        }
    }
}

/// What has to fit into the model's window.
pub(super) fn room<'a>(agent: &Agent<'a>, messages: &'a [super::message::Message]) -> Room<'a> {
    Room { messages, tools: agent.tools.specs(), window: agent.window }
}
