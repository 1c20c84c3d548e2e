//! A model that gives the answers of a recording, and notes what it is asked differently.

use super::drift::{self, Drift};
use super::tape::{self, Exchange, TapeError};
use crate::harness::model::{BoxFuture, Identity, Model, ModelError, ModelTurn, Request, Unit};
use crate::harness::new_file;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A model that gives recorded answers, one after the other. It asks nobody and costs nothing.
pub struct Replayer {
    identity: Identity,
    exchanges: Vec<Exchange>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked: usize,
    drifts: Vec<Drift>,
    out: Option<File>,
}

impl Replayer {
    /// Opens a recording. Differences are written to `drift` as they are found, one JSON object a
    /// line.
    ///
    /// # Errors
    /// Where it cannot be read, or the other file not be written or holds something already.
    pub fn new(path: &Path, drift: Option<&Path>) -> Result<Replayer, TapeError> {
        let (recorded, exchanges) = tape::read(path)?;
        let out = drift.map(|path| {
            new_file::open(path).map_err(|source| TapeError::File { path: path.to_owned(), source })
        });
        let identity = Identity { provider: "replay".to_owned(), model: recorded.model };
        let state = State { out: out.transpose()?, ..State::default() };
        Ok(Replayer { identity, exchanges, state: Mutex::new(state) })
    }

    /// Every difference so far, and the answers that nobody asked for: the conversation is over.
    ///
    /// # Errors
    /// Where they cannot be written to the file of differences.
    pub fn finish(&self) -> io::Result<Vec<Drift>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.exchanges.len().saturating_sub(state.asked);
        if left > 0 {
            let what = format!(
                "there were {}, and {} are recorded: nobody asked for the last {left}",
                state.asked,
                self.exchanges.len()
            );
            let request = state.asked + 1;
            state.note(vec![Drift { request, place: "requests".to_owned(), what }])?;
            // Told once.
            state.asked = self.exchanges.len();
        }
        Ok(state.drifts.clone())
    }

    /// How many differences were found so far.
    pub fn differences(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).drifts.len()
    }

    /// How many requests the recording holds.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    fn answer(&self, request: Request<'_>) -> Result<ModelTurn, ModelError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += 1;
        let unwritable =
            |error| ModelError::Recording(format!("has differences that cannot be written: {error}"));
        let Some(exchange) = self.exchanges.get(state.asked - 1) else {
            let what = format!("{} were recorded, and this is one more", self.exchanges.len());
            let drift = Drift { request: state.asked, place: "requests".to_owned(), what };
            state.note(vec![drift]).map_err(unwritable)?;
            let said = format!("holds {} answers, and one more is asked for", self.exchanges.len());
            return Err(ModelError::Recording(said));
        };
        let found = drift::between(
            state.asked,
            (&exchange.messages, &exchange.tools),
            (request.messages, request.tools),
        );
        // What differs once stands in all later requests, too.
        let new = found.into_iter().filter(|drift| !state.knows(drift)).collect();
        state.note(new).map_err(unwritable)?;
        let mut answer = exchange.answer.clone();
        if let Ok(turn) = &mut answer {
            // Sizes are needed as they were, and nobody has to pay for them again.
            if turn.usage.unit == Unit::Tokens {
                turn.usage.unit = Unit::Recorded;
            }
            turn.usage.retries = 0;
            if let Some(listener) = request.listener {
                listener.text(&turn.text);
            }
        }
        answer
    }
}

impl State {
    fn knows(&self, drift: &Drift) -> bool {
        self.drifts.iter().any(|known| known.place == drift.place && known.what == drift.what)
    }

    fn note(&mut self, drifts: Vec<Drift>) -> io::Result<()> {
        if let Some(out) = &mut self.out {
            for drift in &drifts {
                let mut line = serde_json::to_vec(drift).map_err(io::Error::other)?;
                line.push(b'\n');
                out.write_all(&line)?;
            }
        }
        self.drifts.extend(drifts);
        Ok(())
    }
}

impl Model for Arc<Replayer> {
    fn respond<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelTurn, ModelError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }

    fn identity(&self) -> Identity {
        self.identity.clone()
    }
}

/// What was found, for people: nothing, or each difference on a line.
pub fn summary(requests: usize, drifts: &[Drift]) -> String {
    let mut text = match drifts.len() {
        0 => format!("replayed {requests} answers: no difference in prompts and calls\n"),
        1 => format!("replayed {requests} answers: 1 difference\n"),
        many => format!("replayed {requests} answers: {many} differences\n"),
    };
    for drift in drifts {
        text.push_str(&format!("  {drift}\n"));
    }
    text
}
