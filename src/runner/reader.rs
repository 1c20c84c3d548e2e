//! A model as second reader of what an agent told its user. It is asked after a run is judged, so it
//! changes neither verdict nor score, and a run whose reader cannot be asked is a run all the same.

use super::environment::variable;
use super::recordings::Recordings;
use super::shared::Shared;
use crate::domain::{ReadClaim, ReaderFacts, Reading, ReadingOutcome, RunResult, Usage};
use crate::harness::message::Message;
use crate::harness::model::{
    Consumption, Listener, Model, ModelError, ModelTurn, Prices, Request, Stop, Unit,
};
use crate::harness::provider::{self, Options, ProviderError};
use crate::harness::recording::TapeError;
use crate::harness::recording::record::Recorder;
use crate::harness::recording::replay::Replayer;
use crate::harness::remote::retry::Backoff;
use crate::harness::remote::{Own, Settings};
use crate::honesty::reader::{SYSTEM, answer, question};
use crate::honesty::{Truth, cross};
use crate::suite::{SecondReader, Suite, Trial};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most that is kept of an answer that is none, in characters.
const KEPT: usize = 200;

/// Checks that the reader of a suite can be asked at all: its key is there, its address is one.
///
/// # Errors
/// Where it cannot.
pub fn check(suite: &Suite) -> Result<(), ProviderError> {
    suite.reader.as_ref().map_or(Ok(()), openable)
}

/// Checks that a reader can be asked at all.
///
/// # Errors
/// Where it cannot.
pub(super) fn openable(reader: &SecondReader) -> Result<(), ProviderError> {
    open(reader, 0).map(drop)
}

fn open(reader: &SecondReader, seed: u64) -> Result<Box<dyn Model>, ProviderError> {
    let options = Options {
        settings: Settings {
            stream: false,
            seed: Some(seed),
            temperature: reader.temperature,
            max_tokens: reader.max_tokens,
            silence: reader.timeout,
        },
        backoff: Backoff::default(),
        environment: &variable,
        own: Own { url: reader.base_url.as_deref(), key: reader.key.as_deref() },
    };
    provider::open(None, Some(&reader.model), &options)
}

/// Has the replies of a run read, those that there is a truth for: `truths` has one place a turn, none
/// at all where nobody was told how the run ended.
pub(super) async fn read(
    shared: &Shared,
    trial: &Trial,
    truths: &[Option<Truth>],
    result: &mut RunResult,
    cancel: &CancellationToken,
) {
    let Some(reader) = shared.loaded.suite.reader.as_ref().filter(|_| shared.rehearsal.is_none()) else {
        return;
    };
    let told = |(place, _): &(usize, &Option<Truth>)| {
        result.turns.get(*place).is_some_and(|turn| turn.claim.is_some())
    };
    let told: Vec<(usize, Option<Truth>)> =
        truths.iter().enumerate().filter(told).map(|(place, truth)| (place, *truth)).collect();
    if told.is_empty() {
        return;
    }
    let mut asked = Asked::new(shared.recordings.as_ref(), reader, trial);
    // The last reply counts most, so it comes first.
    for (place, truth) in told.into_iter().rev() {
        let request = result.turns.first().map(|turn| turn.say.clone()).unwrap_or_default();
        let Some(turn) = result.turns.get_mut(place) else { continue };
        let Some(reply) = &turn.reply else { continue };
        let outcome = asked.about(&question(&request, &turn.say, reply), cancel).await;
        let mut reading = Reading::of(outcome);
        // Whether the words own up to a double is read by the rules alone.
        if let (Some(claim), Some(rules)) = (reading.claim(), &turn.claim) {
            reading.honesty = Some(cross(&ReadClaim { claim, ..rules.clone() }, truth));
        }
        turn.reader = Some(reading);
    }
    result.reader = Some(ReaderFacts { model: reader.model.clone(), usage: asked.usage(reader.price) });
}

/// Why the last try that was followed by another one failed.
#[derive(Default)]
struct Tries(Mutex<Option<String>>);

impl Listener for Tries {
    fn text(&self, _: &str) {}

    fn discarded(&self) {}

    fn failed(&self, error: &ModelError) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}

/// The reader in one run.
struct Asked {
    model: Result<Box<dyn Model>, String>,
    /// Where its answers come from a recording.
    replayer: Option<Arc<Replayer>>,
    timeout: Duration,
    consumed: Option<Consumption>,
}

impl Asked {
    fn new(recordings: Option<&Recordings>, reader: &SecondReader, trial: &Trial) -> Asked {
        let run = &trial.run_id.0;
        let (model, replayer) = match recordings {
            Some(Recordings::Replay(folder)) => match replayed(&file(folder, run)) {
                Ok(replayer) => {
                    let model: Box<dyn Model> = Box::new(Arc::clone(&replayer));
                    (Ok(model), Some(replayer))
                }
                Err(reason) => (Err(reason), None),
            },
            Some(Recordings::Record(folder)) => (recorded(reader, trial, &file(folder, run)), None),
            None => (open(reader, trial.seed).map_err(|error| error.to_string()), None),
        };
        Asked { model, replayer, timeout: reader.timeout, consumed: None }
    }

    async fn about(&mut self, question: &str, cancel: &CancellationToken) -> ReadingOutcome {
        let model = match &self.model {
            Ok(model) => model,
            Err(reason) => return ReadingOutcome::NotRead(reason.clone()),
        };
        let messages =
            [Message::System { text: SYSTEM.to_owned() }, Message::User { text: question.to_owned() }];
        let tries = Tries::default();
        let request = Request { listener: Some(&tries), ..Request::new(&messages, &[]) };
        let answered = tokio::select! {
            answered = tokio::time::timeout(self.timeout, model.respond(request)) => answered,
            () = cancel.cancelled() => return ReadingOutcome::NotRead("the matrix was interrupted".to_owned()),
        };
        let outcome = match answered {
            // The recording tells what differs once, and it may stand in every later question, too.
            Ok(Ok(_)) if self.differs() => {
                return ReadingOutcome::NotRead("the recorded answer was given to other words".to_owned());
            }
            // Another reply may be short enough.
            Ok(Err(error @ ModelError::TooLong(_))) => return ReadingOutcome::NotRead(error.to_string()),
            Ok(answered) => answered.map_err(|error| error.to_string()),
            Err(_) => {
                let last = tries.0.lock().unwrap_or_else(PoisonError::into_inner).take();
                let last = last.map(|error| format!("; the last try: {error}")).unwrap_or_default();
                Err(format!("no answer within {} s{last}", self.timeout.as_secs_f64()))
            }
        };
        match outcome {
            Ok(turn) => {
                let mut consumed =
                    self.consumed.unwrap_or(Consumption { unit: turn.usage.unit, ..Consumption::default() });
                consumed += Consumption { answers: 1, ..turn.usage };
                self.consumed = Some(consumed);
                understood(&turn)
            }
            Err(reason) => {
                // Whoever cannot be asked now is not waited for again in this run.
                self.model = Err(reason.clone());
                ReadingOutcome::NotRead(reason)
            }
        }
    }

    fn differs(&self) -> bool {
        self.replayer.as_ref().is_some_and(|replayer| replayer.differences() > 0)
    }

    /// What it consumed. Words are no tokens, and nobody pays again for recorded ones.
    fn usage(&self, prices: Option<Prices>) -> Usage {
        let Some(consumed) = self.consumed else { return Usage::default() };
        let tokens = |number| (consumed.unit == Unit::Tokens).then_some(number);
        Usage {
            input_tokens: tokens(consumed.input),
            output_tokens: tokens(consumed.output),
            cached_tokens: tokens(consumed.cached),
            cost_usd: prices.and_then(|prices| prices.of(consumed)),
            answers: Some(consumed.answers),
            retries: Some(consumed.retries),
        }
    }
}

fn understood(turn: &ModelTurn) -> ReadingOutcome {
    // What is cut or held back is not what the model wanted to say.
    let claim = answer(&turn.text).filter(|_| turn.stop == Stop::Done && turn.tool_calls.is_empty());
    claim.map_or_else(
        || ReadingOutcome::NoAnswer(crate::report::shortened(turn.text.trim(), KEPT)),
        ReadingOutcome::Claim,
    )
}

fn file(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.reader.jsonl"))
}

fn replayed(path: &Path) -> Result<Arc<Replayer>, String> {
    Replayer::new(path, None).map(Arc::new).map_err(|error| match error {
        TapeError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            "the recordings hold no answer of the second reader".to_owned()
        }
        error => error.to_string(),
    })
}

fn recorded(reader: &SecondReader, trial: &Trial, path: &Path) -> Result<Box<dyn Model>, String> {
    let model = open(reader, trial.seed).map_err(|error| error.to_string())?;
    // An earlier try of this run may have left one.
    let _ = std::fs::remove_file(path);
    let recorder = Recorder::new(model, path).map_err(|error| error.to_string())?;
    Ok(Box::new(recorder))
}
